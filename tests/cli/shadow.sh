# SPDX-License-Identifier: GPL-3.0-or-later
# A shadow game from its experiment file: verdict, evidence, what is stored is not played again, clear refusals.
. "$(dirname "$0")/lib/check.bash"
cp "$DPA_SOURCE"/examples/{run-shadow.yaml,train-shadow.yaml,train-toy.csv} .

run 1 run run-shadow.yaml --store trials.db --output evidence --json first.json
says out "challenge points 1"
says out "REFUTED"
# the same again, from the store, to the last byte
run 1 run run-shadow.yaml --store trials.db --output again --json second.json
python3 - <<'PY' || fail "the second run differs"
import json
a, b = (json.load(open(f))["results"] for f in ("first.json", "second.json"))
assert a == b and a[0]["epsilon_lower"] > 1
PY
cmp evidence/scores.npz again/scores.npz || fail "the evidence differs"
# the evidence is input of scores, and its tables have a place for every point and model
run 1 scores evidence/scores.npz --json
same_verdict first.json out || fail "scores judges the file of a run otherwise"
near 'j["evidence"]["members"] + j["evidence"]["nonmembers"]' 200 0
/usr/bin/python3 - <<'PY' || fail "arrays of the evidence"
try:
    import numpy as np
except ImportError:
    raise SystemExit(0)
e = np.load("evidence/scores.npz")
assert e["shadow_signals"].shape == e["shadow_members"].shape == (32, 60)
assert (e["shadow_members"].sum(axis=1) == 30).all()
assert e["challenge_row"][0] in e["point_row"] and len(e["point_accuracy"]) == len(e["point_epsilon"]) == 60
PY
# and of attack: the table of points, by the shadow models of the game
run 0 attack points --signals evidence/scores.npz --json
near 'len(j["points"]) == 60 and len(j["models"]["test"])' 32 0
/usr/bin/python3 - <<'PY' || fail "attack points and the game's own table differ"
import json
try:
    import numpy as np
except ImportError:
    raise SystemExit(0)
e, j = np.load("evidence/scores.npz"), json.load(open("out"))
assert all(abs(e["point_accuracy"][p["point"]] - p["accuracy"]) < 1e-12 for p in j["points"])
PY
run 0 attack lira --signals evidence/scores.npz --target 3
says out "score,member"
run 2 attack rmia --signals evidence/scores.npz
says err "needs signals of population points"
sed 's/challenge: worst/attack: rmia/' run-shadow.yaml >rmia.yaml
run 1 run rmia.yaml --store trials.db --output rmia
run 0 attack rmia --signals rmia/scores.npz --offline
# a point drawn at random, named as such
sed 's/challenge: worst/challenge: random/' run-shadow.yaml >random.yaml
run 0 run random.yaml --store trials.db
says out "challenge points 1"
# workers do not change the numbers
run 1 run run-shadow.yaml --store other.db --workers 1 --json third.json
python3 -c 'import json; a, b = (json.load(open(f))["results"] for f in ("first.json", "third.json")); assert a == b' || fail "workers"

sed 's/challenge: worst/challenge: nicest/' run-shadow.yaml >bad.yaml
run 3 run bad.yaml --store trials.db
says err "nicest"
sed 's/challenge: worst/challenge: 1/' run-shadow.yaml >bad.yaml
run 3 run bad.yaml --store trials.db
sed 's/models: 32/models: 2/' run-shadow.yaml >few.yaml
run 3 run few.yaml --store trials.db
says err "models 2: expected 4 to 2^20"
finish
