/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The power of one audit.
 *
 * Counts: fn ~ Bin(n, FNR) and fp ~ Bin(n, FPR) are independent and the bound falls with both, so
 * the outcomes that refute lie below a staircase: one walk along it finds them, 2n bounds instead
 * of n². Exact to rounding. The best threshold is found on a grid and then by golden section.
 * Ranks: Mann–Whitney's U is taken as normal under the claim and under the truth, with its exact
 * mean and deviation (methods.md, section 4).
 * One run: of c′ guesses each is right with the probability of the idealised game, and the right
 * ones are taken as binomial; the audit refutes from some count on, found by bisection. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "dpaudit/onerun.h"
#include "dpaudit/plan.h"
#include "dpaudit/tradeoff.h"
#include "estimate/model.h"
#include "estimate/onerun.h"
#include "estimate/rank.h"
#include "estimate/rates.h"
#include "math/dist.h"

enum { GRID = 12, GOLDEN = 12, MOST_COUNTS = 100000, MOST_GUESS_COUNTS = 32 };

static dpa_status check(const dpa_plan *plan, uint64_t n, dpa_error *err) {
    const int is_gaussian = strcmp(plan->family, "gaussian") == 0;
    const uint64_t most = plan->method == DPA_PLAN_CP ? MOST_COUNTS : 1000000000;
    if (!is_gaussian && strcmp(plan->family, "dp") != 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "family: '%s' is none of dp, gaussian",
                         plan->family);
    if (plan->method == DPA_PLAN_RANK && !is_gaussian)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "ranks show little for family dp: use cp");
    if (!(plan->delta > 0 && plan->delta < 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "delta: %g is not between 0 and 1 (a Gaussian mechanism needs it above 0)",
                         plan->delta);
    if (!(plan->confidence > 0 && plan->confidence < 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "confidence: %g is not between 0 and 1",
                         plan->confidence);
    if (!(plan->claim_epsilon >= 0 && plan->claim_epsilon <= 1000))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "claimed epsilon: %g is not in [0, 1000]",
                         plan->claim_epsilon);
    if (!(plan->truth_epsilon >= 0 && plan->truth_epsilon <= 1000))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "suspected epsilon: %g is not in [0, 1000]",
                         plan->truth_epsilon);
    if (n < 1 || n > most)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%llu observations: 1 to %llu can be planned",
                         (unsigned long long)n, (unsigned long long)most);
    return DPA_OK;
}

/* The claim as the family's parameter. */
static double claimed_t(const dpa_plan *plan) {
    return strcmp(plan->family, "dp") == 0 ? plan->claim_epsilon
                                           : dpa_gaussian_mu(plan->claim_epsilon, plan->delta);
}

/* ── counts ────────────────────────────────────────────────────────────────────────────────── */

typedef struct counts_game {
    dpa__model model;
    double claim, p;
    uint64_t n, *below;
} counts_game;

static dpa_status refutes(const counts_game *g, uint64_t fn, uint64_t fp, int *out,
                          dpa_error *err) {
    const dpa_counts counts = {fn, g->n - fn, fp, g->n - fp};
    const dpa__rectangle r = dpa__rectangle_of(&counts, DPA__CLOPPER_PEARSON, g->p, 1);
    double t;
    DPA_TRY(dpa__rectangle_lower(&g->model, &r, 1, &t, err));
    *out = t > g->claim;
    return DPA_OK;
}

/* below[fn]: the fp that refute beside fn errors are those below it. Does not depend on the
 * threshold. */
static dpa_status walk(counts_game *g, dpa_error *err) {
    uint64_t below = g->n + 1;
    for (uint64_t fn = 0; fn <= g->n; ++fn) {
        int is_refuted = 0;
        while (below > 0) {
            DPA_TRY(refutes(g, fn, below - 1, &is_refuted, err));
            if (is_refuted) break;
            --below;
        }
        g->below[fn] = below;
    }
    return DPA_OK;
}

static double power_at(const counts_game *g, double mu, double threshold) {
    const double n = (double)g->n;
    const double fnr = dpa__norm_cdf(threshold - mu, DPA_LOWER);
    const double fpr = dpa__norm_cdf(threshold, DPA_UPPER);
    double power = 0;
    for (uint64_t fn = 0; fn <= g->n && g->below[fn] > 0; ++fn)
        power += exp(dpa__binom_log_pmf((double)fn, n, fnr)) *
                 dpa__binom_cdf((double)g->below[fn] - 1, n, fpr, DPA_LOWER);
    return fmin(1, power);
}

static void close_counts(counts_game *g) {
    free(g->below);
    dpa__model_close(&g->model);
}

static dpa_status open_counts(const dpa_plan *plan, uint64_t n, counts_game *g, dpa_error *err) {
    *g = (counts_game){.claim = claimed_t(plan), .p = 1 - plan->confidence, .n = n};
    DPA_TRY(dpa__model_open(plan->family, plan->delta, &g->model, err));
    g->below = DPA_NEW_ARRAY(uint64_t, n + 1, err);
    const dpa_status status = g->below == NULL ? DPA_NO_MEMORY : walk(g, err);
    if (status != DPA_OK) close_counts(g);
    return status;
}

static void consider(const counts_game *g, double mu, double threshold, double *power,
                     dpa_plan_answer *best) {
    *power = power_at(g, mu, threshold);
    if (*power <= best->power) return;
    best->power = *power;
    best->threshold = threshold;
}

/* Around the best point of a grid from μ/2 up: thresholds below μ/2 mirror those above. */
static void best_threshold(const counts_game *g, double mu, dpa_plan_answer *out) {
    const double step = (mu / 2 + 3) / GRID, ratio = 0.6180339887498949;
    double power;
    out->power = -1;
    for (int i = 0; i <= GRID; ++i) consider(g, mu, mu / 2 + step * i, &power, out);
    double low = out->threshold - step, high = out->threshold + step;
    for (int i = 0; i < GOLDEN; ++i) {
        const double a = high - ratio * (high - low), b = low + ratio * (high - low);
        double at_a, at_b;
        consider(g, mu, a, &at_a, out);
        consider(g, mu, b, &at_b, out);
        if (at_a > at_b)
            high = b;
        else
            low = a;
    }
}

static dpa_status power_of_counts(const dpa_plan *plan, uint64_t n, dpa_plan_answer *out,
                                  dpa_error *err) {
    counts_game g;
    DPA_TRY(open_counts(plan, n, &g, err));
    best_threshold(&g, dpa_gaussian_mu(plan->truth_epsilon, plan->delta), out);
    close_counts(&g);
    return DPA_OK;
}

dpa_status dpa_plan_power_at(const dpa_plan *plan, uint64_t n, double threshold, double *power,
                             dpa_error *err) {
    counts_game g;
    DPA_TRY(check(plan, n, err));
    if (plan->method != DPA_PLAN_CP || !isfinite(threshold))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "only cp has a threshold, a finite one");
    DPA_TRY(open_counts(plan, n, &g, err));
    *power = power_at(&g, dpa_gaussian_mu(plan->truth_epsilon, plan->delta), threshold);
    close_counts(&g);
    return DPA_OK;
}

/* ── ranks ─────────────────────────────────────────────────────────────────────────────────── */

static dpa_status moments(const dpa__model *model, double mu, double n, double *mean,
                          double *deviation, dpa_error *err) {
    dpa__member member;
    DPA_TRY(dpa__member_open(model, mu, &member, err));
    const dpa_status status = dpa__rank_moments(&member, n, n, mean, deviation, err);
    dpa__member_close(&member);
    return status;
}

static dpa_status power_of_ranks(const dpa_plan *plan, uint64_t n, dpa_plan_answer *out,
                                 dpa_error *err) {
    const double truth = dpa_gaussian_mu(plan->truth_epsilon, plan->delta);
    double mean[2], deviation[2];
    dpa__model model;
    DPA_TRY(dpa__model_open(plan->family, plan->delta, &model, err));
    dpa_status status = moments(&model, claimed_t(plan), (double)n, &mean[0], &deviation[0], err);
    if (status == DPA_OK) status = moments(&model, truth, (double)n, &mean[1], &deviation[1], err);
    dpa__model_close(&model);
    DPA_TRY(status);
    const double least = mean[0] + deviation[0] * dpa__norm_quantile(plan->confidence, DPA_LOWER);
    out->power = dpa__norm_cdf((least - mean[1]) / deviation[1], DPA_UPPER);
    return DPA_OK;
}

/* ── one run ───────────────────────────────────────────────────────────────────────────────── */

/* The least number of right guesses that refutes; guesses + 1 where none does. */
static dpa_status least_correct(dpa__onerun_test *test, double claim, dpa_onerun game, double p,
                                uint64_t *out) {
    uint64_t low = 0, high = game.guesses + 1;
    while (high - low > 1) {
        game.correct = low + (high - low) / 2;
        if (dpa__onerun_test_refutes(test, claim, &game, p))
            high = game.correct;
        else
            low = game.correct;
    }
    *out = high;
    return test->status;
}

static dpa_status power_of_guesses(const dpa_plan *plan, uint64_t n, dpa_plan_answer *out,
                                   dpa_error *err) {
    uint64_t counts[MOST_GUESS_COUNTS];
    const size_t grid = dpa_onerun_grid(n, counts, MOST_GUESS_COUNTS);
    const double mu = dpa_gaussian_mu(plan->truth_epsilon, plan->delta);
    const dpa_ideal ideal = {mu > 1e-6 ? 1 / mu : 1e6, n, 2};
    dpa_request request;
    dpa__onerun_test test;
    dpa_request_init(&request);
    memcpy(request.family, plan->family, strlen(plan->family) + 1);
    DPA_TRY(dpa__onerun_test_init(&test, &request, plan->delta, 2, err));
    dpa_status status = DPA_OK;
    for (size_t i = 0; i < grid && status == DPA_OK; ++i) {
        uint64_t least = 0;
        double expected = 0;
        const dpa_onerun game = {n, 2, counts[i], 0};
        status = dpa_ideal_expected(&ideal, counts[i], &expected, err);
        if (status == DPA_OK)
            status = least_correct(&test, claimed_t(plan), game, 1 - plan->confidence, &least);
        if (status != DPA_OK) break;
        const double guesses = (double)counts[i];
        const double power =
            dpa__binom_cdf((double)least - 1, guesses, fmin(1, expected / guesses), DPA_UPPER);
        if (i == 0 || power > out->power) {
            out->power = power;
            out->guesses = counts[i];
        }
    }
    dpa__onerun_test_free(&test);
    return status;
}

dpa_status dpa_plan_power(const dpa_plan *plan, uint64_t n, dpa_plan_answer *out, dpa_error *err) {
    *out = (dpa_plan_answer){.size = n, .power = NAN, .threshold = NAN};
    DPA_TRY(check(plan, n, err));
    switch (plan->method) {
    case DPA_PLAN_CP:
        return power_of_counts(plan, n, out, err);
    case DPA_PLAN_RANK:
        return power_of_ranks(plan, n, out, err);
    case DPA_PLAN_ONE_RUN:
        return power_of_guesses(plan, n, out, err);
    default:
        return dpa__fail(err, DPA_BAD_ARGUMENT, "method: %d is none", (int)plan->method);
    }
}
