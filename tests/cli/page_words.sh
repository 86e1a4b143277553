# SPDX-License-Identifier: GPL-3.0-or-later
# The page names what was audited and says the verdict without Greek letters; the cases are those of the (ε,δ) trade-off.
. "$(dirname "$0")/lib/check.bash"

run 0 example scores
run 1 scores members.npy nonmembers.npy --claim-epsilon 1.27 --report page.html --json=r.json
says page.html "<h1>Audit of attack scores: members.npy, nonmembers.npy</h1>"
python3 - <<'PY' || fail "the cases in plain words"
import json, math, re, sys
j = json.load(open("r.json"))
right = lambda e, d: 1 - (1 - d) / (1 + math.exp(e))  # one minus the error where both errors are equal
want = [right(1.27, 1e-5), right(j["verdict"]["epsilon_lower"], 1e-5), j["quality"]["balanced_accuracy"]["value"]]
text = re.search(r'<p class="plain">(.*?)</p>', open("page.html").read()).group(1)
got = [int(n) for n in re.findall(r"(?:more than|below|right in) (\d+)", text)]
print(text)
sys.exit(got != [50] + [round(100 * w) for w in want])
PY
# Nothing shown: only the claim has a number. A huge claim does not overflow. Without claim and leak there is nothing to say.
run 0 counts --fn 50 --tp 50 --fp 50 --tn 50 --claim-epsilon 1 --report none.html
says none.html "nobody is right in more than 73. This audit shows nothing"
run 0 counts --fn 50 --tp 50 --fp 50 --tn 50 --claim-epsilon 800 --report huge.html
says huge.html "more than practically all"
run 0 counts --fn 50 --tp 50 --fp 50 --tn 50 --report bare.html
grep -q 'class="plain"' bare.html && fail "words about nothing"
# Two audits of files with the same name, in one page.
mkdir a b && cp members.npy nonmembers.npy a && cp members.npy nonmembers.npy b
for d in a b; do run 0 scores $d/members.npy $d/nonmembers.npy --json=$d.json; done
run 0 report a.json b.json --out both.html
says both.html "Audit of attack scores: a/members.npy, a/nonmembers.npy"
says both.html "Audit of attack scores: b/members.npy, b/nonmembers.npy"
finish
