# SPDX-License-Identifier: GPL-3.0-or-later
# The paper results that take seconds come out as committed, and a changed number is noticed.
. "$(dirname "$0")/lib/check.bash"
/usr/bin/python3 -c 'import numpy, scipy' 2>/dev/null || { echo "SKIPPED: numpy and scipy are needed"; exit 77; }

all=$DPA_SOURCE/scripts/papers/all
"$all" --quick --dpaudit "$DPAUDIT" >out 2>err || { fail "paper results differ"; cat out err; }
"$all" --list >list
[ "$(wc -l <list)" -gt "$(grep -c quick list)" ] || fail "the list has no more than the quick ones"
"$all" --dpaudit "$DPAUDIT" nothing/here >out 2>err && fail "an unknown name passed"
says err "no result nothing/here"

# The comparison sees a number that is off in the fifth digit.
mkdir -p copy/scripts copy/papers/fdp-in-one-run
cp -r "$DPA_SOURCE/scripts/papers" copy/scripts/
cp "$DPA_SOURCE/papers/fdp-in-one-run/"* copy/papers/fdp-in-one-run/
python3 - <<'PY'
import csv
path = "copy/papers/fdp-in-one-run/figure5.csv"
rows = list(csv.reader(open(path)))
rows[1][-1] = repr(float(rows[1][-1]) * (1 + 1e-4))
csv.writer(open(path, "w"), lineterminator="\n").writerows(rows)
PY
copy/scripts/papers/all --dpaudit "$DPAUDIT" fdp-in-one-run/figure5 >out 2>err && fail "a changed number passed"
says out "1 numbers differ"
cmp -s copy/papers/fdp-in-one-run/figure5.csv "$DPA_SOURCE/papers/fdp-in-one-run/figure5.csv" && fail "the tree was changed without --update"
copy/scripts/papers/all --update --dpaudit "$DPAUDIT" fdp-in-one-run/figure5 >out 2>err
cmp copy/papers/fdp-in-one-run/figure5.csv "$DPA_SOURCE/papers/fdp-in-one-run/figure5.csv" || fail "--update did not put it right"

"$all" --list --under 5 fdp-in-one-run >list
says list "fdp-in-one-run/figure5"
grep -q -e "figure2 " -e tight-auditing list && fail "--under and the name of a paper choose more than they should"

# the one program of papers/ that is compiled keeps up with the headers
if command -v cc >/dev/null; then
    cc -std=c17 -fsyntax-only -Werror=implicit-function-declaration -I"$DPA_SOURCE/include" -I"$DPA_SOURCE/src" "$DPA_SOURCE/papers/one-shot-federated/table1.c" ||
        fail "table1.c does not compile"
fi
finish
