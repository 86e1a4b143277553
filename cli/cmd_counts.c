/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit counts: bounds from a confusion matrix. */
#include "output.h"

typedef struct counts_options {
    common_options common;
    uint64_t fn, tp, fp, tn;
} counts_options;

static const option table[] = {
    HEADING("The confusion matrix (all four)"),
    {"fn", OPTION_COUNT, "N", "members that the attack missed", offsetof(counts_options, fn)},
    {"tp", OPTION_COUNT, "N", "members that it found", offsetof(counts_options, tp)},
    {"fp", OPTION_COUNT, "N", "non-members that it accused", offsetof(counts_options, fp)},
    {"tn", OPTION_COUNT, "N", "non-members that it left alone", offsetof(counts_options, tn)},
    HEADING("What is wanted"),
    DELTA_OPTIONS(counts_options),
    CONFIDENCE_OPTIONS(counts_options),
    FAMILY_OPTIONS(counts_options),
    REQUEST_OPTION(counts_options, "method", "M",
                   "one estimator (default: all that apply); dpaudit help methods lists them"),
    RATES_OPTIONS(counts_options),
    HEADING("The claim, and the test that decides"),
    CLAIM_OPTIONS(counts_options),
    PROTOCOL_OPTIONS(counts_options),
    HEADING("Output"),
    OUTPUT_OPTIONS(counts_options),
    END_OPTIONS,
};

static void init(void *options) {
    counts_options *o = options;
    common_init(&o->common);
    o->fn = o->tp = o->fp = o->tn = UINT64_MAX;
}

static int run(void *options, const word_list *words) {
    const counts_options *o = options;
    (void)words;
    if (o->fn == UINT64_MAX || o->tp == UINT64_MAX || o->fp == UINT64_MAX || o->tn == UINT64_MAX)
        return usage_error("all of --fn, --tp, --fp and --tn are needed");
    const double counts[] = {(double)o->fn, (double)o->tp, (double)o->fp, (double)o->tn};
    dpa_evidence evidence;
    dpa_error err = {0};
    dpa__evidence_init(&evidence, DPA_EVIDENCE_COUNTS);
    if (dpa_evidence_copy(&evidence, "counts", counts, 4, &err) != DPA_OK)
        return library_error(&err);
    return judge_and_show(&evidence, &o->common);
}

const command command_counts = {
    .name = "counts",
    .summary = "bounds from a confusion matrix",
    .operands = "",
    .about = "An attack was run on independent trainings with and without a target and said \"in\" "
             "or \"out\": its four counts give lower bounds on epsilon, by every method and family "
             "that applies. The threshold must have been fixed before.",
    .examples = "dpaudit counts --fn 35 --tp 65 --fp 25 --tn 75 --delta 0.05 --two-sided\n"
                "dpaudit counts --fn 0 --tp 1000 --fp 0 --tn 1000 --family gaussian\n"
                "dpaudit counts --fn 400 --tp 600 --fp 50 --tn 950 --claim-epsilon 2 --explain\n"
                "dpaudit counts --fn 10 --tp 90 --fp 5 --tn 95 --at-epsilon 1 --json",
    .options = table,
    .size = sizeof(counts_options),
    .init = init,
    .run = run,
    .has_clock = 1,
};
