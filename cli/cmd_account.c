/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit account: what a claim means. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "phases.h"

typedef struct account_options {
    common_options common;
    phase_options phase;
    double epsilon, fpr;
    uint64_t points;
    const char *gaussians;
} account_options;

static const option table[] = {
    HEADING("The mechanism"),
    PHASE_OPTIONS(account_options),
    {"two-gaussians", OPTION_TEXT, "M1,S1,M2,S2",
     "instead: the exact epsilon between N(M1,S1^2) and N(M2,S2^2)",
     offsetof(account_options, gaussians)},
    HEADING("What is wanted"),
    DELTA_OPTIONS(account_options),
    {"epsilon", OPTION_NUMBER, "E", "also delta at this epsilon",
     offsetof(account_options, epsilon)},
    {"fpr", OPTION_NUMBER, "A", "also the best attack's TPR at this FPR",
     offsetof(account_options, fpr)},
    {"points", OPTION_COUNT, "N",
     "also the trade-off curve at N false positive rates (in the JSON)",
     offsetof(account_options, points)},
    OUTPUT_OPTIONS(account_options),
    END_OPTIONS,
};

static void init(void *options) {
    account_options *o = options;
    common_init(&o->common);
    phase_init(&o->phase);
    o->epsilon = NAN;
    o->fpr = NAN;
}

static int run_two_gaussians(const command *cmd, const account_options *o) {
    double value[4];
    char copy[256], *rest = copy;
    size_t n = 0;
    if (strlen(o->gaussians) < sizeof copy) {
        memcpy(copy, o->gaussians, strlen(o->gaussians) + 1);
        for (char *word = strsep(&rest, ","); word != NULL; word = strsep(&rest, ","))
            if (n++ >= 4 || !parse_number(word, &value[n - 1])) break;
    }
    if (n != 4 || rest != NULL)
        return usage_error(cmd, "--two-gaussians: '%s' is not four numbers M1,S1,M2,S2",
                           o->gaussians);
    dpa_report *report = NULL;
    dpa_error err;
    if (dpa_audit_two_gaussians(value[0], value[1], value[2], value[3],
                                o->common.protocol.request.delta, &report, &err) != DPA_OK)
        return library_error(cmd->name, &err);
    return show_report(report, &o->common);
}

static int run(void *options, const word_list *words);

const command command_account = {
    .name = "account",
    .summary = "what a claim means: epsilon, delta and trade-off curve",
    .operands = "",
    .about =
        "Composes the privacy loss of every step and prints epsilon as an interval that contains "
        "the truth. Rényi and central-limit accountants are shown beside it as cross-checks.",
    .examples =
        "dpaudit account --sigma 1.0 --q 0.01 --steps 1000 --delta 1e-5\n"
        "dpaudit account --phase sigma=1.2,q=0.01,steps=500 --phase sigma=0.9,q=0.02,steps=100\n"
        "dpaudit account --sigma 0.8 --q 0.004 --steps 10000 --fpr 0.001 --json\n"
        "dpaudit account --two-gaussians 0,1,1,1.1",
    .options = table,
    .size = sizeof(account_options),
    .init = init,
    .run = run,
    .has_clock = 1,
};

static int run(void *options, const word_list *words) {
    const account_options *o = options;
    const command *cmd = &command_account;
    (void)words;
    if (o->gaussians != NULL) return run_two_gaussians(cmd, o);
    dpa_phase *phases = NULL;
    dpa_account_query query;
    dpa_account_query_init(&query);
    const int failed = phase_list(cmd, &o->phase, 0, &phases, &query.count, &query.opts);
    if (failed) return failed;
    query.phases = phases;
    query.opts.delta = o->common.protocol.request.delta;
    query.epsilon = o->epsilon;
    query.fpr = o->fpr;
    query.curve_points = (size_t)o->points;
    dpa_report *report = NULL;
    dpa_error err;
    const dpa_status status = dpa_audit_account(&query, &report, &err);
    free(phases);
    return status == DPA_OK ? show_report(report, &o->common) : library_error(cmd->name, &err);
}
