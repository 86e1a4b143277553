# SPDX-License-Identifier: GPL-3.0-or-later
# `dpaudit example` lists what there is, writes it anywhere, overwrites nothing; the command that it names next works.
. "$(dirname "$0")/lib/check.bash"

export PATH="$(dirname "$DPAUDIT"):$PATH"
run 0 example
says out "scores "
names=$(awk 'NF == 0 {exit} {print $1}' out)
[ "$(echo "$names" | wc -l)" -ge 8 ] || fail "too few examples: $names"
run 4 example scores --to not/there
says err "cannot be made"
for name in $names; do
    run 0 example "$name" --to "$name"
    sed -n '/^Next:/,$p' out | sed 1d >next
    timeout 300 bash -e next >said 2>&1 </dev/null
    code=$?
    [ $code -le 1 ] || { fail "example $name, exit $code: $(cat next)"; head -n 5 said; }
done
run 0 example scores --to scores # again: nothing to do
grep -q '^wrote' out && fail "wrote what was there"
echo other >scores/members.npy
run 3 example scores --to scores
says err "--to DIR"
[ "$(cat scores/members.npy)" = other ] || fail "overwritten"
mkdir here && cd here && run 0 example losses && [ -s losses.csv ] || fail "this folder"
says out "dpaudit losses losses.csv"
run 2 example nothing
says err "dpaudit example lists"
finish
