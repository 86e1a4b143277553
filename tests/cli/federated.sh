# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit run with a federated game: a right system stands, one without noise falls, and the evidence says the same to
# dpaudit cosines.
. "$(dirname "$0")/lib/check.bash"
cp "$DPA_SOURCE"/examples/run-federated* "$DPA_SOURCE"/examples/federated-client* "$DPA_SOURCE"/examples/train-toy.csv .

run 0 run run-federated.yaml --output a --json --workers 1
mean=$(field "repr(next(r['epsilon'] for r in j['results'] if r['method'] == 'mean'))")
all=$(field "repr(next(r['epsilon'] for r in j['results'] if r['method'] == 'all-iterates'))")
[ "$(field "len(j['trajectory'])")" = 4 ] || fail "four checkpoints"
near "j['trajectory'][3]['all']" "$all" 1e-5
near "j['evidence']['participations']" 1 0
# the Gaussian mechanism once, sigma 1.5, at delta 1e-3 (from scipy: Phi(1/3 - 1.5 e) - exp(e) Phi(-1/3 - 1.5 e) = 1e-3)
near "j['evidence']['epsilon_unamplified']" 1.91191 1e-5
field "j['evidence']['accuracy_without_canaries']" >/dev/null || fail "no baseline"
run 0 run run-federated.yaml --output b --workers 2 --store other.db
cmp -s a/cosines.npz b/cosines.npz || fail "same seed, other cosines"
run 0 run run-federated.yaml --output c --seed 2
cmp -s a/cosines.npz c/cosines.npz && fail "another seed, the same cosines"

/usr/bin/python3 - <<'PY' || fail "cannot cut cosines.npz"
import numpy as np
z = np.load('a/cosines.npz')
for name in ('final', 'observed', 'unobserved'):
    np.save(name + '.npy', z[name])
assert z['trajectory'].shape == (4, 7), z['trajectory'].shape
PY
run 0 cosines final.npy --dim 10441 --delta 1e-3 --method mean --json
near "j['results'][0]['epsilon']" "$mean" 1e-9
run 0 cosines observed.npy --null unobserved.npy --delta 1e-3 --method all-iterates --json
near "j['results'][0]['epsilon']" "$all" 1e-9

# known rounds decide, of the run and of its file alike; they are not a tenth of the claim's noise off
run 0 run run-federated.yaml --output a --json
near "[r['method'] for r in j['results'] if r['role'] == 'primary'] == ['known-rounds']" 1 0
bound=$(field "repr(j['verdict']['epsilon_lower'])")
near "j['evidence']['canary_rounds']" 1 0
near "j['evidence']['energy_noise']" "$(field "2.25 * j['evidence']['dim']")" 1e-6
run 0 cosines a/cosines.npz --json
near "j['verdict']['epsilon_lower']" "$bound" 1e-12
near "j['verdict']['claim']['epsilon'] > $bound" 1 0
says out known-rounds

# as many canaries as the file does not say: no more in a round (one of 40) than the 8 clients
sed '/canaries: 300/d; /baseline/d; /checkpoints/d' run-federated.yaml >open.yaml
run 0 run open.yaml --json
near "j['evidence']['canaries']" 320 0
near "j['evidence']['unobserved']" 320 0
sed 's/canaries: 300/canaries: 0/' run-federated.yaml >bad.yaml
run 3 run bad.yaml
says err "expected at least 1"

# without all iterates the rounds are known all the same; without canaries that stay at home nothing decides, and the verdict says why
{ sed '/baseline/d; /checkpoints/d; s/rounds: 40/rounds: 8/' run-federated.yaml; echo '  all-iterates: false'; } >final.yaml
run 0 run final.yaml --json
near "j['evidence']['canary_rounds']" 1 0
{ cat final.yaml; echo '  unobserved: 0'; } >none.yaml
run 5 run none.yaml
says out "stay at home"

# maxima of present canaries that scatter more, and nothing else: the larger direction is an artefact, and marked
/usr/bin/python3 - <<'PY' || fail "cannot write maxima"
import io
import statistics
import zipfile
import numpy as np
z = zipfile.ZipFile('a/cosines.npz')
normal = np.array([statistics.NormalDist().inv_cdf((i + 0.5) / 300) for i in range(300)])
arrays = {'observed': 0.05 + 0.015 * normal, 'unobserved': 0.05 + 0.01 * normal}
with zipfile.ZipFile('wide.npz', 'w') as out:
    for name in z.namelist():
        data = z.read(name)
        if name[:-4] in arrays:
            buffer = io.BytesIO()
            np.save(buffer, arrays[name[:-4]])
            data = buffer.getvalue()
        out.writestr(name, data)
PY
run 0 cosines wide.npz
says out "artefact"
grep -q SUSPICIOUS out && fail "an artefact is called suspicious"

run 1 run run-federated-broken.yaml
says out "REFUTED"
says out "SUSPICIOUS"
sed 's/no-noise/repeated-clients/; $a\  copies: 6' run-federated-broken.yaml >twice.yaml
run 1 run twice.yaml
# a few clients that count for much, in a training without other faults
sed 's/fault: no-noise/fault: repeated-clients/; $a\  copies: 3' run-federated-broken.yaml >thrice.yaml
run 1 run thrice.yaml
says out "known-rounds"
sed 's/no-noise/clip-after-mean/; $a\  canary-scale: 30' run-federated-broken.yaml >clip.yaml
run 1 run clip.yaml
# the same large canaries in a system that clips
sed 's/no-noise/none/; $a\  canary-scale: 30' run-federated-broken.yaml >right.yaml
run 0 run right.yaml

# canaries of signs: other cosines, results that say so, and the same judgement
sed 's/canaries: 300/canaries: 300\n  direction: signs/; /baseline/d; /checkpoints/d' run-federated.yaml >signs.yaml
run 0 run signs.yaml --output s --json
near "all('sign-canaries' in r['assumptions'] for r in j['results'])" 1 0
cmp -s a/cosines.npz s/cosines.npz && fail "signs give the same cosines"
sed '$a\  direction: signs' run-federated-broken.yaml >signs.yaml
run 1 run signs.yaml
sed '$a\  direction: hadamard' run-federated-broken.yaml >hadamard.yaml
run 1 run hadamard.yaml

# a server that divides by the actual number is not what the theorem is about; optimisers do not matter
sed 's/no-noise/none/; $a\  divide-actual: true' run-federated-broken.yaml >actual.yaml
run 5 run actual.yaml
says out "number of clients that came"
sed 's/no-noise/repeated-clients/; $a\  copies: 3\n  server: adam\n  server-rate: 0.01' run-federated-broken.yaml >adam.yaml
run 1 run adam.yaml

# Poisson participation: the amplified epsilon is the claim; three runs of few canaries
sed '/repetitions/d; s/baseline: true/runs: 3/; s/participation: shuffle/participation: poisson/; s/canaries: 300/canaries: 60/' \
    run-federated.yaml >poisson.yaml
run 0 run poisson.yaml --json
near "j['evidence']['canaries']" 180 0
near "j['verdict']['claim']['epsilon']" "$(field "repr(j['evidence']['epsilon_amplified'])")" 1e-12
[ "$(field "j['evidence']['epsilon_amplified'] < j['evidence']['epsilon_unamplified']")" = True ] || fail "amplified is less"
near "j['evidence']['participations']" 40 0

# example-level: every row a client of its own
sed '/concentration/d; /baseline/d; s/split: 40/each-row: true/; s/rounds: 40/rounds: 10/' run-federated.yaml >rows.yaml
run 0 run rows.yaml --json
near "j['evidence']['clients']" 400 0
sed '$a\  split: 5' rows.yaml >bad.yaml
run 3 run bad.yaml
says err "each-row"

sed 's/split: 40/split: 400000/' run-federated.yaml >bad.yaml
run 3 run bad.yaml
says err "bad.yaml"
sed '/split: 40/d' run-federated.yaml >bad.yaml
run 3 run bad.yaml
says err "either clients"
sed 's/checkpoints: 4/checkpoints: 41/' run-federated.yaml >bad.yaml
run 3 run bad.yaml
sed '/^federate/,$d' run-federated.yaml >bad.yaml
run 3 run bad.yaml
says err "needs the section federate"
for wrong in 's/shuffle/shufle/' 's/shuffle/2/' 's/canaries: 300/direction: sign/'; do
    sed "$wrong" run-federated.yaml >bad.yaml
    run 3 run bad.yaml
    says err "expected"
done
sed 's/cohort: 8/kohort: 8/' run-federated.yaml >bad.yaml
run 3 run bad.yaml
says err "kohort"
sed 's/rate: 0.1/rate: 0.1\n  momentum: 0.9/' federated-client.yaml >other.yaml
sed 's/federated-client/other/' run-federated.yaml >bad.yaml
run 3 run bad.yaml
says err "a client knows"
finish
