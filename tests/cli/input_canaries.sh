# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit run with examples as canaries: white box and black box, correct and broken trainers, bad files.
. "$(dirname "$0")/lib/check.bash"
cp "$DPA_SOURCE"/examples/run-* "$DPA_SOURCE"/examples/train-* .

run 0 run run-input-canary.yaml --output a --json --workers 1
near "j['evidence']['canary_norm_of_clip'] <= 1.0" 1 0
lower=$(field "repr(j['results'][0]['epsilon_lower'])")
rm -f ./*.db
run 0 run run-input-canary.yaml --output b --workers 2
cmp -s a/scores.npz b/scores.npz || fail "same seed, other scores with two workers"
says out "the accountant does the"
run 0 scores a/scores.npz --family gaussian --method rank --json
near "j['results'][0]['epsilon_lower']" "$lower" 1e-12

# Every kind of canary plays against a correct trainer; one without noise falls. Its batches are small: among many
# examples an input canary is hidden by them, noise or not.
sed 's/batch: 20/batch: 1/; s/epsilon: 4/sigma: 2/' run-mlp.yaml >small.yaml
for canary in mislabelled blank adversarial crafted; do
    echo "{training: run-mlp.yaml, game: {kind: input-canary, canary: $canary, observations: 300}}" >canary.yaml
    run 0 run canary.yaml
    says out "Not refuted"
    echo "{training: small.yaml, game: {kind: input-canary, canary: $canary, observations: 600, sabotage: noise-scale,
        noise-scale: 0}}" >canary.yaml
    run 1 run canary.yaml
    says out "REFUTED"
done

run 0 run run-black-box.yaml --output c --json --workers 1
near "j['verdict']['claim']['epsilon']" 8 0.01
near "j['evidence']['members']" 1000 0
says out heldout_accuracy
rm -f ./*.db
run 0 run run-black-box.yaml --output d --workers 2
cmp -s c/scores.npz d/scores.npz || fail "same seed, other models with two workers"
for bug in "noise-scale, noise-scale: 0.1" "noise-per-worker, workers: 100"; do
    echo "{training: train-black-box.yaml, game: {kind: black-box, canary: blank, observations: 300, sabotage: $bug},
        estimators: {family: gaussian, method: rank}}" >bug.yaml
    run 1 run bug.yaml
    says out "REFUTED"
done

# Bad files.
for bad in "kind: black-box, canary: crafted" "kind: input-canary, canary: dirac" "kind: 77" "kind: black-box, moving: true" \
    "kind: input-canary, radius: -1" "kind: input-canary, crafting-steps: 0" "kind: input-canary, crafting-examples: 0"; do
    echo "{training: run-mlp.yaml, game: {$bad}}" >bad.yaml
    run 3 run bad.yaml
    says err "dpaudit run: "
done
finish
