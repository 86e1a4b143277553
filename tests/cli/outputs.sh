# SPDX-License-Identifier: GPL-3.0-or-later
# No output replaces an input or another output, by whatever name.
. "$(dirname "$0")/lib/check.bash"
printf '1\n2\n3\n4\n5\n' >a.csv
printf '0\n1\n2\n3\n4\n' >b.csv
cp a.csv keep.csv
ln -s a.csv link.csv
ln a.csv hard.csv
mkdir folder
ln -s .. folder/up
for name in a.csv ./a.csv link.csv hard.csv folder/up/a.csv b.csv; do
    for option in --json --report --vega; do
        run 2 scores a.csv b.csv "$option=$name"
        says err "would replace the file of"
    done
done
cmp -s a.csv keep.csv || fail "the input has changed"
run 2 scores a.csv b.csv --json=new.out --report=./new.out
says err "would replace the file of --"
run 2 scores a.csv b.csv --json=new.out --report=folder/up/new.out
[ ! -e new.out ] || fail "it was written"
run 0 scores a.csv b.csv --json=/dev/null --report=/dev/null
run 0 scores a.csv b.csv --json=one.json --report=one.html
run 0 scores a.csv b.csv --json=one.json --report=one.html
run 2 report one.json --out one.json
run 2 report one.json --out two.html --pdf two.html
cp "$DPA_SOURCE"/examples/run-white-box.yaml x.yaml
run 2 run x.yaml --store x.yaml
cmp -s x.yaml "$DPA_SOURCE"/examples/run-white-box.yaml || fail "the experiment has changed"
finish
