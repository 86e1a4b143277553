# SPDX-License-Identifier: GPL-3.0-or-later
# Trials that fail are outcomes, machines that fail are not; nothing writes late, nothing is left running; a broken slot does not
# take the run with it.
. "$(dirname "$0")/lib/check.bash"
mark=dpaudit-failures-$$

# The mechanism of methods.md section 18: it keeps epsilon 1, but fails more often with the challenge than without. Its failures
# keep their place in n; dropped, they would refute a true claim.
cat >fails.sh <<'SH'
# usage: fails.sh SEED MEMBERS OUT
awk -v seed="$1" -v is_in="$(grep -cx 0 "$2")" 'BEGIN {
    srand(seed); for (i = 0; i < 20; i++) rand(); u = rand()
    a = is_in ? .5437 : .2; b = is_in ? .1873 : .0689
    print (u < a ? "nan" : u < a + b ? 1 : 0) }' >"$3"
SH
experiment() { # NAME COMMAND MODELS [MORE KEYS]
    printf 'game: {kind: command, command: "%s", points: 3, models: %s, design: leave-one-out, signal: logit%s}\nclaim: {epsilon: 1, delta: 1e-9}\n' \
        "$2" "$3" "${4:-}" >"$1.yaml"
}
experiment fails "sh fails.sh {seed} {members} {out}" 200 ", failed: high"
run 0 run fails.yaml --output high --json
for arm in members nonmembers; do
    near "j['evidence']['$arm']" 100 0
    near "j['evidence']['trials_$arm']" 100 0
    near "j['evidence']['missing_$arm']" 0 0
done
failed=$(field "int(j['evidence']['failed_members'] + j['evidence']['failed_nonmembers'])")
[ "$failed" -gt 40 ] || fail "only $failed trials failed"
[ "$(field "j['evidence']['failures_p_value'] < 0.01")" = True ] || fail "failures that depend on the record are not noticed"
run 0 run fails.yaml --output high
says out "failures p value"
run 0 show fails.yaml
[ "$(awk '$3 == 200 {print $4 + $5}' out)" -eq 200 ] || { fail "show does not count played and failed trials"; cat out; }
[ "$(awk '$3 == 200 {print $7}' out)" -eq "$failed" ] || { fail "show does not count failed attempts"; cat out; }
# What the machine loses is missing: two of 40 leave a verdict, four do not.
for lost in 2 4; do
    echo "[ \$((\$1 % $((40 / lost)))) -eq 3 ] && exit 75; echo \"0.\$1\" >\"\$2\"" >lost.sh
    experiment lost "sh lost.sh {trial} {out} {members}" 40
    run $((lost == 2 ? 0 : 5)) run lost.yaml --retries 0 --json
    near "j['evidence']['missing_trials']" $lost 0
    run 0 status lost.yaml
    says out "stopped: $((40 - lost)) of 40 trials done, $lost missing"
done
run 0 export fails.yaml --output high --format csv
[ "$(grep -cx inf high/members.csv)" -gt 30 ] || fail "failed trainings are not scores above every other"
sed 's/, failed: high//' fails.yaml >low.yaml # the default; nothing is played again for it
run 0 export low.yaml --store fails.trials.db --output low --format csv
[ "$(grep -c -- -inf low/members.csv)" -gt 30 ] || fail "failed trainings are not scores below every other"
# The score is chosen in the file, before anything is played; other words are refused.
sed 's/failed: high/failed: against/' fails.yaml >against.yaml
run 0 export against.yaml --store fails.trials.db --output against --format csv
[ "$(grep -c nan against/members.csv)" -gt 30 ] || fail "failed: against does not count as a wrong guess"
sed 's/failed: high/failed: perhaps/' fails.yaml >bad.yaml
run 3 run bad.yaml

# A trainer's child with a session of its own writes after its time: into a folder that is gone.
cat >late.sh <<'SH'
# usage: late.sh TRIAL OUT MARK
if [ "$1" = 0 ]; then
    setsid sh -c 'while [ ! -e release ]; do sleep 0.05; done; echo 999 >"$1"; : "$2"' late "$2" "$3" &
    echo $! >>late-children
    [ -e forever ] && sleep 1000
fi
echo "0.$1" >"$2"
SH
scores() { "$DPAUDIT" export "$1" --output scores --format csv >/dev/null && cat scores/members.csv scores/nonmembers.csv; }
is_gone() { ! pgrep -f "$mark" >left; }
experiment late "sh late.sh {trial} {out} $mark {members}" 6 ", timeout: 2"
touch forever
run 0 run late.yaml --workers 1 # trial 0 takes too long
wait_for is_gone || fail "a child with its own session outlived a time-out: $(cat left)"
touch release
scores late.yaml | grep -qx 999 && fail "a late writer's number was stored"
rm -rf forever release late.trials.db*
run 0 run late.yaml --workers 1 # and it ends well, leaving its child behind
wait_for is_gone || fail "a child with its own session outlived a success"
touch release
scores late.yaml | grep -qx 999 && fail "a late writer's number was stored"
[ -e late.trials.db.scratch ] && fail "files of trials were left behind"
# The same when the whole run is killed: the workers see to it.
rm -rf late.trials.db* release late-children
touch forever
"$DPAUDIT" run late.yaml --workers 1 --timeout 1000 >/dev/null 2>&1 &
: >late-children
wait_for has_lines late-children 1 $!
kill -9 $!
wait $! 2>/dev/null
wait_for is_gone || fail "a child with its own session outlived a killed run: $(cat left)"
rm -f forever

# What a trial started elsewhere is cancelled, by whoever cleans up: after a failure, a time-out, a killed worker, a killed run.
cat >remote.sh <<'SH'
# usage: remote.sh TRIAL OUT ATTEMPT
echo "$3" >>started
case $1 in
1) exit 3 ;;
2) sleep 1000 ;;
3) [ -e killed ] || { touch killed; kill -9 $PPID; sleep 1000; } ;;
esac
echo "0.$1" >"$2"
SH
experiment remote "sh remote.sh {trial} {out} {attempt} {members}" 6 ", timeout: 2, cancel: 'sh -c \"echo {attempt} >>cancelled\"'"
sed -i "s/cancel: 'sh -c \"\(.*\)\"'/cancel: \"sh -c 'echo {attempt} >>cancelled'\"/" remote.yaml
run 0 run remote.yaml --workers 1 --output remote
[ "$(wc -l <started)" -eq 7 ] || fail "not seven attempts"
[ "$(sort cancelled | uniq | wc -l)" -eq 3 ] || { fail "not three attempts were cancelled:"; cat cancelled; }
[ "$(cut -d- -f2 cancelled | sort | paste -sd' ')" = "1 2 3" ] || fail "others were cancelled than those that did not end well"
sort started | uniq -d | grep -q . && fail "two attempts have one name"
rm -rf remote.trials.db* started cancelled killed
: >started
"$DPAUDIT" run remote.yaml --workers 1 --timeout 1000 >/dev/null 2>&1 &
wait_for has_lines started 3 $!
kill -9 $!
wait $! 2>/dev/null
run 0 run remote.yaml --workers 1 # finds the folder of trial 2's attempt
[ "$(grep -c "$(sed -n 3p started)" cancelled)" -eq 1 ] || { fail "the next run did not cancel what a killed one had started"; cat started cancelled; }

# A slot that fails everything at once, beside one that is slow and good: it is found, its trials go to the other, and it is named.
cat >slots.sh <<'SH'
# usage: slots.sh SLOT SEED OUT: slot 1 is broken
if [ "$1" = 1 ] && [ -e broken ]; then echo "CUDA error: device lost" >&2; exit 1; fi
sleep 0.01
awk -v seed="$2" 'BEGIN { srand(seed); for (i = 0; i < 20; i++) rand(); printf "%.17g\n", rand() }' >"$3"
SH
experiment slots "sh slots.sh {slot} {seed} {out} {members}" 200
run 0 run slots.yaml --store good.db --output good --workers 2
touch broken
run 0 run slots.yaml --store bad.db --output bad --workers 2
cmp good/scores.npz bad/scores.npz || fail "a broken slot changed the result"
says out "slot 1, as elsewhere none did: taken out"
run 0 show bad.db --failures
[ "$(grep -c ": the command ended with exit code 1" out)" -le 30 ] || fail "a broken slot got too many trials"
says out "slot 1"
says out "CUDA error"
# Alone, it stops the run: what failed there does not count, and is played after the repair.
experiment alone "sh breaks.sh {trial} {out} {members}" 120
cat >breaks.sh <<'SH'
[ "$1" -ge 60 ] && [ -e broken ] && exit 1
echo "0.$1" >"$2"
SH
run 4 run alone.yaml --workers 1
says err "every trial fails on"
says err "as none did before"
run 0 show alone.yaml --json
near "j['stages'][0]['played']" 60 0
near "j['stages'][0]['failed']" 0 0
rm broken
run 0 run alone.yaml --workers 1 --json
near "j['evidence']['members']" 60 0

# Status: trials with machine, slot and age, a stall that is noticed, progress inside of a trial, JSON, "done" only when all is done.
cat >stall.sh <<'SH'
if [ "$1" -ge 6 ]; then
    echo "trial $1 waits"
    while [ -e hold ]; do sleep 0.05; done
    echo "trial $1 goes on"
fi
echo "0.$1" >"$2"
echo "$1" >>stall.log
SH
touch hold
: >stall.log
experiment stall "sh stall.sh {trial} {out} {members}" 8
"$DPAUDIT" run stall.yaml --workers 2 >/dev/null 2>&1 &
wait_for has_lines stall.log 6 $!
is_stalled() { "$DPAUDIT" status stall.yaml --json >out && [ "$(field "j['stalled']")" = True ]; }
wait_for is_stalled || fail "a run that hangs is not noticed"
near "j['done']" 6 0
near "j['running']" 2 0
near "len(j['trials'])" 2 0
[ "$(field "j['trials'][0]['place']")" != "" ] || fail "a running trial has no place"
run 0 status stall.yaml
says out "does it hang?"
says out "trial 6 on "
# What a running trial prints: so far, and until it ends.
run 0 show stall.yaml --trial 6
says out "stage 1 trial 6: running on "
says out "| trial 6 waits"
grep -q "goes on" out && fail "a trial that waits goes on"
run 3 show stall.yaml --trial 8
run 2 show stall.yaml --follow
run 2 show stall.yaml --trial 6 --follow --json
kill -INT $!
wait $!
[ $? -eq 75 ] || fail "stopped: not exit 75"
run 0 status stall.yaml
says out "stopped: 6 of 8 trials done, 2 missing"
# From another machine: only the small file is there, and it says which machine.
mkdir elsewhere
sed 's/"host":"[^"]*"/"host":"hydra"/; s/"state":[0-9]/"state":1/' stall.trials.db.status.json >elsewhere/stall.trials.db.status.json
python3 - <<'PY'
import json, time
name = "elsewhere/stall.trials.db.status.json"
j = json.load(open(name))
j["updated"] = time.time()
json.dump(j, open(name, "w"))
PY
run 0 status elsewhere/stall.trials.db
says out "running (process"
says out "on hydra"
"$DPAUDIT" run stall.yaml --workers 2 >/dev/null 2>&1 &
again=$!
is_running() { "$DPAUDIT" status stall.yaml | grep -q "^running"; }
wait_for is_running
"$DPAUDIT" show stall.yaml --trial 7 --follow >followed 2>&1 & # waits for it to begin
follower=$!
wait_for grep -q "| trial 7 waits" followed || { fail "a running trial cannot be followed"; cat followed; }
rm hold
wait $follower || fail "show --follow: exit $?"
says followed "| trial 7 goes on"
says followed "stage 1 trial 7: 1 number in "
[ "$(grep -c "trial 7 waits" followed)" -eq 1 ] || { fail "what was followed is printed twice"; cat followed; }
wait $again || fail "a run whose trial was followed failed"
[ -e stall.trials.db.scratch ] && fail "logs of trials are left"
run 0 status stall.yaml
says out "done: 8 of 8 trials done"
run 0 show stall.yaml --trial 7
says out "| trial 7 goes on"
if [ -e "$DPA_SOURCE/examples/run-federated.yaml" ]; then
    cp "$DPA_SOURCE"/examples/federated-client.yaml "$DPA_SOURCE"/examples/run-federated.yaml .
    sed -i 's/rounds: [0-9]*/rounds: 1000000/' run-federated.yaml
    cp -r "$DPA_SOURCE"/examples/*.csv "$DPA_SOURCE"/examples/*.npz . 2>/dev/null
    "$DPAUDIT" run run-federated.yaml --workers 1 >/dev/null 2>err &
    has_progress() {
        kill -0 "$federated" || return 0
        "$DPAUDIT" status run-federated.yaml --json >out 2>/dev/null && [ "$(field "j['trials'] != [] and j['trials'][0]['done'] > 0")" = True ]
    }
    federated=$!
    wait_for has_progress || fail "a long trial does not say how far it is"
    near "j['trials'][0]['total']" 1000000 0
    kill -TERM $federated
    wait $federated
    [ $? -eq 75 ] || { fail "a stopped federation: not exit 75"; cat err; }
fi
finish
