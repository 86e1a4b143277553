/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the deciding test would have detected: the smallest leak for which it refutes the claim with
 * probability 0.8 if the attack is as good as the leak allows. Computed from the plan of the audit,
 * never from the observations. */
#include <math.h>
#include <string.h>

#include "account/account.h"
#include "base/error.h"
#include "estimate/power.h"
#include "estimate/registry.h"
#include "estimate/scan.h"
#include "judge/one_run.h"
#include "judge/power.h"

static const double POWER = 0.8;

static dpa_plan_game game_of(const dpa_evidence *e) {
    if (e->scope == DPA_SCOPE_STEP) return DPA_PLAN_STEPS;
    return e->design == DPA_ONE_RUN ? DPA_PLAN_ONE_RUN : DPA_PLAN_RUNS;
}

/* NaN if the plan does not know the method, the family or the alternative. */
static dpa_status detectable(const dpa_plan *plan, const char *truth, double n, double *out,
                             dpa_error *err) {
    dpa_plan one = *plan;
    dpa_plan_leak leak = {NAN, NAN};
    one.truth = truth;
    const dpa_status status = dpa__ask_detectable(&one, (uint64_t)n, POWER, &leak, err);
    if (status == DPA_NO_MEMORY || status == DPA_CANCELLED) return status;
    *out = status == DPA_OK ? leak.epsilon : (double)NAN;
    return DPA_OK;
}

/* The scan can compute its power for any two class sizes. */
dpa_status dpa__power_scan(dpa__case *c, double n1, double n0, dpa_error *err) {
    dpa__verdict *v = &c->report->verdict;
    const dpa__scan_claim claim = {c->promise.epsilon, c->protocol.request.delta, NULL};
    dpa__scan_test test;
    DPA_TRY(dpa__scan_test_open((size_t)n1, (size_t)n0, &claim, &c->protocol.request, &test, err));
    dpa_status status =
        dpa__scan_detects(&test, &claim, DPA__SUSPECT_EXTREME, POWER, &v->detect_worst, err);
    if (status == DPA_OK)
        status = dpa__scan_detects(&test, &claim, DPA__SUSPECT_GAUSSIAN, POWER, &v->detect_gaussian,
                                   err);
    dpa__scan_test_close(&test);
    return status;
}

/* The plan is about a record added or removed; here the same noise is converted to one replaced. */
static dpa_status replace_one_power(dpa__case *c, const dpa_plan *plan, dpa_error *err) {
    double *found = &c->report->verdict.detect_gaussian, sigma;
    dpa_interval epsilon;
    if (!isfinite(*found)) return DPA_OK;
    DPA_TRY(
        dpa__noise_of_epsilon(*found, plan->q, plan->steps, 0, plan->delta, &sigma, &epsilon, err));
    DPA_TRY(dpa__training_epsilon(sigma, plan->q, plan->steps, 1, plan->delta, &epsilon, err));
    *found = epsilon.upper;
    return DPA_OK;
}

/* For steps: the detectable noise, converted by the accountant. */
static dpa_status steps_power(dpa__case *c, dpa_plan *plan, double n, dpa_error *err) {
    const dpa_training_facts *f = &c->evidence->training;
    const int is_claimed = !isnan(c->claim.sigma) && c->claim.scope == DPA_SCOPE_TRAINING;
    plan->q = is_claimed ? c->claim.q : f->q;
    plan->steps = is_claimed ? c->claim.steps : f->steps;
    if (c->claim.scope == DPA_SCOPE_STEP) plan->q = 1;
    if (c->claim.scope == DPA_SCOPE_STEP) plan->steps = 1;
    if (isnan(c->promise.sigma) || isnan(plan->q) || plan->steps == 0 || f->rate < 1) return DPA_OK;
    plan->claim_epsilon = NAN;
    plan->claim_sigma = c->promise.sigma;
    DPA_TRY(detectable(plan, "", n, &c->report->verdict.detect_gaussian, err));
    return c->claim.replace_one ? replace_one_power(c, plan, err) : DPA_OK;
}

/* The family of the alternative "too little noise": the deciding family if its members differ in
 * noise, else the Gaussian mechanism. */
static const char *with_less_noise(const dpa__case *c) {
    dpa_family *family = NULL;
    if (c->evidence->design == DPA_ONE_RUN ||
        dpa__family_parse(c->test.family, c->protocol.request.delta, &family, NULL) != DPA_OK)
        return "";
    const int is_noise = dpa__family_is_noise(family);
    dpa__family_free(family);
    return is_noise ? c->test.family : "";
}

dpa_status dpa__power_state(dpa__case *c, double n1, double n0, dpa_error *err) {
    dpa__verdict *v = &c->report->verdict;
    const dpa_request *r = &c->protocol.request;
    const dpa__test *t = &c->test;
    dpa_plan plan;
    if (isnan(v->claim_epsilon) || t->count > 1) return DPA_OK;
    /* If the claim is refuted, nobody needs to know what else would have been detected. */
    if (dpa__verdict_refutes(c->report) && isnan(v->must_detect)) return DPA_OK;
    /* a step's test has the power of the training's claim only if noise links the two */
    const int is_linked = c->evidence->scope != DPA_SCOPE_STEP || c->claim.scope == DPA_SCOPE_STEP;
    if (!is_linked &&
        (dpa__family_is_universal(t->family) || dpa__registry_takes_counts(t->method)))
        return DPA_OK;
    /* canaries with independent channels count like runs */
    const int has_channels = dpa__registry_is_channels(t->method);
    if (dpa__family_is_universal(t->family) && (has_channels || dpa__registry_is_scan(t->method)))
        return dpa__power_scan(c, n1, n0, err);
    if (dpa__registry_takes_counts(t->method))
        return dpa__family_is_universal(t->family) ? dpa__power_counts(c, n1, n0, err) : DPA_OK;
    dpa__plan_init(&plan);
    plan.game = has_channels ? DPA_PLAN_RUNS : game_of(c->evidence);
    plan.method = has_channels ? "rank" : t->method;
    plan.family = t->family;
    plan.claim_epsilon = c->promise.epsilon;
    plan.delta = r->delta;
    plan.confidence = r->confidence;
    plan.seed = r->seed;
    plan.threads = r->threads;
    const double n = plan.game == DPA_PLAN_ONE_RUN ? n1 + n0 : fmin(n1, n0);
    if (plan.game == DPA_PLAN_STEPS) {
        return steps_power(c, &plan, n, err);
    }
    if (plan.game == DPA_PLAN_RUNS) DPA_TRY(detectable(&plan, "dp", n, &v->detect_worst, err));
    return detectable(&plan, with_less_noise(c), n, &v->detect_gaussian, err);
}
