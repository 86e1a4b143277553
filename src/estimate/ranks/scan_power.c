/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scan as a test that is fixed beforehand: its critical counts, its power against a named
 * alternative, and the smallest alternative that it would detect. Nothing here sees scores.
 *
 * The critical value is where the law of the statistic under the claim leaves p: computed
 * for f_{ε,δ}, else the order statistic of simulated values that the audit itself would use. The
 * power is the probability of some look reaching its critical count under the alternative: by paths
 * for f_{ε,δ} where these are few (the chain errs upwards, which a power must not), else the share
 * of 2,000 simulated audits (standard error at 0.8: 0.009). */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "estimate/plan/plan.h"
#include "estimate/ranks/scan.h"

enum { SEARCH_DRAWS = 800, SEARCH_STEPS = 24, FIRST_DRAWS = 200 };
/* Standard errors between a share and a limit after which no more draws are made. */
static const double CLEARLY = 5;
/* Streams of draws of their own: those of an audit are below 2^16. */
enum { CRITICAL_STREAM = 1 << 17, POWER_STREAM };

void dpa__scan_test_close(dpa__scan_test *test) {
    dpa__scan_counts_free(&test->reach);
    dpa__scan_looks_close(&test->looks);
}

/* The smallest value that refutes, computed; the p-value falls about like exp(−value). NAN if it
 * cannot be computed. */
static dpa_status computed_value(const dpa__scan_test *t, const dpa__scan_null *null,
                                 const dpa__scan_claim *claim, double level, double *value,
                                 dpa_error *err) {
    dpa__scan_counts reach = t->reach;
    double low = 0, high = 60, next = 2.5, p;
    *value = NAN;
    for (int i = 0; i < SEARCH_STEPS && high - low > 2e-3; ++i) {
        dpa__scan_reach(null, next, &reach);
        DPA_TRY(dpa__scan_computed(&t->looks, &reach, claim->epsilon, claim->delta, DPA__ROUGH, &p,
                                   err));
        if (isnan(p)) return DPA_OK;
        if (p <= level)
            high = next;
        else
            low = next;
        const double guess = next + log(fmax(p, 1e-9) / level); /* Newton on log p */
        const double margin = 0.02 * (high - low);
        next = i < 6 && high < 60 && low > 0 ? fmin(fmax(guess, low + margin), high - margin)
               : i < 6                       ? fmin(fmax(guess + 0.3, 0.01), 59)
                                             : 0.5 * (low + high);
    }
    *value = high;
    return DPA_OK;
}

static dpa_status simulated_value(const dpa__scan_test *t, const dpa__scan_null *null,
                                  const dpa_curve *curve, double level, double *value,
                                  dpa_error *err) {
    const size_t draws = dpa__scan_replicates(level);
    const size_t rank = dpa__scan_may_reach(level, draws, DPA__SCAN_DOUBT);
    const dpa__scan_law law = {&t->looks, curve, t->seed, CRITICAL_STREAM, 1};
    dpa__scan_counts counts = {{NULL, NULL}};
    double *room = DPA_NEW_ARRAY(double, 4 * (t->used[DPA__SCAN_TOP] + 1), err);
    double *values = DPA_NEW_ARRAY(double, draws, err);
    dpa_status status = room != NULL && values != NULL ? DPA_OK : DPA_NO_MEMORY;
    if (status == DPA_OK) status = dpa__scan_counts_new(&t->looks, &counts, err);
    *value = HUGE_VAL;
    if (status == DPA_OK && rank > 0) {
        for (size_t b = 0; b < draws; ++b) {
            (void)dpa__scan_draw(&law, t->used, b, NULL, room, &counts);
            values[b] = dpa__scan_statistic(null, &counts);
        }
        status = dpa__sort_numbers(values, draws, err);
        *value = values[draws - rank] * (1 + 1e-9) + 1e-9; /* strictly above it */
    }
    free(room);
    free(values);
    dpa__scan_counts_free(&counts);
    return status;
}

static dpa_status fill_test(const dpa__scan_claim *claim, const dpa_curve *curve, double level,
                            dpa__scan_test *t, dpa_error *err) {
    dpa__scan_null null;
    double value = NAN;
    DPA_TRY(dpa__scan_null_open(&t->looks, curve, &null, err));
    for (int e = 0; e < DPA__SCAN_ENDS; ++e) t->used[e] = null.count[e];
    dpa_status status = DPA_OK;
    if (claim->curve == NULL) status = computed_value(t, &null, claim, level, &value, err);
    if (status == DPA_OK && isnan(value))
        status = simulated_value(t, &null, curve, level, &value, err);
    if (status == DPA_OK) dpa__scan_reach(&null, value, &t->reach);
    dpa__scan_null_close(&null);
    return status;
}

/* The claim's own curve, or the curve of its ε and δ, which is then *owned and must be freed. */
static dpa_status curve_of(const dpa__scan_claim *claim, const dpa_curve **out, dpa_curve **owned,
                           dpa_error *err) {
    *owned = NULL;
    *out = claim->curve;
    if (claim->curve != NULL) return DPA_OK;
    DPA_TRY(dpa_curve_dp(claim->epsilon, claim->delta, owned, err));
    *out = *owned;
    return DPA_OK;
}

dpa_status dpa__scan_test_open(size_t members, size_t nonmembers, const dpa__scan_claim *claim,
                               const dpa_request *request, dpa__scan_test *out, dpa_error *err) {
    const double level = (1 - request->confidence) / request->sides;
    const dpa_curve *curve = NULL;
    dpa_curve *owned = NULL;
    *out = (dpa__scan_test){.seed = request->seed, .threads = dpa__threads(request->threads)};
    dpa_status status = dpa__scan_looks_open(members, nonmembers, &out->looks, err);
    if (status == DPA_OK) status = dpa__scan_counts_new(&out->looks, &out->reach, err);
    if (status == DPA_OK) status = curve_of(claim, &curve, &owned, err);
    if (status == DPA_OK) status = fill_test(claim, curve, level, out, err);
    dpa_curve_free(owned);
    if (status != DPA_OK) dpa__scan_test_close(out);
    return status;
}

/* Simulated audits that refute, out of `all`, or of fewer if their share is clearly above or below
 * `wanted` before all are made. NAN: all of them, and those that are already made count. */
static dpa_status count_refuted(const dpa__scan_test *test, const dpa__scan_law *law, double wanted,
                                size_t all, dpa__scan_draws *made, dpa_error *err) {
    if (!isnan(wanted) || made->count > all) *made = (dpa__scan_draws){0, 0};
    while (made->count < all) {
        const size_t next = made->count == 0 ? FIRST_DRAWS : 2 * made->count;
        const size_t to = isnan(wanted) || next > all ? all : next;
        size_t reached;
        DPA_TRY(
            dpa__scan_simulate(law, test->used, &test->reach, made->count, to, to, &reached, err));
        made->refuted += reached;
        made->count = to;
        const double count = (double)to, refuted = (double)made->refuted, share = refuted / count;
        if (fabs(share - wanted) > CLEARLY * dpa__share_error(refuted, count)) break;
    }
    return DPA_OK;
}

/* Pr[the claim is refuted] if the best attack's trade-off is the alternative's. `error` is one
 * standard error if the power is simulated, 1e-4 if it is computed. 10 µs per draw. If only the
 * comparison with `wanted` matters (NAN: it does not), fewer draws are made where it is clear. */
static dpa_status scan_power(const dpa__scan_test *test, const dpa__scan_claim *alternative,
                             size_t draws, double wanted, dpa__scan_draws *made, double *power,
                             double *error, dpa_error *err) {
    const dpa_curve *curve;
    dpa_curve *owned;
    *power = NAN;
    *error = 1e-4;
    if (alternative->curve == NULL &&
        dpa__scan_has_few_paths(&test->looks, alternative->epsilon, alternative->delta))
        return dpa__scan_lattice(&test->looks, &test->reach, alternative->epsilon,
                                 alternative->delta, DPA__ROUGH, power, err);
    DPA_TRY(curve_of(alternative, &curve, &owned, err));
    const dpa__scan_law law = {&test->looks, curve, test->seed, POWER_STREAM, test->threads};
    const dpa_status status = count_refuted(test, &law, wanted, draws, made, err);
    dpa_curve_free(owned);
    DPA_TRY(status);
    *power = (double)made->refuted / (double)made->count;
    *error = dpa__share_error((double)made->refuted, (double)made->count);
    return DPA_OK;
}

/* ── the smallest leak ─────────────────────────────────────────────────────────────────────── */

/* Compared with `wanted` only. */
static dpa_status power_at(const dpa__scan_test *test, dpa__scan_suspect suspect, double epsilon,
                           double delta, double wanted, double *power, dpa_error *err) {
    dpa__scan_claim alternative = {epsilon, delta, NULL};
    dpa__scan_draws none = {0, 0};
    dpa_curve *curve = NULL;
    double error;
    if (suspect == DPA__SUSPECT_GAUSSIAN)
        DPA_TRY(dpa_curve_gaussian(dpa_gaussian_mu(epsilon, delta), &curve, err));
    alternative.curve = curve;
    const dpa_status status =
        scan_power(test, &alternative, SEARCH_DRAWS, wanted, &none, power, &error, err);
    dpa_curve_free(curve);
    return status;
}

dpa_status dpa__scan_detects(const dpa__scan_test *test, const dpa__scan_claim *claim,
                             dpa__scan_suspect suspect, double power, double *epsilon,
                             dpa_error *err) {
    double low = claim->epsilon, step = fmax(0.1, 0.1 * low), high = low + step, here;
    *epsilon = INFINITY;
    for (;; high += step) {
        DPA_TRY(power_at(test, suspect, high, claim->delta, power, &here, err));
        if (here >= power) break;
        if (high > 100) return DPA_OK;
        low = high;
        step *= 2;
    }
    while (high - low > 0.01 * high) {
        const double middle = 0.5 * (low + high);
        DPA_TRY(power_at(test, suspect, middle, claim->delta, power, &here, err));
        *(here >= power ? &high : &low) = middle;
    }
    *epsilon = high;
    return DPA_OK;
}

/* ── the power of a plan ───────────────────────────────────────────────────────────────────── */

/* Simulated audits: standard errors of 0.009 and 0.006 at a power of 0.8. */
enum { FEW = 2000, MANY = 5000 };

/* A member in the form that the scan tests; *owned is a curve to be freed. */
static dpa_status claim_of(const dpa__model *model, const dpa__member *member, dpa__scan_claim *out,
                           dpa_curve **owned, dpa_error *err) {
    *out = (dpa__scan_claim){member->t, member->delta, member->curve};
    *owned = NULL;
    if (model->kind == DPA__MODEL_DP) out->curve = NULL; /* its law can be computed */
    if (model->kind != DPA__MODEL_GAUSSIAN || member->curve != NULL) return DPA_OK;
    DPA_TRY(dpa_curve_gaussian(member->t, owned, err));
    out->curve = *owned;
    return DPA_OK;
}

/* Tests of a plan by size, and what was drawn of their power under its current truth. */
struct dpa__scan_tests {
    size_t count, room;
    struct known {
        size_t n;
        dpa__scan_test test;
        dpa__scan_draws made;
    } * items;
};

void dpa__scan_tests_free(struct dpa__scan_tests *tests) {
    if (tests == NULL) return;
    for (size_t i = 0; i < tests->count; ++i) dpa__scan_test_close(&tests->items[i].test);
    free(tests->items);
    free(tests);
}

void dpa__scan_tests_forget(struct dpa__scan_tests *tests) {
    for (size_t i = 0; tests != NULL && i < tests->count; ++i)
        tests->items[i].made = (dpa__scan_draws){0, 0};
}

/* The test for n; it does not depend on the truth. */
static dpa_status own_test(dpa__plan *plan, const dpa__scan_claim *claim, size_t n,
                           struct known **out, dpa_error *err) {
    dpa_request request;
    dpa__request_init(&request);
    request.confidence = plan->asked->confidence;
    request.seed = plan->asked->seed;
    request.threads = plan->asked->threads;
    if (plan->tests == NULL) plan->tests = DPA_NEW(struct dpa__scan_tests, err);
    struct dpa__scan_tests *all = plan->tests;
    if (all == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < all->count; ++i)
        if (all->items[i].n == n) {
            *out = &all->items[i];
            return DPA_OK;
        }
    void *grown = dpa__grown(all->items, all->count, &all->room, sizeof *all->items, err);
    if (grown == NULL) return DPA_NO_MEMORY;
    all->items = grown;
    *out = &all->items[all->count];
    **out = (struct known){.n = n};
    DPA_TRY(dpa__scan_test_open(n, n, claim, &request, &(*out)->test, err));
    ++all->count;
    return DPA_OK;
}

static dpa_status power_of(dpa__plan *plan, const dpa__scan_claim *claim,
                           const dpa__scan_claim *truth, size_t n, dpa__care care,
                           dpa_plan_answer *out, dpa_error *err) {
    struct known *known;
    DPA_TRY(own_test(plan, claim, n, &known, err));
    return scan_power(&known->test, truth, care == DPA__ROUGHLY ? FEW : MANY,
                      dpa__plan_enough(plan, care), &known->made, &out->power, &out->error, err);
}

static dpa_status power_of_scores(dpa__plan *plan, uint64_t n, dpa__care care, dpa_plan_answer *out,
                                  dpa_error *err) {
    dpa__scan_claim claim, truth;
    dpa_curve *owned[2] = {NULL, NULL};
    dpa_status status = claim_of(&plan->model, &plan->claim, &claim, &owned[0], err);
    if (status == DPA_OK) status = claim_of(&plan->suspect, &plan->truth, &truth, &owned[1], err);
    if (status == DPA_OK) status = power_of(plan, &claim, &truth, (size_t)n, care, out, err);
    dpa_curve_free(owned[0]);
    dpa_curve_free(owned[1]);
    return status;
}

const dpa__power dpa__planned_scores = {power_of_scores, DPA__IN_RUNS, .limit = 10000000,
                                        .parts = 200, .fine = 2e-3};
