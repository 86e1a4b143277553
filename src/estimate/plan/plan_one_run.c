/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The power of a one-run audit on the idealised game (fdp-in-one-run, Algorithm 4), exactly.
 *
 * A canary's observation is N(±μ/2, 1) and the c′ surest (largest |x|) of m are guessed by their
 * sign. Given where the next one, number c′+1, lies, the c′ above it are independent draws of |x|
 * beyond that point a, each right with r(a) = Φ̄(a−μ/2)/S(a), S(a) = Φ̄(a−μ/2) + Φ̄(a+μ/2). And S at
 * order statistic c′+1 has the law Beta(c′+1, m−c′). So the number of right guesses is a mixture of
 * binomials over one variable: one quadrature, to 1e-10. The audit refutes from some count on,
 * found by bisection; the number of guesses is the best of 8, 16, 32, …, m. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "estimate/one_run/one_run.h"
#include "estimate/plan/plan.h"
#include "math/dist.h"
#include "math/quad.h"
#include "math/root.h"

enum { BREAKS = 9, MAX_EVALUATIONS = 20000 };

typedef struct game {
    double half; /* μ/2 */
    double canaries, guesses, least;
    double share; /* wanted by `surplus` */
} game;

static double tail(double x) {
    return dpa__norm_cdf(x, DPA_UPPER);
}

static double beyond(const game *g, double a) {
    return tail(a - g->half) + tail(a + g->half);
}

static double surplus(double a, void *user) {
    const game *g = user;
    return beyond(g, a) - g->share;
}

/* Pr[at least `least` right | the next canary lies at a]. */
static double refuted_given(const game *g, double a) {
    const double right = tail(a - g->half) / beyond(g, a);
    return dpa__binom_cdf(g->least - 1, g->guesses, fmin(1, right), DPA_UPPER);
}

static double refuted_and_at(double a, void *user) {
    const game *g = user;
    const double density =
        exp(dpa__norm_log_pdf(a - g->half)) + exp(dpa__norm_log_pdf(a + g->half));
    return refuted_given(g, a) * density *
           exp(dpa__beta_log_pdf(fmin(1, beyond(g, a)), g->guesses + 1, g->canaries - g->guesses));
}

/* Breakpoints around the middle of the mixture, in ascending order of a. */
static dpa_status breaks_of(game *g, double *breaks, dpa_error *err) {
    static const double levels[BREAKS] = {-9, -5, -2.5, -1, 0, 1, 2.5, 5, 9};
    const double far = g->half + 40;
    for (int i = 0; i < BREAKS; ++i) {
        dpa__bracket root;
        g->share = dpa__beta_quantile(dpa__norm_cdf(levels[i], DPA_UPPER), g->guesses + 1,
                                      g->canaries - g->guesses, DPA_LOWER);
        breaks[i] = 0;
        if (surplus(0, g) <= 0) continue;
        DPA_TRY(dpa__root(surplus, g, 0, far, 1e-12, 1e-12, &root, err));
        breaks[i] = root.upper;
    }
    return DPA_OK;
}

static dpa_status power_with(game *g, double *out, dpa_error *err) {
    double breaks[BREAKS], kept[BREAKS];
    size_t count = 0;
    *out = 0;
    if (g->least > g->guesses) return DPA_OK;
    if (g->guesses >= g->canaries) {
        *out = refuted_given(g, 0);
        return DPA_OK;
    }
    DPA_TRY(breaks_of(g, breaks, err));
    for (int i = 0; i < BREAKS; ++i)
        if (count == 0 || breaks[i] > kept[count - 1]) kept[count++] = breaks[i];
    dpa__quad quad = {0, 0, 0};
    if (count < 2) return DPA_OK;
    DPA_TRY(
        dpa__integrate(refuted_and_at, g, kept, count, 1e-10, 1e-9, MAX_EVALUATIONS, &quad, err));
    *out = fmin(1, quad.value);
    return DPA_OK;
}

/* The smallest number of right guesses that refutes; guesses + 1 if none does. */
static dpa_status least_correct(dpa__one_run_test *test, double claim, dpa_one_run counts, double p,
                                double *out) {
    uint64_t low = 0, high = counts.guesses + 1;
    while (high - low > 1) {
        counts.correct = low + (high - low) / 2;
        if (dpa__one_run_test_refutes(test, claim, &counts, p))
            high = counts.correct;
        else
            low = counts.correct;
    }
    *out = (double)high;
    return test->status;
}

static dpa_status consider(const dpa__plan *plan, dpa__one_run_test *test, uint64_t canaries,
                           uint64_t guesses, dpa_plan_answer *out, dpa_error *err) {
    const dpa_one_run counts = {canaries, 2, guesses, 0};
    game g = {.half = plan->mu / 2, .canaries = (double)canaries, .guesses = (double)guesses};
    double power;
    DPA_TRY(least_correct(test, plan->claim.t, counts, plan->p, &g.least));
    DPA_TRY(power_with(&g, &power, err));
    if (out->guesses == 0 || power > out->power) {
        out->power = power;
        out->guesses = guesses;
    }
    return DPA_OK;
}

static dpa_status power_of_guesses(dpa__plan *plan, uint64_t n, dpa__care care,
                                   dpa_plan_answer *out, dpa_error *err) {
    (void)care; /* exact either way */
    dpa_request request;
    dpa__one_run_test test;
    dpa__request_init(&request);
    memcpy(request.family, plan->model.spec, strlen(plan->model.spec) + 1);
    memcpy(request.method, plan->asked->method, strlen(plan->asked->method) + 1);
    DPA_TRY(dpa__one_run_test_init(&test, &request, plan->asked->delta, 2, err));
    dpa_status status = DPA_OK;
    for (uint64_t guesses = 8; guesses < n && status == DPA_OK; guesses *= 2)
        status = consider(plan, &test, n, guesses, out, err);
    if (status == DPA_OK) status = consider(plan, &test, n, n, out, err);
    dpa__one_run_test_free(&test);
    return status;
}

/* Canaries with noise of their own count like runs, about half of them in: ranks, the scan for dp
 * (docs/methods/one-run-channels.md). */
static dpa_status power_of_channels(dpa__plan *plan, uint64_t n, dpa__care care,
                                    dpa_plan_answer *out, dpa_error *err) {
    out->power = 0; /* of one canary: there is no other to compare it with */
    if (n < 2) return DPA_OK;
    const dpa__power *like =
        plan->model.kind == DPA__MODEL_DP ? &dpa__planned_scores : &dpa__planned_ranks;
    return dpa__power_like(plan, like, n / 2, care, out, err);
}

const dpa__power dpa__planned_channels = {power_of_channels, DPA__IN_ONE_RUN, .limit = 20000000,
                                          .parts = 40, .fine = 2e-3};
const dpa__power dpa__planned_guesses = {power_of_guesses, DPA__IN_ONE_RUN, .limit = DPA__MOST_SIZE,
                                         .fine = 1e-4};
