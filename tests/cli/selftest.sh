# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit selftest: everything is right here, other seeds included, and what was checked is said.
. "$(dirname "$0")/lib/check.bash"

run 0 selftest --seed 7
says out "35 checks, 0 off"
# what is compared with what, and how near: a check that is lost or asks for less is seen here
sed -n 's/^  ok  //; s/ [0-9]e[-+][0-9]* of / of /p' out | sed 's/^\(account, width of that interval\) *[^ ]*/\1/; s/  */ /g' >asked
diff - asked <<'ASKED' || fail "other checks, or other tolerances"
counts, bayes, lower end 0.521787 0.521787 of 1e-09
counts, bayes, upper end 1.26665 1.26665 of 1e-09
counts, jeffreys, lower end 0.32095 0.32095 of 1e-06
counts, jeffreys, upper end 1.45637 1.45637 of 1e-06
counts, cp, lower end 0.295151 0.295151 of 1e-06
counts, cp, upper end 1.48873 1.48873 of 1e-06
counts, cp, perfect attack 5.60058 5.60058 of 1e-06
counts, cp, no false positive 3.12437 3.12437 of 1e-06
counts, exact, 24 and 4 of 100 0.98 0.98 of 1e-09
counts, gaussian bayes, perfect 44.0614 44.0615 of 1e-04
counts, gaussian cp, perfect 36.4895 36.4895 of 1e-06
gaussian, mu 1: epsilon 4.37718 4.37718 of 1e-11
gaussian, mu 2: epsilon 9.99726 9.99726 of 1e-11
gaussian, delta 1e-300 and back 40 40 of 1e-09
account, 100 steps of sigma 10 4.37718 [4.377, 4.377] of 0e+00
account, width of that interval 0 of 4e-03
two gaussians, same deviation 4.37718 4.37718 of 1e-09
two gaussians, delta by sums 0.001 0.001 of 1e-09
one run, dp, 60 of 100 right 0.0507356 0.0507356 of 1e-10
one run, dp, 23 of 35 right 0.0145487 0.0145487 of 1e-10
one run, gaussian, 1429 of 1500 3.29924 3.29924 of 1e-08
one run, half right: nothing 0 0 of 0e+00
one run, channels, 24 and 4 0.98 0.98 of 1e-09
sequential, pairs against 4 311 311 of 0e+00
cosines, uniform in 3 dimensions 0.3 0.3 of 1e-12
plan, power of 9 cosines 0.593238 0.593238 of 1e-09
plan, ceiling of 1000 answers 5.80907 5.80907 of 1e-09
random numbers, Philox4x32-10 1713891541 1713891541 of 0e+00
coverage, cp, 12+12, epsilon 0.1 0.996533 [0.9, 1] of 0e+00
coverage, cp, 12+12, epsilon 1 0.994662 [0.9, 1] of 0e+00
coverage, cp, 12+12, epsilon 2.5 1 [0.9, 1] of 0e+00
no leak, gaussian rank, of 200 15 [0, 37] of 0e+00
no leak, gaussian cp, of 200 0 [0, 37] of 0e+00
no leak, dp cp, of 200 0 [0, 37] of 0e+00
no leak, dp scan, of 200 18 [0, 37] of 0e+00
ASKED
says out "account, 100 steps of sigma 10"
says out "coverage, cp"
says out "no leak, gaussian rank"
# every check can fail: with a thousand on top of every answer all of them do
run 4 selftest --spoil 1000
[ "$(grep -c '^  OFF ' out)" -gt 25 ] || fail "checks that are off"
! grep -q '^  ok ' out || fail "a check that cannot fail: $(grep '^  ok ' out)"
says out "checks, $(grep -c '^  OFF ' out) off"
cut -c39-49 out | awk 'NR > 2 && $1 ~ /^[0-9]/ && $1 < 1000 { print; n = 1 } END { exit n }' || fail "answers that are not spoilt"
run 2 selftest --spoil nan
run 2 selftest extra
finish
