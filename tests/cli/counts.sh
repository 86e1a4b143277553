# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit counts: known answers, claims, exit codes, what is refused.
. "$(dirname "$0")/lib/check.bash"

run 0 counts --fn 35 --tp 65 --fp 25 --tn 75 --delta 0.05 --two-sided --family dp --all --json
near "[r['epsilon_lower'] for r in j['results'] if r['method'] == 'bayes'][0]" 0.5217866485606449 1e-9
near "[r['epsilon_upper'] for r in j['results'] if r['method'] == 'bayes'][0]" 1.2666485170793187 1e-9
near "[r['epsilon_lower'] for r in j['results'] if r['method'] == 'cp'][0]" 0.2951506109128222 1e-9
near "j['posterior']['median']" 0.8755 0.03
near "j['posterior']['points'][-1]['cumulative']" 0.999 1e-6
[ "$(field "max(len(l) for l in open('out').read().split(chr(10)) if 'note' not in l) < 200")" = True ] || fail "long lines"

# the answer first, then at most six rows, in a width that fits a terminal
run 0 counts --fn 35 --tp 65 --fp 25 --tn 75
[ "$(head -n 1 out | cut -c 1-12)" = "The leak is " ] || fail "the first line is not the answer"
[ "$(grep -c '^  .*[0-9]\.[0-9]' out)" -le 6 ] || fail "more than six rows"
grep -qE "gaussian +.*if gaussian" out || fail "no row says what would follow for Gaussian noise"
grep -qE "dp +bayes .*posterior" out || fail "the posterior is not shown"
run 0 counts --fn 35 --tp 65 --fp 25 --tn 75 --all
[ "$(sed 1d out | python3 -c "import sys; print(max(len(l.rstrip()) for l in sys.stdin))")" -le 80 ] || fail "wider than 80"
grep -qE "gaussian +bayes" out || fail "no gaussian bayes"
grep -qE "laplace +cp" out || fail "no laplace cp"
says out "estimate"
run 0 counts --fn 35 --tp 65 --fp 25 --tn 75 --delta 0 --all
says out "katz"
says out "inverse-sinh"

# claims
run 1 counts --fn 0 --tp 1000 --fp 0 --tn 1000 --claim-epsilon 5.8 --family dp --method cp --confidence 0.9
says out "REFUTED"
run 0 counts --fn 0 --tp 1000 --fp 0 --tn 1000 --claim-epsilon 5.81 --family dp --method cp --confidence 0.9
run 0 counts --fn 50 --tp 50 --fp 50 --tn 50 --claim-epsilon 0.1 --family dp --method cp
says out "nothing is shown"
# an approximation, an estimate or a posterior never decides: it is shown beside the test that does
for method in katz point jeffreys; do
    run 1 counts --fn 40 --tp 960 --fp 10 --tn 990 --delta 0 --family dp --method $method --claim-epsilon 0.1 --json
    [ "$(field "[r['role'] for r in j['results'] if r['method'] == '$method']")" = "['shown']" ] || fail "$method decides"
    [ "$(field "[r['epsilon_lower'] for r in j['results'] if r['role'] == 'primary'] == [j['verdict']['epsilon_lower']]")" = True ] || fail "who decided?"
done

# more of it
run 0 counts --fn 400 --tp 600 --fp 50 --tn 950 --at-epsilon 1 --explain --family dp
says out "δ that ε = 1 needs"
says out "Four times as many runs"
run 0 counts --fn 400 --tp 600 --fp 50 --tn 950 --curve --family gaussian --method cp --json
near "[r['epsilon_lower'] for r in j['epsilon_delta'] if r['delta'] == 1e-5][0]" "$(field "j['results'][0]['epsilon_lower']")" 1e-12
run 0 counts --fn 90 --tp 10 --fp 60 --tn 40
says out "columns swapped"
run 0 counts --fn 0 --tp 3 --fp 0 --tn 3
says out "fewer than 20"

# what is refused
run 2 counts --fn 1 --tp 2 --fp 3
says err "--tn"
run 2 counts --fn 1 --tp 2 --fp 3 --tn -4
run 2 counts --fn 1 --tp 2 --fp 3 --tn x
run 3 counts --fn 0 --tp 0 --fp 3 --tn 4
says err "no members"
run 3 counts --fn 1 --tp 1 --fp 0 --tn 0
run 2 counts --fn 1 --tp 2 --fp 3 --tn 4 --method wald
says err "none of"
run 2 counts --fn 1 --tp 2 --fp 3 --tn 4 --method katz --family dp
says err "delta 0"
run 2 counts --fn 1 --tp 2 --fp 3 --tn 4 --method katz
run 2 counts --fn 1 --tp 2 --fp 3 --tn 4 --method rank
says err "scores"
run 2 counts --fn 1 --tp 2 --fp 3 --tn 4 --family normal
run 2 counts --fn 1 --tp 2 --fp 3 --tn 4 --delta 1
run 2 counts --fn 1 --tp 2 --fp 3 --tn 4 --confidence 95
run 2 counts --fn 1 --tp 2 --fp 3 --tn 4 --at-epsilon -1
run 2 counts extra --fn 1 --tp 2 --fp 3 --tn 4
finish
