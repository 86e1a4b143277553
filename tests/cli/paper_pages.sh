# SPDX-License-Identifier: GPL-3.0-or-later
# papers/: index, pages and CSV files agree, and what does not is noticed.
. "$(dirname "$0")/lib/check.bash"

results=$DPA_SOURCE/scripts/papers/results
"$results" --check >out 2>err || { fail "the pages of papers/ and their CSV files differ"; cat out err; }

# Each of these is found in a copy: a number of a CSV file that was changed, a row of the index, a file that no page names, a table by hand,
# a difference without a reason, a maker that does not exist.
broken() {
    rm -rf copy
    cp -r "$DPA_SOURCE/papers" copy
    (cd copy && python3 -c "$2")
    "$results" --check --papers copy >out 2>err && fail "$1 passed"
    cat err >>out
    says out "$3"
}
edit='import csv, pathlib, re
def change(name, old, new):
    path = pathlib.Path(name)
    text = path.read_text()
    assert old in text, (name, old)
    path.write_text(text.replace(old, new, 1))
'
broken "a changed number" "$edit
rows = list(csv.reader(open('tight-auditing/figure2.csv')))
rows[1][1] = '0.3'
csv.writer(open('tight-auditing/figure2.csv', 'w'), lineterminator='\n').writerows(rows)" "tight-auditing/README.md: the table results is not what the CSV files say"
broken "another verdict in the index" "$edit
change('README.md', '| as printed |', '| same picture |')" "README.md: the table"
broken "a file without a page" "pathlib = __import__('pathlib'); pathlib.Path('epsilon-star/figure9.csv').write_text('a\n1\n')" "epsilon-star/figure9.csv: no page names it"
broken "a table by hand" "open('epsilon-star/README.md', 'a').write('\n| a |\n|---|\n| 1.25 |\n')" "numbers in a table that no script writes"
broken "a difference without a reason" "$edit
rows = list(csv.DictReader(open('epsilon-star/results.csv')))
rows[0]['reason'] = ''
out = csv.DictWriter(open('epsilon-star/results.csv', 'w'), rows[0], lineterminator='\n')
out.writeheader()
out.writerows(rows)" "the reason of a difference are missing"
broken "a result that nothing makes" "$edit
rows = list(csv.DictReader(open('epsilon-star/results.csv')))
rows[0]['made'] = 'figure77'
out = csv.DictWriter(open('epsilon-star/results.csv', 'w'), rows[0], lineterminator='\n')
out.writeheader()
out.writerows(rows)" "scripts/papers/all has no epsilon-star/figure77"
finish
