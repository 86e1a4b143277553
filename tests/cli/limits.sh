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
# A limit on processes does not bind root: those commands run as somebody who has no other process.
nobody=()
if [ "$(id -u)" -eq 0 ]; then
    nobody=(setpriv "--reuid=$((60000 + $$ % 5000))" --regid=65534 --clear-groups)
    chmod 755 . && "${nobody[@]}" "$DPAUDIT" --version >/dev/null 2>&1 || { nobody=(); echo "SKIPPED: limits on processes bind only another user than root"; }
fi
export DPAUDIT
tried=0 refused=0
# under LIMIT COMMAND: in a folder of its own, with this limit of the shell.
under() {
    local code left as=()
    [[ $1 == -u* ]] && as=("${nobody[@]}")
    mkdir try && cp ./*.yaml ./*.csv ./*.txt try/ && chmod -R a+rwX try && cd try || exit 1
    # shellcheck disable=SC2016
    timeout -k 5 120 "${as[@]}" bash -c 'ulimit $0 && ulimit -c 0 && exec "$DPAUDIT" $1' "$1" "$2" 2>&1 </dev/null | cat >../said
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
    before=$refused
    for processes in 1 2 3 4; do under "-u $processes" "$command"; done
done
[ ${#nobody[@]} -eq 0 ] || [ "$refused" -gt "$before" ] || fail "a run with two workers got them all the same"
echo "$tried limits, $refused refused"
finish
