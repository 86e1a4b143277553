# SPDX-License-Identifier: GPL-3.0-or-later
# Every example that the help prints runs as it stands (in the examples folder, where its files are).
. "$(dirname "$0")/lib/check.bash"

export PATH="$(dirname "$DPAUDIT"):$PATH"
cp -r "$DPA_SOURCE/examples/." . 2>/dev/null
count=0
for name in $("$DPAUDIT" help | sed -n '/^Commands/,/^$/p' | awk 'NR > 1 && NF {print $1}'); do
    while read -r line; do
        [ -n "$line" ] || continue
        count=$((count + 1))
        timeout 500 bash -c "$line" >out 2>err </dev/null
        code=$?
        # exit 1 means that a claim was refuted: it says so, and nothing else does
        [ $code -eq 0 ] || { [ $code -eq 1 ] && grep -q "^REFUTED" out; } || { fail "example exits $code: $line"; head -n 5 err; }
        [ $code -eq 0 ] && grep -q "^REFUTED" out && fail "an example that refutes ends with 0: $line"
        grep -qE "(^|[^a-z])-?nan([^a-z]|$)" out && fail "an example prints nan: $line"
        [ -s out ] || grep -qE -- "--(out|output|json|report|state)|train|quiet" <<<"$line" || fail "an example prints nothing: $line"
    done < <("$DPAUDIT" help "$name" | sed -n '/^Examples/,$p' | sed '1d; s/^  //')
done
echo "$count examples"
[ "$count" -gt 0 ] || fail "no example found"
finish
