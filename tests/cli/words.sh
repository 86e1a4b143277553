# SPDX-License-Identifier: GPL-3.0-or-later
# Words at the terminal: what was meant by an option of another name, tables in 80 columns, numbers that fit the sample.
. "$(dirname "$0")/lib/check.bash"

run 0 example scores
for word in eps epsilon claim promised-epsilon; do
    run 2 scores members.npy nonmembers.npy --$word 1
    says err "did you mean --claim-epsilon?"
done
run 2 calibrate --target-epsilon 1 # no claim there: the epsilon that it has
says err "did you mean --epsilon?"
run 2 scores members.npy nonmembers.npy --html page.html
says err "did you mean --report?"
run 2 scores members.npy nonmembers.npy --noise-multiplier 1
says err "did you mean --claim-sigma?"
run 2 scores members.npy nonmembers.npy --confidense 0.9
says err "did you mean --confidence?"
run 2 scores members.npy nonmembers.npy --xyz 1
grep -q "did you mean" err && fail "a guess out of nothing: $(cat err)"

# widest: columns of the widest line of out.
widest() { python3 -c 'print(max(len(line.rstrip("\n")) for line in open("out", encoding="utf-8")))'; }
run 0 plan --claim-epsilon 2 --leak-sigma 0.5 --size 500 --method cp
says out "detectable"
[ "$(widest)" -le 80 ] || fail "plan is $(widest) columns wide"
run 0 plan --claim-epsilon 1 --leak 4 --family gaussian --method cp
says out "threshold"
[ "$(widest)" -le 80 ] || fail "plan is $(widest) columns wide"
run 0 plan --claim-epsilon 1 --leak 4 --family subsampled-gaussian:q=0.05,steps=2000 --method cp --game runs --size 100
[ "$(widest)" -le 80 ] || fail "plan is $(widest) columns wide with a long family"

run 0 one-run --canaries 1234567 --guesses 1500 --correct 800
says out "canaries 1234567,"
# 500 non-members resolve a false positive rate of 0.01, not of 0.001; in the JSON, too.
run 0 scores members.npy nonmembers.npy
says out "at FPR 0.01, "
grep -q "FPR 0.001" out && fail "a rate of half a non-member"
run 0 scores members.npy nonmembers.npy --json
field "[r['fpr'] for r in j['quality']['tpr_at_fpr']]" | grep -qx '\[0.01, 0.1\]' || fail "JSON: $(field "j['quality']['tpr_at_fpr']")"
for n in 999 1000; do
    seq 1 $n >n.csv
    run 0 scores n.csv n.csv --json
    field "len(j['quality']['tpr_at_fpr'])" >count
    [ "$(cat count)" = $((n == 1000 ? 3 : 2)) ] || fail "$n non-members: $(cat count) rates"
done

# On a terminal: colour unless NO_COLOR says no, a small picture of the bounds, and a sign of life where it takes long.
cat >terminal.py <<'PY'
import os, pty, sys
said = b""
child, master = pty.fork()
if child == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    try:
        block = os.read(master, 65536)
    except OSError:  # the other end is closed
        break
    if not block:
        break
    said += block
os.waitpid(child, 0)
sys.stdout.buffer.write(said)
PY
terminal() { python3 terminal.py "$DPAUDIT" "$@" >out; }
counts="counts --fn 30 --tp 970 --fp 20 --tn 980 --claim-epsilon 1"
terminal $counts
grep -q "$(printf '\033\\[1;31m')REFUTED" out || fail "no colour on a terminal: $(head -n 1 out)"
says out "Bounds on ε"
grep -q "Posterior density" out && fail "all plots, unasked"
NO_COLOR=1 terminal $counts
grep -q "$(printf '\033')" out && fail "colour in spite of NO_COLOR"
says out "REFUTED"
terminal $counts --json
grep -q "Bounds on" out && fail "a picture in the JSON"
run 1 $counts
grep -q "Bounds on" out && fail "a picture in a file"
finish
