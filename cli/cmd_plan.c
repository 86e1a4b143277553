/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit plan: what an audit can show, before it is paid for. */
#include <math.h>

#include "output.h"

typedef struct plan_options {
    common_options common;
    double leak, sigma, power;
    uint64_t size, most;
} plan_options;

static const option table[] = {
    HEADING("The claim and the suspicion"),
    CLAIM_OPTIONS(plan_options),
    DELTA_OPTIONS(plan_options),
    {"leak", OPTION_NUMBER, "E", "the true epsilon that is suspected",
     offsetof(plan_options, leak)},
    {"leak-sigma", OPTION_NUMBER, "S", "or the noise multiplier of one release that is suspected",
     offsetof(plan_options, sigma)},
    HEADING("The audit"),
    {"size", OPTION_COUNT, "N", "the budget: N members and N non-members, or N canaries",
     offsetof(plan_options, size)},
    {"most", OPTION_COUNT, "N", "the largest size that is tried (default 20000)",
     offsetof(plan_options, most)},
    {"power", OPTION_NUMBER, "P", "how probable success must be (default 0.8)",
     offsetof(plan_options, power)},
    REQUEST_OPTION(plan_options, "confidence", "P", "confidence of the audit (default 0.95)"),
    REQUEST_OPTION(plan_options, "family", "F", "dp or gaussian (default: both)"),
    HEADING("Output"),
    OUTPUT_OPTIONS(plan_options),
    END_OPTIONS,
};

static void init(void *options) {
    plan_options *o = options;
    dpa_plan_query query;
    dpa_plan_query_init(&query);
    dpa_request_init(&o->common.request);
    o->leak = o->sigma = NAN;
    o->power = query.power;
    o->most = query.most;
}

static int run(void *options, const word_list *words);

const command command_plan = {
    .name = "plan",
    .summary = "the size an audit needs, the leak it can detect, the most it can show",
    .operands = "",
    .about = "The suspected truth is a Gaussian mechanism with this epsilon at delta, attacked as "
             "well as possible; an observation is a training run, or a step of a white-box audit. "
             "For every method: the size that refutes the claim with the given power, and, with "
             "--size, the power of that budget and the smallest epsilon it detects. The ceiling is "
             "what no valid method can exceed that sees only right and wrong answers.",
    .examples = "dpaudit plan --claim-epsilon 1 --leak 4\n"
                "dpaudit plan --claim-epsilon 2 --leak-sigma 0.5 --size 500 --family gaussian",
    .options = table,
    .size = sizeof(plan_options),
    .init = init,
    .run = run,
};

static int run(void *options, const word_list *words) {
    const plan_options *o = options;
    const dpa_request *request = &o->common.request;
    (void)words;
    if (isnan(request->claim_epsilon)) return usage_error(&command_plan, "needs --claim-epsilon");
    if (isnan(o->leak) && isnan(o->sigma) && o->size == 0)
        return usage_error(&command_plan, "needs --leak, --leak-sigma or --size");
    if (!isnan(o->leak) && !isnan(o->sigma))
        return usage_error(&command_plan, "--leak and --leak-sigma exclude each other");
    if (!isnan(o->sigma) && !(o->sigma > 0))
        return usage_error(&command_plan, "--leak-sigma must be above 0");
    if (!isnan(request->claim_delta) && request->claim_delta != request->delta)
        return usage_error(&command_plan, "plans at one delta: --claim-delta must be --delta");
    dpa_plan_query query;
    dpa_plan_query_init(&query);
    query.truth_epsilon =
        isnan(o->sigma) ? o->leak : dpa_gaussian_epsilon(1 / o->sigma, request->delta);
    query.power = o->power;
    query.size = o->size;
    query.most = o->most;
    dpa_report *report = NULL;
    dpa_error err;
    if (dpa_audit_plan(&query, request, &report, &err) != DPA_OK)
        return library_error("plan", &err);
    return show_report(report, &o->common);
}
