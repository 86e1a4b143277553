# SPDX-License-Identifier: GPL-3.0-or-later
# Games against a program that trains and stays: the same evidence as against the trainer itself, to
# the byte; a trainer that breaks the protocol is told what and where.
. "$(dirname "$0")/lib/check.bash"

mkdir direct through
cp "$DPA_SOURCE/examples/train-toy.csv" .
cat >dp.yaml <<'YAML'
data: {format: table, path: train-toy.csv, label: kind, members: 0..100, heldout: 400..460, standardise: true}
model: "mlp:8"
train: {sampling: poisson, steps: 6, batch: 20, rate: 0.2}
privacy: {clip: 1, sigma: 0.8, delta: 1e-5}
YAML
common='points: 100, heldout: 60, accuracy: true, clip: 1, sigma: 0.8, steps: 6, delta: 1e-5'
q=0.2 training=dp

# play NAME SIGNAL CANARIES GAME…: direct and through the protocol; the evidence must be the same
play() {
    local name=$1 signal=$2 canaries=$3 game=$4
    printf 'training: ../%s.yaml\nseed: 5\n%s\noutput: direct/%s\n' "$training" "$game" "$name" >"direct/$name.yaml"
    printf 'trainer: {command: "%s trainer serve ../direct/%s.yaml", signal: %s, canaries: %s, q: %s, %s}\nseed: 5\n%s\noutput: through/%s\n' \
        "$DPAUDIT" "$name" "$signal" "$canaries" "$q" "$common" "$game" "$name" >"through/$name.yaml"
    compare "$name" .
}

# compare NAME FROM: plays direct/NAME.yaml and through/NAME.yaml; reports are compared from the line FROM on
compare() {
    local name=$1
    for way in direct through; do
        "$DPAUDIT" run "$way/$name.yaml" --workers 2 >"$way/$name.text" 2>"$way/$name.err"
        local code=$?
        [ $code -le 1 ] || [ $code -eq 5 ] || fail "$way $name: exit $code: $(cat "$way/$name.err")"
        "$DPAUDIT" export "$way/$name.yaml" --output "$way/$name-arrays" >/dev/null || fail "$way $name: export"
    done
    local count=0
    for array in direct/"$name"-arrays/*.npy; do
        cmp "$array" "through/$name-arrays/${array##*/}" || fail "$name: $array differs"
        count=$((count + 1))
    done
    [ $count -ge 2 ] || fail "$name: nothing was compared"
    diff <(sed -n "/yaml/d; /$2/,\$p" "direct/$name.text") <(sed -n "/yaml/d; /$2/,\$p" "through/$name.text") >/dev/null ||
        fail "$name: another report"
}

play black-box confidence 1 'game: {kind: black-box, observations: 12}'
play copies confidence 1 'game: {kind: black-box, observations: 12, copies: 3}'
q=0.4 # they have half of the points
play shadow confidence 0 'game: {kind: shadow}
shadow: {models: 24, targets: 12, attack: lira}'
play shadow-rmia confidence 0 'game: {kind: shadow}
shadow: {models: 24, targets: 12, attack: rmia}'
play shadow-gradient confidence 0 'game: {kind: shadow}
shadow: {models: 24, targets: 12, signal: gradient}'
q=0.2
play final loss 40 'game: {kind: membership, access: black-box, canaries: 40}'
play membership loss 40 'game: {kind: membership, canaries: 40}'
play random loss 40 'game: {kind: membership, canaries: 40, canary: random}'
play reconstruction loss 20 'game: {kind: reconstruction, canaries: 20, options: 2}'
awk -F, 'NR > 1 { $NF = $NF ($1 > 170 ? "+" : "-") } 1' OFS=, train-toy.csv >four.csv # twice as many classes
sed 's/train-toy/four/' dp.yaml >four.yaml
training=four
play options loss 40 'game: {kind: reconstruction, access: black-box, canaries: 20, options: 2}'
training=dp
play white-box loss 0 'game: {kind: white-box, observations: 30}'
play moving loss 0 'game: {kind: white-box, observations: 30, canary: random, moving: true, canary-rate: 0.5}'
play input loss 1 'game: {kind: input-canary, canary: mislabelled, observations: 30}'
play moving-input loss 1 'game: {kind: input-canary, canary: mislabelled, moving: true, observations: 18}'
play adversarial loss 1 'game: {kind: input-canary, canary: adversarial, observations: 18}'
play crafted loss 1 'game: {kind: input-canary, canary: crafted, observations: 18, crafting-steps: 5}'
play filtered loss 1 'game: {kind: input-canary, canary: blank, filter: matched, filter-examples: 20, observations: 18}'
play matched loss 1 'game: {kind: input-canary, canary: matched, moving: true, filter-examples: 20, observations: 12, crafting-steps: 5}'
run 0 trainer check "$DPAUDIT trainer serve direct/matched.yaml"
says out "made anew: matched"
play whole loss 1 'game: {kind: whole-training, observations: 16}'

# federated NAME GAME SERVER: the same with clients; SERVER is what such a trainer keeps to itself. The first
# lines of the reports differ: they say how much the clients sent, which a trainer does not tell.
cat >fed.yaml <<'YAML'
data: {format: table, path: train-toy.csv, label: kind, members: 0..300, heldout: 400..460, standardise: true}
model: "mlp:8"
train: {epochs: 1, batch: 10, rate: 0.2}
privacy: {clip: 1, sigma: 0.8, delta: 1e-5}
YAML
federated() {
    local name=$1 game="rounds: 12, cohort: 5, canaries: 30, $2"
    printf 'training: ../fed.yaml\nseed: 5\ngame: {kind: federated}\nfederate: {split: 20, %s, %s}\noutput: direct/%s\n' \
        "$game" "$3" "$name" >"direct/$name.yaml"
    printf 'trainer: {command: "%s trainer serve ../direct/%s.yaml", points: 19, size: 66, accuracy: true, clip: 1, sigma: 0.8}\n' \
        "$DPAUDIT" "$name" >"through/$name.yaml"
    printf 'seed: 5\ngame: {kind: federated}\nfederate: {%s}\noutput: through/%s\n' "$game" "$name" >>"through/$name.yaml"
    compare "$name" "^  family"
}
federated clients 'checkpoints: 2' 'momentum: 0.5'
federated poisson 'participation: poisson, drop: 0.2, runs: 2, direction: signs' 'server: adam, server-rate: 0.1'
federated fixed 'repetitions: 3, since-start: true, canary-scale: 0.7' 'server-rate: 0.5'
run 0 trainer check "$DPAUDIT trainer serve direct/clients.yaml"
says out "two rounds with a canary client; same init, same first weights"

# What a trainer can do wrong, and what it is told.
cat >bad.py <<'PY'
import json, os, signal, sys, time
fault = sys.argv[1]
calls = 0
for line in sys.stdin:
    q = json.loads(line)
    a = {"id": q["id"]}
    call = q["call"]
    if call == "hello":
        a.update(protocol=2 if fault == "protocol" else 1, points=20, canaries=1)
        a["levels"] = {"level": ["fly"], "none": [], "missing": ["step"]}.get(fault, ["train"])
        if fault == "few": a["points"] = 3
    elif call == "train":
        calls += 1
        if fault == "raise":
            a["error"] = {"message": "CUDA is out of patience"}
        elif fault == "exit": sys.exit(7)
        elif fault == "crash": os.abort()
        elif fault == "hang": time.sleep(1000)
        elif fault == "print": print("Epoch 1: loss 0.5", flush=True)
        elif fault == "id": a["id"] += 1
        n = len(q["queries"]) - (fault == "shape")
        a["signals"] = [float(q["seed"] % 97 + x + (calls if fault == "random" else 0)) for x in q["queries"][:n]]
        if fault == "nan": a["signals"][1] = None
        if fault == "absent": del a["signals"]
        if fault == "file": a["signals"] = {"npy": "../../etc/passwd"}
    else:
        a["error"] = {"message": "no such call"}
    print(json.dumps(a), flush=True)
PY
run 0 trainer check "python3 bad.py none-of-them" --timeout 60
says out "The trainer keeps to the protocol."
told() {
    run 3 trainer check "python3 bad.py $1" --timeout "${3:-60}"
    says out "$2"
}
told protocol '"protocol": expected 1'
told level "'fly' is none of train, gradient, step"
told none '"levels": expected a list'
told missing "request 2 (start): no such call"
told raise "request 2 (train): CUDA is out of patience"
told exit "request 2 (train): the command ended with exit code 7"
told crash "request 2 (train): the command was ended by signal 6"
told hang "request 2 (train): no answer within 1 s: ended" 1
told print "'Epoch 1: loss 0.5' on standard output, which belongs to the protocol"
told id '"id" is 3: expected 2'
told shape '"signals" has 15 numbers: expected 16'
told nan '"signals": entry 2 is not a number'
told absent '"signals" is missing'
told file '"signals": expected a list of numbers or {"npy": NAME}'
told random "same seed, another signal"

cat >rounds.py <<'PY'
import json, sys
fault = sys.argv[1]
w, made = [], 0
for line in sys.stdin:
    q = json.loads(line)
    a = {"id": q["id"]}
    call = q["call"]
    if call == "hello":
        a.update(protocol=1, points=5, canaries=1, levels=["canary", "gradient"] if "canary" in fault else ["round"])
    elif call == "start":
        w = [float(q["seed"] if fault == "init" else 0), 0.0, 0.0]
        a["size"] = 3
    elif call == "batch": a["batch"] = [0, 7] if fault == "stranger" else [0, 1]
    elif call == "step":
        w = [x + (fault != "still") for x in w]
        a["sum"] = [1.0, 2.0, 3.0]
    elif call == "weights": a["weights"] = w[: 2 if fault == "short" else 3]
    elif call == "canary":
        made += 1
        if fault == "no canary": a["error"] = {"message": "no such kind"}
    elif call == "gradient": a["gradient"] = [float(made if fault == "other canary" else 1)] * 3
    print(json.dumps(a), flush=True)
PY
run 0 trainer check "python3 rounds.py none"
says out "two rounds with a canary client"
told_rounds() {
    run 3 trainer check "python3 rounds.py $1"
    says out "$2"
}
told_rounds short '(weights): "weights" has 2 numbers: expected 3'
told_rounds init "round: same init, other initial weights"
told_rounds still "round: the weights do not change"
told_rounds stranger '(batch): "batch": number 2 is 7'
told_rounds "'no canary'" "(canary): no such kind"
told_rounds "'other canary'" "mislabelled: same seed and index, another gradient"

run 3 trainer check "python3 bad.py few" --points 20
says out '"points" is 3, and the experiment asks for 20'
run 4 trainer check "no-such-program"
run 2 trainer fly x
run 2 trainer check "python3 bad.py none" --timeout 0

# A run: failures count as failures, the trainer is started once per worker, nothing stays behind.
cat >flaky.py <<'PY'
import json, os, sys
open("starts", "a").write(f"{os.getpid()}\n")
for line in sys.stdin:
    q = json.loads(line)
    a = {"id": q["id"]}
    if q["call"] == "hello":
        a.update(protocol=1, levels=["train"])
    elif q["call"] == "train" and q["seed"] % 5 == 0:
        a["error"] = {"message": "diverged"}
    elif q["call"] == "train" and q["seed"] % 11 == 0:
        sys.exit(3)
    else:
        a["signals"] = [len(q["members"]) - 20 + q["seed"] % 1000 / 1e4 for x in q["queries"]]
    print(json.dumps(a), flush=True)
PY
cat >flaky.yaml <<'YAML'
trainer: {command: python3 flaky.py, points: 20, canaries: 1}
game: {kind: black-box, observations: 60}
claim: {epsilon: 1, delta: 1e-5}
YAML
run 1 run flaky.yaml --workers 2 --json first.json
says out "REFUTED"
python3 - <<'PY' || fail "failures of the trainer"
import json
e = json.load(open("first.json"))["evidence"]
facts = e.get("facts", e)
text = json.dumps(e)
assert "failed_members" in text or "failed" in text, text[:400]
PY
[ "$(wc -l <starts)" -le 40 ] || fail "the trainer does not stay: $(wc -l <starts) starts for 120 trainings"
run 0 show flaky.yaml --failures
says out "diverged"
says out "exit code 3"
# a killed process may need a moment to be gone
gone() { [ ! -e "/proc/$1" ] || grep -q "^State:[[:space:]]*Z" "/proc/$1/status" 2>/dev/null; }
for process in $(cat starts); do
    wait_for gone "$process" || fail "trainer $process is still there"
done
# what is stored is not played again, and a changed script is another trainer
before=$(wc -l <starts)
run 1 run flaky.yaml --workers 2 --json second.json
[ "$(wc -l <starts)" -eq "$before" ] || fail "a trainer was started for nothing"
same_verdict first.json second.json || fail "the second run says something else"
echo "# changed" >>flaky.py
"$DPAUDIT" run flaky.yaml --workers 1 --trials 4 >/dev/null 2>&1
[ "$(wc -l <starts)" -gt "$before" ] || fail "a changed trainer played nothing"

# a protocol that does not fit, too: "x" is no program
echo '{trainer: {command: x, points: 5, canaries: 1, sigma: 3, q: 0.5, steps: 4}, game: {kind: black-box, copies: 2}}' >two.yaml
run 0 plan --claim-sigma 3 --q 0.5 --steps 4 --leak-sigma 0.5 --game runs --size 60 --method rank --write-protocol one.json
run 2 run two.yaml --protocol one.json
says err "does not apply to copies"
run 3 run two.yaml --protocol missing.json
says err "missing.json"

# refusals, before anything is started
refuse() {
    printf '%b' "$1" >refused.yaml
    run 3 run refused.yaml
    says err "$2"
}
refuse 'training: dp.yaml\ntrainer: {command: x, points: 5}\ngame: {kind: black-box}\n' "the one or the other"
refuse 'trainer: {points: 5}\ngame: {kind: black-box}\n' "command is missing"
refuse 'trainer: {command: x}\ngame: {kind: black-box}\n' "points is missing"
refuse 'trainer: {command: x, points: 5}\ngame: {kind: black-box}\n' "canaries 0"
refuse 'trainer: {command: x, points: 5}\ngame: {kind: white-box}\n' "clip and sigma"
refuse 'trainer: {command: x, points: 5, sigma: 1, steps: 3}\ngame: {kind: membership, canaries: 9}\n' "this game needs 9"
refuse 'trainer: {command: x, points: 5, sigma: 1}\ngame: {kind: white-box}\n' "steps is missing"
refuse 'trainer: {command: x, points: 5, canaries: 1}\ngame: {kind: black-box, copies: 0}\n' "copies 0"
refuse 'trainer: {command: x, points: 5, canaries: 9}\ngame: {kind: membership, canaries: 9, copies: 2}\n' "only in a black-box game"
refuse 'trainer: {command: x, points: 50}\ngame: {kind: federated}\n' "needs the section federate"
refuse 'trainer: {command: x, points: 50}\ngame: {kind: federated}\nfederate: {cohort: 5}\n' "size is missing"
refuse 'trainer: {command: x, points: 50, size: 9}\ngame: {kind: federated}\nfederate: {cohort: 5, momentum: 0.5}\n' "momentum: the trainer has"
refuse 'trainer: {command: x, points: 50, size: 9}\ngame: {kind: federated}\nfederate: {cohort: 60}\n' "cohort of 60"
refuse 'trainer: {command: x, points: 50, canaries: 1}\ngame: {kind: black-box, sabotage: few-seeds}\n' "broken by changing it"
refuse 'trainer: {command: x, points: 50, sigma: 1, steps: 3}\ngame: {kind: input-canary}\n' "canaries 0: an input canary"
refuse 'trainer: {command: x, points: 5, canaries: 1, sigma: 1, steps: 3}\ngame: {kind: input-canary, canary: matched, filter: dot}\n' "needs filter matched"
refuse 'trainer: {command: x, points: 5, canaries: 1, sigma: 1, steps: 3}\ngame: {kind: input-canary, filter: matched, filter-examples: 0}\n' "0 filter examples"

finish
