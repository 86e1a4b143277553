# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit run: a correct trainer stands, each broken one falls, the evidence can be read again.
. "$(dirname "$0")/lib/check.bash"
cp "$DPA_SOURCE"/examples/run-* "$DPA_SOURCE"/examples/train-toy* .

run 0 run run-white-box.yaml --output a --json --threads 1
lower=$(field "repr(j['results'][0]['epsilon_lower'])")
[ "$(field "j['command'], j['subject'], j['evidence']['game']")" = "run run-white-box.yaml white-box" ] || fail "a run is not named after itself"
[ "$(field "j['claim']['scope'], 'whole training' in j['notes'][0]")" = "one step True" ] || fail "the claim of a step must say so"
run 0 run run-white-box.yaml --output b --threads 2
cmp -s a/scores.npz b/scores.npz || fail "same seed, other scores"
run 0 run run-white-box.yaml --output c --seed 2
cmp -s a/scores.npz c/scores.npz && fail "another seed, the same scores"
says out "not refuted"
says out "whole training"

# The same evidence gives the same bound to the command for scores.
run 0 scores a/scores.npz --family gaussian --method rank --json
near "j['results'][0]['epsilon_lower']" "$lower" 1e-12

run 1 run run-white-box-broken.yaml --report broken.html
says out "REFUTED"
grep -q '<h1>White-box game: run-white-box-broken.yaml</h1>' broken.html || fail "the page is not named after the run"
grep -q 'class="note">.*whole training' broken.html || fail "the page lacks what follows for the whole training"
for bug in clip-after-mean few-seeds "noise-scale, noise-scale: 0" "noise-scale, noise-scale: 0.5"; do
    echo "{training: run-mlp.yaml, game: {observations: 4000, sabotage: $bug}}" >bug.yaml
    method=rank
    [ "$bug" = few-seeds ] && method=cp
    run 1 run bug.yaml --method "$method"
    says out "REFUTED"
done

# A claim smaller than what the training has.
echo "{training: run-mlp.yaml, game: {observations: 4000}, claim: {epsilon: 1}}" >small.yaml
run 1 run small.yaml

sed 's/canary: dirac/kanary: dirac/' run-white-box.yaml >bad.yaml
run 3 run bad.yaml
says err "bad.yaml:"
says err "kanary; expected kind, canary"
# Values that a lax reader would take for others; settings that are found wrong later: line and what would be right.
while IFS='|' read -r from to where what; do
    sed "s/$from/$to/" run-white-box-broken.yaml >bad.yaml
    run 3 run bad.yaml
    says err "bad.yaml:$where"
    says err "$what"
done <<'TABLE'
observations: 4000|observations: 4e3|5:17|found 4e3; expected a whole number
observations: 4000|observations: 40.5|5:17|found 40.5; expected a whole number
observations: 4000|observations: -4|5:17|found -4; expected a whole number
observations: 4000|observations: [4]|5:17|found a list; expected a single value
observations: 4000|moving: perhaps|5:11|found perhaps; expected true or false
observations: 4000|canary: dirac|5:3|canary is given twice
observations: 4000|observation: 4|5:3|found the key observation; expected kind, canary
  workers: 4|claim: {delta: 7}|7|claim: delta 7: expected 0 to 1
  workers: 4|claim: {epsilon: small}|7:18|found small; expected a number
  workers: 4|claim: 3|7:8|found a single value; expected settings
  workers: 4|estimators: {method: best}|7|'best' is none of rank, cp
  workers: 4|estimators: {method: rank, family: dp}|7|use cp
  workers: 4|claim: {epsilon: 1|8:1|not YAML
TABLE
sed 's/canary: dirac/canary: bird/' run-white-box.yaml >bad.yaml
run 3 run bad.yaml
says err "bad.yaml:4"
says err "expected dirac, constant, random"
sed 's/training: .*/training: nothing.yaml/' run-white-box.yaml >bad.yaml
run 3 run bad.yaml
run 2 run run-white-box.yaml --seed x
run 2 run

: >empty.yaml
run 3 run empty.yaml
says err "empty.yaml: there are no settings in it"

# Nothing is exported where nothing is stored.
run 3 export run-white-box.yaml --store nothing.db --output nothing
says err "no trial is stored"
[ -e nothing ] && fail "an empty export was written"
finish
