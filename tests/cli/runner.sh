# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit run with external trainers: examples, resume, store, status, show, export; trainers that misbehave.
. "$(dirname "$0")/lib/check.bash"
cp "$DPA_SOURCE"/examples/command/* .

# A shell script keeps its promise; with less noise it does not.
mkdir tmp
TMPDIR=$PWD/tmp run 0 run count.yaml --dry-run
says out "trials: 400 in 1 stage, 1 of them stored"
says out "the first one, timed now and kept"
rmdir tmp || fail "a dry run left files"
run 0 show count.yaml --json
near "j['stages'][0]['played']" 1 0
run 0 run count.yaml --output a --workers 2
says out "Not refuted"
[ -e count.trials.db ] || fail "no store"
[ -e count.trials.db.lock ] && fail "the lock was left behind"
[ -e count.trials.db.scratch ] && fail "files of trials were left behind"
run 1 run count-broken.yaml
says out "REFUTED"

# Again: nothing is played. Other workers, another store, the same bytes.
sed -i 's/^set -eu/exit 9/' count.sh # would fail, and has another digest
run 4 run count.yaml --output b
says err "the first 10 trials failed; the last: the command ended with exit code 9"
cp "$DPA_SOURCE/examples/command/count.sh" .
run 0 run count.yaml --output b
cmp -s a/scores.npz b/scores.npz || fail "the store gave other scores"
run 0 run count.yaml --output c --trials 100
run 0 run count.yaml --output d --store other.db --workers 3 --trials 60 --events events
run 0 run count.yaml --output d --store other.db --workers 3 --trials 100 --events events
python3 - <<'PY' || fail "events of a run that went on"
import json
lines = [json.loads(line) for line in open("events")]
kinds = [line["event"] for line in lines]
assert kinds == ["run", "stage"] + 60 * ["trial"] + ["end", "run", "stage"] + 40 * ["trial"] + ["end"], kinds
trials = [line for line in lines if line["event"] == "trial"]
assert [t["done"] for t in trials] == list(range(1, 101)) and sorted(t["trial"] for t in trials) == list(range(100))
assert all(t["ended"] == "played" and len(t["values"]) == 1 and t["seconds"] > 0 for t in trials)
assert lines[64]["done"] == 60 and lines[-1]["state"] == "done" and lines[-1]["played"] == 40
PY
run 4 run count.yaml --store other.db --trials 100 --events no/such/folder
says err "cannot write events"
cmp -s c/scores.npz d/scores.npz || fail "three workers gave other scores"
run 0 run count.yaml --output e --seed 2 --trials 100
cmp -s c/scores.npz e/scores.npz && fail "another seed, the same scores"

# What an experiment shares with another is found again: claim and number of models may differ.
sed 's/models: 400/models: 420/; s/epsilon: 1/epsilon: 2/' count.yaml >more.yaml
run 0 run more.yaml --store count.trials.db --dry-run
says out "trials: 420 in 1 stage, 400 of them stored"
run 0 run more.yaml --store count.trials.db --json
near "j['evidence']['trials']" 420 0

# Budgets.
run 0 run count.yaml --store few.db --trials 50 --json
near "j['evidence']['members']" 25 0
run 0 status few.db
says out "done: 50 of 50 trials done"
sed 's/^set -eu/&\nsleep 0.05/' "$DPA_SOURCE/examples/command/count.sh" >count.sh
run 5 run count.yaml --store timed.db --seconds 3 --workers 2 --json # too many are missing to say
cp "$DPA_SOURCE/examples/command/count.sh" .
python3 -c "import json; n = json.load(open('out'))['evidence']['missing_trials']; exit(not 0 < n < 400)" ||
    fail "the budget of seconds was not kept"
run 0 status timed.db --json
python3 -c "import json; exit(json.load(open('out'))['state'] != 'stopped')" || fail "not stopped"

# What the store says.
run 0 status count.yaml
says out "done: "
run 0 show count.yaml
says out "count.yaml"
run 0 show count.yaml --trials
[ "$(wc -l <out)" -ge 400 ] || fail "not all trials are listed"
run 0 show few.db --trial 3
says out "stage 1 trial 3: 1 number in"
run 3 show few.db --trial 100
run 0 show few.db --json --trial 3
[ "$(field "[t['trial'] for t in j['trials']], len(j['trials'][0]['numbers']), 'said' in j['trials'][0]")" = "[3] 1 True" ] || fail "show --json --trial shows another trial"
run 3 show few.db --json --trial 100
says err "trial 100 is not there"
[ -s out ] && fail "show --json of a trial that is not there prints something"
run 2 show few.db --json --trial 3 --trials
run 0 export count.yaml --output e --format csv
[ "$(wc -l <e/members.csv)" -eq 200 ] || fail "export: not 200 members"
run 0 export count.yaml --output e
run 0 scores e/members.npy e/nonmembers.npy
run 3 status nothing.db
run 0 status count.yaml --bound
says out "Not refuted"

# A C program: scores of one run by LiRA; signals for dpaudit attack.
if command -v cc >/dev/null; then
    cc -O2 -o logistic logistic.c -lm || fail "logistic.c does not compile"
    run 1 run logistic.yaml
    says out "canaries 200"
    run 0 export logistic.yaml --signals --output signals
    head -c 60 signals/members.npy | grep -qa "|u1" || fail "flags are not bytes"
    run 0 attack lira --signals signals/signals.npy --members signals/members.npy --kind loss
fi

# Python with PyTorch.
if /usr/bin/python3 -c "import torch" 2>/dev/null; then
    sed -i 's|python3|/usr/bin/python3|; s/models: 8/models: 3/' torch.yaml
    run 0 run torch.yaml
    says out "3 models"
    run 0 export torch.yaml --output torch-signals
    [ -e torch-signals/signals.npy ] || fail "no signals of PyTorch"
else
    echo "SKIPPED: the PyTorch example (python3-torch is not installed)"
fi

# Trainers that misbehave: each with words, others go on.
experiment() { # NAME COMMAND [MORE KEYS]
    printf 'game: {kind: command, command: "%s", points: 4, models: 8, design: leave-one-out, signal: logit%s}\n' \
        "$2" "$3" >"$1.yaml"
}
cat >odd.sh <<'SH'
# usage: odd.sh TRIAL OUT WHAT MARK: trial 3 does what it should not
trial=$1 out=$2
echo "this is trial $trial" >&2
if [ "$trial" -eq 3 ]; then
    case $3 in
    exit) echo "cannot go on" >&2; exit 5 ;;
    kill) kill -9 $$ ;;
    hang) sleep "1000.$4" ;;
    garbage) echo "hello world" >"$out"; exit 0 ;;
    binary) head -c 100 /dev/urandom >"$out"; exit 0 ;;
    many) printf '1\n2\n' >"$out"; exit 0 ;;
    none) exit 0 ;;
    empty) : >"$out"; exit 0 ;;
    nan) echo nan >"$out"; exit 0 ;;
    elsewhere) exit 75 ;;
    limit) ulimit -v 300000; exec python3 -c "x = bytearray(10**9)" ;;
    oom) echo $$ >"$GROUP/cgroup.procs"; exec python3 -c "x = b'1' * 10**9" ;;
    parent) kill -9 $PPID; sleep 1 ;;
    esac
fi
echo "0.$trial" >"$out"
SH
odd() { # WHAT TEXT [MORE KEYS]: the trainer fails: an outcome that keeps its place, played once
    experiment "$1" "sh odd.sh {trial} {out} $1 $$ {members}" "${3:-}"
    run 0 run "$1.yaml" --json --retries 1
    near "j['evidence']['nonmembers']" 4 0
    near "j['evidence']['failed_nonmembers']" 1 0
    near "j['evidence']['failed_members']" 0 0
    run 0 show "$1.yaml" --failures
    says out "trial 3: "
    says out "$2"
    says out "this is trial 3"
    [ "$(grep -c "trial 3: " out)" -eq 1 ] || fail "$1: not one attempt"
    run 0 run "$1.yaml" --json
    near "j['evidence']['failed_nonmembers']" 1 0
    run 0 show "$1.yaml" --failures
    [ "$(grep -c "trial 3: " out)" -eq 1 ] || fail "$1: an outcome was played again"
}
lost() { # WHAT TEXT: the machine fails: played again, then given up; counts against the attack
    experiment "$1" "sh odd.sh {trial} {out} $1 $$ {members}" ""
    run 0 run "$1.yaml" --json --retries 1
    near "j['evidence']['nonmembers']" 4 0
    near "j['evidence']['missing_nonmembers']" 1 0
    run 0 show "$1.yaml" --failures
    says out "$2"
    [ "$(grep -c "trial 3: " out)" -eq 2 ] || fail "$1: not two attempts"
}
odd exit "exit code 5"
says out "cannot go on"
run 0 show exit.yaml --trial 2
says out "this is trial 2"
lost kill "signal 9"
lost elsewhere "asks to be run elsewhere"
odd garbage "hello"
odd binary "out"
odd many "wrote 2 values to {out}: expected 1"
odd none "wrote no {out}"
odd empty "out"
odd nan "finite"
lost parent "the worker was ended by signal 9"
odd hang "no result within the timeout of 3 s" ", timeout: 3"
pgrep -f "sleep 1000.$$" >/dev/null && fail "a trainer that hung was left running"
# Out of memory, by a limit of its own and by the kernel, where we may make a group of 40 MB for it.
odd limit "the command ended with exit code 1"
says out "MemoryError"
for parent in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    export GROUP=$parent/dpaudit-$$
    mkdir "$GROUP" 2>/dev/null || continue
    if [ -e "$GROUP/memory.oom_control" ]; then
        echo 40000000 2>/dev/null >"$GROUP/memory.limit_in_bytes" && break
    elif [ -e "$GROUP/memory.max" ]; then
        echo 0 2>/dev/null >"$GROUP/memory.swap.max"
        echo 40000000 2>/dev/null >"$GROUP/memory.max" && break
    fi
    rmdir "$GROUP"
done
if [ -d "$GROUP" ]; then
    odd oom "the command was ended: out of memory"
    rmdir "$GROUP"
else
    echo "SKIPPED: ended by the kernel for lack of memory (needs the right to make a control group)"
fi

# Nothing works at all: stops early and says why.
experiment missing "no-such-program {out}" ""
run 4 run missing.yaml
says err "is there a program 'no-such-program'"
sed -i 's/models: 8/models: 2/' missing.yaml # too few to stop early
run 4 run missing.yaml
says err "is there a program 'no-such-program'"
# The last line it wrote, however it ends lines.
printf 'printf "first\\r\\nlast\\r\\n\\n" >&2\nexit 5\n' >crlf.sh
experiment crlf "sh crlf.sh {out} {members}" ""
run 4 run crlf.yaml
says err "the command ended with exit code 5: last (dpaudit show --failures has all)"
printf 'printf only >&2\nexit 5\n' >crlf.sh
run 4 run crlf.yaml
says err "the command ended with exit code 5: only (dpaudit show --failures has all)"
experiment folder "sh odd.sh {trial} {out} exit {members}" ", points: 4"
run 3 run folder.yaml # a key twice
for bad in 'points: 0' 'models: 1' 'queries: 9' 'challenge: 4' 'timeout: 0' 'design: triangles' 'attack: hope'; do
    experiment bad "sh odd.sh {out}" ""
    sed -i "s/${bad%%:*}: [^,}]*/$bad/; t; s/}\$/, $bad}/" bad.yaml
    run 3 run bad.yaml
    says err "bad.yaml"
done
experiment bad "sh 'odd.sh {out}" ""
run 3 run bad.yaml
says err "not closed"
run 2 run - </dev/null
run 2 run count.yaml --workers 5000
finish
