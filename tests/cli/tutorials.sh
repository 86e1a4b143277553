# SPDX-License-Identifier: GPL-3.0-or-later
# The commands of docs/tutorials run in an empty folder, in their order, with the exit codes that are written behind them; the C program builds.
. "$(dirname "$0")/lib/check.bash"

export PATH="$(dirname "$DPAUDIT"):$PATH"
count=0
for page in "$DPA_SOURCE"/docs/tutorials/*.md; do
    name=$(basename "$page" .md)
    mkdir "$name" && cd "$name" || exit 1
    while read -r line; do
        want=$(sed -n 's/.*# exit \([0-9]*\)$/\1/p' <<<"$line")
        timeout 300 bash -c "$line" >../out 2>../err </dev/null
        code=$?
        count=$((count + 1))
        [ "$code" = "${want:-0}" ] || { fail "$name: exit $code, want ${want:-0}: $line"; head -n 5 ../err; }
    done < <(awk '/^```$/ {inside = 0} inside {print} /^```sh$/ {inside = 1}' "$page")
    cd ..
done
[ "$count" -ge 10 ] || fail "only $count commands"

awk '/^```$/ {inside = 0} inside {print} /^```c$/ {inside = 1}' "$DPA_SOURCE/docs/tutorials/c-programmer.md" >audit.c
flags=$(sed -n 's/^CMAKE_C_FLAGS:STRING=//p' "$DPA_BUILD/CMakeCache.txt")
cc $flags -std=c17 -Wall -Wextra -Werror -I"$DPA_SOURCE/include" audit.c -o audit -L"$DPA_BUILD/lib" -ldpaudit -Wl,-rpath,"$DPA_BUILD/lib" || fail "the C program"
./audit >out
[ $? = 1 ] || fail "the C program's exit code"
says out "REFUTED: the claim"
finish
