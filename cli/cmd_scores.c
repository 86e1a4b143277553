/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit scores: bounds from attack scores. */
#include <math.h>

#include "output.h"
#include "rates.h"

typedef struct scores_options {
    common_options common;
    const char *group;
    double at_epsilon;
    int curve, explain;
} scores_options;

static const option table[] = {
    HEADING("What is wanted"),
    DELTA_OPTIONS(scores_options),
    CONFIDENCE_OPTIONS(scores_options),
    FAMILY_OPTIONS(scores_options),
    REQUEST_OPTION(scores_options, "method", "M", SCORE_METHODS),
    REQUEST_OPTION(scores_options, "select", "S",
                   "threshold: fixed:T, fixed-fpr:X, split, multi-split, simultaneous, or max, "
                   "which is flagged (default: ranks, simultaneous for cp, split for the others); "
                   "for sequential: fixed:T or running"),
    {"group", OPTION_TEXT, "COLUMN", "also a bound for every value of this column of the table",
     offsetof(scores_options, group)},
    RATES_OPTIONS(scores_options),
    CLAIM_OPTIONS(scores_options),
    SEED_OPTIONS(scores_options),
    HEADING("Output"),
    OUTPUT_OPTIONS(scores_options),
    END_OPTIONS,
};

static void init(void *options) {
    scores_options *o = options;
    dpa_request_init(&o->common.request);
    o->at_epsilon = NAN;
}

static int run(void *options, const word_list *words);

const command command_scores = {
    .name = "scores",
    .summary = "bounds from attack scores of members and non-members",
    .operands = "MEMBERS NONMEMBERS | FILE",
    .about =
        "Higher scores must mean \"in\". Two files of one array each (.npy, or one number a line), "
        "or one file: an .npz with `members` and `nonmembers`, or a CSV with the columns "
        "score,member (0 or 1, false or true); nan is a missing score. The runs behind the scores "
        "must be independent; for canaries of "
        "one run see one-run. Ranks need no threshold and are the strongest for families of "
        "smooth noise.",
    .examples = "dpaudit scores members.npy nonmembers.npy --claim-epsilon 2\n"
                "dpaudit scores scores.csv --family gaussian --explain\n"
                "dpaudit scores scores.csv --select fixed:0.5 --method cp\n"
                "dpaudit scores scores.csv --group site --json",
    .options = table,
    .size = sizeof(scores_options),
    .min_words = 1,
    .max_words = 2,
    .init = init,
    .run = run,
    .has_clock = 1,
};

static int run(void *options, const word_list *words) {
    const scores_options *o = options;
    dpa_scores_query query;
    dpa_scores_query_init(&query);
    query.path = words->items[0];
    query.nonmembers_path = words->count > 1 ? words->items[1] : NULL;
    query.group = o->group;
    query.at_epsilon = o->at_epsilon;
    query.curve = o->curve;
    query.explain = o->explain;
    dpa_report *report = NULL;
    dpa_error err;
    if (dpa_audit_scores(&query, &o->common.request, &report, &err) != DPA_OK)
        return library_error("scores", &err);
    return show_report(report, &o->common);
}
