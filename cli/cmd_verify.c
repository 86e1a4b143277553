/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit verify: judges a stored result again from its evidence. */
#include <stdio.h>

#include "output.h"

typedef struct verify_options {
    word_list evidence;
} verify_options;

static const option table[] = {
    HEADING("What it was judged from"),
    {"evidence", OPTION_LIST, "FILE", "the evidence, once per file (counts need none)",
     offsetof(verify_options, evidence)},
    END_OPTIONS,
};

static int run(void *options, const word_list *words) {
    const verify_options *o = options;
    dpa_error err = {0};
    if (dpa_verify(words->items[0], o->evidence.items, o->evidence.count, &err) != DPA_OK)
        return library_error(&err);
    (void)printf("%s: unchanged, and judged again it gives the same verdict.\n", words->items[0]);
    return 0;
}

const command command_verify = {
    .name = "verify",
    .summary = "judge a stored result again and compare",
    .operands = "RESULT.json",
    .about = "Reads a result that another command wrote with --json=FILE.json, checks that it is "
             "unchanged and does not contradict itself, and judges its evidence again by the same "
             "claim and protocol: verdict and deciding number must be the same to the last digit. "
             "Exit 0 when they are, 3 when they are not.",
    .examples = "dpaudit counts --fn 10 --tp 90 --fp 5 --tn 95 --claim-epsilon 3 "
                "--json=counts.json && dpaudit verify counts.json\n"
                "dpaudit scores scores.csv --json=scores.json && dpaudit verify scores.json "
                "--evidence scores.csv",
    .options = table,
    .size = sizeof(verify_options),
    .words = {1, 1},
    .run = run,
    .has_clock = 1,
};
