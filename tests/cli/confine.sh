# SPDX-License-Identifier: GPL-3.0-or-later
# confine: what a program that trains may use of the machine. A limit that it hits is its own failure, an outcome; a machine that
# cannot confine says so; the evidence has what was asked.
. "$(dirname "$0")/lib/check.bash"

cat >t.sh <<'SH'
case $2 in
network) grep -c : /proc/net/dev >&2; echo 0.5 >"$1" ;;
disk) head -c 3000000 /dev/zero >large && echo 0.5 >"$1" ;;
memory) python3 -c 'x = bytearray(800000000)' && echo 0.5 >"$1" ;;
odd) [ $(($3 % 2)) = 0 ] || head -c 3000000 /dev/zero >"large$3" || exit 3; echo 0.5 >"$1" ;;
esac
SH
# experiment NAME WHAT CONFINE
experiment() {
    echo "game: {kind: command, command: \"sh t.sh {out} $2 {trial} {members}\", points: 3, models: 24, design: leave-one-out, signal: logit}
claim: {epsilon: 1, delta: 1e-5}
confine: {$3}" >"$1.yaml"
}

experiment memory memory "memory-mb: 400"
run 4 run memory.yaml --workers 1
says err "MemoryError"
experiment disk disk "file-mb: 1"
run 4 run disk.yaml --workers 1
says err "the first 10 trials failed"
[ "$(wc -c <large)" -le 1000000 ] || fail "it wrote $(wc -c <large) bytes"
experiment free disk "file-mb: 4, memory-mb: 8000"
run 0 run free.yaml --workers 1 --json
[ "$(field "[j['evidence'][k] for k in ('confined_file_mb', 'confined_memory_mb')]")" = "[4, 8000]" ] || fail "the evidence has no limits"
# Every second training hits its limit: outcomes, each in its place.
experiment odd odd "file-mb: 1"
run 1 run odd.yaml --workers 2 --json
[ "$(field "[j['evidence'][k] for k in ('trials', 'failed_members', 'failed_nonmembers')]")" = "[24, 0, 12]" ] || fail "failures by a limit are no outcomes: $(cat out)"
# Another limit is another experiment: nothing that was played counts for it.
sed -i 's/file-mb: 1/file-mb: 4/' odd.yaml
run 0 run odd.yaml --workers 2 --json
[ "$(field "j['evidence'].get('failed_nonmembers', 0)")" = 0 ] || fail "failures under another limit are taken over"

# No network: where neither root nor a user namespace may make one, a sentence and exit 4.
if unshare -n true 2>/dev/null || unshare -Un true 2>/dev/null; then
    experiment offline network "no-network: true"
    run 0 run offline.yaml --workers 1 --json
    [ "$(field "j['evidence']['confined_no_network']")" = 1 ] || fail "the evidence does not say that there was no network"
    run 0 show offline.yaml --trial 3
    grep -qx '    | 1' out || fail "it sees more than a loopback: $(cat out)"
    # the same for a program that stays
    cp "$DPA_SOURCE/examples/train-toy.csv" .
    cat >dp.yaml <<'YAML'
data: {format: table, path: train-toy.csv, label: kind, members: 0..100, heldout: 400..460, standardise: true}
model: "mlp:8"
train: {sampling: poisson, steps: 6, batch: 20, rate: 0.2}
privacy: {clip: 1, sigma: 0.8, delta: 1e-5}
YAML
    echo 'training: dp.yaml
game: {kind: black-box, observations: 6}' >served.yaml
    cat >stays.sh <<SH
grep -c : /proc/net/dev >>seen
exec "$DPAUDIT" trainer serve served.yaml
SH
    echo 'trainer: {command: "sh stays.sh", points: 100, canaries: 1, heldout: 60, clip: 1, sigma: 0.8, q: 0.2, steps: 6}
game: {kind: black-box, observations: 6}' >stays.yaml
    run 0 run stays.yaml --workers 1 --output open
    [ "$(tail -n 1 seen)" -gt 0 ] || fail "no network was seen"
    echo 'confine: {no-network: true, file-mb: 10}' >>stays.yaml
    run 0 run stays.yaml --workers 1 --output closed
    [ "$(tail -n 1 seen)" = 1 ] || fail "a program that stays sees $(tail -n 1 seen) networks"
    "$DPAUDIT" scores open/scores.npz --json >a; "$DPAUDIT" scores closed/scores.npz --json >b
    same_verdict a b || fail "a confined program says something else"
fi
if unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_net_namespaces' 2>/dev/null; then
    experiment refused network "no-network: true"
    unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_net_namespaces; exec "$0" run refused.yaml --workers 1' "$DPAUDIT" >out 2>err
    [ $? = 4 ] || fail "no network namespaces: another exit code than 4"
    says err "this machine does not let a program be confined (no-network)"
fi

# Keys that cannot be meant.
experiment none network "memory-mb: 0"
run 3 run none.yaml
says err "memory-mb"
echo 'training: dp.yaml
game: {kind: white-box}
confine: {memory-mb: 100}' >own.yaml
run 3 run own.yaml
says err "confine: there is no program to confine"
finish
