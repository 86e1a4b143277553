# SPDX-License-Identifier: GPL-3.0-or-later
# Runs over three ranks of an MPI job: the same bytes as without, whatever is killed on the way.
. "$(dirname "$0")/lib/check.bash"
"$DPAUDIT" --version | grep -q MPI || fail "--version does not say whether there is MPI"
[ -e "${DPAUDIT%/*}/../lib/dpaudit/mpi.so" ] || { echo "SKIPPED: built without MPI"; exit 77; }
"$DPAUDIT" --version | grep -q "without the MPI" && fail "--version does not see the MPI module"
command -v mpirun >/dev/null || { echo "SKIPPED: mpirun is not here"; exit 77; }
export NO_COLOR=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export LSAN_OPTIONS=detect_leaks=0 # Open MPI keeps what it allocates at its start
models=80
mark=dpaudit-cluster-$$ # in the command line of every trainer
cat >train.sh <<'SH'
# usage: train.sh SEED TRIAL OUT MARK
echo "$2" >>began
env | grep -E '^(OMPI|PMIX|PMI)_' >>launcher # a trainer may start MPI itself
echo "trial $2 waits"
while [ -e hold ]; do sleep 0.05; done
sleep 0.02
awk -v seed="$1" 'BEGIN { srand(seed); rand(); printf "%.17g\n", rand() }' >"$3"
echo "$2" >>log
SH
cat >cluster-audit.yaml <<YAML
game:
  kind: command
  command: sh train.sh {seed} {trial} {out} $mark {members}
  points: 5
  models: $models
  design: leave-one-out
  signal: logit
YAML
[ "${DPA_BUILD##*/}" = asan ] && is_asan=1 || is_asan=0
ranks() { timeout 300 mpirun --oversubscribe "$@"; }
stored() { "$DPAUDIT" show "$1" --trials 2>/dev/null | awk 'NR > 1 {print $2}' | sort; }
nobody_is_left() { ! pgrep -f "$mark|worker -- cluster-audit.yaml" >left; }
nobody_left() { wait_for nobody_is_left || fail "$1: left running: $(paste -sd' ' left)"; }
rank_of() { tr '\0' '\n' <"/proc/$1/environ" 2>/dev/null | sed -n 's/^OMPI_COMM_WORLD_RANK=//p'; }
process_of() { # RANK STORE
    for process in $(pgrep -f "^$DPAUDIT run cluster-audit.yaml --store $2"); do
        [ "$(rank_of "$process")" = "$1" ] && echo "$process"
    done
}

run 0 run cluster-audit.yaml --store calm.db --output calm --workers 2
cp out calm.out
: >launcher # without a launcher its variables are the user's
ranks -n 3 "$DPAUDIT" run cluster-audit.yaml --store three.db --output three --workers 1 >three.out 2>three.err ||
    { fail "three ranks: exit $?"; cat three.err; }
cmp calm/scores.npz three/scores.npz || fail "three ranks give other scores"
diff calm.out three.out || fail "three ranks give another report"
[ ! -s launcher ] || fail "trainers see this job's variables: $(head -n 2 launcher | paste -sd' ')"
nobody_left "three ranks"

# A rank, the first rank, a worker, the machine of a rank or mpirun itself is killed after a random number of trials; then again.
export OMPI_MCA_orte_base_help_aggregate=0
wanted=${DPA_KILLS:-20}
[ $is_asan = 1 ] && wanted=4
for i in $(seq $((3 * wanted))); do
    [ $kills -eq $wanted ] && break
    stored wild.db >before
    : >log
    ranks -n 3 "$DPAUDIT" run cluster-audit.yaml --store wild.db --output wild --workers 1 --retries 5 >wild.out 2>wild.err &
    wait_for has_lines log "$(random "$i" 1 9)" $!
    launcher=$(pgrep -f "^mpirun.*store wild.db" | head -n 1)
    worker=$(pgrep -f "worker -- cluster-audit.yaml" | tail -n 1)
    # shellcheck disable=SC2046,SC2086
    case $((i % 6)) in
    0) kill_one SIGKILL KILL $launcher ;;
    1) kill_one rank KILL $(process_of 2 wild.db) ;;
    2) kill_one rank KILL $(process_of 0 wild.db) ;;
    3) kill_one slot KILL $worker ;;
    4) kill_one SIGTERM TERM $launcher ;;
    5) kill_node "$(process_of 2 wild.db)" ;;
    esac
    wait
    nobody_left "kill $i"
    sort log | comm -12 - before >again
    [ -s again ] && fail "kill $i: stored trials were played again: $(paste -sd' ' again)"
    stored wild.db >after
    [ -z "$(comm -23 before after)" ] || fail "kill $i: stored trials were lost"
    [ "$(wc -l <after)" -ge "$models" ] && rm -rf wild.db* # done: once more
done
print_kills MPI "$wanted"
ranks -n 3 "$DPAUDIT" run cluster-audit.yaml --store wild.db --output wild --workers 1 >wild.out 2>wild.err
cmp calm/scores.npz wild/scores.npz || fail "another result after all these kills"
diff calm.out wild.out || fail "another report after all these kills"
[ -z "$(ls -d wild.db.scratch* 2>/dev/null)" ] || fail "scratch is left: $(ls -d wild.db.scratch*)"

# Where the launcher goes on without a rank, so does the run: it costs the trial that the rank was playing. Every rank is held in
# a trial when one is killed. Ten seconds of silence instead of thirty; once is enough for that, without sanitizers.
if [ $is_asan = 0 ]; then
    : >log
    : >began
    touch hold
    DPAUDIT_RANK_SILENCE=10 ranks --enable-recovery -n 3 "$DPAUDIT" run cluster-audit.yaml --store lost.db --output lost --workers 1 >lost.out 2>lost.err &
    lost=$!
    wait_for has_lines began 3 $lost
    # What a trial prints can be read while it runs, whichever rank plays it.
    prints() { "$DPAUDIT" show lost.db --trial "$1" >out 2>err && grep -q "| trial $1 waits" out; }
    for i in $(cat began); do wait_for prints "$i" || { fail "trial $i prints and cannot be heard"; cat out err; }; done
    kill -9 "$(process_of 2 lost.db)"
    rm hold
    wait $lost || { fail "a lost rank: exit $?"; cat lost.err; }
    cmp calm/scores.npz lost/scores.npz || fail "another result after a rank was lost"
    run 0 show lost.db --failures
    says out "rank 2 is gone"
    [ "$(sort log | uniq -d | wc -l)" -le 1 ] || fail "a lost rank cost more than its trial"
    nobody_left "a lost rank"
fi

# Long trials of other ranks say how far they are.
if [ $is_asan = 0 ]; then
    cp "$DPA_SOURCE"/examples/federated-client.yaml "$DPA_SOURCE"/examples/run-federated.yaml "$DPA_SOURCE"/examples/*.csv .
    sed -i 's/rounds: [0-9]*/rounds: 1000000/; s/repetitions: 1/repetitions: 3/' run-federated.yaml
    ranks -n 2 "$DPAUDIT" run run-federated.yaml --workers 1 >/dev/null 2>far.err &
    far=$!
    has_progress() {
        kill -0 $far || return 0
        "$DPAUDIT" status run-federated.yaml --json >out 2>/dev/null &&
            [ "$(field "any('rank 1' in t['place'] and t['done'] > 0 for t in j['trials'])")" = True ]
    }
    wait_for has_progress || { fail "a trial of rank 1 does not say how far it is"; cat out; }
    kill -0 $far || { fail "the federation ended by itself"; cat far.err; }
    kill -TERM "$(pgrep -f "^mpirun.*run-federated.yaml" | head -n 1)"
    wait $far
fi

# What is wrong is said once and ends all ranks.
echo "game: [" >bad.yaml
ranks -n 3 "$DPAUDIT" run bad.yaml >out 2>err && fail "a bad file: exit 0"
[ "$(grep -c '^dpaudit run: bad.yaml' err)" -eq 1 ] || { fail "a bad file is not said once"; cat err; }
cat >wrapper.sh <<'SH'
[ "$OMPI_COMM_WORLD_RANK" = 2 ] && cd other
exec "$DPAUDIT" run cluster-audit.yaml --store other.db
SH
mkdir other && sed 's/points: 5/points: 6/' cluster-audit.yaml >other/cluster-audit.yaml && cp train.sh other
DPAUDIT=$DPAUDIT ranks -n 3 sh wrapper.sh >out 2>err && fail "another experiment on a rank: exit 0"
says err "rank 2 reads another experiment"
finish
