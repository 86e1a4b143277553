/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judging canaries by their own rounds (docs/methods/known-rounds.md): the only bound with a
 * confidence that a single federated training gives, for the claimed participation. */
#include "judge/known_rounds.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "dpaudit/cosines.h"
#include "dpaudit/plan.h"

static const double POWER = 0.8;

/* The participation of the claim if it names a mechanism, else that of the training. */
static dpa_participation_rule rule_of(const dpa__case *c) {
    const dpa_training_facts *t = &c->evidence->training;
    const int is_said = !isnan(c->claim.sigma);
    const double q = is_said ? c->claim.q : t->q;
    if (!isnan(q) && q < 1)
        return (dpa_participation_rule){1, q, is_said ? c->claim.steps : t->steps};
    const double times = is_said ? (double)c->claim.steps : t->participations;
    return (dpa_participation_rule){isnan(times) ? dpa__fact(c->evidence, "canary_rounds") : times,
                                    (double)NAN, 0};
}

static dpa_status known_of(const dpa__case *c, dpa_known_rounds *out, dpa_error *err) {
    const dpa_evidence *e = c->evidence;
    const dpa_named_array *in = dpa_evidence_find(e, "members");
    const dpa_named_array *none = dpa_evidence_find(e, "nonmembers");
    const char *name;
    *out = (dpa_known_rounds){.canary_rounds = dpa__fact(e, "canary_rounds"),
                              .spread = dpa__fact(e, "spread"),
                              .rule = rule_of(c)};
    if (in == NULL || none == NULL || isnan(out->canary_rounds) || isnan(out->spread))
        return dpa__fail(
            err, DPA_BAD_INPUT,
            "known rounds: members, nonmembers, and the facts canary_rounds and spread");
    out->observed = in->items;
    out->observed_count = in->count;
    out->unobserved = none->items;
    out->unobserved_count = none->count;
    for (int i = 0; (name = dpa_direction_name((dpa_direction)i)) != NULL; ++i)
        if (strcmp(name, e->direction) == 0) out->direction = (dpa_direction)i;
    return DPA_OK;
}

/* The power of ranks for the claimed μ of a canary against a larger one, expressed as the
 * training's ε. */
static dpa_status state_power(dpa__case *c, const dpa_known_rounds *k, const dpa_result *r,
                              dpa_error *err) {
    const double delta = c->protocol.request.delta, scale = k->spread * sqrt(k->canary_rounds);
    const size_t n =
        k->observed_count < k->unobserved_count ? k->observed_count : k->unobserved_count;
    dpa_plan plan;
    dpa_plan_leak leak = {NAN, NAN};
    dpa_interval epsilon;
    double claimed;
    if (c->protocol.bare || isnan(c->promise.epsilon) || isinf(scale)) return DPA_OK;
    DPA_TRY(dpa_known_rounds_claim(k, c->promise.epsilon, delta, &claimed, err));
    if (!isfinite(claimed)) return DPA_OK;
    dpa_plan_init(&plan);
    plan.game = DPA_PLAN_RUNS;
    plan.method = "rank";
    plan.family = "gaussian";
    plan.truth = "";
    plan.claim_epsilon = dpa_gaussian_epsilon(claimed * scale, delta);
    plan.delta = delta;
    plan.confidence = r->confidence;
    plan.seed = c->protocol.request.seed;
    plan.threads = c->protocol.request.threads;
    if (dpa_plan_detectable(&plan, n, POWER, &leak, NULL) != DPA_OK || !isfinite(leak.epsilon))
        return DPA_OK;
    const double mu = dpa_gaussian_mu(leak.epsilon, delta) / scale;
    DPA_TRY(dpa_participation_epsilon(&k->rule, 1 / mu, delta, &epsilon, err));
    c->report->verdict.detect_gaussian = epsilon.upper;
    return DPA_OK;
}

static int is_named(const dpa__case *c) {
    char name[DPA_NAME_SIZE];
    const char *list = c->protocol.request.method;
    if (list[0] == '\0') return 1;
    for (size_t i = 0; dpa__list_item(list, i, name, sizeof name); ++i)
        if (strcmp(name, "known-rounds") == 0) return 1;
    return 0;
}

dpa_status dpa__judge_known_rounds(dpa__case *c, dpa_lints *lints, int *decides, dpa_error *err) {
    dpa_known_rounds known;
    dpa_result r;
    dpa_request request = c->protocol.request;
    *decides = 0;
    if (dpa_evidence_find(c->evidence, "members") == NULL || !is_named(c)) return DPA_OK;
    DPA_TRY(known_of(c, &known, err));
    /* too few canaries had a round: only the other numbers are shown */
    if (known.observed_count < 2 || known.unobserved_count < 2) return DPA_OK;
    request.claim_epsilon = c->promise.epsilon;
    request.claim_delta = (double)NAN;
    DPA_TRY(dpa_known_rounds_result(&known, &request, &r, lints, err));
    r.scope = DPA_SCOPE_TRAINING;
    *decides = !c->protocol.decides_by_posterior;
    DPA_TRY(dpa__case_add(c, &r, *decides ? DPA_PRIMARY : DPA_SHOWN, err));
    if (!*decides) return DPA_OK;
    if (dpa__fact(c->evidence, "fixed_divisor") == 0)
        dpa__verdict_contradict(c->report, DPA_ASSUMPTION_INDEX_CHANNELS,
                                "the server divides by the number of clients that came, which "
                                "depends on the canaries");
    return state_power(c, &known, &r, err);
}
