# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit losses: forms of input, numbers against numpy and scipy, refusals.
. "$(dirname "$0")/lib/check.bash"

cp "$DPA_SOURCE/examples/losses.csv" .
run 0 losses losses.csv --bootstrap 0 --json
# The paper's steps one by one, in Python's own numbers.
python3 - <<'PY' || fail "losses.csv: not what Python computes"
import csv, json, math, statistics
rows = list(csv.DictReader(open("losses.csv")))
train = [float(r["loss"]) for r in rows if r["member"] == "1"]
held = [float(r["loss"]) for r in rows if r["member"] == "0"]
delta = 1e-5
ratios = lambda t, eta: max((1-delta-eta)/t, (1-delta-t)/eta, (eta-delta)/(1-t), (t-delta)/(1-eta), 1)
best = 1
for tau in set(train + held):
    t = sum(x <= tau for x in held) / len(held)
    eta = sum(x > tau for x in train) / len(train)
    if 0.001 < t < 0.999 and 0.001 < eta < 0.999:
        best = max(best, ratios(t, eta))
got = {r["method"]: r for r in json.load(open("out"))["results"]}
assert abs(got["empirical"]["epsilon"] - math.log(best)) < 1e-9, (got["empirical"], math.log(best))
low, high = min(train + held), max(train + held)
def phi(x):
    p = math.exp(-((x - low) / (high - low) + 1))
    return math.log(p) - math.log(1 - p)
a, b = [[phi(x) for x in s] for s in (train, held)]
law = [statistics.NormalDist(statistics.fmean(s), statistics.pstdev(s)) for s in (a, b)]
q = lambda d, p: law[d].inv_cdf(p)
start, end = max(q(0, delta), q(1, delta)), min(q(0, 1-delta), q(1, 1-delta))
sup = 1
for i in range(1, 200000):
    c = start + (end - start) * i / 200000
    sup = max(sup, ratios(1 - law[1].cdf(c), law[0].cdf(c)))
assert abs(got["normal"]["epsilon"] - math.log(sup)) < 1e-3, (got["normal"]["epsilon"], math.log(sup))
assert got["normal"]["epsilon"] >= math.log(sup) - 1e-9
assert got["normal"]["all_events_epsilon"] >= got["normal"]["epsilon"]
PY
[ "$(field '[r["method"] for r in j["results"]]')" = \
    "['binormal', 'empirical', 'normal', 'tail', 'mixture', 'simultaneous']" ] || fail "six methods, the default first"
[ "$(field 'j["results"][0]["note"].count("does not bound")')" = 1 ] || fail "the note is missing"

run 0 losses losses.csv --bootstrap 0
says out "does not bound the ε of the"
says out "(TPR-delta)/FPR"
run 0 losses losses.csv --method normal --bootstrap 20
says out "are the noise of the fit alone"
run 0 losses losses.csv losses.csv --method normal --bootstrap 0
says out "2 models: mean"
says out "on average over 2 models"
run 0 losses losses.csv losses.csv --method simultaneous
says out "of the leakiest of these 2 models"
says out "Theorem 2"
run 0 losses losses.csv --method normal --bootstrap 30 --threads 1 --json=one.json
run 0 losses losses.csv --method normal --bootstrap 30 --threads 3 --json=three.json
diff <(grep -v '"command"\|"time"\|_at"\|^ "sha256"' one.json) <(grep -v '"command"\|"time"\|_at"\|^ "sha256"' three.json) >/dev/null || fail "threads change the result"

# Arrays of losses, and predictions with labels that give the same losses.
python3 - <<'PY'
import math, random
random.seed(3)
for name, shift in (("train", 1.0), ("heldout", 0.0)):
    with open(name + ".txt", "w") as f, open(name + ".p", "w") as p, open(name + ".y", "w") as y:
        for i in range(1500):
            label, logit = random.randint(0, 1), random.gauss(shift, 1)
            prob = 1 / (1 + math.exp(-logit * (2 * label - 1)))
            loss = (1 - 2 * label) * (math.log(prob) - math.log(1 - prob))
            print(repr(loss), file=f); print(repr(prob), file=p); print(label, file=y)
PY
run 0 losses --train train.txt --heldout heldout.txt --method empirical --bootstrap 0 --json
first=$(field 'j["results"][0]["epsilon"]')
run 0 losses --train train.p --heldout heldout.p --train-labels train.y --heldout-labels heldout.y \
    --method empirical --bootstrap 0 --json
near 'j["results"][0]["epsilon"]' "$first" 1e-9

# A claim: taken, explained, never refuted by one model.
run 5 losses losses.csv --claim-epsilon 0.1 --method binormal
says out "it cannot refute the claim"
run 5 losses losses.csv losses.csv losses.csv --claim-epsilon 0.1 --method simultaneous
says out "--resampled"
# Several models with their own draws of the data: a bound on the mechanism, which may refute.
python3 - <<'PY'
import random
random.seed(5)
for m in range(8):
    with open(f"model{m}.csv", "w") as f:
        print("loss,member,group", file=f)
        for i in range(2000):
            member = i % 2
            leak = member and random.random() < 0.5
            print(f"{random.gauss(-8 if leak else 0, 1)!r},{member},{'old' if i % 3 else 'young'}", file=f)
PY
run 1 losses model?.csv --resampled --claim-epsilon 1 --method simultaneous --json
near 'j["results"][-1]["tpr"]' 0.5 0.1
[ "$(field 'j["results"][-1]["method"] + " " + str("one-model-instance" in j["results"][-1]["assumptions"])')" = "averaged False" ] ||
    fail "the bound on the mechanism"
[ "$(field 'j["results"][-1]["epsilon_add_remove"] == j["results"][-1]["epsilon_lower"] < j["results"][-1]["epsilon_replace_one"]')" = True ] ||
    fail "neighbours that add or remove are the default"
run 1 losses model?.csv --resampled --claim-epsilon 1 --neighbours replace-one --method simultaneous
says out "8 models"
run 1 losses model?.csv --resampled --claim-epsilon 1 --neighbours replace-one --method simultaneous --json
[ "$(field 'j["results"][-1]["epsilon_add_remove"] < j["results"][-1]["epsilon_lower"] == j["results"][-1]["epsilon_replace_one"]')" = True ] ||
    fail "neighbours that differ in a replaced record"
run 2 losses model0.csv --claim-sigma 1 # a claim that losses cannot be held against is not passed over
run 2 losses model0.csv --resampled
says err "at least two models"
run 3 losses model0.csv model1.csv model0.csv --resampled --method simultaneous # a copy is not independent
says err "models 1 and 3 have the same losses"
# Slices and records.
run 0 losses model0.csv --group group --records 4 --method binormal --json
[ "$(field '[g["group"] for g in j["epsilon_star"]["groups"]]')" = "['old', 'young']" ] || fail "slices"
[ "$(field 'len(j["epsilon_star"]["records"])')" = 4 ] || fail "records"
python3 - <<'PY' || fail "records: not what Python computes"
import csv, json
rows = list(csv.DictReader(open("model0.csv")))
train = [float(r["loss"]) for r in rows if r["member"] == "1"]
held = [float(r["loss"]) for r in rows if r["member"] == "0"]
p = [(1 + sum(h <= x for h in held)) / (1 + len(held)) for x in train]
order = sorted(range(len(train)), key=lambda i: train[i])
got = json.load(open("out"))["epsilon_star"]
assert [r["record"] for r in got["records"]] == [i + 1 for i in order[:4]]
found = max((k for k, i in enumerate(order, 1) if p[i] * len(train) / k <= 0.1), default=0)
assert got["records_found"] == found > 300, (got["records_found"], found)
PY
run 2 losses model0.csv model1.csv --group group
run 3 losses model0.csv --group colour
says err "no column 'colour'"
# One loss sets the scale: said, and the robust transform does not care.
(cat losses.csv; echo "-1e6,1") > outlier.csv
run 0 losses outlier.csv --method normal --bootstrap 0
says out "sets the scale"
says out "do not rely on it"
run 0 losses outlier.csv --method normal --transform quantile --bootstrap 0 --json
robust=$(field 'j["results"][0]["epsilon"]')
run 0 losses losses.csv --method normal --transform quantile --bootstrap 0 --json
near 'j["results"][0]["epsilon"]' "$robust" 0.05
# The verdict about the fit: of the file, not of the seed; the paper's procedure on request.
run 0 losses losses.csv --method normal --bootstrap 0 --json
first=$(field 'j["results"][0]["fit_p_train"]')
run 0 losses losses.csv --method normal --bootstrap 0 --seed 99 --json
near 'j["results"][0]["fit_p_train"]' "$first" 0
run 0 losses losses.csv --method normal --bootstrap 0 --goodness paper
says out "Kolmogorov-Smirnov"
run 2 losses losses.csv --goodness plenty
# Saturated probabilities: infinite losses, said, and every number finite.
python3 - <<'PY'
import random
random.seed(6)
with open("saturated.csv", "w") as f:
    print("loss,member", file=f)
    for i in range(4000):
        x = random.gauss(-30 if i % 2 else -20, 12)
        print(f"{'-inf' if x < -36 else repr(x)},{i % 2}", file=f)
PY
run 0 losses saturated.csv --whole-training-set --json
[ "$(field 'all(r["epsilon"] is not None for r in j["results"] if r["guarantee"] == "estimate")')" = True ] || fail "infinite"
[ "$(field '0 < j["results"][-1]["epsilon_lower"] < 9')" = True ] || fail "the bound is not finite"
[ "$(field 'sorted({"saturated", "infinite-losses"} & {n["code"] for n in j["evidence"]["lints"]})')" = "['infinite-losses', 'saturated']" ] ||
    fail "saturation is not said"

# Sides that are apart: a perfect attack is no estimate of 0, and equal losses no proof of privacy.
(echo "loss,member"; for i in $(seq 200); do echo "-$i,1"; echo "$i,0"; done) > apart.csv
run 0 losses apart.csv --method binormal --json
[ "$(field '[r["epsilon"] > 5 and r["epsilon_lower"] > 2 and r["epsilon_upper"] > 11 for r in j["results"]]')" = "[True]" ] || fail "sides apart"
(echo "loss,member"; for i in $(seq 200); do echo "1,1"; echo "1,0"; done) > equal.csv
run 0 losses equal.csv --method binormal --json
[ "$(field '[r["epsilon"] == 0 and r["epsilon_lower"] == 0 and 5 < r["epsilon_upper"] < 12 for r in j["results"]]')" = "[True]" ] || fail "equal losses"
run 2 losses
says err "give FILE"
run 2 losses --train train.txt
run 2 losses --train train.txt --heldout heldout.txt --train-labels train.y
run 2 losses losses.csv --method kernel
says err "kernel"
run 2 losses losses.csv --components 21
run 2 losses losses.csv --delta 1
run 3 losses nowhere.csv
echo nan > nan.txt
run 3 losses --train nan.txt --heldout heldout.txt
says err "NaN"
printf '1\n1\n' > flat.txt
run 3 losses --train flat.txt --heldout flat.txt --method normal
says err "all finite losses are equal"
run 0 losses --train flat.txt --heldout flat.txt --bootstrap 0
says out "is left out"
# one list where a model's file is wanted; one file twice
printf 'x' >one.npy
run 2 losses one.npy
says err "--train FILE and --heldout FILE"
finish
