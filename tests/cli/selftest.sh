# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit selftest: everything is right here, other seeds included, and what was checked is said.
. "$(dirname "$0")/lib/check.bash"

run 0 selftest --seed 7
says out "0 off"
says out "account, 100 steps of sigma 10"
says out "coverage, cp"
says out "no leak, gaussian rank"
# every check can fail: with a thousand on top of every answer all of them do
run 4 selftest --spoil 1000
[ "$(grep -c '^  OFF ' out)" -gt 25 ] || fail "checks that are off"
! grep -q '^  ok ' out || fail "a check that cannot fail: $(grep '^  ok ' out)"
says out "checks, $(grep -c '^  OFF ' out) off"
run 2 selftest --spoil nan
run 2 selftest extra
finish
