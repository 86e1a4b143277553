# SPDX-License-Identifier: GPL-3.0-or-later
# Parsing, help, completion and man pages: what a user gets for right and wrong words.
. "$(dirname "$0")/lib/check.bash"

run 2
says err "Usage: dpaudit COMMAND"
run 0 help
says out "account"
run 0 --version
says out "dpaudit 0."
run 2 nonsense
says err "there is no command 'nonsense'"
run 2 help nonsense

run 0 account --help
says out "--sigma S"
run 0 help account
says out "Examples"
run 2 account --sigmma 3
says err "did you mean --sigma?"
run 2 account --sigma
says err "--sigma needs a value"
run 2 account --sigma abc
says err "'abc' is not a number"
for word in 0x1p3 "" 1e400 nan "1 2" 1,5; do # what files and --claim-epsilon do not take either
    run 2 account --sigma "$word"
    says err "'$word' is not a number"
    run 2 counts --fn 1 --tp 9 --fp 1 --tn 9 --claim-epsilon "$word"
done
run 2 account --sigma 1 --steps 1.5
says err "whole number"
run 2 account --sigma 1 --steps 1e18
says err "in plain digits from 2^53 on"
run 2 canaries make --dim 4 --index 18446744073709551615 --out c.npy
says err "indices must be below 2^56"
run 2 canaries make --dim 4 --index 18446744073709551616 --out c.npy
says err "is not a whole number from 0 to 2^64-1"
run 2 account --sigma 1 --mechanism foo
says err "is not one of gaussian|laplace|randomized-response"
run 2 account --sigma 1 extra
says err "one argument too many"
run 2 account -o x
says err "there is no option --out"
run 2 account -s 1
says err "options start with two dashes"
run 2 account --sigma 1 --delta 1
says err "delta: must be at least 0 and less than 1"
run 2 account
says err "needs --sigma"

# every command has help and a man page, and all shells get a script that they can read
for name in $("$DPAUDIT" help | sed -n '/^Commands/,/^$/p' | awk 'NR > 1 && NF {print $1}'); do
    run 0 help "$name"
    says out "Usage: dpaudit $name"
    run 0 man "$name"
    says out ".SH SYNOPSIS"
    if grep -q "^'" out; then fail "man $name: a line that starts with a quote is lost"; fi
    if awk 'length($0) > 120' out | grep -q '^  --'; then fail "help of $name is too wide"; fi
done
run 0 completion bash
bash -n out || fail "the bash completion does not parse"
# completes WORDS… is EXPECTED…: what bash offers for the last word. Bash itself splits at "=".
completes() {
    local words=()
    while [ "$1" != is ]; do words+=("$1"); shift; done
    shift
    COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1)) COMPREPLY=()
    _dpaudit
    [ "${COMPREPLY[*]}" = "$*" ] || fail "completion of '${words[*]}': '${COMPREPLY[*]}', want '$*'"
}
. ./out
touch scores.csv
completes dpaudit sco is scores
completes dpaudit scores --cl is --claim-epsilon --claim-delta --claim-sigma --claim-q --claim-steps --claim-curve --claim-scope
completes dpaudit scores sco is scores.csv
completes dpaudit scores --method "" is
completes dpaudit scores --report sco is scores.csv
completes dpaudit account --mechanism = l is laplace
completes dpaudit account --adjacency "" is add-remove replace-one
completes dpaudit canaries m is make
completes dpaudit help cho is choose
completes dpaudit completion "" is bash zsh fish
says out "--sigma"
run 0 completion zsh
run 0 completion fish
run 2 completion csh

# outputs that do not exist yet: one file spelt in two ways is one file, names that differ in one letter are two
mkdir new
run 2 account --sigma 1 --json=new/a.json --report ./new/../new/a.json
says err "would replace the file of --report"
run 0 account --sigma 1 --json=new/a.x --report new/b.x
[ -s new/a.x ] && [ -s new/b.x ] || fail "two outputs"

# a result that cannot be written is a failure, not a success
if [ -e /dev/full ]; then
    "$DPAUDIT" account --sigma 1 >/dev/full 2>err
    [ $? -eq 4 ] || fail "full disk: exit is not 4"
    says err "cannot write"
fi
run 4 account --sigma 1 --json=/nonexistent-folder/x.json
says err "dpaudit account: /nonexistent-folder/x.json: cannot create"
finish
