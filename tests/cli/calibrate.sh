# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit calibrate at its edges: what is sought cannot be given, the end of the range is said, tiny targets are quick.
. "$(dirname "$0")/lib/check.bash"

run 2 calibrate --epsilon 1 --sigma -1
says err "--sigma is what is sought"
run 2 calibrate --epsilon 1 --sigma 2
run 2 calibrate --epsilon 1 --find q --sigma -1
run 2 calibrate --epsilon 0
run 0 calibrate --epsilon 1 --json
field "j['is_end_of_range']" | grep -qx False || fail "not the end of the range"

# no noise is small enough for ε = 1e6: the smallest that is tried is named as such
run 0 calibrate --epsilon 1e6
says out "end of the range of sigma"
run 0 calibrate --epsilon 1e6 --json
field "j['sigma'], j['is_end_of_range']" | grep -qx "0.001 True" || fail "end of the range"
run 0 calibrate --epsilon 50 --find q --sigma 1 --json
field "j['q'], j['is_end_of_range']" | grep -qx "1 True" || fail "q = 1"

# near ε = 0 no rate comes close to the target; the search must end all the same
run 0 calibrate --find q --sigma 0.5 --steps 1000 --epsilon 1e-9 --json
near "j['q']" 1.56138e-08 1e-4
field "j['epsilon']['upper'] <= 1e-9" | grep -qx True || fail "target"

# a target that lies behind values no grid can judge: a safe answer, which says so, in no time
# (it took 57 s once and takes 3; under a sanitizer five times as long)
seconds=20
nm -D "$DPAUDIT" 2>/dev/null | grep -q __asan_init && seconds=100
(ulimit -t $seconds; run 0 calibrate --epsilon 8 --q 0.01 --steps 1000 --delta 1e-300 --json; exit $failures) || fail "more than $seconds s of processor time"
field "j['unjudged'] < j['sigma'] and j['epsilon']['upper'] <= 8" | grep -qx True || fail "what could not be judged is not said"
run 4 account --sigma 3 --q 0.01 --steps 1000 --delta 1e-300
says err "larger delta"
run 0 account --sigma 1 --steps 10 --q 0.9999999999999999 --json
near "j['epsilon']['lower']" 17.856587 1e-3
run 2 account --two-gaussians 0,-1,1,1
says err "deviations above 0"
finish
