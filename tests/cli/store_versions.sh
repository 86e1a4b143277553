# SPDX-License-Identifier: GPL-3.0-or-later
# A store of version 3, whose keys had numbers of enums, goes on: for every kind of game nothing is played again.
. "$(dirname "$0")/lib/check.bash"
cp "$DPA_SOURCE"/tests/data/store-3/* .
mkdir path && ln -s "$DPAUDIT" path/dpaudit && export PATH="$PWD/path:$PATH" # what trainer.yaml starts
python3 -c "import sqlite3; sqlite3.connect('trials.db').executescript(open('trials.sql').read())"

trials() { python3 -c "
import sqlite3
for row in sqlite3.connect('trials.db').execute('SELECT experiment, stage.number, trial.number, seconds, numbers FROM trial JOIN stage ON stage.id=stage ORDER BY 1, 2, 3'): print(row)"; }
trials >before
[ "$(wc -l <before)" -eq 37 ] || fail "the store has other trials than expected"

# Reading: the old store is shown as it is, and its trials count as stored.
run 0 show trials.db --settings
says out d64a387f94cd
says out "(not stored: dpaudit run writes them)"
games="black-box command federated input-canary membership reconstruction shadow trainer white-box whole-training"
for game in $games; do
    run 0 run $game.yaml --dry-run --workers 1
    says out "(mean of those stored)"
done
trials | cmp - before || fail "a rehearsal changed the store"

# Writing: the keys are made anew, the trials stay; then the store has no older key left.
for game in $games; do
    "$DPAUDIT" run $game.yaml --workers 1 >out 2>err
    code=$?
    case $code in 0 | 1 | 5) ;; *) fail "$game: exit $code"; cat err ;; esac
done
trials | cmp - before || fail "trials were played again, or lost"
run 0 show trials.db --settings
for word in "game.canary: mislabelled" "shadow.design: half" "federate.participation: poisson" "trainer.signal: loss" "game.copies: 3"; do
    says out "$word"
done
grep -q "not stored" out && fail "a stage kept its older key"
run 0 show trials.db --json
[ "$(field 'len(j["stages"])')" = 11 ] || fail "stages: $(field 'len(j["stages"])')"
[ "$(field '[s["settings"]["game.command"] for s in j["stages"] if s["experiment"] == "command.yaml"][0]')" = "sh count.sh {seed} {out}" ] ||
    fail "settings in JSON"
for game in $games; do
    run 0 run $game.yaml --dry-run --workers 1
    says out "(mean of those stored)"
done

# Trials in files, too.
mkdir files && cp trials.dpt files/
run 0 import command.yaml files --store new.db
says out "4"
run 0 run command.yaml --store new.db --dry-run
says out "4 of them stored"
finish
