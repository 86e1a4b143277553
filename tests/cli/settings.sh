# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit help settings: every key of the files that it explains is read, and docs/settings.md is what it prints.
. "$(dirname "$0")/lib/check.bash"

run 0 help settings
awk 'length($0) > 79 { print "longer than 79 columns: " $0; bad = 1 } END { exit bad }' out || fail "a line is too long"
sed -n '/^```$/,/^```$/p' "$DPA_SOURCE/docs/settings.md" | sed '1d;$d' >page
cmp -s page out || { diff page out | head -5; fail "docs/settings.md is not what dpaudit help settings prints"; }
# A key that the list knows is never called unknown, whatever else may be wrong with the file.
section=
training=0
while IFS= read -r line; do
    case $line in
    "Training files"*) training=1 ;;
    [a-z]*:) section=${line%:} ;;
    "") section= ;;
    esac
    [[ $line =~ ^(\ \ )?([a-z][a-z0-9-]*):\  ]] || continue
    key=${BASH_REMATCH[2]}
    if [ -n "${BASH_REMATCH[1]}" ]; then text="$section: {$key: [[0]]}"; else text="$key: [[0]]"; fi
    printf '%s\n' "$text" >one.yaml
    if [ $training = 1 ]; then run 3 train one.yaml; else run 3 run one.yaml; fi
    says err "one.yaml:1"
    grep -q "found the key" err && fail "$text: unknown"
    seen=$((${seen-0} + 1))
done <page
[ "$seen" -gt 140 ] || fail "only $seen keys were seen"
finish
