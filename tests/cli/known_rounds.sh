# SPDX-License-Identifier: GPL-3.0-or-later
# Known rounds from files: a numpy server with momentum and noise of known epsilon follows a schedule of dpaudit; the bound is
# below the truth and above nothing, one with too little noise is refuted, and what is told wrongly is refused.
. "$(dirname "$0")/lib/check.bash"

K=150
run 0 canaries schedule --count $K --unobserved $K --rounds 12 --times 2 --seed 9 --out schedule.npy
run 0 canaries schedule --count 3 --rounds 12 --times 2 --seed 9
/usr/bin/python3 - <<'PY' || fail "schedule"
import numpy as np
s = np.load("schedule.npy")
assert s.shape == (300, 2) and (s == s.astype(int)).all()
assert (s[:, 0] < 6).all() and (s[:, 1] >= 6).all() and s.min() == 0 and s.max() == 11
assert len(np.unique(s[:, 0])) == 6
assert (np.loadtxt("out") == s[:3]).all()
PY

# mu = sqrt(2)/sigma = 1.2: epsilon 5.41 at 1e-5; a third of that noise breaks the promise
for ((i = 0; i < K; ++i)); do
    "$DPAUDIT" canaries make --dim 3000 --seed 9 --index $i --direction hadamard --dtype float64 --out c$i.npy || fail "canary $i"
done
cat >server.py <<'PY'
import sys
import numpy as np
name, sigma = sys.argv[1], float(sys.argv[2])
schedule = np.load("schedule.npy")
canary = np.array([np.load(f"c{i}.npy") for i in range(150)])
assert np.abs(canary @ canary.T - np.eye(150)).max() < 1e-12
rng = np.random.default_rng(4)
clip, clients, momentum, rate = 0.5, 40, 0.9, 0.7
velocity, model = np.zeros(3000), rng.normal(size=3000)
np.save(f"{name}-start.npy", model)
for t in range(12):
    here = (schedule[:150] == t).any(1)
    total = clip * canary[here].sum(0) + sigma * clip * rng.normal(size=3000)
    velocity = momentum * velocity + total / clients
    model = model + rate * velocity
    np.save(f"{name}-change-{t:02}.npy", rate * velocity)
    np.save(f"{name}-model-{t:02}.npy", model)
print(clip / clients * rate)
PY
unit=$(/usr/bin/python3 server.py right 1.1785) || fail "numpy server"
/usr/bin/python3 server.py wrong 0.3928 >/dev/null || fail "numpy server"

what="--rounds 12 --times 2 --unit $unit --momentum 0.9"
run 0 canaries rounds right-change-*.npy --state right --count $K --unobserved $K --seed 9 --direction hadamard $what
says out "12 rounds, 300 canaries"
run 0 canaries known --state right --out right.npz
run 0 cosines right.npz --claim-epsilon 5.6 --json
near "j['results'][0]['method'] == 'known-rounds'" 1 0
near "2.5 < j['results'][0]['epsilon_lower'] < 5.6" 1 0
bound=$(field "repr(j['results'][0]['epsilon_lower'])")

# the same from models, in two calls, with the schedule as a file
run 0 canaries rounds right-model-0[0-6].npy --initial right-start.npy --state models --count $K --unobserved $K --seed 9 \
    --direction hadamard --schedule schedule.npy --unit "$unit" --momentum 0.9
run 2 canaries rounds right-model-0[7-9].npy --initial right-model-06.npy --state models
says err "every call"
run 2 canaries rounds right-model-0[7-9].npy --initial right-model-06.npy --state models --schedule schedule.npy --unit "$unit" \
    --momentum 0.9
says err "--previous"
run 0 canaries rounds right-model-0[7-9].npy right-model-1*.npy --initial right-model-06.npy --state models \
    --schedule schedule.npy --unit "$unit" --momentum 0.9 --previous right-change-06.npy
run 0 canaries known --state models --out models.npz
run 0 cosines models.npz --json
near "j['results'][0]['epsilon_lower']" "$bound" 0.02

# a third of the noise: refuted; one round is worth less than two; hidden Poisson rounds have the accountant's epsilon
run 0 canaries rounds wrong-change-*.npy --state wrong --count $K --unobserved $K --seed 9 --direction hadamard $what
run 0 canaries known --state wrong --out wrong.npz
run 1 cosines wrong.npz --claim-epsilon 5.6
says out "REFUTED"
run 0 cosines right.npz --participations 1 --json
near "0.5 < j['results'][0]['epsilon_lower'] < $bound" 1 0
run 0 cosines right.npz --q 0.1 --rounds 12 --json
near "0 < j['results'][0]['epsilon_lower'] < $bound" 1 0

# a file that carries the promise of its noise: told participation is the promise's too; --claim-sigma has its own
/usr/bin/python3 - <<'PY' || fail "cannot add a claim"
import json
import zipfile
with zipfile.ZipFile("right.npz") as old, zipfile.ZipFile("claimed.npz", "w") as new:
    for name in old.namelist():
        data = old.read(name)
        if name == "dpaudit.json":
            words = json.loads(data)
            words["claim"] = {"sigma": 1.1785, "q": 1, "steps": 2}
            data = json.dumps(words)
        new.writestr(name, data)
PY
run 0 cosines claimed.npz --json
near "j['verdict']['epsilon_lower']" "$bound" 1e-9
near "j['verdict']['claim']['epsilon']" 5.4135 1e-4
run 0 cosines claimed.npz --q 0.1 --rounds 12 --json
near "0 < j['results'][0]['epsilon_lower'] < $bound" 1 0
near "j['verdict']['claim']['epsilon'] < 5.4" 1 0
run 0 cosines claimed.npz --participations 1 --json
near "0.5 < j['results'][0]['epsilon_lower'] < $bound" 1 0
run 2 cosines claimed.npz --q 0.1 --rounds 12 --claim-sigma 1.2
says err "--claim-q"

# what the file says cannot be told otherwise
run 2 cosines right.npz --direction signs
says err "leave it out"
run 2 cosines right.npz --dim 77
says err "--dim"
run 2 cosines right.npz --q 0.1
run 2 cosines right.npz --q 0.1 --rounds 5 --participations 2
run 0 canaries cosines --model right-model-11.npy --initial right-start.npy --count $K --seed 9 --direction hadamard --out final.npz
run 0 cosines final.npz --json
near "j['evidence']['dim']" 3000 0
run 2 cosines final.npz --dim 300000
run 2 cosines final.npz --participations 1
run 0 canaries largest --state right --out largest.npz
run 0 cosines largest.npz --json
near "j['evidence']['unobserved']" $K 0
run 2 canaries known --state right --out known.npy
run 2 canaries known --out known.npz
run 2 canaries schedule --count 5 --rounds 3
run 2 canaries schedule --count 5 --rounds 3 --times 4
run 0 canaries rounds right-change-00.npy --state plain --count 5 --unobserved 5
run 3 canaries known --state plain --out known.npz
says err "at least 2 of each"
run 3 canaries rounds right-change-00.npy --state fresh --count 5 --unobserved 5 --schedule schedule.npy --unit 1
says err "a row for each"
run 2 canaries rounds right-change-00.npy --state fresh --count 5 --unobserved 5 --rounds 3 --times 1
says err "--unit"
finish
