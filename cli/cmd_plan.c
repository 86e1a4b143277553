/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dpaudit plan: what an audit can show, before anyone pays for it. */
#include <math.h>
#include <string.h>

#include "output.h"

typedef struct plan_options {
    common_options common;
    dpa_plan_query query;
    uint64_t points;
    const char *protocol;
} plan_options;

#define QUERY(field) offsetof(plan_options, query.field)

static const option table[] = {
    HEADING("The claim"),
    REQUEST_OPTION(plan_options, "claim-epsilon", "E", "the promised epsilon at delta"),
    {"claim-sigma", OPTION_NUMBER, "S", "or the promised noise multiplier of the training",
     QUERY(claim_sigma)},
    {"q", OPTION_NUMBER, "Q", "the training's sampling rate (default 1)", QUERY(q)},
    {"steps", OPTION_COUNT, "T", "the training's steps (default 1)", QUERY(steps)},
    DELTA_OPTIONS(plan_options),
    HEADING("The suspicion"),
    {"leak", OPTION_NUMBER, "E", "the true epsilon that is suspected", QUERY(truth_epsilon)},
    {"leak-sigma", OPTION_NUMBER, "S", "or the training's true noise multiplier",
     QUERY(truth_sigma)},
    {"leak-family", OPTION_TEXT, "F",
     "what leaks so much: gaussian (default), laplace, dp, subsampled-gaussian:q=Q,steps=T",
     QUERY(truth)},
    HEADING("The audit"),
    {"game", OPTION_CHOICE, "runs|steps|one-run|cosines",
     "one game (default: all; steps with --q or --steps)", QUERY(game)},
    REQUEST_OPTION(
        plan_options, "family", "F",
        "what the audit assumes: dp, gaussian, laplace, subsampled-gaussian:q=Q,steps=T, "
        "points:FILE, pair:FILE or ledger:FILE (default: dp and gaussian)"),
    REQUEST_OPTION(plan_options, "method", "M",
                   "one method, by its name in the table (default: all that apply)"),
    {"size", OPTION_COUNT, "N", "the budget: N members and N non-members, or N canaries",
     QUERY(size)},
    {"most", OPTION_COUNT, "N", "the largest size that is tried (default 20000)", QUERY(most)},
    {"power", OPTION_NUMBER, "P", "how probable success must be (default 0.8)", QUERY(power)},
    REQUEST_OPTION(plan_options, "confidence", "P", "confidence of the audit (default 0.95)"),
    HEADING("Precision instead"),
    {"half-width", OPTION_NUMBER, "W", "the samples for a two-sided interval of +-W",
     QUERY(half_width)},
    {"fnr", OPTION_NUMBER, "R", "the attack's false negative rate", QUERY(fnr)},
    {"fpr", OPTION_NUMBER, "R", "and its false positive rate", QUERY(fpr)},
    HEADING("Output"),
    {"points", OPTION_COUNT, "N",
     "power curves with N points each (default 16 with --report, --vega or --plot, else none)",
     offsetof(plan_options, points)},
    {"audits", OPTION_COUNT, "N", "simulated audits for method sequential (default 200)",
     QUERY(audits)},
    {"write-protocol", OPTION_OUTPUT, "FILE",
     "also register the test that will decide: for --protocol of scores, one-run, run",
     offsetof(plan_options, protocol)},
    REQUEST_OPTION(plan_options, "seed", "N", "seed of simulations (default 1)"),
    REQUEST_OPTION(plan_options, "threads", "N", "threads of simulations (default: one per core)"),
    OUTPUT_OPTIONS(plan_options),
    END_OPTIONS,
};

enum { POINTS = 16 };

static void init(void *options) {
    plan_options *o = options;
    dpa__plan_query_init(&o->query);
    common_init(&o->common);
    o->points = UINT64_MAX;
}

static int check(const plan_options *o) {
    const dpa_request *request = &o->common.protocol.request;
    const dpa_plan_query *query = &o->query;
    const int has_claim = !isnan(request->claim_epsilon) || !isnan(query->claim_sigma);
    const int has_leak = !isnan(query->truth_epsilon) || !isnan(query->truth_sigma);
    if (!has_claim && isnan(query->half_width))
        return usage_error("needs --claim-epsilon or --claim-sigma (or "
                           "--half-width, for precision alone)");
    if (!isnan(request->claim_epsilon) && !isnan(query->claim_sigma))
        return usage_error("--claim-epsilon and --claim-sigma exclude each other");
    if (has_claim && !has_leak && query->size == 0)
        return usage_error("needs --leak, --leak-sigma or --size");
    if (!isnan(query->truth_epsilon) && !isnan(query->truth_sigma))
        return usage_error("--leak and --leak-sigma exclude each other");
    if (!isnan(query->half_width) && (isnan(query->fnr) || isnan(query->fpr)))
        return usage_error("--half-width needs --fnr and --fpr");
    return 0;
}

/* Writes the protocol by which the planned audit will be judged. */
static int write_protocol(const plan_options *o) {
    const dpa_request *request = &o->common.protocol.request;
    const dpa_plan_query *query = &o->query;
    dpa_evidence evidence;
    dpa_claim claim;
    char *text = NULL;
    dpa_error err = {0};
    dpa__evidence_init(&evidence, DPA_EVIDENCE_SCORES);
    if (strcmp(query->game, "cosines") == 0) evidence.kind = DPA_EVIDENCE_COSINES;
    if (strcmp(query->game, "steps") == 0) evidence.scope = DPA_SCOPE_STEP;
    if (strcmp(query->game, "one-run") == 0) evidence.design = DPA_ONE_RUN;
    evidence.training.q = query->q;
    evidence.training.steps = query->steps;
    dpa_claim_init(&claim);
    claim.epsilon = request->claim_epsilon;
    claim.sigma = query->claim_sigma;
    if (!isnan(claim.sigma)) claim.q = query->q;
    if (!isnan(claim.sigma)) claim.steps = query->steps;
    claim.delta = request->delta;
    if (dpa_protocol_text(&o->common.protocol, &claim, &evidence, &text, &err) != DPA_OK)
        return library_error(&err);
    const int code = write_file(o->protocol, text);
    dpa_free(text);
    return code;
}

static int run(void *options, const word_list *words) {
    plan_options *o = options;
    const common_options *common = &o->common;
    (void)words;
    const int failed = check(o);
    if (failed) return failed;
    const int is_drawn = common->report != NULL || common->vega != NULL || common->plot;
    o->query.points = o->points != UINT64_MAX ? (size_t)o->points : is_drawn ? POINTS : 0;
    dpa_report *report = NULL;
    dpa_error err;
    o->common.protocol.request.progress = progress_start();
    const dpa_status status = dpa__audit_plan(&o->query, &common->protocol.request, &report, &err);
    progress_end();
    if (status != DPA_OK) return library_error(&err);
    const int code = o->protocol != NULL ? write_protocol(o) : 0;
    if (code == 0) return show_report(report, common);
    dpa_report_free(report);
    return code;
}

const command command_plan = {
    .name = "plan",
    .summary = "the size an audit needs, the leak it detects, the most it shows",
    .operands = "",
    .about =
        "Assumes the best possible attack on the suspected truth. For every game and method: the "
        "size that refutes the claim with the given power, and, with --size, the power of "
        "that budget, the smallest epsilon it detects and the largest bound it can give. "
        "Powers are exact, but for rank, sequential and jeffreys-split, which are simulated: "
        "+- is the standard error. For sequential audits, which stop when the claim is refuted, "
        "also the number of pairs until then. jeffreys has a threshold fixed before, "
        "jeffreys-split learns it "
        "from half of the canaries, as dpaudit cosines does by default. The "
        "ceiling: no valid method that sees only right and wrong answers can show more.\n"
        "Games: runs (one trained model an observation), steps (a white-box audit sees every "
        "noisy step; what a step shows goes to the whole run through the accountant), one-run "
        "(canaries in or out by a coin), cosines (canaries against the final model).",
    .examples = "dpaudit plan --claim-epsilon 1 --leak 4\n"
                "dpaudit plan --claim-epsilon 2 --leak-sigma 0.5 --size 500 --family gaussian\n"
                "dpaudit plan --claim-sigma 1 --leak-sigma 0.8 --q 0.01 --steps 1000 --game steps\n"
                "dpaudit plan --claim-epsilon 1 --leak 4 --family gaussian --method sequential\n"
                "dpaudit plan --half-width 0.15 --fnr 0.4 --fpr 0.4 --confidence 0.9 --family dp",
    .options = table,
    .size = sizeof(plan_options),
    .init = init,
    .run = run,
};
