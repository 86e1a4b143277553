# SPDX-License-Identifier: GPL-3.0-or-later
# Attacks from the command line: scores that other commands read, and clear refusals.
. "$(dirname "$0")/lib/check.bash"
cp "$DPA_SOURCE"/examples/{signals,membership,population}.npy "$DPA_SOURCE"/examples/{,population-}features.csv .

for attack in loss calibrated lira; do
    run 0 attack $attack --signals signals.npy --members membership.npy --out scores.csv
    [ "$(wc -l <scores.csv)" -eq 61 ] || fail "$attack: $(wc -l <scores.csv) lines"
    run 0 one-run scores.csv --guesses 20 --json
done
# members are what the signals of the example were made to favour
run 0 attack lira --signals signals.npy --members membership.npy
awk -F, 'NR > 1 {n[$2]++; s[$2] += $1} END {exit !(s[1] / n[1] > s[0] / n[0])}' out || fail "members do not score higher"
run 0 attack rmia --signals signals.npy --members membership.npy --population signals.npy --offline
# quantile regression: CSV and NPY features, both forms, one row of signals alone; better than the signal itself
features="--population population.npy --features features.csv --population-features population-features.csv"
run 0 attack quantile --signals signals.npy --members membership.npy $features --out scores.csv
run 0 one-run scores.csv --guesses 20 --json
run 0 attack quantile --signals signals.npy --members membership.npy $features --form pinball --level 0.8 --squares --ridge 0 --out pinball.csv
run 0 attack loss --signals signals.npy --members membership.npy --out loss.csv
python3 - <<'PY' || fail "quantile: scores"
import csv
def auc(path):
    rows = [(float(r["score"]), r["member"]) for r in csv.DictReader(open(path))]
    pairs = [(a > b) for a, m in rows for b, n in rows if m == "1" and n == "0"]
    return sum(pairs) / len(pairs)
print(auc("scores.csv"), auc("pinball.csv"), auc("loss.csv"))
assert auc("scores.csv") > auc("loss.csv") and auc("pinball.csv") > auc("loss.csv")
PY
# one model alone, as numbers one a line (its signal is its loss score)
tail -n +2 loss.csv | cut -d, -f1 >signals1.txt
tail -n +2 loss.csv | cut -d, -f2 >members1.txt
python3 -c 'import array; a = array.array("f"); a.frombytes(open("population.npy", "rb").read()[-24 * 120 * 4:]); print(*a[:120], sep="\n")' >population1.txt
run 0 attack quantile --signals signals1.txt --members members1.txt --population population1.txt --features features.csv \
    --population-features population-features.csv --out alone.csv
says err "alone.csv: scores of 60 points in model 0, 30 of them members; bounds: dpaudit one-run alone.csv"
cmp -s alone.csv scores.csv || fail "quantile: other models matter"
run 0 attack points --by quantile --signals signals.npy --members membership.npy $features --count 2
says out "by quantile on 24 test models"
run 2 attack quantile --signals signals.npy --members membership.npy
says err "quantile needs signals of population points"
run 2 attack quantile --signals signals.npy --members membership.npy --population population.npy
says err "quantile needs features of the points"
run 3 attack quantile --signals signals.npy --members membership.npy $features --features population-features.csv
says err "features of 120 points, but signals of 60"
run 2 attack quantile --signals signals.npy --members membership.npy $features --level 1
says err "level must be between 0 and 1"
sed '5s/,[0-9]*,/,far,/' features.csv >words.csv
run 3 attack quantile --signals signals.npy --members membership.npy $features --features words.csv
says err "words.csv:5: column length holds text"

run 0 attack lira --signals signals.npy --members membership.npy --target 5 --exclude 6 --exclude 7 --variance pooled

# which points leak most: all in the files, some on the screen, in the same order
run 0 attack points --signals signals.npy --members membership.npy --count 3 --out leaks.csv --json leaks.json
says out "3 of 60 points, those that leak most first, by lira on 24 test models"
says out "they rank points, they are no bounds"
head -n 1 leaks.csv | grep -qx "rank,point,id,accuracy,epsilon,gap,in,out" || fail "header of leaks.csv"
python3 - <<'PY' || fail "leaks.csv, leaks.json and the screen differ"
import csv, json
rows, j = list(csv.DictReader(open("leaks.csv"))), json.load(open("leaks.json"))
shown = [line.split()[0] for line in open("out").read().splitlines()[3:6]]
assert len(rows) == len(j["points"]) == 60 and sorted(int(r["point"]) for r in rows) == list(range(60))
for row, point in zip(rows, j["points"]):
    assert int(row["point"]) == point["point"] and float(row["accuracy"]) == point["accuracy"]
assert shown == [r["id"] for r in rows[:3]]
keys = [(-p["accuracy"], -p["gap"], p["point"]) for p in j["points"]]
assert keys == sorted(keys)
assert j["models"] == {"fit": [], "test": list(range(24)), "kept": []}
PY
# names of the points, also those that CSV and JSON must escape
seq 0 59 | sed 's/.*/patient "&", ward/' >ids.txt
run 0 attack points --signals signals.npy --members membership.npy --ids ids.txt --out named.csv --json
near 'sum(p["id"] == "patient \"%d\", ward" % p["point"] for p in j["points"])' 60 0
python3 -c 'import csv; assert all(r["id"] == "patient \"%s\", ward" % r["point"] for r in csv.DictReader(open("named.csv")))' || fail "names in the CSV"
# selection: labelled, and no model is fitted, tested and kept at once
for challenge in worst random average; do
    run 0 attack select --signals signals.npy --members membership.npy --challenge $challenge --count 4 \
        --exclude 0 --exclude 1 --exclude 2 --exclude 3 --json
    near '(j["challenge"] == "'$challenge'") + len(j["points"])' 5 0
    near 'sorted(j["models"]["fit"] + j["models"]["test"] + j["models"]["kept"]) == list(range(24)) and len(j["models"]["test"])' 4 0
    near 'j["models"]["kept"] == [0, 1, 2, 3]' 1 0
done
run 0 attack select --signals signals.npy --members membership.npy --weight epsilon --by loss --out one.csv
says out "1 of 60 points, challenge worst, by loss on 5 test models"
says one.csv ",worst,"
says out "all models had a part in this: attack these points in models trained afresh"
run 0 attack select --signals signals.npy --members membership.npy --exclude 3 --exclude 4
says out "attack these points in models that had no part in this: 2 are kept"
run 3 attack points --signals signals.npy --members membership.npy --ids nothing.txt
says err "nothing.txt"
head -n 59 ids.txt >few.txt
run 3 attack points --signals signals.npy --members membership.npy --ids few.txt
says err "expected 60 names, one a line, found 59"
run 2 attack select --signals signals.npy --members membership.npy --count 61
says err "expected 1 to 60, found 61"
run 2 attack points --signals signals.npy --members membership.npy --test-share 1.5
says err "test share"

run 2 attack magic --signals signals.npy --members membership.npy
says err "is not one of loss, calibrated, lira, rmia, quantile, points, select"
run 2 attack lira
says err "needs --signals and --members"
run 2 attack rmia --signals signals.npy --members membership.npy
says err "needs signals of population points"
run 2 attack loss --signals signals.npy --members membership.npy --target 24
says err "no model 24"
run 2 attack loss --signals signals.npy --members membership.npy --exclude x
run 3 attack lira --signals nothing.npy --members membership.npy
says err "nothing.npy"
run 3 attack lira --signals membership.npy --members signals.npy
says err "membership is 0 or 1"
: >empty.npy
run 3 attack lira --signals empty.npy --members membership.npy
finish
