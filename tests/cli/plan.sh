# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit plan: sizes, a budget, the ceiling, games, precision, curves, what is refused.
. "$(dirname "$0")/lib/check.bash"

run 0 plan --claim-epsilon 1 --leak 4 --family gaussian --method sequential --audits 10
says out "nothing was audited"
says out "pairs until the claim falls"
run 0 plan --claim-epsilon 1 --leak 4 --size 500 --audits 10 --json
field "all(r['size_needed'] > 0 and r['power_at_size_needed'] >= 0.8 for r in j['plan']['rows'])" | grep -q True || fail "power"
field "len(j['plan']['rows'])" | grep -qx 20 || fail "rows"
# docs/compare.md shows this plan; sequential rows there are of more simulated audits
python3 - "$DPA_SOURCE/docs/compare.md" <<'PY' || fail "docs/compare.md shows another plan"
import json, re, sys
shown = {m.groups()[:3]: int(m[4]) for m in re.finditer(r"^\| (runs|one-run|cosines) \| (\w+) \| (\S+) \| (\d+)\b", open(sys.argv[1]).read(), re.M)}
for r in json.load(open("out"))["plan"]["rows"]:
    if r["method"] != "sequential" and shown.get((r["game"], r["family"], r["method"])) != r["size_needed"]:
        sys.exit(f"{r['game']} {r['family']} {r['method']}: {r['size_needed']}")
PY
# log((0.05^(1/1000) - 1e-5) / (1 - 0.05^(1/1000)))
near "j['plan']['ceilings'][0]['epsilon']" 5.8090578 1e-7
# the audit of a perfect attack, 500 + 500 by Clopper-Pearson
run 0 counts --fn 0 --tp 500 --fp 0 --tn 500 --family dp --method cp --json
largest=$(field "j['results'][0]['epsilon_lower']")
run 0 plan --claim-epsilon 1 --size 500 --family dp --method cp --json
near "j['plan']['rows'][0]['largest_epsilon']" "$largest" 1e-9
run 0 plan --claim-epsilon 2 --size 100 --family gaussian --audits 5
# a claim that is true cannot be refuted: no size
run 0 plan --claim-epsilon 4 --leak 4 --most 200 --family gaussian --audits 5
says out "none"

# noise for epsilon: one release with sigma 1 has epsilon 4.377 at 1e-5
run 0 plan --claim-sigma 1 --leak-sigma 0.5 --family gaussian --method cp --json
near "j['plan']['claim_epsilon']" 4.377178095681 1e-9
near "j['plan']['truth_epsilon']" 9.997256146434 1e-9
run 0 plan --claim-sigma 1 --leak-sigma 0.8 --q 0.01 --steps 1000 --game steps --method cp --json
field "j['plan']['rows'][0]['game'], 600 < j['plan']['rows'][0]['size_needed'] < 900" | grep -qx "steps True" || fail "steps"
run 0 plan --claim-epsilon 1 --leak 2 --delta 0 --leak-family laplace --family dp --audits 5 --json
field "[r['method'] for r in j['plan']['rows']]" | grep -q "katz" || fail "ratio intervals at delta 0"
run 0 plan --claim-epsilon 1 --leak 4 --family gaussian --method rank
# one that is not listed can be named
run 0 plan --claim-epsilon 1 --leak 4 --family gaussian --game one-run --method pointwise --json
field "j['plan']['rows'][0]['method']" | grep -q pointwise || fail "pointwise"

# simulated powers have an error, and the seed decides
run 0 plan --claim-epsilon 1 --leak 4 --family gaussian --method rank --size 25 --json
field "0.005 < j['plan']['rows'][0]['power_error_of_budget'] < 0.02" | grep -q True || fail "error of a simulation"
first=$(field "j['plan']['rows'][0]['power_of_budget']")
run 0 plan --claim-epsilon 1 --leak 4 --family gaussian --method rank --size 25 --seed 2 --json
near "j['plan']['rows'][0]['power_of_budget']" "$first" 0.06
[ "$(field "j['plan']['rows'][0]['power_of_budget']")" != "$first" ] || fail "seed"

# sequential audits: when they stop, what a budget shows, the largest bound; in the game of steps too
run 0 plan --claim-epsilon 1 --leak 8 --family gaussian --method sequential --size 30 --points 5 --audits 50 --json
field "0.02 < j['plan']['rows'][0]['power_error_of_budget'] < 0.1" | grep -q True || fail "error of a simulation"
field "1 < j['plan']['rows'][0]['detectable_epsilon'] < 14 and 0 < j['plan']['rows'][0]['detectable_error'] < 2" | grep -q True || fail "leak"
field "j['plan']['stops'][0]['median_pairs'] <= j['plan']['rows'][0]['size_needed'] <= j['plan']['stops'][0]['pairs_of_nine_in_ten']" | grep -q True || fail "stops"
field "20 < j['plan']['stops'][0]['mean_pairs'] < 40 and j['plan']['stops'][0]['refuted'] == 50" | grep -q True || fail "mean"
field "[p['power'] for p in j['power_curve']] == sorted(p['power'] for p in j['power_curve'])" | grep -q True || fail "curve"
run 0 plan --claim-sigma 1 --leak-sigma 0.5 --q 0.01 --steps 1000 --game steps --method sequential --audits 5
says out "steps, gaussian, sequential"
# a claim that is true: nothing is promised
run 0 plan --claim-epsilon 2 --leak 2 --family dp --method sequential --audits 8 --most 100
says out "none of 8 simulated audits refutes the claim"
run 2 plan --claim-epsilon 1 --leak 4 --method sequential --audits 0
says err "audits"
# a threshold that is learned, as dpaudit cosines does
run 0 plan --claim-epsilon 1 --leak 8 --game cosines --method jeffreys-split --size 80 --json
field "0 < j['plan']['rows'][0]['power_error_of_budget'] < 0.05" | grep -q True || fail "error of a learned threshold"

# a budget beyond what some methods can be planned with leaves their columns empty
run 0 plan --claim-epsilon 1 --size 1000000 --game cosines --family dp
says out "where the budget has no numbers"
run 2 plan --claim-epsilon 1 --size 1000000 --game runs --family gaussian --method cp
says err "1 to 100000 can be planned"

# a leak beyond measure is found by every method; a claim at delta 0 is one about dp
run 0 plan --claim-epsilon 1 --leak-sigma 0.001 --game runs --audits 5 --json
field "all(0 < r['size_needed'] < 30 for r in j['plan']['rows'])" | grep -q True || fail "a leak beyond measure"
run 0 plan --claim-epsilon 1 --leak 3 --delta 0 --leak-family laplace --audits 5 --json
field "{r['family'] for r in j['plan']['rows']}" | grep -qx "{'dp'}" || fail "families at delta 0"
run 2 plan --claim-epsilon 1 --leak 4 --size 2000000000
says err "size: at most 1000000000"

# power curves rise, and are drawn
run 0 plan --claim-epsilon 1 --leak 4 --family gaussian --game cosines --method mean --points 9 --json
field "[p['power'] for p in j['power_curve']] == sorted(p['power'] for p in j['power_curve'])" | grep -q True || fail "curve"
run 0 plan --claim-epsilon 1 --leak 4 --family gaussian --game cosines --report plan.html --plot
says out "power"
grep -q '"id": "0-power"' plan.html || fail "no chart of the power"
grep -q 'id="chart-0-power"' plan.html || fail "no figure of the power"
grep -q '<caption>plan</caption>' plan.html || fail "no table of the plan"
run 0 plan --claim-epsilon 1 --leak 4 --family dp --game runs --method cp --vega charts
[ -s charts/power.vl.json ] || fail "no specification of the power chart"

# figure 4 of bayesian-estimation
run 0 plan --half-width 0.15 --fnr 0.4 --fpr 0.4 --confidence 0.9 --family dp --json
field "[r['samples_needed'] for r in j['precision']['rows']]" | grep -q "\[1478, 1424, 544\]" || fail "precision"

run 2 plan --leak 4
says err "--claim-epsilon"
run 2 plan --claim-epsilon 1
says err "--leak"
run 2 plan --claim-epsilon 1 --leak 4 --leak-sigma 1
run 2 plan --claim-epsilon 1 --claim-sigma 1 --leak 4
run 2 plan --claim-epsilon 1 --leak 4 --power 1
run 2 plan --claim-epsilon 1 --leak 4 --delta 0
says err "laplace"
run 2 plan --claim-epsilon 1 --leak 4 --family none
run 2 plan --claim-epsilon 1 --leak-sigma -1
run 2 plan --claim-epsilon 1 --leak 4 --game walk
run 2 plan --claim-epsilon 1 --leak 4 --method none
run 2 plan --claim-epsilon 1 --leak 4 --method point --game runs
says err "cannot be planned"
# a pair is diluted, not made leakier: below the claim there is nothing to plan, above it there is
echo '{"p": [0.5, 0.3, 0.2], "q": [0.2, 0.3, 0.5]}' > pair.json
run 2 plan --claim-epsilon 1 --leak 4 --family pair:pair.json
says err "leakiest member has epsilon 0.9163 at delta 1e-05; none has 1"
run 0 plan --claim-epsilon 0.5 --leak 4 --family pair:pair.json --game runs --method cp
run 2 plan --half-width 0.15
says err "--fnr"
run 2 plan --half-width -1 --fnr 0.4 --fpr 0.4
finish
