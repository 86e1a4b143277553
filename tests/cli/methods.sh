# SPDX-License-Identifier: GPL-3.0-or-later
# Every estimator has a page in docs/methods that says what it states and assumes, when to use it and when not, how it
# fails, how exact it is and where it comes from.
. "$(dirname "$0")/lib/check.bash"

pages=$DPA_SOURCE/docs/methods
# name of --method, page
while read -r name page; do
    for word in '[Ss]tatement' '[Aa]ssum' 'When to use|When it applies' 'When not|Not |Not when|not for' 'failure modes' 'Accuracy|accuracy' 'Reference'; do
        grep -qE "$word" "$pages/$page.md" || fail "$name: docs/methods/$page.md says nothing about: $word"
    done
done <<'LIST'
rank rank
scan scan
exact exact
cp clopper-pearson
jeffreys jeffreys
bayes joint-posterior
katz ratio-intervals
sequential sequential
point point
either one-run-dp
steinke one-run-dp
recursion one-run-fdp
mean one-shot-cosines
normal epsilon-star
LIST
# and none of the registry is missing from the list above or from the pages themselves
run 2 counts --fn 1 --tp 9 --fp 1 --tn 9 --method none
for name in $(sed -n 's/.*is none of //p' err | tr -d ',\n'); do
    grep -qrE "\`$name[\`:]" "$pages" || fail "$name: no page in docs/methods names it"
done
finish
