# SPDX-License-Identifier: GPL-3.0-or-later
# dpaudit one-run: counts, files, the idealised game, claims, and what is refused.
. "$(dirname "$0")/lib/check.bash"

run 0 one-run --canaries 100000 --guesses 1500 --correct 1429
says out "3.2992"
says out "2.6688"
run 0 one-run --canaries 500 --guesses 100 --correct 60 --family dp
says out "0.0507"
run 0 one-run --canaries 500 --guesses 500 --correct 480 --options 50 --confidence 0.99 --family gaussian
says out "9.8004"
run 0 one-run --canaries 1000 --guesses 1000 --correct 520
says out "Nothing is shown"

# claims: exit 1 when refuted, with the p-value in the JSON
run 1 one-run --canaries 100000 --guesses 1500 --correct 1429 --claim-epsilon 2.5
says out "REFUTED"
run 0 one-run --canaries 100000 --guesses 1500 --correct 1429 --claim-epsilon 3
says out "if gaussian"
run 1 one-run --canaries 100000 --guesses 1500 --correct 1429 --claim-epsilon 3 --family gaussian
run 0 one-run --canaries 100000 --guesses 1500 --correct 1429 --claim-epsilon 4 --family gaussian
run 1 one-run --canaries 100000 --guesses 1500 --correct 1429 --claim-sigma 1.4 --family gaussian --json
says out '"p_value": '
run 0 one-run --canaries 100000 --guesses 1500 --correct 1429 --claim-sigma 1.2 --family gaussian
# noise as a number: what it promises, tested without believing that it was Gaussian
run 0 one-run --canaries 100 --guesses 10 --correct 10 --claim-sigma 1 --family dp --json
near "j['verdict']['claim']['epsilon']" 4.377175 1e-6

# files: separable scores, in any order of the rows
{
    echo score,member
    for i in $(seq 1 200); do echo "$i,$((i > 100))"; done
} >scores.csv
run 0 one-run scores.csv
says out "16, 64, 200"
says out "auto"
run 0 one-run scores.csv --guesses 200 --family gaussian --json
says out '"correct": 200'
says out '"guesses_curve"'
run 0 one-run scores.csv --guesses max --family gaussian
says out "optimistic"
(head -n 1 scores.csv; tail -n +2 scores.csv | sort -R) >shuffled.csv
"$DPAUDIT" one-run scores.csv --guesses 50 --family dp | sed 1d >a
"$DPAUDIT" one-run shuffled.csv --guesses 50 --family dp | sed 1d >b
cmp -s a b || fail "the order of the rows matters"

# all scores equal: nothing can be shown, whatever the order
{
    echo score,member
    for i in $(seq 1 100); do echo "1,$((i > 50))"; done
} >ties.csv
run 0 one-run ties.csv
says out "Nothing is shown"
says out "share their score"

{
    echo score,correct
    for i in $(seq 1 100); do echo "$i,$((i > 40))"; done
} >confidences.csv
run 0 one-run confidences.csv --options 10 --guesses 50 --family gaussian
says out "replacing one canary"

# the idealised game
run 0 one-run --ideal --sigma 2 --canaries 1e5 --family gaussian
says out "1.497610 with 621 of 756 right"
run 0 one-run --ideal --sigma 0.5 --canaries 1e5 --guesses 2938 --family gaussian
says out "7.362105 with 2933 of 2938 right"
run 0 one-run --ideal --sigma 1 --canaries 1000 --simulate 3 --seed 5
cp out a
run 0 one-run --ideal --sigma 1 --canaries 1000 --simulate 3 --seed 5
cmp -s out a || fail "the same seed plays differently"

# refused, with the reason
run 2 one-run
says err "needs a file of scores"
run 2 one-run --canaries 100 --guesses 101 --correct 3
says err "101 guesses about 100 canaries"
run 2 one-run --canaries 100 --guesses 10 --correct 11
says err "11 right out of 10"
run 2 one-run --canaries 100 --guesses auto --correct 1
says err "needs a file"
run 2 one-run scores.csv --guesses 1000
says err "there are 200 canaries"
run 2 one-run scores.csv --options 3
says err "a file of members has two"
run 2 one-run --canaries 100 --guesses 10 --correct 10 --options 3 --method pointwise
says err "two options"
run 3 one-run missing.csv
printf 'score,member\n1,0\nnan,1\n' >bad.csv
run 3 one-run bad.csv
says err "bad.csv"
run 2 one-run --ideal --canaries 10
says err "needs --sigma"

# two arrays, as scores and as losses: the same canaries either way
seq 101 200 >in.txt
seq 1 100 >out.txt
run 0 one-run in.txt out.txt --guesses 100 --json
near "j['results'][0]['epsilon_lower']" "$("$DPAUDIT" one-run --canaries 200 --guesses 100 --correct 100 --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["results"][0]["epsilon_lower"])')" 1e-12
cp out as_scores
run 0 one-run out.txt in.txt --losses --guesses 100 --json
[ "$(field "j['results']")" = "$(python3 -c "import json; print(json.load(open('as_scores'))['results'])")" ] || fail "losses and scores disagree"
run 2 one-run scores.csv --losses
says err "--losses goes with two arrays"
run 3 one-run in.txt missing.txt
says err "missing.txt"
# At the edges of the idealised game: a range or an answer, never the words of a solver.
run 2 one-run --ideal --sigma inf --canaries 100
says err "sigma: must be positive and finite"
run 2 one-run --ideal --sigma 1 --canaries 1
says err "at least 2"
run 2 one-run --ideal --sigma 1 --canaries 100 --confidence 1e-300
for sigma in 1e-300 1e6 1e300; do run 0 one-run --ideal --sigma $sigma --canaries 100; done
says out "≥ 0.000000"
finish
