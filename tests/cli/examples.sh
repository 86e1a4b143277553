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
        [ $code -le 1 ] || { fail "example exits $code: $line"; head -n 5 err; }
    done < <("$DPAUDIT" help "$name" | sed -n '/^Examples/,$p' | sed '1d; s/^  //')
done
echo "$count examples"
[ "$count" -gt 0 ] || fail "no example found"
finish
