# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit help choose: every command and option it names exists.
. "$(dirname "$0")/lib/check.bash"

run 0 help choose
says out "Which method?"
cp out choices
grep -oE "dpaudit [a-z-]+( --.*)?$" choices | while read -r _ name rest; do
    "$DPAUDIT" help "$name" >page || echo "no command $name"
    for word in $rest; do
        case $word in --*) grep -q -- "$word " page || echo "$name has no $word" ;; esac
    done
done >problems
[ ! -s problems ] || fail "$(cat problems)"
[ "$(grep -c "   use " choices)" -eq 11 ] || fail "rows"
finish
