# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit landscape: averages, frontier, plot data, refusals.
. "$(dirname "$0")/lib/check.bash"

cp "$DPA_SOURCE/examples/landscape.csv" .
run 0 landscape landscape.csv
says out "frontier 3: 1 epoch, baseline, utility 0.8600 at epsilon 0.2000"
says out "7 strategies from 11 runs"
run 0 landscape landscape.csv --json
[ "$(field '[p["strategy"] for p in j["landscape"]["frontier"]]')" = \
    "['clip 1 eps 1', 'clip 1 eps 10', '1 epoch', '10 epochs', '50 epochs']" ] || fail "frontier"
near 'j["landscape"]["points"][0]["epsilon"]["mean"]' 0.2 1e-12
near 'j["landscape"]["points"][0]["epsilon"]["highest"]' 0.21 1e-12
[ "$(field 'sorted({(d["axis"], d["group"]) for d in j["landscape"]["densities"]})')" = \
    "[('epsilon', 'baseline'), ('epsilon', 'dp'), ('utility', 'baseline'), ('utility', 'dp')]" ] ||
    fail "a density per group and axis"
run 0 landscape landscape.csv --report page.html
[ -s page.html ] || fail "no page"
# Bars from the least to the most of the runs on both axes, and what stands at the margins.
run 0 landscape landscape.csv --vega charts
python3 - <<'PY' || fail "error bars on both axes"
import json
layers = json.load(open("charts/landscape.vl.json"))["layer"]
bars = [layer["encoding"] for layer in layers if layer["mark"]["type"] == "rule"]
assert any(bar["x"]["field"] == "epsilon_lowest" and bar["x2"]["field"] == "epsilon_highest" for bar in bars)
assert any(bar["y"]["field"] == "utility_lowest" and bar["y2"]["field"] == "utility_highest" for bar in bars)
for axis in ("epsilon", "utility"):
    json.load(open(f"charts/landscape-{axis}.vl.json"))
PY
run 2 landscape
run 3 landscape nowhere.csv
printf 'strategy,utility\na,1\n' > short.csv
run 3 landscape short.csv
says err "no column 'epsilon'"
printf 'strategy,utility,epsilon\na,1,inf\n' > infinite.csv
run 3 landscape infinite.csv
says err "finite"
finish
