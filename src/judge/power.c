/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the deciding test would have detected: the smallest leak for which it refutes the claim with
 * probability 0.8 if the attack is as good as the leak allows. Computed from the plan of the audit,
 * never from the observations. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "account/account.h"
#include "base/error.h"
#include "estimate/plan/power.h"
#include "estimate/ranks/scan.h"
#include "estimate/rates/exact.h"
#include "estimate/registry.h"
#include "estimate/scores.h"
#include "judge/case.h"
#include "tradeoff/tradeoff.h"

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

/* ── tests of counts ─────────────────────────────────────────────────────────────────── */

/* What a test of counts would have detected. Take the operating point of the suspected mechanism
 * that is furthest from the claim, and there the outcome that is only one fifth unlucky (z = 0.84
 * deviations down the gradient of the likelihood ratio). If the test refutes with that outcome,
 * four of five audits do. Checked against simulated audits in tests/coverage/test_verdict.c. */

static const double Z = 0.8416212335729143; /* normal quantile for power 0.8 */

typedef struct setting {
    dpa__case *c;
    double n1, n0;
    dpa_curve *claim; /* f_{ε,δ} of the claim */
    dpa__edge edge;
    dpa_error *err;
    dpa_status status;
} setting;

/* The unlucky outcome of an attack with these error rates. */
static dpa_counts unlucky(const setting *s, double fnr, double fpr) {
    const double va = s->n1 * fnr * (1 - fnr), vb = s->n0 * fpr * (1 - fpr);
    const dpa__outcome at = {s->n1, s->n0, s->n1 * fnr, s->n0 * fpr};
    const dpa__outcome more_a = {s->n1, s->n0, fmin(at.a + 1, s->n1), at.b};
    const dpa__outcome more_b = {s->n1, s->n0, at.a, fmin(at.b + 1, s->n0)};
    const double here = dpa__edge_ratio(&s->edge, &at);
    const double ga = here - dpa__edge_ratio(&s->edge, &more_a);
    const double gb = here - dpa__edge_ratio(&s->edge, &more_b);
    const double size = sqrt(ga * ga * va + gb * gb * vb);
    const double a = size > 0 ? at.a + Z * ga * va / size : at.a;
    const double b = size > 0 ? at.b + Z * gb * vb / size : at.b;
    const double fn = fmin(fmax(round(a), 0), s->n1), fp = fmin(fmax(round(b), 0), s->n0);
    return (dpa_counts){(uint64_t)fn, (uint64_t)(s->n1 - fn), (uint64_t)fp, (uint64_t)(s->n0 - fp)};
}

/* Would this outcome refute the claim? */
static int refutes(setting *s, const dpa_counts *counts) {
    dpa_request request = s->c->protocol.request;
    const double claim = s->c->promise.epsilon;
    if (s->status != DPA_OK) return 0;
    if (dpa__registry_is_exact(s->c->test.method)) {
        double p = 1;
        s->status = dpa__exact_p_value_dp(counts, claim, request.delta, &request, &p, s->err);
        return p <= (1 - request.confidence) / request.sides;
    }
    dpa_results results = {0};
    (void)snprintf(request.family, sizeof request.family, "%s", s->c->test.family);
    (void)snprintf(request.method, sizeof request.method, "%s", s->c->test.method);
    request.select[0] = '\0';
    request.claim_epsilon = NAN;
    s->status = dpa__estimate_counts(counts, &request, &results, s->err);
    const int found = results.count > 0 && results.items[0].epsilon_lower > claim;
    dpa__results_free(&results);
    return found;
}

/* The FPR of the point on a curve whose expected outcome is least likely under the claim. */
static double best_fpr(const setting *s, const dpa_curve *curve) {
    double best = 0.5, largest = -1;
    for (int i = 0; i <= 60; ++i) {
        const double fpr = pow(10, -6 + 0.1 * i) * 0.5; /* 5e-7 … 0.5 */
        const dpa__outcome o = {s->n1, s->n0, s->n1 * dpa_curve_fnr(curve, fpr), s->n0 * fpr};
        const double ratio = dpa__edge_ratio(&s->edge, &o);
        if (ratio > largest) {
            largest = ratio;
            best = fpr;
        }
    }
    return best;
}

static int detects(setting *s, const dpa_curve *curve) {
    const double fpr = best_fpr(s, curve);
    const dpa_counts counts = unlucky(s, dpa_curve_fnr(curve, fpr), fpr);
    return refutes(s, &counts);
}

static dpa_status suspect(double epsilon, double delta, int is_gaussian, dpa_curve **out,
                          dpa_error *err) {
    return is_gaussian ? dpa_curve_gaussian(dpa_gaussian_mu(epsilon, delta), out, err)
                       : dpa_curve_dp(epsilon, delta, out, err);
}

/* The smallest suspected ε that would be detected, to 0.5%; INFINITY above 100. */
static dpa_status smallest(setting *s, int is_gaussian, double *out, dpa_error *err) {
    const double delta = s->c->protocol.request.delta;
    double low = s->c->promise.epsilon, high = fmax(2 * low, 0.1);
    for (int i = 0; i < 60; ++i) {
        const double next = isinf(*out) ? high : 0.5 * (low + high);
        dpa_curve *curve = NULL;
        if (!isinf(*out) && high - low <= 0.005 * high) break;
        DPA_TRY(suspect(next, delta, is_gaussian, &curve, err));
        const int found = detects(s, curve);
        dpa_curve_free(curve);
        DPA_TRY(s->status);
        if (found) *out = high = next;
        if (!found) low = next;
        if (isinf(*out) && low > 100) return DPA_OK;
        if (isinf(*out)) high = 2 * low;
    }
    return DPA_OK;
}

/* For a method of counts in the family dp, with these class sizes. */
static dpa_status power_counts(dpa__case *c, double n1, double n0, dpa_error *err) {
    dpa__verdict *v = &c->report->verdict;
    const double delta = c->protocol.request.delta;
    setting s = {.c = c, .n1 = n1, .n0 = n0, .err = err};
    DPA_TRY(dpa_curve_dp(c->promise.epsilon, delta, &s.claim, err));
    s.edge = dpa__edge_dp(s.claim, c->promise.epsilon, delta, 0);
    v->detect_worst = v->detect_gaussian = INFINITY;
    dpa_status status = smallest(&s, 0, &v->detect_worst, err);
    if (status == DPA_OK && delta > 0) status = smallest(&s, 1, &v->detect_gaussian, err);
    if (delta == 0) v->detect_gaussian = NAN; /* Gaussian noise has no finite ε at δ = 0 */
    dpa_curve_free(s.claim);
    return status;
}

/* ── the deciding test ───────────────────────────────────────────────────────────────── */

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
        return dpa__family_is_universal(t->family) ? power_counts(c, n1, n0, err) : DPA_OK;
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
