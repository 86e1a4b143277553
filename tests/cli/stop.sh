# SPDX-License-Identifier: GPL-3.0-or-later
# Runs that stop when the claim is refuted: the same trial decides, whoever played what when.
. "$(dirname "$0")/lib/check.bash"
cp "$DPA_SOURCE"/examples/command/count* .

run 1 run count-broken.yaml --store one.db --until-refuted --workers 1
cp out one.out
says out "The run stopped at trial"
says out "order in which the trials came"
[ "$("$DPAUDIT" show one.db --trials | wc -l)" -lt 150 ] || fail "it went on"
run 1 run count-broken.yaml --store three.db --until-refuted --workers 3
diff one.out out || fail "three workers stop elsewhere"
run 1 run count-broken.yaml --store three.db --until-refuted --workers 2
diff one.out out || fail "what is stored stops elsewhere"

# By the file; killed on the way; with all trials stored before.
cat count-broken.yaml >file.yaml
echo "budget: {stop: refuted}" >>file.yaml
for i in 1 2 3; do
    "$DPAUDIT" run file.yaml --workers 2 >/dev/null 2>&1 &
    sleep "0.$((2 * i))"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
done
run 1 run file.yaml --workers 2
diff <(sed "/^dpaudit/,/^$/d" one.out) <(sed "/^dpaudit/,/^$/d" out) || fail "a run that was killed stops elsewhere"
run 1 run count-broken.yaml --store all.db --workers 2
run 1 run count-broken.yaml --store all.db --until-refuted --workers 2
diff one.out out || fail "a store with all trials stops elsewhere"

# A claim that holds takes the whole budget.
run 0 run count.yaml --until-refuted --trials 200 --workers 2
says out "trials 200"

# What cannot be.
run 3 run count-broken.yaml --until-refuted --method cp
says err "only method sequential"
grep -v '^claim' count.yaml >silent.yaml
run 3 run silent.yaml --until-refuted
says err "no claim"
cat >coins.sh <<'SH'
awk -v seed="$1" 'BEGIN { srand(seed); rand() } { print rand() }' "$2" >"$3"
SH
cat >coins.yaml <<'YAML'
game: {kind: command, command: "sh coins.sh {seed} {queries} {out} {members}", points: 10, models: 60, signal: logit, attack: lira}
claim: {epsilon: 1, delta: 1e-9}
YAML
run 3 run coins.yaml --until-refuted --workers 2
says err "stop: refuted: the game gives no scores of independent trials"
sed 's/stop: refuted/stop: soon/' file.yaml >soon.yaml
run 3 run soon.yaml
finish
