# SPDX-License-Identifier: GPL-3.0-or-later
# Stores that are damaged, strangely named or hostile.
. "$(dirname "$0")/lib/check.bash"
cat >train.sh <<'SH'
echo x >>log
[ "$2" = 5 ] && exit 3
awk -v seed="$1" 'BEGIN { srand(seed); for (i = 0; i < 20; i++) rand(); printf "%.17g\n", rand() }' >"$3"
SH
printf 'game: {kind: command, command: "sh train.sh {seed} {trial} {out} {members}", points: 3, models: 120, design: leave-one-out, signal: logit}\n' >audit.yaml
run 0 run audit.yaml --store calm.db --output calm --workers 2
python3 -c "import sqlite3; c = sqlite3.connect('calm.db'); c.execute('PRAGMA journal_mode=DELETE'); c.close()"
pages=$(($(stat -c %s calm.db) / 4096))

# Page by page: damage is said with exit code 3, never "0 of 0 done"; what a rescue saves is right, and the run goes on from it.
saved=0 told=0
for page in $(seq 0 $((pages - 1))); do
    rm -rf torn.db* new.db* log
    python3 - "$page" <<'PY'
import sys
data = bytearray(open("calm.db", "rb").read())
at = 4096 * int(sys.argv[1])
data[at:at + 4096] = b"\xff" * 4096
open("torn.db", "wb").write(data)
PY
    "$DPAUDIT" status torn.db >out 2>err
    code=$?
    [ $code -eq 3 ] || { fail "page $page: status ends with $code"; head -n 2 out err; }
    grep -q " 0 of 0" out && fail "page $page: 0 of 0"
    run 3 show torn.db
    run 0 show audit.yaml --store torn.db --rescue new.db
    run 0 run audit.yaml --store new.db --output wild --workers 2
    cmp calm/scores.npz wild/scores.npz || fail "page $page: another result after a rescue"
    "$DPAUDIT" show new.db --failures 2>/dev/null | grep -q "trial 5: the command ended with exit code 3" && told=$((told + 1))
    again=0
    [ -e log ] && again=$(wc -l <log)
    saved=$((saved + 120 - again))
done
echo "$pages pages, each damaged once: $saved of $((120 * pages)) trials saved"
echo "$told of $pages rescued stores say why trial 5 failed"
[ "$told" -ge $((pages - 1)) ] || fail "the log of failures was lost" # but for the page that has it
[ $((100 * saved)) -ge $((85 * 120 * pages)) ] || fail "too few trials were saved"
# A wrong number in the middle of a page is not saved.
python3 - <<'PY'
import sqlite3
c = sqlite3.connect("calm.db")
bits = bytes(c.execute("SELECT numbers FROM trial WHERE number=7").fetchone()[0])
data = open("calm.db", "rb").read()
assert data.count(bits) == 1
open("bent.db", "wb").write(data.replace(bits, bytes(8)))
PY
run 0 show bent.db --rescue straight.db
says out "119 trials"
says out "1 rows left behind"
run 2 show bent.db --rescue straight.db # a file that is there is not overwritten
# Any bytes.
for i in 1 2 3; do
    head -c $((i * 5000)) /dev/urandom >noise.db
    rm -rf new.db*
    run 0 show noise.db --rescue new.db
    says out "0 trials"
done

# Names that mean something to SQLite are names of files here.
for name in :memory: file:x.db 'file:y.db?mode=memory' 'a b%20?#.db'; do
    run 0 run audit.yaml --store "$name" --trials 20
    [ -f "$name" ] || fail "$name is not a file"
    run 0 status "$name"
    says out "20 of 20"
done

# What the schema of a store from elsewhere wants to be done is not done. SQLite itself refuses the first of these triggers; the
# second it would run for whoever trusts the schema.
for what in "load_extension('./evil')" "count(*) FROM pragma_database_list"; do
    cp calm.db hostile.db
    python3 - "$what" <<'PY'
import sqlite3, sys
c = sqlite3.connect("hostile.db")
c.execute(f"CREATE TRIGGER t BEFORE INSERT ON run BEGIN SELECT {sys.argv[1]}; END")
c.commit()
PY
    "$DPAUDIT" run audit.yaml --store hostile.db >out 2>err
    case $? in 3 | 4) ;; *) fail "a hostile store: $what was done" ;; esac
    says err "unsafe use of"
done

# One directory under two names: the second run is refused, whichever way it came.
mkdir one two
if [ "$(id -u)" -eq 0 ] && mount --bind one two 2>/dev/null; then
    trap 'umount "$work/two" 2>/dev/null; rm -rf "$work"' EXIT
    sed -i 's/^echo x.*/echo x >>log; while [ -e hold ]; do sleep 0.05; done/' train.sh
    touch hold
    : >log
    "$DPAUDIT" run audit.yaml --store one/a.db --workers 1 >/dev/null 2>&1 &
    wait_for has_lines log 1 $!
    run 4 run audit.yaml --store two/a.db
    says err "is running on this store"
    run 0 status two/a.db
    says out "running"
    rm hold
    wait $! || fail "the first run failed"
    umount two
else
    echo "SKIPPED: two mounts of one folder (needs the right to mount)"
fi

# Two mounts whose locks do not reach each other, as NFS with nolock: the second run gets a lock of its own, on another file of the
# same name and words. It sees the notes of the first.
sed -i 's/^echo x.*/echo x >>log; while [ -e hold ]; do sleep 0.05; done/' train.sh
touch hold
: >log
rm -f one/a.db*
"$DPAUDIT" run audit.yaml --store one/a.db --workers 1 >/dev/null 2>&1 &
first=$!
wait_for has_lines log 1 $first
for host in hydra "$(hostname)"; do
    printf "process %s on %s" "$first" "$host" >other.lock
    mv other.lock one/a.db.lock
    run 4 run audit.yaml --store one/a.db
    says err "process $first on $host is running on this store, and this file system does not show its lock"
done
rm hold
wait $first || fail "the first run failed"
run 0 show one/a.db
[ "$(awk '$3 == 120 {print $4 + $5}' out)" -eq 120 ] || { fail "the first run was disturbed"; cat out; }
# One that was killed on another machine changes nothing any more.
printf "process 1 on hydra" >one/a.db.lock
run 0 run audit.yaml --store one/a.db --output wild
cmp calm/scores.npz wild/scores.npz || fail "another result after a kill elsewhere"
finish
