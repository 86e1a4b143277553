# SPDX-License-Identifier: GPL-3.0-or-later
# Canaries from the command line: vectors, cosines with models in every format, and the estimate.
. "$(dirname "$0")/lib/check.bash"

run 0 canaries make --dim 1000 --seed 5 --index 3 --out c3.npy
run 0 canaries make --dim 1000 --seed 5 --first 3 --out same.npy
cmp -s c3.npy same.npy || fail "--first 3 is not --index 3"
run 0 canaries make --dim 1000 --seed 5 --index 4 --norm 2 --dtype float64 --out c4.npy
/usr/bin/python3 - <<'PY' || fail "vectors"
import numpy as np
a, b = np.load("c3.npy"), np.load("c4.npy")
assert a.dtype == np.float32 and b.dtype == np.float64 and a.shape == (1000,)
assert abs(np.linalg.norm(a) - 1) < 1e-6 and abs(np.linalg.norm(b) - 2) < 1e-12
assert abs(a @ b) < 0.3
model = (a + 3 * b + 0.5).astype(np.float32)
start = np.full(1000, 0.5)
np.save("model.npy", model); np.save("start.npy", start)
model.tofile("model.f32")
np.savez("model.npz", w=model)
np.save("part1.npy", model[:300].reshape(30, 10)); np.save("part2.npy", model[300:])
import json, struct
h = json.dumps({"z": {"dtype": "F32", "shape": [300], "data_offsets": [0, 1200]},
                "a": {"dtype": "F32", "shape": [7, 100], "data_offsets": [1200, 4000]}}).encode()
open("model.safetensors", "wb").write(struct.pack("<Q", len(h)) + h + model.tobytes())
PY

# the same numbers from every format, thread count and kernel
run 0 canaries cosines --model model.npy --initial start.npy --seed 5 --count 6
cp out want
for files in "--model model.f32" "--model model.npz" "--model part1.npy --model part2.npy" \
    "--model model.safetensors" "--model model.npy --threads 1" "--model model.npy --kernel portable"; do
    run 0 canaries cosines $files --initial start.npy --seed 5 --count 6
    cmp -s out want || fail "cosines differ: $files"
done
/usr/bin/python3 - <<'PY' || fail "cosines"
import numpy as np
g = np.loadtxt("want")
v = np.load("model.npy").astype(float) - np.load("start.npy")
for i, name in ((3, "c3.npy"), (4, "c4.npy")):
    c = np.load(name).astype(float)
    assert abs(g[i] - c @ v / np.linalg.norm(c) / np.linalg.norm(v)) < 1e-7
PY

run 0 canaries cosines --model model.npy --seed 5 --count 60 --unobserved 40 --out g.npy --null n.npy
run 0 cosines g.npy --dim 1000
says out "mean-and-deviation"
says out "not bounds"
run 0 cosines g.npy --null n.npy --method all-iterates --json
near "len(j['results'])" 1 0
near "j['results'][0]['guarantee'] == 'estimate'" 1 0
near "j['evidence']['unobserved']" 40 0

# the Gaussian mechanism of the paper's Table 1 with mean cosine 1/(σ√d) has ε = 10.0
/usr/bin/python3 -c "
import numpy as np
from scipy.stats import norm
np.save('t.npy', (norm.ppf((np.arange(100) + .5) / 100) + 1 / .541) / 100)"
run 0 cosines t.npy --dim 10000 --delta 1e-6 --method mean --json
near "j['results'][0]['epsilon']" 10.0 0.001
# cosines of one run decide only when a posterior may
run 5 cosines t.npy --dim 10000 --delta 1e-6 --claim-epsilon 0.1 --select fixed:0.01
says out "INCONCLUSIVE about the claim ε ≤ 0.1"
run 1 cosines t.npy --dim 10000 --delta 1e-6 --claim-epsilon 0.1 --select fixed:0.01 --decide posterior
says out "REFUTED: the claim ε ≤ 0.1"
says out "a posterior probability decides, as"

# wrong words and wrong files
run 2 canaries
run 2 canaries paint
run 2 canaries make --dim 10
says err "--out"
run 2 canaries cosines --model model.npy
run 2 canaries cosines --model model.npy --count 3 --dim 7
run 2 canaries make --dim 1 --out x.npy
[ ! -e x.npy ] || fail "half-written file"
run 3 canaries cosines --model model.npy --initial g.npy --count 3
run 3 canaries cosines --model start.npy --initial start.npy --count 3
says err "no direction"
printf '12345' >bad.f32
run 3 canaries cosines --model bad.f32 --count 3
says err "bad.f32"
run 2 cosines t.npy
run 2 cosines t.npy --dim 100 --method median
run 2 cosines t.npy --dim 100 --select fixed:7
printf '0.1\n1.2\n' >far.txt
run 3 cosines far.txt --dim 100
says err "not in [-1, 1]"
# all iterates: one call per round, all at once, models instead of changes; the largest over the rounds
/usr/bin/python3 - <<'PY' || fail "rounds"
import numpy as np
r = np.random.default_rng(4)
model = r.normal(size=700)
np.save("m0.npy", model)
for i in range(1, 6):
    change = r.normal(size=700)
    if i == 3:
        change += 9 * np.load("c3.npy")[:700]
    np.save(f"d{i}.npy", change)
    model = model + change
    np.save(f"m{i}.npy", model)
PY
for i in 1 2 3 4 5; do
    run 0 canaries rounds d$i.npy --state one --count 7 --unobserved 4 --seed 5
done
says out "5 rounds, 11 canaries"
run 0 canaries largest --state one --out one.npy --null onenull.npy
run 0 canaries rounds d1.npy d2.npy d3.npy --state many --count 7 --unobserved 4 --seed 5
run 0 canaries rounds d4.npy d5.npy --state many
run 0 canaries largest --state many --out many.npy --null manynull.npy
cmp -s one.npy many.npy || fail "one call per round and few calls differ"
cmp -s onenull.npy manynull.npy || fail "the null differs"
run 0 canaries rounds m1.npy m2.npy m3.npy m4.npy m5.npy --initial m0.npy --state models --count 7 --unobserved 4 --seed 5
run 0 canaries largest --state models --out models.npy
for i in 1 2 3 4 5; do
    run 0 canaries cosines --model d$i.npy --count 7 --unobserved 4 --seed 5 --out g$i.npy
done
/usr/bin/python3 - <<'PY' || fail "largest"
import numpy as np
g = np.max([np.load(f"g{i}.npy") for i in range(1, 6)], axis=0)
one = np.concatenate([np.load("one.npy"), np.load("onenull.npy")])
assert np.array_equal(one, g), (one, g)
assert np.allclose(np.load("models.npy"), g, atol=1e-9)
PY
run 2 canaries rounds d1.npy --state many --count 8
run 2 canaries rounds d1.npy --state many --seed 6
says err "--seed 6 is not that of the state, 5"
run 2 canaries rounds d1.npy --state many --direction signs
run 2 canaries rounds d1.npy --state none
run 2 canaries rounds d1.npy
run 2 canaries rounds --state many
run 3 canaries rounds c3.npy --state many
says err "c3.npy: has 1000 parameters"
run 3 canaries rounds m1.npy --initial c3.npy --state many
says err "m1.npy: has 700 parameters"
run 3 canaries rounds m1.npy --initial m1.npy --state many
says err "m1.npy: nothing changed"
run 3 canaries largest --state d1.npy
run 2 canaries make more --dim 4 --out x.npy

# signs: +-1/sqrt(dim), the same canary in 'make', 'cosines' and a state that goes on; and the results say so
run 0 canaries make --dim 700 --seed 5 --index 2 --direction signs --out s2.npy
/usr/bin/python3 -c "
import numpy as np
s = np.load('s2.npy').astype(float)
assert np.allclose(abs(s), 700**-0.5) and 0.4 < (s > 0).mean() < 0.6
np.save('e.npy', np.load('d1.npy') + 20 * s)" || fail "signs"
run 0 canaries rounds e.npy --state signs --count 7 --unobserved 4 --seed 5 --direction signs
says out "1 round, 11 canaries"
run 0 canaries rounds d2.npy --state signs
run 0 canaries largest --state signs --out largest.npy
run 0 canaries cosines --model e.npy --count 7 --seed 5 --direction signs --out g.npy
/usr/bin/python3 -c "
import numpy as np
g, e, s = np.load('g.npy'), np.load('e.npy'), np.load('s2.npy').astype(float)
assert abs(g[2] - s @ e / np.linalg.norm(e)) < 1e-7 and g[2] > 0.4 > abs(np.delete(g, 2)).max()
assert np.load('largest.npy')[2] == g[2]" || fail "cosines of signs"
run 0 cosines g.npy --dim 700 --direction signs --json
near "all('sign-canaries' in r['assumptions'] for r in j['results'])" 1 0

# a state that has only sums over known rounds, as the library writes it: there are no largest cosines to show
/usr/bin/python3 - <<'PY' || fail "a state without rounds"
import struct, zlib
b = bytearray(open("signs", "rb").read())
b[48:56] = bytes(8)
for i in range(11):
    b[72 + 24 * i : 80 + 24 * i] = struct.pack("<d", float("-inf"))
open("none", "wb").write(b[:-4] + struct.pack("<I", zlib.crc32(b[:-4])))
PY
run 3 canaries largest --state none
says err "none: has no cosines with rounds"
finish
