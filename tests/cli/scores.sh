# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit scores: every format gives the same bounds; thresholds, ranks, slices; bad files and exit codes.
. "$(dirname "$0")/lib/check.bash"

/usr/bin/python3 - <<'PY'
import numpy as np
r = np.random.default_rng(8)
m, n = r.normal(1, 1, 400), r.normal(0, 1, 300)
np.save("m.npy", m); np.save("n.npy", n)
np.savez("s.npz", members=m, nonmembers=n)
np.savez("half.npz", members=m)
np.savetxt("m.txt", m, fmt="%.17g"); np.savetxt("n.txt", n, fmt="%.17g")
rows = [(x, 1, "ab"[i % 2]) for i, x in enumerate(m)] + [(x, 0, "ab"[i % 2]) for i, x in enumerate(n)]
r.shuffle(rows)
with open("s.csv", "w") as f:
    f.write("site,score,member\n" + "".join(f"{s},{float(x):.17g},{k}\n" for x, k, s in rows))
PY

bounds() { field "[r['epsilon_lower'] for r in j['results']]"; }
run 0 scores m.npy n.npy --json
want=$(bounds)
[ "$(field "len(j['roc']) <= 502 and sum(j['histogram']['members']) == 400")" = True ] || fail "sections"
for files in s.npz "m.txt n.txt" s.csv; do
    run 0 scores $files --json
    [ "$(bounds)" = "$want" ] || fail "other bounds from $files"
done
"$DPAUDIT" scores - --json <s.csv >out || fail "standard input"
"$DPAUDIT" scores <(cat s.csv) --json >piped || fail "a pipe by its name"
cmp -s <(grep -v '"time"\|"command"\|"path"\|^ "sha256"' out) <(grep -v '"time"\|"command"\|"path"\|^ "sha256"' piped) || fail "a pipe gives something else"
[ "$(bounds)" = "$want" ] || fail "other bounds from standard input"
[ "$(field "[(r['family'], r['guarantee'], r['conditional']) for r in j['results'] if r['role'] == 'primary']")" = "[('dp', 'confidence', None)]" ] || fail "the default must hold for every mechanism"
[ "$(field "max(j['results'], key=lambda r: r['epsilon_lower'])['method']")" = rank ] || fail "ranks should lead"

run 0 scores s.csv
says out "rank"
says out "AUC"
[ "$(sed 1d out | python3 -c "import sys; print(max(len(l.rstrip()) for l in sys.stdin))")" -le 80 ] || fail "wider than 80"

# a threshold given before is a confusion matrix
run 0 scores s.csv --select fixed:0.5 --family dp --method cp --json
counts=$(field "' '.join('--%s %d' % (k, v) for k, v in j['results'][0]['counts'].items())")
bound=$(field "j['results'][0]['epsilon_lower']")
run 0 counts $counts --family dp --method cp --json
[ "$(field "j['results'][0]['epsilon_lower']")" = "$bound" ] || fail "fixed is not counts"

run 0 scores s.csv --select max --family dp --method cp --claim-epsilon 1.9
says out "optimistic"
run 1 scores s.csv --claim-epsilon 0.5
says out "REFUTED"
run 0 scores s.csv --claim-epsilon 30
run 0 scores s.csv --select split --seed 1 --family dp --method cp
cp out one
run 0 scores s.csv --select split --seed 1 --family dp --method cp
cmp -s out one || fail "the same seed gives other bytes"
run 0 scores s.csv --select multi-split --family gaussian --method cp
run 0 scores s.csv --select fixed-fpr:0.1 --family gaussian
run 0 scores s.csv --method rank:slope --family gaussian
run 0 scores s.csv --method rank --family subsampled-gaussian:q=0.5,steps=2
run 0 scores s.csv --method sequential
says out "order in which"
run 2 scores s.csv --method sequential --select max
says err "earlier trials"
{ echo score,member; for i in $(seq 40); do echo "$i,1"; echo "$i,0"; done; } >sorted.csv
run 3 scores sorted.csv --method sequential --family dp
says err "sorted"
printf 'fpr,fnr\n0,1\n0.1,0.5\n0.5,0.1\n1,0\n' >curve.csv
run 0 scores s.csv --family points:curve.csv --method rank
run 0 scores s.csv --explain --two-sided
says out "Four times"
run 0 scores s.csv --group site --family gaussian --json
[ "$(field "[g['group'] for g in j['groups']]")" = "['a', 'b']" ] || fail "slices"
[ "$(field "all(g['epsilon_lower'] <= 4.377 for g in j['groups'])")" = True ] || fail "slices claim too much"
[ "$(field "sum(r['role'] == 'primary' for r in j['results'])")" = 3 ] || fail "all and two slices decide together"

# odd evidence is said
printf '1\n' >one.txt
printf '1\n1\n1\n' >equal.txt
printf '1\nnan\n3\ninf\n' >odd.txt
run 0 scores one.txt one.txt --claim-epsilon 0.5
says out "only 1 members"
run 0 scores equal.txt equal.txt --claim-epsilon 0.5
says out "share their score"
run 0 scores odd.txt equal.txt
says out "NaN"
run 0 scores n.npy m.npy
says out "sign is probably wrong"

# bad files: exit 3, one line that says where
bad() {
    run 3 scores "$@"
    [ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"
}
: >empty
bad empty
bad empty n.txt
run 3 scores missing.csv
says err "missing.csv: No such file"
says err "Try: dpaudit example" # the next step, for who has no file yet
bad half.npz
bad m.npy
says err "a file for each of the two lists"
printf 'score,member\n1,1\n2,2\n' >member.csv
bad member.csv
says err "member.csv:3"
printf 'score,class\n1,1\n' >header.csv
bad header.csv
says err "score,member"
printf 'score,member\n1,1\n2,1\n' >class.csv
bad class.csv
says err "non-members"
printf 'score,member\nx,1\n2,0\n' >text.csv
bad text.csv
says err "text.csv:2: column 'score': found 'x'; a number is right"
printf 'Score;id;Member\n1;a;True\n;b;False\n' >gap.csv
bad gap.csv
says err "gap.csv:3: column 'score': found nothing"
printf 'score,member\n1,in\n' >inout.csv
bad inout.csv
says err "member is 'in'; it must be 0 or 1 (or false or true, no or yes)"
printf 'attack,member\n1,1\n' >names.csv
bad names.csv
says err "no column 'score' among attack, member"
# what spreadsheets and data frames write is the same evidence
run 0 scores s.csv --json
bound=$(field "[r['epsilon_lower'] for r in j['results']]")
sed -e 's/,1$/,True/; s/,0$/,False/; s/^/"x, y",/; 1s/.*/note,Site,Score,MEMBER/; s/$/\r/' s.csv >frame.csv
run 0 scores frame.csv --json
[ "$(field "[r['epsilon_lower'] for r in j['results']]")" = "$bound" ] || fail "true, false, CR LF and further columns change the bounds"
tr , ';' <s.csv >semicolon.csv
tr , '\t' <s.csv >tab.csv
for file in semicolon tab; do
    run 0 scores $file.csv --json
    [ "$(field "[r['epsilon_lower'] for r in j['results']]")" = "$bound" ] || fail "$file changes the bounds"
done
printf '1\ntwo\n' >word.txt
bad word.txt n.txt
says err "word.txt:2"
bad s.csv --group colour
says err "colour"
head -c 50 m.npy >cut.npy
bad cut.npy n.npy

# usage
run 2 scores
run 2 scores a b c
run 2 scores s.csv --select best
run 2 scores s.csv --select fixed:x
run 2 scores s.csv --method rank --family dp
run 2 scores s.csv --method bayes --select simultaneous --family dp
run 2 scores m.npy n.npy --group site
run 2 scores s.csv --confidence 0
# standard input is one array
run 3 scores - -
says err "cannot both be '-'"
printf '1\n2\n3\n' >in.txt
run 2 scores in.txt in.txt --at-epsilon -1
says err "is not a number from 0 on"
# a confidence that is not 100%
run 0 scores in.txt in.txt --confidence 0.9999999
says out "99.99999%"
grep -q "100%" out && fail "confidence 100%"
run 0 counts --fn 0 --tp 90 --fp 0 --tn 90 --confidence 0.999999 --report page.html
says out "99.9999% confidence"
grep -q "100%" page.html && grep "<dd>100%" page.html && fail "confidence 100% on the page"

finish
