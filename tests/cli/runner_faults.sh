# SPDX-License-Identifier: GPL-3.0-or-later
# Runs that are killed, stopped, refused: nothing finished is lost or played twice, nobody is left behind, the result is the
# same to the byte.
. "$(dirname "$0")/lib/check.bash"
models=80
mark=dpaudit-fault-$$ # in the command line of every trainer
# Notes which trials were played; takes a while, in a grandchild.
cat >train.sh <<'SH'
# usage: train.sh SEED TRIAL OUT MARK
echo "$2" >>began
while [ -e hold ]; do sleep 0.05; done
sh -c 'sleep 0.02; : "$0"' "$4"
awk -v seed="$1" 'BEGIN { srand(seed); rand(); printf "%.17g\n", rand() }' >"$3"
echo "$2" >>log
SH
cat >faults-audit.yaml <<YAML
game:
  kind: command
  command: sh train.sh {seed} {trial} {out} $mark {members}
  points: 5
  models: $models
  design: leave-one-out
  signal: logit
YAML
run 0 run faults-audit.yaml --store calm.db --output calm --workers 2

stored() { "$DPAUDIT" show "$1" --trials 2>/dev/null | awk 'NR > 1 {print $2}' | sort -n; }
nobody_is_left() { ! pgrep -f "$mark|worker -- faults-audit.yaml" >left; }
nobody_left() { # WHEN: neither trainers nor workers are there any more
    wait_for nobody_is_left && return
    fail "$1: left running:"
    ps -o pid,ppid,args -p "$(paste -sd, left)"
}
start() { # OPTIONS…: in the background; its process is $pid
    : >log
    : >began
    "$DPAUDIT" run faults-audit.yaml --output wild --workers 2 --retries 5 "$@" >wild.out 2>wild.err &
    pid=$!
}
start_held() { # the run does not get beyond its first trials until hold is removed
    touch hold
    start
    wait_for has_lines began 2 $pid
}
played() { wait_for has_lines log "$1" $pid; } # N: so many trials since the start

# Twenty times (DPA_KILLS): a worker, a trainer, the run (by SIGKILL or SIGTERM), or the machine with all of them is killed after a
# random number of trials.
wanted=${DPA_KILLS:-20}
for i in $(seq $((3 * wanted))); do
    [ $kills -eq "$wanted" ] && break
    stored faults-audit.trials.db >before
    start
    played "$(random "$i" 1 9)"
    victim=$(pgrep -P "$pid" | head -n 1)
    case $((i % 5)) in
    0) kill_one SIGKILL KILL "$pid" ;;
    1) kill_one SIGTERM TERM "$pid" ;;
    2) kill_node "$pid" ;;
    3) [ -n "$victim" ] && kill_one slot KILL "$victim" ;;
    4) victim=$(pgrep -P "${victim:-1}" -f "$mark" | head -n 1) && kill_one trainer KILL "$victim" ;;
    esac
    if [ $((i % 5)) -ge 3 ]; then # the run goes on without
        played "$(random "$((i + 100))" 10 19)"
        kill -9 "$pid" 2>/dev/null
    fi
    wait "$pid" 2>/dev/null
    nobody_left "kill $i"
    sort log | comm -12 - <(sort before) >again
    [ -s again ] && fail "kill $i: stored trials were played again: $(paste -sd' ' again)"
    stored faults-audit.trials.db | sort >after
    [ -z "$(sort before | comm -23 - after)" ] || fail "kill $i: stored trials were lost"
    [ "$(wc -l <after)" -ge "$models" ] && rm -rf faults-audit.trials.db* # done: once more
done
print_kills local "$wanted"
run 0 run faults-audit.yaml --output wild --workers 2
cmp calm/scores.npz wild/scores.npz || fail "another result after all these kills"
run 0 export faults-audit.yaml --output wild --format csv
run 0 export faults-audit.yaml --store calm.db --output calm --format csv
cmp calm/members.csv wild/members.csv || fail "another export"
[ -e faults-audit.trials.db.scratch ] && fail "files of trials are left"

# A changed trainer finds nothing that applies, and the run says so.
echo "# another version" >>train.sh
run 0 run faults-audit.yaml --trials 10
says err "$models trials of another version"
sed -i '$d' train.sh

# A run that was killed is not called running.
rm -rf faults-audit.trials.db*
start_held
"$DPAUDIT" status faults-audit.yaml >out
says out "running (process $pid"

# Another run on the same store meanwhile.
run 4 run faults-audit.yaml
says err "process $pid on "
says err "is running on this store"
kill -9 $pid
wait $pid 2>/dev/null
rm hold
run 0 status faults-audit.yaml
says out "killed: "
nobody_left "killed run"

# Ctrl-C once: stops, says how to go on, leaves nobody.
start_held
kill -INT $pid
rm hold
wait $pid
[ $? -eq 75 ] || fail "Ctrl-C: not exit 75"
says wild.err "trials are stored; the same command goes on from there"
pgrep -f "$mark|worker -- faults-audit.yaml" >/dev/null && fail "Ctrl-C left processes"
[ -e faults-audit.trials.db.lock ] && fail "Ctrl-C left the lock"
run 0 status faults-audit.yaml
says out "stopped: "
# The same when a batch system asks for it.
start_held
kill -TERM $pid
rm hold
wait $pid
[ $? -eq 75 ] || fail "SIGTERM: not exit 75"
says wild.err "the same command goes on from there"
nobody_left "SIGTERM"
# Twice: at once, while the trainers still wait. The second comes when the first has been taken, because two that wait are one.
is_taken() { # SIGNAL: its handler has run and is gone, or the process is
    local mask
    mask=$(sed -n 's/^SigCgt:\t//p' "/proc/$pid/status" 2>/dev/null)
    [ $((0x${mask:-0} >> ($(kill -l "$1") - 1) & 1)) -eq 0 ]
}
for signal in INT TERM; do
    start_held
    kill -$signal $pid
    wait_for is_taken $signal
    kill -$signal $pid 2>/dev/null
    wait $pid
    [ $? -ge 4 ] || fail "SIG$signal twice: exit 0"
    rm hold
    nobody_left "SIG$signal twice"
done
start_held
rm hold
run 0 status faults-audit.yaml --watch
says out "done: $models of $models trials done"
wait $pid || fail "a run that was watched failed"
cmp calm/scores.npz wild/scores.npz || fail "another result after Ctrl-C"

# Stores that are not what they should be.
sql() { python3 -c "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2]); c.commit()" "$@"; }
cp calm.db newer.db
sql newer.db "PRAGMA user_version=99"
run 3 run faults-audit.yaml --store newer.db
says err "newer.db: made by a newer dpaudit (version 99"
run 3 status newer.db
sql foreign.db "CREATE TABLE t(x)"
run 3 run faults-audit.yaml --store foreign.db
says err "not a store of dpaudit"
echo "this is a text of some length, and not at all a store of trials" >text.db
run 3 run faults-audit.yaml --store text.db
says err "not a store of dpaudit"
says text.db "this is a text"
cp calm.db torn.db
python3 - <<'PY'
with open("torn.db", "r+b") as f:
    f.seek(0, 2)
    size = f.tell()
    for page in range(1, size // 4096):
        f.seek(4096 * page)
        f.write(b"\xff" * 2000)
PY
run 3 run faults-audit.yaml --store torn.db
says err "the store is damaged"
# One wrong number among the stored ones is found by its checksum and played again.
cp calm.db bent.db
sql bent.db "UPDATE trial SET numbers=zeroblob(8) WHERE number=3; UPDATE trial SET number=1000 WHERE number=5"
run 0 show bent.db --trials
says out "damaged"
run 0 run faults-audit.yaml --store bent.db --output wild
says err "1 stored trials were damaged"
cmp calm/scores.npz wild/scores.npz || fail "another result from a bent store"
# Tables that are missing, a version that is not theirs: damage, to be rescued.
for what in "PRAGMA user_version=0" "PRAGMA user_version=1" "DROP TABLE trial" "DROP TABLE failure" "DROP TABLE stage" "DROP TABLE run"; do
    cp calm.db other.db
    sql other.db "$what"
    for command in "status other.db" "show other.db" "export faults-audit.yaml --store other.db --output x" "run faults-audit.yaml --store other.db"; do
        # shellcheck disable=SC2086
        run 3 $command
        says err "the store is damaged"
    done
done
# A store that was made before the table of runs came.
cp calm.db older.db
sql older.db "DROP TABLE run; ALTER TABLE trial DROP COLUMN ended; ALTER TABLE trial DROP COLUMN place;
    ALTER TABLE failure DROP COLUMN place; ALTER TABLE failure DROP COLUMN machine; ALTER TABLE stage DROP COLUMN settings;
    PRAGMA user_version=1"
run 3 status older.db
says err "older dpaudit"
run 0 run faults-audit.yaml --store older.db --output wild
cmp calm/scores.npz wild/scores.npz || fail "another result from an older store"
run 0 status older.db

# Changed under the run's feet: the workers see it.
cp faults-audit.yaml moving.yaml
cat >slow.sh <<'SH'
sed -i 's/points: 5/points: 6/' moving.yaml
kill -9 $PPID
SH
sed -i 's/train.sh/slow.sh/' moving.yaml
run 3 run moving.yaml --workers 1
says err "changed meanwhile"

# A folder that cannot be written, a disk that fills: with a file system of our own, if we may make one.
mkdir disk
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=160k tmpfs disk 2>/dev/null; then
    trap 'umount "$work/disk" 2>/dev/null; rm -rf "$work"' EXIT
    sed 's/sh train.sh.*/sh wide.sh {queries} {out} {members}/; s/points: 5/points: 500/; s/  design.*/  queries: 500/' \
        faults-audit.yaml >wide.yaml
    echo 'cp "$1" "$2"' >wide.sh
    run 4 run wide.yaml --store disk/full.db --workers 2
    says err "disk is full"
    kept=$(stored disk/full.db | wc -l)
    [ "$kept" -gt 0 ] || fail "full disk: nothing was kept"
    mount -o remount,size=4m disk
    run 0 run wide.yaml --store disk/full.db --output wide --workers 2
    run 0 status disk/full.db --json
    near "j['played']" $((models - kept)) 0
    cp calm.db disk/calm.db
    mount -o remount,ro disk
    run 4 run faults-audit.yaml --store disk/calm.db
    says err "disk/calm.db"
    run 0 status disk/calm.db
    run 0 export faults-audit.yaml --store disk/calm.db --output wild --format csv
    cmp calm/members.csv wild/members.csv || fail "another export from a read-only store"
    umount disk
else
    echo "SKIPPED: full and read-only file systems (needs the right to mount one)"
fi
if [ "$(id -u)" -ne 0 ]; then
    cp calm.db frozen.db
    chmod a-w frozen.db
    run 4 run faults-audit.yaml --store frozen.db
    says err "read-only"
    run 0 status frozen.db
fi
finish
