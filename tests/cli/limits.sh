# SPDX-License-Identifier: GPL-3.0-or-later
# A ladder of resource limits under every kind of command: it ends, with an exit code of its own and a sentence, and leaves no
# half-written or temporary file. Sanitizers need more address space than any limit here.
. "$(dirname "$0")/lib/check.bash"
nm -D "$DPAUDIT" 2>/dev/null | grep -q __asan_init && { echo "SKIPPED: under a sanitizer"; exit 77; }
cp "$DPA_SOURCE"/examples/run-white-box.yaml "$DPA_SOURCE"/examples/run-mlp.yaml "$DPA_SOURCE"/examples/train-toy* .
sed -i 's/observations: .*/observations: 60/' run-white-box.yaml
python3 - <<'PY'
import random
random.seed(1)
open("a.txt", "w").write("".join(f"{random.gauss(1, 1):.6f}\n" for _ in range(3000)))
open("b.txt", "w").write("".join(f"{random.gauss(0, 1):.6f}\n" for _ in range(3000)))
PY

commands=(
    "--version"
    "counts --fn 35 --tp 65 --fp 25 --tn 75 --json out.json"
    "scores a.txt b.txt --report out.html"
    "one-run --correct 900 --guesses 1000 --canaries 1000"
    "account --sigma 1 --q 0.01 --steps 100 --delta 1e-5"
    "train train-toy-dp.yaml --output out.dir --quiet"
    "run run-white-box.yaml --output out.dir --store out.db --workers 2"
)
tried=0 refused=0
# under LIMIT COMMAND: in a folder of its own, with this limit of the shell.
under() {
    local code left
    mkdir try && cp ./*.yaml ./*.csv ./*.txt try/ && cd try || exit 1
    # shellcheck disable=SC2086
    (ulimit $1 && ulimit -c 0 && exec timeout -k 5 120 "$DPAUDIT" $2) 2>&1 </dev/null | cat >../said
    code=${PIPESTATUS[0]}
    cd ..
    tried=$((tried + 1))
    case $code in
    0 | 1 | 5) ;;
    2 | 3 | 4 | 75)
        refused=$((refused + 1))
        [ -s said ] || fail "ulimit $1: dpaudit $2: exit $code without a word"
        ;;
    127) # the loader or the shell itself could not go on, and said so
        grep -qE 'error while loading|cannot|Cannot' said || fail "ulimit $1: dpaudit $2: exit 127"
        ;;
    *)
        fail "ulimit $1: dpaudit $2: exit $code"
        head -n 3 said
        ;;
    esac
    left=$(find try -name '*.tmp*' -o -name 'core*' -o -name '.*.part' | head -n 3)
    [ -z "$left" ] || fail "ulimit $1: dpaudit $2: left $left"
    rm -rf try
}

for command in "${commands[@]}"; do
    for kilobytes in 20000 40000 60000 80000 100000 150000 200000 300000; do under "-v $kilobytes" "$command"; done
    for files in 3 4 5 6 8 12 20; do under "-n $files" "$command"; done
    for blocks in 0 1 4 16 64; do under "-f $blocks" "$command"; done
    for kilobytes in 128 256 1024; do under "-s $kilobytes" "$command"; done
    for processes in 1 4; do under "-u $processes" "$command"; done
done
echo "$tried limits, $refused refused"
finish
