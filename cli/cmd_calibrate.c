/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit calibrate: the noise, sampling rate or number of steps for a target. */
#include <math.h>
#include <stdlib.h>

#include "output.h"
#include "phases.h"

typedef struct calibrate_options {
    common_options common;
    phase_options phase;
    double epsilon;
    dpa_calibrate_what what;
} calibrate_options;

static const option table[] = {
    HEADING("The target"),
    {"epsilon", OPTION_NUMBER, "E", "the epsilon to meet (required)",
     offsetof(calibrate_options, epsilon)},
    DELTA_OPTIONS(calibrate_options),
    {"find", OPTION_WORD, "sigma|q|steps", "which parameter to find (default sigma)",
     offsetof(calibrate_options, what)},
    HEADING("The mechanism"),
    PHASE_OPTIONS(calibrate_options),
    HEADING("Output"),
    OUTPUT_OPTIONS(calibrate_options),
    END_OPTIONS,
};

static void init(void *options) {
    calibrate_options *o = options;
    common_init(&o->common);
    phase_init(&o->phase);
    o->epsilon = NAN;
}

static int run(void *options, const word_list *words) {
    const calibrate_options *o = options;
    (void)words;
    if (isnan(o->epsilon)) return usage_error("needs --epsilon, the target");
    const int is_noise_sought = o->what == DPA_CALIBRATE_SIGMA;
    if (is_noise_sought && !isnan(o->phase.sigma))
        return usage_error("--sigma is what is sought: leave it out, or say --find q or "
                           "--find steps");
    if (!is_noise_sought && isnan(o->phase.sigma) && o->phase.pair == NULL &&
        o->phase.ledger == NULL)
        return usage_error("needs --sigma to find %s", o->what == DPA_CALIBRATE_Q ? "q" : "steps");
    phase_set set;
    dpa_account_query query;
    dpa__account_query_init(&query);
    int code = phase_list(&o->phase, is_noise_sought, &set, &query);
    query.opts.delta = o->common.protocol.request.delta;
    query.epsilon = o->epsilon;
    dpa_report *report = NULL;
    dpa_error err;
    if (code == 0 && dpa__audit_calibrate(&query, o->what, &report, &err) != DPA_OK)
        code = library_error(&err);
    dpa__account_query_free(&query);
    phase_set_free(&set);
    return code == 0 ? show_report(report, &o->common) : code;
}

const command command_calibrate = {
    .name = "calibrate",
    .summary = "the noise, sampling rate or steps that meet a target epsilon",
    .operands = "",
    .about =
        "Finds one parameter of the first phase such that epsilon at delta stays at or below the "
        "target. The answer is rounded to the safe side and checked by a full account.",
    .examples = "dpaudit calibrate --epsilon 2 --q 0.01 --steps 1000\n"
                "dpaudit calibrate --epsilon 2 --find steps --sigma 1.0 --q 0.01",
    .options = table,
    .size = sizeof(calibrate_options),
    .init = init,
    .run = run,
    .has_clock = 1,
};
