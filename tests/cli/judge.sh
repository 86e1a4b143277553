# SPDX-License-Identifier: GPL-3.0-or-later
# One judge: the same evidence and the same claim get one verdict everywhere, and only what was stated beforehand decides.
# The numbers are those of issue 18, "what was seen".
. "$(dirname "$0")/lib/check.bash"

# Scores of mechanisms with a known epsilon.
python3 - <<'PY'
import math, random
def write(name, members, others, extra=""):
    with open(name, "w") as f:
        f.write("score,member\n" + "".join(f"{x!r},1\n" for x in members) + "".join(f"{x!r},0\n" for x in others))
random.seed(18)
p = 1 / (1 + math.exp(-1))
write("response.csv", [int(random.random() < p) for _ in range(2000)], [int(random.random() > p) for _ in range(2000)])
laplace = lambda shift: shift + random.expovariate(1) * random.choice([-1, 1])
for i in range(25):
    write(f"laplace{i}.csv", [laplace(1) for _ in range(200)], [laplace(0) for _ in range(200)])
for n in (300, 1000):
    write(f"normal{n}.csv", [random.gauss(1, 1) for _ in range(n)], [random.gauss(0, 1) for _ in range(n)])
write("coins.csv", [1 + random.gauss(3, 1) for _ in range(606)], [random.gauss(0, 1) for _ in range(394)])
write("never.csv", [random.gauss(0, 1) for _ in range(2000)], [random.gauss(0, 1) for _ in range(2000)])
PY

# 1. A true claim stands, whatever a family that is wrong about the mechanism would say.
run 0 scores response.csv --claim-epsilon 1.05
says out "Not refuted"
run 1 scores response.csv --claim-epsilon 0.6
wrong=0
for i in $(seq 0 24); do
    "$DPAUDIT" scores laplace$i.csv --claim-epsilon 1 --delta 0 >out 2>err
    [ $? -eq 0 ] || wrong=$((wrong + 1))
done
[ "$wrong" -le 5 ] || fail "a true claim about Laplace noise was refuted in $wrong of 25 audits"

# 2. run, status --bound and scores on the file that run wrote: one verdict.
cp "$DPA_SOURCE"/examples/run-* "$DPA_SOURCE"/examples/train-* "$DPA_SOURCE"/examples/command/count* .
cat >box.yaml <<'YAML'
{training: train-black-box.yaml, game: {kind: black-box, canary: blank, observations: 100}, claim: {epsilon: 1, delta: 1e-5}}
YAML
sed 's/^{/{estimators: {method: cp, select: split}, /' box.yaml >split.yaml
sed 's/^{/{budget: {stop: refuted}, /; s/observations: 100/observations: 200/' box.yaml >stop.yaml
for audit in box split stop; do
    "$DPAUDIT" run $audit.yaml --store trials.db --output $audit --json >run.json 2>err
    code=$?
    "$DPAUDIT" status $audit.yaml --store trials.db --bound --json >status.json 2>err
    [ $? -eq $code ] || fail "$audit: status exits with another code than run ($code)"
    run $code scores $audit/scores.npz --json
    same_verdict run.json status.json || fail "$audit: status judges otherwise"
    same_verdict run.json out || fail "$audit: scores judges otherwise"
done

# Whoever decides, the family of the training and the one of any mechanism are beside each other.
families() { python3 -c 'import json, sys
print(sorted({(r["family"], r["epsilon_lower"]) for r in json.load(open("out"))["results"] if r["method"] in ("rank", "scan")}))'; }
"$DPAUDIT" scores box/scores.npz --json >out 2>err
by_epsilon=$(families)
"$DPAUDIT" scores box/scores.npz --claim-sigma 1 --claim-steps 5 --json >out 2>err
[ "$(families)" = "$by_epsilon" ] || fail "a claimed noise shows other families than a claimed ε: $(families), $by_epsilon"
[ "$(field "[r['family'] for r in j['results'][:2]]")" = "['subsampled-gaussian:q=1,steps=5', 'dp']" ] || fail "any mechanism is not shown beside the training"

# 3. A step's scores are about a step, also in a file; the headline is about the claim that was made.
run 0 run run-white-box.yaml --output white --json
cp out run.json
run 0 scores white/scores.npz --json
same_verdict run.json out || fail "the file of a white-box run is judged otherwise"
near "j['verdict']['claim']['epsilon']" 4 0.01
[ "$(field "[r['scope'] for r in j['results'] if r['role'] == 'shown'][0]")" = step ] || fail "the step is lost"
run 1 run run-white-box-broken.yaml
grep -q "^REFUTED: the claim ε ≤ 3.99" out || fail "the headline is not about the claim"
# without sampling rate and steps nothing follows for a training
run 5 scores normal300.csv --scope step --claim-epsilon 3
says out "--claim-scope step"
run 1 scores normal300.csv --scope step --claim-epsilon 1 --claim-scope step
says out "of one step"

# 5. A family of which every member is rejected is no bound.
for n in 300 1000; do
    run 5 scores normal$n.csv --family subsampled-gaussian:q=0.1,steps=1 --method rank --claim-epsilon 1
    says out "INCONCLUSIVE"
    says out "is rejected"
done

# 6. Coins that are not fair.
run 5 one-run coins.csv --claim-epsilon 0.5
says out "INCONCLUSIVE"
says out "fair coin"
grep -q "^REFUTED" out && fail "refuted with unfair coins"

# Coins of a rate that is known are usable.
run 1 one-run coins.csv --claim-epsilon 0.5 --inclusion-rate 0.606
says out "The inclusion rate is 0.606"
run 2 one-run coins.csv --inclusion-rate 1
run 2 one-run --canaries 100 --guesses 50 --correct 40 --inclusion-rate 0.6
says err "who was in"

# 7. A posterior is a posterior everywhere, and decides only when asked to.
coin="counts --fn 8 --tp 8 --fp 8 --tn 8 --method bayes --claim-epsilon 0.02"
run 0 $coin --json --report page.html
[ "$(field "[(r['guarantee'], r['role']) for r in j['results'] if (r['family'], r['method']) == ('dp', 'bayes')]")" = "[('posterior', 'shown')]" ] || fail "bayes is not a posterior"
[ "$(field "any('valid' in r or 'kind' in r for r in j['results']) or 'claim' in j")" = False ] || fail "old words"
says page.html "○ Claim not refuted"
run 1 $coin --decide posterior
says out "posterior probability decides, as asked"
run 0 counts --fn 20 --tp 80 --fp 10 --tn 90 --method jeffreys --json --report page.html
[ "$(field "{r['guarantee'] for r in j['results'] if r['method'] == 'jeffreys'}")" = "{'posterior'}" ] || fail "jeffreys is not a posterior"
says page.html "posterior"

# 8. Cosines of one run: a posterior that stands on independent noise.
python3 -c "
for i in range(200): print((i - 99.5) / 10000 + 0.03)" >cosines.txt
# a dimension that the cosines contradict decides nothing, not even with a posterior
run 5 cosines cosines.txt --dim 1000000 --claim-epsilon 0.5 --decide posterior
says out "times as much as in 1000000 dimensions"
run 0 cosines cosines.txt --dim 1000000
says out "is the dimension wrong?"
run 5 cosines cosines.txt --dim 10000 --claim-epsilon 0.5
says out "--decide posterior"
grep -q "nothing about the mechanism" out && fail "cosines assume nothing"
run 0 cosines cosines.txt --dim 10000 --json
[ "$(field "[(r['guarantee'], r['conditional']) for r in j['results'] if r['method'] == 'jeffreys']")" = "[('posterior', 'independent-channels')]" ] || fail "what the bound of cosines is"

# 9. What would have been seen; a canary that was never there.
run 0 scores normal300.csv --claim-epsilon 3 --json
[ "$(field "j['verdict']['would_detect']['epsilon'] > 3 and j['verdict']['would_detect']['power'] == 0.8")" = True ] || fail "would_detect"
run 5 scores normal300.csv --claim-epsilon 3 --must-detect 3.01
says out "had to be detectable"
run 5 scores never.csv --scope step --claim-sigma 1 --claim-q 0.1 --claim-steps 10
says out "the canary took part"

# What would be overlooked, or contradicts itself, is a usage error that names the next step.
run 2 scores normal300.csv --claim-q 0.1
says err "give claim-sigma"
run 2 scores normal300.csv --claim-epsilon 3 --claim-steps 10
says err "give claim-sigma"
run 2 scores normal300.csv --must-detect 3
says err "give claim-epsilon"
run 2 scores normal300.csv --claim-epsilon 3 --method cp --decide posterior
says err "leave --decide or --method out"
run 2 one-run --canaries 1000 --guesses 200 --correct 180 --claim-epsilon 3 --decide posterior
says err "one run has no posterior"
# A curve of a bound that is 0 is 0 at every δ, in families too.
python3 -c "
for i in range(100): print(i % 10)" >same.txt
run 0 scores same.txt same.txt --family laplace --curve --json
[ "$(field "{r['epsilon_lower'] for r in j['epsilon_delta'] if r['family'] == 'laplace'}")" = "{0}" ] || fail "a curve of nothing"

# Families in any order, without a method.
run 1 scores normal300.csv --claim-epsilon 0.01 --family gaussian+dp --json=swapped.json
run 1 scores normal300.csv --claim-epsilon 0.01 --family dp+gaussian --json
[ "$(field "sorted(r['epsilon_lower'] for r in j['results'] if r['role'] == 'primary') == sorted(r['epsilon_lower'] for r in json.load(open('swapped.json'))['results'] if r['role'] == 'primary')")" = True ] || fail "the order of families matters"

# 10. Names are checked before anything is trained.
cp "$DPA_SOURCE"/examples/federated-client* .
for wrong in "run-federated.yaml --method nonsense" "run-federated.yaml --family nonsense" "run-white-box.yaml --method nonsense"; do
    run 2 run $wrong --store never.db
    says err "nonsense"
    [ -e never.db ] && fail "$wrong: trained first"
done
cat >lira.yaml <<'YAML'
game: {kind: command, command: "true {seed} {members} {queries} {out}", points: 4, models: 8, design: leave-one-out, signal: logit, attack: lira}
YAML
run 3 run lira.yaml --store never.db
says err "attack"

# 11. A confidence that convicts everybody; an output that would destroy the evidence.
run 2 scores normal300.csv --confidence 0.05 --claim-epsilon 2.3
says err "at least 0.5"
cp normal300.csv kept.csv
for output in "--json=kept.csv" "--report kept.csv" "--json=./kept.csv"; do
    run 2 scores kept.csv $output
    cmp -s normal300.csv kept.csv || fail "$output destroys the evidence"
    cp normal300.csv kept.csv
done

# 12. A page does not contradict itself, and a result that was changed is not shown.
run 1 scores normal1000.csv --claim-epsilon 0.5 --json=good.json --report page.html
says page.html "✗ Claim refuted"
grep -q "Claim not refuted" page.html && fail "a page says both"
run 0 report good.json --out again.html
cmp -s page.html again.html || fail "a stored result gives another page"
run 0 verify good.json --evidence normal1000.csv
python3 - <<'PY'
import copy, json
good = json.load(open("good.json"))
def paths(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items: yield from paths(item, path + (key,))
count = 0
for top in ("verdict", "results", "delta"):
    for path in paths(good[top]):
        for new in (None, "changed", -1e9):
            bad = copy.deepcopy(good)
            place = bad
            for key in (top,) + path[:-1] if path else (): place = place[key]
            key = path[-1] if path else top
            if place[key] == new: continue
            place[key] = new
            json.dump(bad, open(f"bad{count}.json", "w"))
            count += 1
print(count, "mutants")
PY
taken=0
for bad in bad*.json; do
    "$DPAUDIT" report "$bad" --out bad.html >out 2>err
    [ $? -eq 3 ] || { taken=$((taken + 1)); echo "taken: $bad"; }
done
[ "$taken" -eq 0 ] || fail "report shows $taken results that were changed"
# A delta alone promises nothing.
for evidence in "counts --fn 35 --tp 65 --fp 25 --tn 75" "one-run --correct 90 --guesses 100 --canaries 100"; do
    # shellcheck disable=SC2086
    run 2 $evidence --claim-delta 1e-6
    says err "claim-delta: there is no claim; give claim-epsilon too"
done
finish
