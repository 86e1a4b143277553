/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interval of the empirical Epsilon*, by simulation from a smooth curve close to the data.
 *
 * Resampling the losses themselves repeats the upward bias of a maximum of noisy ratios without
 * revealing how large it was the first time; such intervals promised 97.5% and held 88%. With
 * draws from the binormal rates (epsilon_star_binormal.c) the truth is known, so the law of
 * estimate − truth can be observed. The interval is the estimate minus its quantiles, or the
 * simulated estimates if these reach further, because the curve has an error of its own. The
 * true curve need not be straight, so the upper end is never below what a bent one allows.
 * Counts in cells are drawn, so the cost does not grow with the number of losses. The sweep over
 * cells sees fewer thresholds than the one over all losses, so its estimate is a little lower;
 * the upper end is never below the latter. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/epsilon_star.h"
#include "evidence/scores_sort.h"

enum { MOST_EXCHANGES = 2000 };
static const double EDGE = 0.001;                         /* `empirical` uses rates from here on */
static const uint64_t FIRST_EXCHANGE = UINT64_C(1) << 41; /* streams of their own */

int dpa__exchange_reaches(const dpa__cells *c, const dpa_request *request,
                          dpa__statistic *statistic, void *user, double value) {
    const double wanted = ceil(2.0 / (1.0 - request->confidence) - 1.0 - 1e-9);
    const size_t count = (size_t)fmin(wanted, MOST_EXCHANGES);
    for (size_t i = 0; i < count; ++i) {
        dpa__cells other;
        dpa_rng rng;
        dpa__rng_init(&rng, request->seed, DPA_PURPOSE_BOOTSTRAP, FIRST_EXCHANGE + i);
        dpa__cells_exchange(c, &rng, &other);
        if (statistic(&other, user) >= value) return 1;
    }
    return 0;
}

/* The sweep of the empirical estimate over cells. */
static double sweep(const dpa__cells *c, void *user) {
    const double *delta = user;
    uint32_t train[DPA__CELLS], heldout[DPA__CELLS];
    dpa_star star;
    for (size_t i = 0; i < c->count; ++i) {
        train[i] = (uint32_t)c->train[i];
        heldout[i] = (uint32_t)c->heldout[i];
    }
    const dpa__weighted in = {c->upper, train, c->count, c->train_total};
    const dpa__weighted out = {c->upper, heldout, c->count, c->heldout_total};
    dpa__star_sweep(&in, &out, *delta, &star);
    return star.epsilon;
}

/* Eq. 7 over the model's rates, restricted to those that `empirical` uses. */
static double model_epsilon(const dpa__cells *c, const double *train, const double *heldout,
                            double delta) {
    double best = 1.0;
    for (size_t i = 0; i + 1 < c->count; ++i) {
        const dpa__rates4 r = {train[i], 1.0 - train[i], heldout[i], 1.0 - heldout[i]};
        dpa_star_ratio which;
        if (fmin(fmin(r.tpr, r.fnr), fmin(r.fpr, r.tnr)) <= EDGE) continue;
        best = fmax(best, dpa__star_ratio(&r, delta, &which));
    }
    return log(best);
}

/* Turns rates at the ends of cells into probabilities of cells. */
static void differences(double *rate, size_t count) {
    for (size_t i = count; i-- > 1;) rate[i] -= rate[i - 1];
}

static dpa_status simulate(dpa__cells *c, size_t replicates, const dpa_request *request,
                           double *truth, double *off, dpa_error *err) {
    double train[DPA__CELLS], heldout[DPA__CELLS], delta = request->delta;
    dpa__cells drawn = *c;
    dpa__watch watch;
    dpa__binormal_rates(c, delta, train, heldout);
    *truth = model_epsilon(c, train, heldout, delta);
    differences(train, c->count);
    differences(heldout, c->count);
    DPA_TRY(
        dpa__watch_init(&watch, &request->progress, "simulated samples", (double)replicates, err));
    dpa_status status = DPA_OK;
    for (size_t b = 0; b < replicates && status == DPA_OK; ++b) {
        dpa_rng rng;
        dpa__rng_init(&rng, request->seed, DPA_PURPOSE_BOOTSTRAP, b);
        dpa__cells_draw(train, c->count, c->train_total, &rng, drawn.train);
        dpa__cells_draw(heldout, c->count, c->heldout_total, &rng, drawn.heldout);
        off[b] = sweep(&drawn, &delta) - *truth;
        if (dpa__watch_count(&watch))
            status = dpa__fail(err, DPA_CANCELLED, "bootstrap: %s", dpa_status_text(DPA_CANCELLED));
    }
    dpa__watch_free(&watch);
    return status;
}

dpa_status dpa__star_simulate(const dpa_losses *losses, size_t replicates,
                              const dpa_request *request, double *lower, double *upper,
                              dpa_error *err) {
    double delta = request->delta, truth;
    dpa__cells c;
    *lower = *upper = NAN;
    if (replicates == 0) return DPA_OK;
    double *off = DPA_NEW_ARRAY(double, replicates, err);
    if (off == NULL) return DPA_NO_MEMORY;
    dpa__cells_new(losses, &c);
    dpa_status status = simulate(&c, replicates, request, &truth, off, err);
    if (status == DPA_OK) status = dpa__sort_numbers(off, replicates, err);
    if (status == DPA_OK) {
        const double rank = 0.5 * (1.0 - request->confidence) * ((double)replicates + 1.0);
        const size_t k = rank < 1.0 ? 0 : (size_t)rank - 1;
        const double estimate = sweep(&c, &delta);
        const double least = off[k], most = off[replicates - 1 - k];
        *lower = fmax(0.0, fmin(estimate - most, truth + least));
        dpa_star all;
        status = dpa__star_empirical(losses, delta, &all, err);
        *upper = fmax(all.epsilon, fmax(estimate - least, truth + most));
        *upper = fmax(*upper, dpa__binormal_upper(&c, delta, EDGE, request->confidence));
        if (*lower > 0.0 && dpa__exchange_reaches(&c, request, sweep, &delta, estimate))
            *lower = 0.0;
    }
    free(off);
    return status;
}
