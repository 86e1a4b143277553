# SPDX-License-Identifier: GPL-3.0-or-later
# Every example that the help prints runs as it stands (in the examples folder, where its files are). Help and examples
# fit 80 columns, and no count is written as a power of ten.
. "$(dirname "$0")/lib/check.bash"

# said COMMAND FILE: kept, to be looked at in the end.
said() { { echo "==_$1" | tr ' ' '_'; cat "$2"; } >>all; }

export PATH="$(dirname "$DPAUDIT"):$PATH"
cp -r "$DPA_SOURCE/examples/." . 2>/dev/null
count=0
"$DPAUDIT" help >out
said help out
"$DPAUDIT" help choose >out
said "help choose" out
for name in $("$DPAUDIT" help | sed -n '/^Commands/,/^$/p' | awk 'NR > 1 && NF {print $1}'); do
    "$DPAUDIT" help "$name" >help.txt
    said "help $name" help.txt
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
        [[ $line == *--json || $line == *--json\ * ]] || said "$line" out
        said "$line" err
    done < <(sed -n '/^Examples/,$p' help.txt | sed -e '1d' -e ':a' -e '/\(\\\|&&\)$/{N;s/\\\{0,1\}\n */ /;ba' -e '}' -e 's/^  //')
done
python3 - <<'PY' || fail "words at the terminal"
import re, sys
bad = 0
for line in open("all", encoding="utf-8").read().splitlines():
    if line.startswith("==_"):
        what = line
    elif len(line) > 80 and " " in line.strip() or re.search(r"\b\d(\.\d+)?e\+(?!00)\d", line):
        print(what, len(line), line, sep="\n  ")
        bad += 1
sys.exit(bad > 0)
PY
echo "$count examples"
[ "$count" -gt 0 ] || fail "no example found"
finish
