# SPDX-License-Identifier: GPL-3.0-or-later
# Pages, bare charts, terminal plots and PDF: what is written, and what any bytes in place of a result get.
. "$(dirname "$0")/lib/check.bash"

counts="counts --fn 30 --tp 970 --fp 20 --tn 980"
run 1 $counts --claim-epsilon 1 --json=a.json --report a.html --vega charts
says a.html "Content-Security-Policy"
says a.html "✗ Claim refuted"
run 0 $counts --json=b.json --plot
says out "Bounds on ε"
says out "Posterior density"
grep -q '⣀\|⠤\|⡴' out || fail "no dots in the plot"

# --plot and JSON on standard output do not mix
run 0 $counts --json --plot
field "j['command']" | grep -qx counts || fail "the plot is in the JSON"
says err "Bounds on ε"

# each chart alone, as Vega-Lite
for chart in bounds region posterior epsilon-delta; do
    python3 - "charts/$chart.vl.json" <<'PY' || fail "charts/$chart.vl.json"
import json, sys
spec = json.load(open(sys.argv[1]))
assert "vega-lite" in spec["$schema"], spec["$schema"]
assert spec["layer"] and all(spec["datasets"].values())
PY
done
run 4 $counts --vega /nowhere/charts
says err "cannot make the directory"

# several results on one page, one of them from standard input
run 0 report a.json b.json --out both.html
says both.html "2 results"
says both.html 'id="result-1"'
"$DPAUDIT" report - --out c.html <a.json || fail "a result from standard input"
cmp -s a.html c.html || fail "a stored result gives another page than a fresh one"

# audits over time: named after their files, one trend, the claim in it; a result without a bound is not on it
run 1 counts --fn 30 --tp 970 --fp 20 --tn 980 --claim-epsilon 1 --json=release-1.json
run 0 counts --fn 800 --tp 200 --fp 190 --tn 810 --claim-epsilon 1 --json=release-2.json
run 0 account --sigma 1 --json=account.json
mkdir -p again && cp release-2.json again/release-2.json
run 0 report release-1.json release-2.json again/release-2.json account.json --out trend.html
says trend.html "4 results"
says trend.html ">release-1: Audit of a confusion matrix<"
says trend.html 'id="chart-4-trend"'
says trend.html "The claim fell in 1 of 3 audits"
says trend.html '<td><a href="#result-2">release-2 3</a></td><td>not refuted</td>'
grep -q "#result-3\">account" trend.html || fail "the account is not listed"
grep -q '<td><a href="#result-3">' trend.html && fail "the account has no bound to compare"
# what each would have detected: of any kind, of noise alone where only that is known, nothing
cp "$DPA_SOURCE"/examples/{run-white-box.yaml,run-mlp.yaml,train-toy.csv} .
run 0 run run-white-box.yaml --observations 400 --json=noise.json
run 0 counts --fn 1 --tp 2 --fp 1 --tn 2 --claim-epsilon 1 --json=blind.json
run 0 report release-2.json noise.json blind.json --out seen.html
python3 - <<'PY' || fail "the trend does not say what each would have detected"
import json, re
seen = [json.load(open(name + ".json"))["verdict"]["would_detect"] for name in ("release-2", "noise", "blind")]
cells = [re.findall(r'<td class="number">(.*?)</td>', row)[2] for row in re.findall(r'<tr><td><a href="#result-.*?</tr>', open("seen.html").read())]
print(seen, cells)
assert "epsilon" not in seen[1] and seen[2]["epsilon_infinite"]
assert cells == [f"{seen[0]['epsilon']:.3g}", f"{seen[1]['epsilon_gaussian']:.3g} from too little Gaussian noise", "no leak"]
PY
run 0 report release-1.json account.json --out alone.html
grep -q 'id="trend"' alone.html && fail "one bound is no trend"
bad=$(printf 'r\351sultat.json') # no UTF-8
cp release-1.json "$bad" && run 0 report "$bad" release-2.json --out latin.html
says latin.html "The claim fell in 1 of 2 audits"

# not a result
printf 'PK\003\004\000\377' >bytes
printf '{"dpaudit": "0.1.0", "command": "counts"' >cut.json
printf '[1, 2]' >array.json
printf '{"x": 1}' >other.json
printf '{"dpaudit": 1, "command": []}' >types.json
: >empty.json
for file in bytes cut.json array.json other.json types.json empty.json missing.json; do
    run 3 report "$file" --out no.html
    says err "$file"
    [ -e no.html ] && fail "$file: something was written"
done
run 3 report a.json other.json --out no.html
says err "write one with --json"
run 2 report
says err "needs RESULT.json"
run 4 report a.json --out /nowhere/page.html

# PDF, by a browser that may not be there
DPAUDIT_CHROMIUM=/nowhere/chromium run 4 report a.json --pdf no.pdf
says err "needs Chromium"
[ -e no.pdf ] && fail "a PDF without a browser"
[ -e report.html ] && fail "--pdf alone wrote a page"
DPAUDIT_CHROMIUM=/bin/false run 4 report a.json --pdf no.pdf
says err "did not print"
if command -v chromium >/dev/null; then
    run 0 report a.json --pdf a.pdf
    [ "$(head -c 5 a.pdf)" = "%PDF-" ] || fail "a.pdf is no PDF"
fi

# a page of 10^6 scores stays small
if python3 -c 'import numpy' 2>/dev/null; then
    python3 - <<'PY'
import numpy
draw = numpy.random.default_rng(1)
numpy.save("in.npy", draw.normal(1, 1, 500000))
numpy.save("out.npy", draw.normal(0, 1, 500000))
PY
    run 0 scores in.npy out.npy --report big.html
    [ "$(wc -c <big.html)" -lt 3000000 ] || fail "a page of $(wc -c <big.html) bytes"
fi
finish
