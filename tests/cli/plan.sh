# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit plan: sizes, a budget, the ceiling, what is refused.
. "$(dirname "$0")/lib/check.bash"

run 0 plan --claim-epsilon 1 --leak 4
says out "nothing was audited"
run 0 plan --claim-epsilon 1 --leak 4 --size 500 --json
field "all(r['size_needed'] > 0 and r['power_at_size_needed'] >= 0.8 for r in j['plan']['rows'])" | grep -q True || fail "power"
field "len(j['plan']['rows'])" | grep -qx 5 || fail "rows"
# log((0.05^(1/1000) - 1e-5) / (1 - 0.05^(1/1000)))
near "j['plan']['ceilings'][0]['runs']" 5.8090578 1e-7
run 0 plan --claim-epsilon 2 --size 100 --family gaussian
# a claim that is true cannot be refuted: no size
run 0 plan --claim-epsilon 4 --leak 4 --most 200 --family gaussian
says out "none"

run 2 plan --leak 4
says err "--claim-epsilon"
run 2 plan --claim-epsilon 1
says err "--leak"
run 2 plan --claim-epsilon 1 --leak 4 --leak-sigma 1
run 2 plan --claim-epsilon 1 --leak 4 --power 1
run 2 plan --claim-epsilon 1 --leak 4 --delta 0
run 2 plan --claim-epsilon 1 --leak 4 --family laplace
run 2 plan --claim-epsilon 1 --leak-sigma -1
finish
