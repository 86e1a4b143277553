# SPDX-License-Identifier: GPL-3.0-or-later
# Trials as files: job arrays of dpaudit trial, brought together by dpaudit import; the same bytes as one run.
. "$(dirname "$0")/lib/check.bash"
mark=dpaudit-files-$$
models=48
cat >train.sh <<'SH'
# usage: train.sh SEED TRIAL OUT MARK: trial 5 fails
echo "$2" >>log
[ "${BROKEN:-0}" = 1 ] && exit 1
[ "$2" = 5 ] && { echo "cannot" >&2; exit 3; }
while [ -e hold ]; do sleep 0.05; done
awk -v seed="$1" 'BEGIN { srand(seed); for (i = 0; i < 20; i++) rand(); printf "%.17g\n", rand() }' >"$3"
SH
cat >files.yaml <<YAML
game:
  kind: command
  command: sh train.sh {seed} {trial} {out} $mark {members}
  points: 5
  models: $models
  design: leave-one-out
  signal: logit
YAML
export TMPDIR=$work/tmp
mkdir tmp
run 0 run files.yaml --store calm.db --output calm --workers 2 --json=calm.json
nobody_is_left() { ! pgrep -f "$mark|worker -- files.yaml" >left; }
compare() { # STORE: its evidence is that of one run, and nothing is played for it
    : >log
    run 0 run files.yaml --store "$1" --output wild
    [ -s log ] && fail "$1: trials were played after the import"
    cmp calm/scores.npz wild/scores.npz || fail "$1: another result"
}

# An array, some tasks twice, in any order; one trial each for the last.
for i in 2 0 1 2; do run 0 trial files.yaml --shard $i/4 --out array --workers 1; done
says out "stage 1: 12 trials, 12 found, 0 played"
run 75 import files.yaml array --store a.db
says out "36 of 48 trials are in the store"
says out "12 are missing: 3,6,11,14,"
run 75 import files.yaml array --store a.db --missing
for i in $(tr ',' ' ' <out); do run 0 trial files.yaml --index "$i" --out array; done
run 0 import files.yaml array --store a.db
says out "48 of 48 trials are in the store, 12 of them new"
compare a.db
run 0 show a.db --failures
says out "trial 5: the command ended with exit code 3 (the trainer"
says out "| cannot"

# Duplicates and late files do no harm: the attempt that began first counts, whatever the names and the order.
mkdir other && cp array/* other
for file in array/*; do cp "$file" "other/0-late-$(basename "$file")"; done
run 0 import files.yaml other --store b.db
says out "48 were there more than once"
compare b.db
run 0 import files.yaml other --store b.db
says out "0 of them new"
sed 's/printf "%.17g/printf "9%.17g/' train.sh >changed.sh && cp train.sh good.sh
cat changed.sh >train.sh # another trainer: another key, nothing of it is taken
run 0 trial files.yaml --shard 0/1 --out other
cat good.sh >train.sh
run 0 import files.yaml other --store c.db
says out "48 are of another experiment"
compare c.db

# A broken machine in the array: what failed there is no outcome. It is named, and played elsewhere.
for i in 0 1 2 3; do BROKEN=$((i == 2)) run 0 trial files.yaml --shard $i/4 --out broken --workers 1; done
run 75 import files.yaml broken --store broken.db
says out "36 of 48 trials are in the store, 36 of them new"
says out "12 failed on $(hostname) process "
says out "by all others no coincidence"
[ "$(awk '/are missing/ {gsub(/.*: /, ""); n = split($0, t, ","); for (i in t) odd += t[i] % 2; print n, odd}' out)" = "12 6" ] ||
    { fail "a share has trials of one arm"; cat out; }
run 75 import files.yaml broken --store broken.db --missing
for i in $(tr ',' ' ' <out); do run 0 trial files.yaml --index "$i" --out broken; done
run 0 import files.yaml broken --store broken.db
compare broken.db
# It is seen late, when the store has taken its failures already.
mkdir early && cp broken/s1-2of4-* early
run 75 import files.yaml early --store late.db
says out "12 of 48 trials are in the store"
cp broken/* early
run 0 import files.yaml early --store late.db
compare late.db
# A training that fails whenever the record is in: outcomes, all of them.
sed 's/train.sh/always.sh/' files.yaml >always.yaml
cat >always.sh <<'SH'
grep -qx 0 "$5" && exit 3
echo "0.$2" >"$3"
SH
for i in 0 1 2 3; do run 0 trial always.yaml --shard $i/4 --out always --workers 1; done
run 0 import always.yaml always --store always.db
says out "48 of 48 trials are in the store"
run 0 run always.yaml --store always.db --json
near "j['evidence']['failed_members']" 24 0
near "j['evidence']['failed_nonmembers']" 0 0
# All numbers that are missing, however many.
sed 's/models: .*/models: 240/' files.yaml >many.yaml
run 0 trial many.yaml --shard 0/2 --out many --workers 2
run 75 import many.yaml many --store many.db
says out "... (--missing prints all)"
run 75 import many.yaml many --store many.db --missing
[ "$(cat out)" = "$(seq 1 4 237 | awk '{printf "%s%d-%d", (NR > 1 ? "," : ""), $1, $1 + 1}')" ] || { fail "not all that is missing is printed"; cat out; }

# Files that are cut off, changed or no trials at all.
mkdir bad && cp array/* bad
first=$(ls bad/s1-0of4-*.dpt | head -n 1)
truncate -s -5 "$first"
python3 - bad/s1-1of4-*.dpt <<'PY'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.index(b"\n") + 3 # in the numbers of its first trial
data[at] ^= 1
open(sys.argv[1], "wb").write(data)
PY
echo "hello" >bad/x.dpt
: >bad/empty.dpt
run 75 import files.yaml bad --store d.db
says out "3 are damaged"
says out "2 are missing: "
run 3 import files.yaml nowhere --store d.db
run 2 import files.yaml

# Stopped: saves, says 75, goes on. Killed at random moments: nobody stays, no scratch stays, nothing finished is lost.
: >log
touch hold
"$DPAUDIT" trial files.yaml --shard 0/1 --out stopped --workers 2 >out 2>err &
wait_for has_lines log 2 $!
kill -TERM $!
rm hold
wait $!
[ $? -eq 75 ] || fail "SIGTERM: not exit 75"
says err "the same command goes on"
no_files() { [ -z "$(ls "$1")" ]; }
in_files() { # the trials of the folder, one a line
    rm -f have.db*
    "$DPAUDIT" import files.yaml stopped --store have.db >/dev/null 2>&1
    "$DPAUDIT" show have.db --trials 2>/dev/null | awk 'NR > 1 {print $2}' | sort
}
wanted=${DPA_KILLS:-6}
for i in $(seq $((3 * wanted))); do
    [ $kills -eq "$wanted" ] && break
    [ $((i % 3)) -eq 0 ] && rm -f stopped/*.dpt # once more from the beginning
    in_files >before
    : >log
    mkdir disk
    TMPDIR=$work/disk "$DPAUDIT" trial files.yaml --shard 0/1 --out stopped --workers 2 >out 2>err &
    pid=$!
    wait_for has_lines log "$(random "$i" 1 12)" $pid
    case $((i % 5)) in
    0) kill_one SIGTERM TERM $pid ;;
    1) kill_one SIGKILL KILL $pid ;;
    2) kill_node $pid ;;
    3) victim=$(pgrep -P $pid | head -n 1) && kill_one slot KILL "$victim" ;;
    4) # the import, whose store takes it up again
        wait $pid
        rm -f cut.db*
        "$DPAUDIT" import files.yaml stopped --store cut.db >/dev/null 2>&1 &
        pid=$!
        sleep "0.00$((i % 10))" # anywhere in it
        kill_one import KILL $pid
        wait $pid 2>/dev/null
        run 0 import files.yaml stopped --store cut.db
        says out "48 of 48 trials are in the store"
        ;;
    esac
    wait $pid 2>/dev/null
    wait_for nobody_is_left || fail "kill $i: left running: $(cat left)"
    [ $((i % 5)) -eq 2 ] || wait_for no_files disk || { fail "kill $i: scratch is left"; ls disk; }
    rm -rf disk # of a machine that is lost it is lost, too
    sort log | comm -12 - before >again
    [ -s again ] && fail "kill $i: finished trials were played again: $(paste -sd' ' again)"
    in_files >after
    [ -z "$(comm -23 before after)" ] || fail "kill $i: finished trials were lost"
done
print_kills array "$wanted"
run 0 trial files.yaml --shard 0/1 --out stopped --workers 2
run 0 import files.yaml stopped --store e.db
compare e.db
wait_for no_files tmp || { fail "scratch is left"; ls tmp; }

# The templates of examples/cluster: the pods of the Kubernetes job, one after the other, by the command that its file has; shards
# by GNU parallel. Slurm's are tried by scripts/test-slurm.
mkdir bin && ln -s "$DPAUDIT" bin/dpaudit
cp files.yaml audit.yaml
if python3 -c "import yaml" 2>/dev/null; then
    python3 - "$DPA_SOURCE/examples/cluster/kubernetes.yaml" <<'PY' || fail "the Kubernetes job"
import os, subprocess, sys, yaml
job = yaml.safe_load(open(sys.argv[1]))
assert job["apiVersion"] == "batch/v1" and job["kind"] == "Job" and job["metadata"]["name"]
spec = job["spec"]
assert spec["completionMode"] == "Indexed" and spec["parallelism"] <= spec["completions"]
pod = spec["template"]["spec"]
assert pod["restartPolicy"] in ("OnFailure", "Never")
mounts = {m["name"] for m in pod["containers"][0]["volumeMounts"]}
assert mounts == {v["name"] for v in pod["volumes"]}
env = dict(os.environ, PATH=os.getcwd() + "/bin:" + os.environ["PATH"])
for index in range(spec["completions"]):
    subprocess.run(pod["containers"][0]["command"], env=dict(env, JOB_COMPLETION_INDEX=str(index)), check=True, stdout=subprocess.DEVNULL)
PY
    run 0 import audit.yaml trials --store k.db
    compare k.db
else
    echo "SKIPPED: the Kubernetes job (python3-yaml is not installed)"
fi
if command -v parallel >/dev/null; then
    TRIALS=parallel sh "$DPA_SOURCE/examples/cluster/parallel.sh" audit.yaml 4 >out 2>err || { fail "GNU parallel"; cat err; }
    run 0 import audit.yaml parallel --store p.db
    compare p.db
else
    echo "SKIPPED: GNU parallel is not installed"
fi

# Two stages: the import writes the brief of the second.
need() { [ -e "$DPA_SOURCE/examples/$1" ]; }
if need run-shadow.yaml; then
    cp -r "$DPA_SOURCE"/examples/* .
    rm -rf shadow
    run 2 trial run-shadow.yaml --shard 0/2 --out shadow --stage 9
    run 3 trial run-shadow.yaml --shard 0/2 --out shadow --stage 2
    says err "stage-2.brief is not there"
    for i in 0 1; do run 0 trial run-shadow.yaml --shard $i/2 --out shadow; done
    run 75 import run-shadow.yaml shadow --store f.db
    says out "stage 2 of 2"
    for i in 0 1; do run 0 trial run-shadow.yaml --shard $i/2 --out shadow; done
    says out "stage 2: "
    run 0 import run-shadow.yaml shadow --store f.db
    "$DPAUDIT" run run-shadow.yaml --store f.db --output f1 >/dev/null
    "$DPAUDIT" run run-shadow.yaml --store g.db --output f2 >/dev/null
    cmp f1/scores.npz f2/scores.npz || fail "two stages by files give another result"
fi

# Usage.
run 2 trial files.yaml --out x
run 2 trial files.yaml --index 3
run 2 trial files.yaml --index 3 --shard 1/2 --out x
run 2 trial files.yaml --shard 2/2 --out x
run 2 trial files.yaml --shard two --out x
run 2 trial files.yaml --index 48 --out x
finish
