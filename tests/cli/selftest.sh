# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit selftest: everything is right here, other seeds included, and what was checked is said.
. "$(dirname "$0")/lib/check.bash"

run 0 selftest
says out "0 off"
says out "account, 100 steps of sigma 10"
says out "coverage, cp"
says out "no leak, gaussian rank"
run 0 selftest --seed 7
run 2 selftest extra
finish
