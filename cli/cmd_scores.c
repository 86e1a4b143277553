/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit scores: bounds from attack scores. */
#include "output.h"

typedef struct scores_options {
    common_options common;
    const char *scope;
} scores_options;

static const option table[] = {
    HEADING("What is wanted"),
    DELTA_OPTIONS(scores_options),
    CONFIDENCE_OPTIONS(scores_options),
    FAMILY_OPTIONS(scores_options),
    REQUEST_OPTION(scores_options, "method", "M",
                   "one estimator (default: all that apply), also rank:slope; dpaudit help methods "
                   "lists them"),
    REQUEST_OPTION(scores_options, "select", "S",
                   "threshold: fixed:T, fixed-fpr:X, split, multi-split, simultaneous, or max, "
                   "which is flagged (default: ranks, simultaneous for cp, split for the others); "
                   "for sequential: fixed:T or running"),
    REQUEST_OPTION(scores_options, "group", "COLUMN",
                   "also a bound for every value of this column of the table"),
    {"scope", OPTION_CHOICE, "training|step", "what one score is about (default training)",
     offsetof(scores_options, scope)},
    RATES_OPTIONS(scores_options),
    REQUEST_SWITCH(scores_options, "bootstrap-auc",
                   "the attack's AUC with a bootstrap interval (BCa) instead of DeLong's"),
    HEADING("The claim, and the test that decides"),
    CLAIM_OPTIONS(scores_options),
    PROTOCOL_OPTIONS(scores_options),
    SEED_OPTIONS(scores_options),
    HEADING("Output"),
    OUTPUT_OPTIONS(scores_options),
    END_OPTIONS,
};

static int run(void *options, const word_list *words) {
    const scores_options *o = options;
    dpa_evidence evidence;
    dpa_error err = {0};
    const char *second = words->count > 1 ? words->items[1] : NULL;
    const unsigned threads = o->common.protocol.request.threads;
    if (dpa__evidence_scores(words->items[0], second, threads, &evidence, &err) != DPA_OK)
        return library_error(&err);
    if (o->scope != NULL) evidence.scope = o->scope[0] == 's' ? DPA_SCOPE_STEP : DPA_SCOPE_TRAINING;
    if (evidence.design == DPA_ONE_RUN) {
        dpa__evidence_clear(&evidence);
        return usage_error("the file is of canaries of one run: dpaudit one-run judges it");
    }
    return judge_and_show(&evidence, &o->common);
}

const command command_scores = {
    .name = "scores",
    .summary = "bounds from attack scores of members and non-members",
    .operands = "MEMBERS NONMEMBERS | FILE",
    .about =
        "Judges scores of a membership attack on independent trainings; a higher score means "
        "\"in\". For canaries of one training see one-run.\n"
        "MEMBERS and NONMEMBERS are files of one array each (.npy, or one number a line). FILE has "
        "both: what dpaudit run wrote, an .npz with `members` and `nonmembers`, or a CSV with the "
        "columns score,member (0 or 1, false or true). nan is a missing score.\n"
        "One test decides about the claim, chosen before the scores are looked at: family dp, "
        "which assumes nothing about the mechanism, unless the claim is a noise multiplier or you "
        "name a family. All other rows are shown and never decide.",
    .examples = "dpaudit scores members.npy nonmembers.npy --claim-epsilon 2\n"
                "dpaudit scores scores.csv --family gaussian --explain\n"
                "dpaudit scores scores.csv --select fixed:0.5 --method cp\n"
                "dpaudit scores scores.csv --group site --json",
    .options = table,
    .size = sizeof(scores_options),
    .words = {1, 2},
    .init = common_init,
    .run = run,
    .has_clock = 1,
};
