# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit run: membership, reconstruction and whole trainings; their evidence goes back into one-run and scores.
. "$(dirname "$0")/lib/check.bash"
cp "$DPA_SOURCE"/examples/run-*.yaml "$DPA_SOURCE"/examples/train-toy* .

run 0 run run-membership.yaml --output a --json
says out subsampled-gaussian:q=0.1
lower=$(field "repr(j['results'][0]['epsilon_lower'])")
family=$(field "j['results'][0]['family']")
run 0 one-run a/guesses.npz --family "$family" --json
near "j['results'][0]['epsilon_lower']" "$lower" 1e-12
run 0 run run-membership.yaml --output b --workers 1 --store other.db
cmp -s a/guesses.npz b/guesses.npz || fail "same seed, other scores"
says out "Not refuted"
run 0 run run-membership.yaml --output c --seed 2
cmp -s a/guesses.npz c/guesses.npz && fail "another seed, the same scores"

# Method channels: weights without a canary are watched, here and when the file is judged again. Noise that repeats itself
# makes them correlated, and guesses decide.
(cat run-membership.yaml && echo "estimators: {method: channels}") >channels.yaml
run 0 run channels.yaml --output e --json
[ "$(field "j['results'][0]['method']")" = channels ] || fail "channels do not decide"
correlation=$(field "repr(j['evidence']['noise_correlation_p'])")
energy=$(field "repr(j['evidence']['noise_energy_p'])")
run 0 one-run e/guesses.npz --method channels --json
near "j['evidence']['noise_correlation_p']" "$correlation" 1e-12
near "j['evidence']['noise_energy_p']" "$energy" 1e-12
sed 's/score: likelihood/&\n  sabotage: few-seeds\n  seeds: 20/' channels.yaml >repeated.yaml
run 0 run repeated.yaml
says out "guesses decide in their place"
sed 's/score: likelihood/&\n  null-coordinates: 0/' channels.yaml >unwatched.yaml
run 0 run unwatched.yaml
says out "Nothing says whether the noise is independent"
echo "{training: run-wide.yaml, game: {kind: reconstruction, null-coordinates: 3}}" >bad.yaml
run 3 run bad.yaml
says err "null-coordinates"

run 0 run run-reconstruction.yaml --output d --json
lower=$(field "repr(j['results'][0]['epsilon_lower'])")
family=$(field "j['results'][0]['family']")
says out "adjacency=replace-one"
run 0 one-run d/guesses.npz --options 4 --family "$family" --json
near "j['results'][0]['epsilon_lower']" "$lower" 1e-12

# Bugs that one run shows.
for bug in "noise-scale, noise-scale: 0" "noise-per-worker, workers: 100" clip-after-mean; do
    echo "{training: run-wide.yaml, game: {kind: membership, canaries: 400, sabotage: $bug}}" >bug.yaml
    run 1 run bug.yaml
    says out "REFUTED"
done

# How batches are drawn is seen by whole trainings, not by single steps.
run 1 run run-shuffled.yaml
says out "REFUTED"
sed 's/sabotage: .*/sabotage: none/' run-shuffled.yaml >correct.yaml
run 0 run correct.yaml
echo "{training: run-short.yaml, game: {observations: 3000, sabotage: shuffled-batches}}" >steps.yaml
run 0 run steps.yaml

# A canary that is in with probability 1/4: the family of such a step.
echo "{training: run-short.yaml, game: {observations: 2000, canary-rate: 0.25}}" >rate.yaml
run 0 run rate.yaml --json
says out "subsampled-gaussian:q=0.25,steps=1"
near "j['evidence']['claimed_sigma']" 0.5 1e-6
claim=$(field "repr(j['verdict']['claim']['epsilon'])")
training=$(field "'--sigma %r --q %r --steps %d --delta %r' % tuple(j['verdict']['claim'][k] for k in ('sigma', 'q', 'steps', 'delta'))")
run 0 account $training --json
near "j['epsilon']['upper']" "$claim" 1e-6
echo "{training: run-short.yaml, game: {observations: 2000, canary-rate: 0.25, sabotage: noise-scale, noise-scale: 0.5}}" >rate.yaml
run 1 run rate.yaml

# The last batch of 382 members has 2 instead of 20: in one step of 19 each counts for ten.
sed 's/0..400/0..382/' run-mlp.yaml >run-odd.yaml
echo "{training: run-odd.yaml, game: {observations: 4000, sabotage: partial-batch}}" >partial.yaml
run 1 run partial.yaml --method cp
sed 's/run-odd/run-mlp/' partial.yaml >even.yaml
run 3 run even.yaml
says err "whole batches"

# Black box: losses of the final model; settings that cannot be played.
echo "{training: run-wide.yaml, game: {kind: membership, canaries: 100, access: black-box}}" >black.yaml
run 0 run black.yaml
echo "{training: run-wide.yaml, game: {kind: membership, canaries: 101, access: black-box}}" >many.yaml
run 3 run many.yaml
says err "held-out rows"
echo "{training: run-wide.yaml, game: {kind: membership, canaries: 100000}}" >many.yaml
run 3 run many.yaml
says err "weights"
echo "{training: run-wide.yaml, game: {kind: membership, canary: constant}}" >bad.yaml
run 3 run bad.yaml
says err "knows dirac, random"
echo "{training: run-wide.yaml, game: {kind: membership}, estimators: {guesses: few}}" >bad.yaml
run 3 run bad.yaml
says err "auto or max"
finish
