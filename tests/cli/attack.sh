# SPDX-License-Identifier: GPL-3.0-or-later
# Attacks from the command line: scores that other commands read, and clear refusals.
. "$(dirname "$0")/lib/check.bash"
cp "$DPA_SOURCE"/examples/{signals,membership}.npy .

for attack in loss calibrated lira; do
    run 0 attack $attack --signals signals.npy --members membership.npy --out scores.csv
    [ "$(wc -l <scores.csv)" -eq 61 ] || fail "$attack: $(wc -l <scores.csv) lines"
    run 0 one-run scores.csv --guesses 20 --json
done
# members are what the signals of the example were made to favour
run 0 attack lira --signals signals.npy --members membership.npy
awk -F, 'NR > 1 {n[$2]++; s[$2] += $1} END {exit !(s[1] / n[1] > s[0] / n[0])}' out || fail "members do not score higher"
run 0 attack rmia --signals signals.npy --members membership.npy --population signals.npy --offline
run 0 attack lira --signals signals.npy --members membership.npy --target 5 --exclude 6 --exclude 7 --variance pooled

run 2 attack magic --signals signals.npy --members membership.npy
says err "is not one of loss, calibrated, lira, rmia"
run 2 attack lira
says err "needs --signals and --members"
run 2 attack rmia --signals signals.npy --members membership.npy
says err "needs signals of population points"
run 2 attack loss --signals signals.npy --members membership.npy --target 24
says err "no model 24"
run 2 attack loss --signals signals.npy --members membership.npy --exclude x
run 3 attack lira --signals nothing.npy --members membership.npy
says err "nothing.npy"
run 3 attack lira --signals membership.npy --members signals.npy
says err "membership is 0 or 1"
: >empty.npy
run 3 attack lira --signals empty.npy --members membership.npy
finish
