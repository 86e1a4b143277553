# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit train: files in, model and signals out, epsilon from the accountant, resume, errors.
. "$(dirname "$0")/lib/check.bash"
cp "$DPA_SOURCE"/examples/train-toy* .

run 0 train train-toy.yaml --output plain --json
says err "epoch 20/20"
says err "held out"
near "j['heldout']['accuracy']" 0.82 0.1
for f in model.npz checkpoint.npz train-losses.npy train-logits.npy heldout-losses.npy heldout-logits.npy result.json; do
    [ -s "plain/$f" ] || fail "plain/$f is missing"
done
run 0 train train-toy.yaml
says out "AUROC"

# The target is met from below, and the accountant agrees with what the command says.
run 0 train train-toy-dp.yaml --json
near "j['privacy']['epsilon']['upper']" 3 0.01
sigma=$(field "repr(j['privacy']['sigma'])")
upper=$(field "repr(j['privacy']['epsilon']['upper'])")
run 0 account --sigma "$sigma" --q 0.125 --steps 160 --delta 1e-3 --json
near "j['epsilon']['upper']" "$upper" 1e-9

# The same seed gives the same bytes; another one does not.
run 0 train train-toy-dp.yaml --output a --quiet
run 0 train train-toy-dp.yaml --output b --quiet
run 0 train train-toy-dp.yaml --output c --quiet --seed 2
# The same bits with any instructions.
for kernel in avx2 portable; do
    DPAUDIT_KERNEL=$kernel run 0 train train-toy-dp.yaml --output "$kernel" --quiet
    cmp -s a/model.npz $kernel/model.npz || fail "another model with $kernel"
    grep -qE '"kernel": "(avx2|portable)"' $kernel/result.json || fail "result.json does not name the kernel"
done
cmp -s a/heldout-logits.npy b/heldout-logits.npy || fail "same seed, other logits"
cmp -s a/heldout-logits.npy c/heldout-logits.npy && fail "another seed, the same logits"

# Resume: a finished run has nothing to do; a checkpoint of other options is refused.
run 0 train train-toy-dp.yaml --output a --resume
cmp -s a/heldout-logits.npy b/heldout-logits.npy || fail "resume changed the model"
run 3 train train-toy-dp.yaml --output a --resume --seed 3
says err "seed"

run 0 train train-toy.yaml --schema
says out "colour: blue, green, red"
run 2 train
run 2 train train-toy.yaml --seed x
run 3 train nothing.yaml
sed 's/rate: 0.2/rated: 0.2/' train-toy.yaml >bad.yaml
run 3 train bad.yaml
says err "bad.yaml:"
says err "rated"
sed 's/sampling: poisson/sampling: shuffle/' train-toy-dp.yaml >bad.yaml
run 3 train bad.yaml
says err "poisson"
sed 's/clip: 1/clip: -1/' train-toy-dp.yaml >bad.yaml
timeout 100 "$DPAUDIT" train <(sed 's/delta: .*/delta: 7/' train-toy-dp.yaml) 2>err >out
[ $? -eq 3 ] || fail "wrong settings through a pipe"
says err "delta 7: expected"
run 3 train bad.yaml
says err "clipping norm -1"
sed 's/batch: 50/batch: 500/' train-toy-dp.yaml >bad.yaml
run 3 train bad.yaml
sed 's/label: kind/label: sort/' train-toy.yaml >bad.yaml
run 3 train bad.yaml
says err "missing labels"
finish
