# SPDX-License-Identifier: GPL-3.0-or-later
# For the scripts of tests/cli: run the command, look at exit code and output. Each script runs in a folder of its own.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

# run CODE ARGUMENTS…: runs dpaudit; its output is in out and err, its exit code must be CODE.
run() {
    local want=$1 got
    shift
    "$DPAUDIT" "$@" >out 2>err
    got=$?
    if [ "$got" -ne "$want" ]; then
        fail "dpaudit $*: exit $got, want $want"
        head -n 5 out err
    fi
}

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
    [ -z "${DPA_STOP_AT_FIRST:-}" ] || exit 1
}

# says FILE TEXT: the file (out or err) contains the text.
says() {
    grep -qF -- "$2" "$1" || { fail "'$2' is not in $1:"; head -n 20 "$1"; }
}

# field JSONPATH: a value of the JSON in out, by python expression on `j`.
field() {
    python3 -c "import json; j = json.load(open('out')); print($1)"
}

# same_verdict A B: the verdicts of two results are the same to the last byte.
same_verdict() {
    python3 - "$1" "$2" <<'PY'
import json, sys
a, b = (json.dumps(json.load(open(f))["verdict"]) for f in sys.argv[1:])
if a != b: sys.exit(f"{a}\n{b}")
PY
}

# near EXPRESSION WANT RELATIVE
near() {
    python3 - "$1" "$2" "$3" <<'PY' || fail "$1 is not $2"
import json, sys
j = json.load(open('out'))
got, want, tolerance = eval(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
print(sys.argv[1], got)
sys.exit(0 if abs(got - want) <= tolerance * max(abs(want), 1e-300) else 1)
PY
}

# wait_for COMMAND…: until the command succeeds, however slow the machine is; fails after two minutes.
wait_for() {
    for _ in $(seq 2400); do
        "$@" && return 0
        sleep 0.05
    done
    return 1
}

# has_lines FILE N PROCESS: the file has N lines, or who writes it has ended. A moment of a run that is the same on any machine.
has_lines() {
    [ "$(wc -l <"$1")" -ge "$2" ] || ! kill -0 "$3" 2>/dev/null
}

# random SEED LEAST MOST: a whole number.
random() {
    awk -v seed="$1" -v least="$2" -v most="$3" 'BEGIN { srand(seed); rand(); print int(least + (most - least + 1) * rand()) }'
}

# Kills, by kind: as many as are wanted must meet their aim. DPA_KILLS says how many (scripts/test-kills).
declare -A killed
kills=0
kill_one() { # KIND SIGNAL PROCESS…: those that are still there
    local kind=$1 signal=$2
    shift 2
    [ $# -gt 0 ] && kill "-$signal" "$@" 2>/dev/null || return 1
    killed[$kind]=$((${killed[$kind]:-0} + 1))
    kills=$((kills + 1))
}
# A machine that is lost: a process, held, and all that descends from it, at once.
kill_node() { # PROCESS
    local all=$1 level=$1
    kill -STOP "$1" 2>/dev/null || return 1
    while level=$(for parent in $level; do pgrep -P "$parent"; done) && [ -n "$level" ]; do all="$all $level"; done
    # shellcheck disable=SC2086
    kill_one node KILL $all
}
print_kills() { # WHERE WANTED
    for kind in "${!killed[@]}"; do echo "kills $1 $kind ${killed[$kind]}"; done | sort
    [ "$kills" -eq "$2" ] || fail "only $kills of $2 kills met their aim"
}

need_shared() {
    [ -e "$DPA_SHARED/$1" ] || { echo "SKIPPED: $DPA_SHARED/$1 is not here"; exit 77; }
}

finish() {
    [ "$failures" -eq 0 ] || exit 1
    echo "all as expected"
}
