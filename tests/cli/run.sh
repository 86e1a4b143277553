# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit run: a correct trainer stands, each broken one falls, the evidence can be read again.
. "$(dirname "$0")/lib/check.bash"
cp "$DPA_SOURCE"/examples/run-* "$DPA_SOURCE"/examples/train-toy* .

run 0 run run-white-box.yaml --output a --json --threads 1
cp out run.json
[ "$(field "j['command'], j['subject'], j['evidence']['game']")" = "run run-white-box.yaml white-box" ] || fail "a run is not named after itself"
# the claim is about the whole training, and so is the verdict; the step's bound is a row
[ "$(field "j['verdict']['claim']['scope'], j['verdict']['scope'], [(r['scope'], r['role']) for r in j['results']]")" = "training training [('training', 'primary'), ('step', 'shown')]" ] || fail "a step is taken for the training"
near "j['verdict']['claim']['epsilon']" 4 0.01
[ "$(field "sorted(j['machine']), j['machine']['threads']")" = "['kernel', 'threads'] 1" ] || fail "the result does not say on what it was trained"
# The same bits with any instructions, and the result names them.
for kernel in avx2 portable; do
    DPAUDIT_KERNEL=$kernel run 0 run run-white-box.yaml --store "$kernel.db" --output $kernel --json
    cmp -s a/scores.npz $kernel/scores.npz || fail "another result with $kernel"
    [ "$(field "j['machine']['kernel'] in ('avx2', 'portable')")" = True ] || fail "the result does not name the kernel"
done
run 0 run run-white-box.yaml --output b --threads 2
cmp -s a/scores.npz b/scores.npz || fail "same seed, other scores"
run 0 run run-white-box.yaml --output c --seed 2
cmp -s a/scores.npz c/scores.npz && fail "another seed, the same scores"
says out "Not refuted"
says out "one step"

# The file that the run wrote gets the same verdict, whoever judges it.
run 0 scores a/scores.npz --json
same_verdict run.json out || fail "scores judges the file of a run otherwise"

run 1 run run-white-box-broken.yaml --report broken.html
says out "REFUTED"
grep -q '<h1>White-box game: run-white-box-broken.yaml</h1>' broken.html || fail "the page is not named after the run"
grep -q '✗ Claim refuted' broken.html || fail "the page does not say refuted"
grep -q 'the claim ε ≤ 3.99' broken.html || fail "the page is not about the claim for the whole training"
for bug in clip-after-mean few-seeds "noise-scale, noise-scale: 0" "noise-scale, noise-scale: 0.5"; do
    echo "{training: run-mlp.yaml, game: {observations: 4000, sabotage: $bug}}" >bug.yaml
    method=rank
    [ "$bug" = few-seeds ] && method=cp
    run 1 run bug.yaml --method "$method"
    says out "REFUTED"
done

# Options that contradict each other are the user's, not the file's.
run 2 run run-white-box.yaml --claim-sigma 1 --claim-epsilon 1
says err "dpaudit run: claim-epsilon and claim-sigma: one claim only"
run 2 run run-white-box.yaml --claim-sigma 1 --claim-curve x.csv
says err "claim-sigma and claim-curve: one claim only"
run 2 run run-white-box.yaml --claim-delta 1e-5
says err "dpaudit run: claim-delta: there is no claim"
echo "{training: run-mlp.yaml, game: {observations: 60}, estimators: {method: divination}}" >bad.yaml
run 3 run bad.yaml --claim-epsilon 1
says err "bad.yaml:1: estimators: method: 'divination'"

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
  workers: 4|claim: {delta: 7}|7|claim: delta 7: expected more than 0, less than 1
  workers: 4|claim: {epsilon: small}|7:18|found small; expected a number
  workers: 4|claim: 3|7:8|found a single value; expected settings
  workers: 4|estimators: {method: best}|7|'best' is none of rank, scan
  workers: 4|estimators: {method: rank, family: dp}|7|use scan
  workers: 4|claim: {epsilon: 1|8:1|not YAML
TABLE
# A name that does not exist is refused before anything is trained.
for wrong in "--method nonsense" "--family nonsense" "--method mean"; do
    run 2 run run-white-box.yaml --store never.db $wrong
    [ -e never.db ] && fail "$wrong: trained first"
done
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
