# SPDX-License-Identifier: GPL-3.0-or-later
# Arrays as other tools write and read them: models of half precision and whole numbers, signals with augmentations, probabilities
# of 0; evidence that is a matrix, as CSV.
. "$(dirname "$0")/lib/check.bash"
cp "$DPA_SOURCE"/examples/{signals,membership,population}.npy .
cat >npy.py <<'PY'
import ast, math, struct
def load(path):
    data = open(path, "rb").read()
    n = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:10 + n].decode())
    count = 1
    for k in head["shape"]: count *= k
    kind = {"<f8": "d", "<f4": "f", "|u1": "B"}[head["descr"]]
    return head["shape"], list(struct.unpack(f"<{count}{kind}", data[10 + n:10 + n + count * struct.calcsize(kind)]))
def save(path, shape, values, descr):
    text = str({"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    text += " " * (117 - len(text)) + "\n"
    kind = {"<f8": "d", "<f4": "f", "<f2": "e", "<i4": "i"}[descr]
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack(f"<{len(values)}{kind}", *values))
PY
python3 - <<'PY'
from npy import *
weights = [(i * 37) % 11 - 5 for i in range(512)] # exact in all of them
for descr in ("<f8", "<f4", "<f2", "<i4"):
    save(f"model-{descr[1:]}.npy", [512], weights, descr)
for name in ("signals", "population"):
    shape, values = load(name + ".npy")
    save(f"{name}-twice.npy", shape + (2,), [x for x in values for _ in range(2)], "<f8")
    save(f"{name}-nothing.npy", shape, [-1e4] * len(values), "<f8")
    save(f"{name}-sure.npy", shape, [38 + i % 7 for i in range(len(values))], "<f8")  # probability 1 to the last bit
points = shape[1] # of the population: for every second point all models agree, on probability 0 or on 0.5
for name, logit in ("none", -1e4), ("half", 0.0):
    mixed = [logit if i % points % 2 else x for i, x in enumerate(values)]
    save(f"population-{name}-logit.npy", shape, mixed, "<f8")
    save(f"population-{name}-loss.npy", shape, [math.log1p(math.exp(-x)) if x > -700 else -x for x in mixed], "<f8")
shape, values = load("signals.npy")
save("signals-logit.npy", shape, values, "<f8")
save("signals-loss.npy", shape, [math.log1p(math.exp(-x)) for x in values], "<f8")
PY

# A model is the same in every type that holds it.
for type in f8 f4 f2 i4; do
    run 0 canaries cosines --model model-$type.npy --count 20 --seed 3
    cp out cosines-$type
    cmp cosines-f8 cosines-$type || fail "a model of type $type has other cosines"
done
[ "$(sort -u cosines-f8 | wc -l)" -eq 20 ] || fail "not twenty different cosines"

# Two views of each point that show the same: the scores of one view.
for attack in lira rmia; do
    population=
    [ $attack = rmia ] && population="--population population.npy"
    # shellcheck disable=SC2086
    run 0 attack $attack --signals signals.npy --members membership.npy $population
    cp out once
    run 0 attack $attack --signals signals-twice.npy --members membership.npy ${population/.npy/-twice.npy}
    python3 - <<'PY' || fail "$attack: two equal views of a point change its score"
one, two = ([line.split(",") for line in open(name).read().split()[1:]] for name in ("once", "out"))
assert len(one) == len(two) == 60 and len({a for a, _ in one}) > 10
assert all(abs(float(a) - float(c)) <= 1e-9 * max(1, abs(float(a))) and b == d for (a, b), (c, d) in zip(one, two))
PY
done

# Every model says probability 0: nothing is told apart, and nothing is divided by 0.
for population in population population-nothing; do
    run 0 attack rmia --signals signals-nothing.npy --members membership.npy --population $population.npy
    python3 -c "
s = {float(line.split(',')[0]) for line in open('out').read().split()[1:]}
assert len(s) == 1 and 0 <= s.pop() <= 1" || fail "rmia of signals that say nothing"
done

# Every model is sure: ties, whatever the sums round to, and a tie is not below.
run 0 attack rmia --signals signals-sure.npy --members membership.npy --population population-sure.npy
[ "$(tail -n +2 out | cut -d, -f1 | sort -u)" = 0 ] || fail "rmia of models that are sure: $(tail -n +2 out | cut -d, -f1 | sort | uniq -c)"

# Probabilities that all models agree on have the same ratio, 0 as well as 0.5.
for kind in logit loss; do
    for population in none half; do
        run 0 attack rmia --signals signals-$kind.npy --members membership.npy --population population-$population-$kind.npy --kind $kind
        cp out rmia-$population
    done
    [ "$(cut -d, -f1 rmia-half | sort -u | wc -l)" -gt 10 ] || fail "rmia: too few different scores"
    cmp rmia-none rmia-half || fail "rmia of $kind: population points of probability 0 count otherwise than those of 0.5"
done

# A matrix as CSV has one row a line and the same bits as the NPY, whatever the size of a number and its sign.
cat >t.sh <<'SH'
awk -v seed="$1" 'BEGIN { srand(seed); rand() } { printf "%.17ge%d\n", rand() - 0.5, (NR * 67) % 601 - 300 }' "$2" >"$3"
SH
echo 'game: {kind: command, command: "sh t.sh {seed} {queries} {out} {members}", points: 10, models: 7, signal: loss}' >wide.yaml
run 0 run wide.yaml --workers 2 --output as-npz
run 0 export wide.yaml --output as-npy
run 0 export wide.yaml --output as-csv --format csv
python3 - <<'PY' || fail "a matrix is another one as CSV"
from npy import load
for name, distinct in ("signals", 70), ("members", 2):
    shape, values = load(f"as-npy/{name}.npy")
    rows = [line.split(",") for line in open(f"as-csv/{name}.csv").read().splitlines()]
    assert shape == (7, 10) and len(set(values)) == distinct, (name, shape)
    assert [[float(cell) for cell in row] for row in rows] == [values[10 * i:10 * i + 10] for i in range(7)], name
PY

# Deviations of two Gaussians are above 0.
run 2 account --two-gaussians 0,-1,1,1
says err "deviations above 0"
run 2 account --two-gaussians 0,1,1,-1
finish
