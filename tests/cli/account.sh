# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit account: pairs, ledgers, tables, groups, shuffled batches, and other accountants' numbers.
. "$(dirname "$0")/lib/check.bash"

echo '{"p": [0.75, 0.25], "q": [0.25, 0.75]}' >rr.json
run 0 account --pair rr.json --steps 12 --delta 1e-4 --json
near "j['epsilon']['upper']" "$(python3 - <<'PY'
# the binomial sum of randomized response, by bisection
import math
def delta(e, n=12, p=0.75):
    return sum(max(math.comb(n, k) * (p**k * (1 - p)**(n - k) - math.exp(e) * p**(n - k) * (1 - p)**k), 0) for k in range(n + 1))
lo, hi = 0, 14
for _ in range(100):
    mid = (lo + hi) / 2
    lo, hi = (mid, hi) if delta(mid) > 1e-4 else (lo, mid)
print(lo)
PY
)" 2e-3

cat >ledger.json <<'JSON'
{"class_name": "SelfComposedDpEvent", "count": 1000,
 "event": {"class_name": "PoissonSampledDpEvent", "sampling_probability": 0.01,
           "event": {"class_name": "GaussianDpEvent", "noise_multiplier": 1.0}}}
JSON
run 0 account --ledger ledger.json --json
near "j['epsilon']['lower']" 1.8282 1e-3
cp out ledger.out
run 0 account --sigma 1 --q 0.01 --steps 1000 --json
near "j['epsilon']['lower']" "$(python3 -c "import json; print(json.load(open('ledger.out'))['epsilon']['lower'])")" 0

# another accountant's number: too small, inside, too large
for pair in "1.7 below" "1.828 inside" "2.1 above"; do
    run 0 account --sigma 1 --q 0.01 --steps 1000 --check ${pair% *} --json
    field "j['check']['side']" | grep -qx "${pair#* }" || fail "check $pair"
done
says out "side"
run 0 account --sigma 1 --q 0.01 --steps 1000 --check 1.7
says out "too small"

# tables hold the single answers
run 0 account --sigma 1 --q 0.01 --steps 1000 --deltas 1e-3,1e-5,1e-8 --epsilons 1,2 --orders 2,8 --epsilon 2 --json
field "[len(j['epsilon_table']), len(j['delta_table']), len(j['rdp_table'])]" | grep -qx "\[3, 2, 2\]" || fail "tables"
field "j['epsilon_table'][1]['epsilon_upper'] == j['epsilon']['upper']" | grep -qx True || fail "epsilon table"
near "j['delta_table'][1]['delta_upper']" "$(field "j['delta_at_epsilon']['upper']")" 1e-2
near "j['rdp_table'][0]['rdp']" 0.1718134221 1e-8

# a shuffle is between an attack and known batches; a group of five leaks more than five times the ε of one
run 0 account --mechanism shuffled --sigma 0.8 --batches 100 --steps 5 --json
near "j['epsilon']['upper']" 15.22271 1e-4
field "10 < j['epsilon']['lower'] < j['epsilon']['upper']" | grep -qx True || fail "shuffled"
run 0 account --sigma 1 --q 0.01 --steps 1000 --group 5 --json
field "j['epsilon']['lower'] > 5 * 1.83" | grep -qx True || fail "group"
run 0 account --phase mechanism=laplace,sigma=2,q=0.1,steps=10 --phase sigma=3,steps=2
run 0 account --zcdp 0.1 --json
near "j['epsilon']['upper']" 1.914266 1e-5
printf 'order,rdp\n2,0.2\n8,0.8\n' >rdp.csv
run 0 account --rdp rdp.csv --json
near "j['epsilon']['upper']" 2.0141 1e-3

# a pair is a family for every estimator
run 0 counts --fn 300 --tp 700 --fp 300 --tn 700 --family pair:rr.json --method cp --json
field "0.8 < j['results'][0]['epsilon_lower'] < 1.0986" | grep -qx True || fail "family pair"
run 0 one-run --canaries 1000 --guesses 500 --correct 330 --family ledger:ledger.json --json

run 2 account --mechanism shuffled --sigma 1
says err "batches"
run 2 account --pair rr.json --sigma 1
run 2 account --deltas 1e-3,x --sigma 1
run 3 account --pair ledger.json
run 3 account --ledger rr.json
says err "without a name"
finish
