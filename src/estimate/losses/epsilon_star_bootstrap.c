/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intervals of Epsilon*: of the empirical one by simulation from a smooth curve, of a fitted one by
 * resampling. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "estimate/losses/epsilon_star.h"
#include "evidence/evidence.h"

/* Threads that work on one part and report to one progress call, one at a time. */

dpa_status dpa__watch_init(dpa__watch *watch, const dpa_progress *progress, const char *what,
                           double total, dpa_error *err) {
    *watch = (dpa__watch){.progress = progress, .what = what, .total = total};
    if (pthread_mutex_init(&watch->lock, NULL) != 0)
        return dpa__fail(err, DPA_INTERNAL, "%s: no lock", what);
    return DPA_OK;
}

int dpa__watch_count(dpa__watch *watch) {
    if (watch->progress->call == NULL) return 0;
    (void)pthread_mutex_lock(&watch->lock);
    watch->done += 1.0;
    const int stop =
        watch->progress->call(watch->progress->user, watch->what, watch->done, watch->total);
    (void)pthread_mutex_unlock(&watch->lock);
    return stop;
}

void dpa__watch_free(dpa__watch *watch) {
    (void)pthread_mutex_destroy(&watch->lock);
}

/* ── the empirical one ─────────────────────────────────────────────────────────────────────── */

/* By simulation from a smooth curve close to the data: resampling the losses themselves repeats the
 * upward bias of a maximum of noisy ratios without revealing how large it was the first time; such
 * intervals promised 97.5% and held 88%. With draws from the binormal rates
 * (epsilon_star_binormal.c) the truth is known, so the law of estimate − truth can be observed. The
 * interval is the estimate minus its quantiles, or the simulated estimates if these reach further,
 * because the curve has an error of its own. The true curve need not be straight, so the upper end
 * is never below what a bent one allows. Counts in cells are drawn, so the cost does not grow with
 * the number of losses. The sweep over cells sees fewer thresholds than the one over all losses, so
 * its estimate is a little lower; the upper end is never below the latter. */

enum { MOST_EXCHANGES = 2000 };
static const double EDGE = 0.001;                         /* `empirical` uses rates from here on */
static const uint64_t FIRST_OF_CELLS = UINT64_C(1) << 41; /* streams of their own */

int dpa__exchange_reaches(const dpa__cells *c, const dpa_request *request,
                          dpa__statistic *statistic, void *user, double value) {
    const double wanted = ceil(2.0 / (1.0 - request->confidence) - 1.0 - 1e-9);
    const size_t count = (size_t)fmin(wanted, MOST_EXCHANGES);
    for (size_t i = 0; i < count; ++i) {
        dpa__cells other;
        dpa_rng rng;
        dpa__rng_init(&rng, request->seed, DPA_PURPOSE_BOOTSTRAP, FIRST_OF_CELLS + i);
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

static dpa_status simulated(const dpa_losses *losses, size_t replicates, const dpa_request *request,
                            double *lower, double *upper, dpa_error *err) {
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

/* ── a fitted one ──────────────────────────────────────────────────────────────────────────── */

/* Both samples are drawn again with replacement and
 * fitted again. A sample is stored as groups (dpa__point_groups), and a replicate is a list of
 * weights for them, so the cost does not grow with the number of losses. Each replicate is a
 * function of (seed, replicate), so threads change nothing.
 *
 * ε* is a maximum of noisy ratios, so replicates have the bias of the estimate once more. Of the
 * two classical intervals the percentile one keeps that bias and the basic one, 2ε* − quantile,
 * removes it; each fails where the other holds (papers/epsilon-star), so the outer ends of both
 * are used. Neither reaches 0 if there is no leak. For that the sides are exchanged at random
 * 2/(1−confidence) − 1 times: if any of these samples, in which nothing can leak, gives as large
 * an ε*, the lower end is 0 (an exact test at (1−confidence)/2). No resampling can tell whether
 * the fitted family is right: for losses of another law the interval surrounds a wrong number. */

enum { REFIT_STEPS = 30 };

typedef enum method { NORMAL, MIXTURE } method;

/* Replicates from here on are exchanges of the sides. */
static const uint64_t FIRST_EXCHANGE = UINT64_C(1) << 40;

typedef struct job {
    const dpa_loss_fit *fit; /* for `mixture`: where EM starts */
    const dpa_request *request;
    method how;
    dpa__point_groups train, heldout;
    dpa__point_groups pooled; /* both sides; while they are exchanged */
    double estimate;
    double *value;
    size_t count;
    atomic_int reached; /* an exchange reached the estimate */
    atomic_int status;
    dpa__watch watch;
} job;

static void resample(dpa_rng *rng, const dpa__point_groups *groups, uint32_t *weight) {
    double left = groups->total, points = groups->total;
    for (size_t i = 0; i < groups->count; ++i) {
        const double own = (double)groups->weight[i];
        weight[i] = (uint32_t)dpa__draw_binomial(rng, points, fmin(1.0, own / left));
        points -= (double)weight[i];
        left -= own;
    }
}

/* Fits one side again; a resample without spread has no estimate. */
static dpa_status refit(const job *j, const dpa__weighted *sample, const dpa_mixture *start,
                        dpa_mixture *out) {
    if (j->how == NORMAL) return dpa__normal_fit(sample, "resampled", out, NULL);
    *out = *start;
    return dpa__mixture_em(sample, out, REFIT_STEPS, NULL, NULL, NULL);
}

static dpa_status sample_value(const job *j, const dpa__weighted *train,
                               const dpa__weighted *heldout, double *value) {
    dpa_loss_fit fit = {.low = j->fit->low, .high = j->fit->high};
    dpa_star star;
    *value = NAN;
    dpa_status status = refit(j, train, &j->fit->train, &fit.train);
    if (status == DPA_OK) status = refit(j, heldout, &j->fit->heldout, &fit.heldout);
    if (status != DPA_OK) return status == DPA_BAD_INPUT ? DPA_OK : status;
    DPA_TRY(dpa__star_fitted(&fit, j->request->delta, &star, NULL));
    *value = star.epsilon;
    return DPA_OK;
}

static dpa_status replicate(job *j, size_t index, uint32_t *weight) {
    uint32_t *heldout_weight = weight + j->train.count;
    dpa_rng rng;
    dpa__rng_init(&rng, j->request->seed, DPA_PURPOSE_BOOTSTRAP, index);
    resample(&rng, &j->train, weight);
    resample(&rng, &j->heldout, heldout_weight);
    const dpa__weighted train = {j->train.value, weight, j->train.count, j->train.total};
    const dpa__weighted heldout = {j->heldout.value, heldout_weight, j->heldout.count,
                                   j->heldout.total};
    return sample_value(j, &train, &heldout, &j->value[index]);
}

/* Labels a random train_count of the pooled losses as training losses, all choices equally likely.
 */
static dpa_status exchange(job *j, size_t index, uint32_t *weight) {
    const dpa__point_groups *all = &j->pooled;
    uint32_t *other = weight + all->count;
    double left = all->total, wanted = j->train.total, value;
    dpa_rng rng;
    if (atomic_load(&j->reached)) return DPA_OK;
    dpa__rng_init(&rng, j->request->seed, DPA_PURPOSE_BOOTSTRAP, FIRST_EXCHANGE + index);
    for (size_t i = 0; i < all->count; ++i) {
        const double own = (double)all->weight[i];
        weight[i] = (uint32_t)dpa__draw_hypergeometric(&rng, left, wanted, own);
        other[i] = all->weight[i] - weight[i];
        wanted -= (double)weight[i];
        left -= own;
    }
    const dpa__weighted train = {all->value, weight, all->count, j->train.total};
    const dpa__weighted heldout = {all->value, other, all->count, j->heldout.total};
    DPA_TRY(sample_value(j, &train, &heldout, &value));
    if (!(value < j->estimate)) atomic_store(&j->reached, 1);
    return DPA_OK;
}

static int work(void *user, size_t index) {
    job *j = user;
    const size_t groups =
        j->pooled.count > 0 ? 2 * j->pooled.count : j->train.count + j->heldout.count;
    uint32_t *weight = dpa__malloc(groups, sizeof *weight, NULL);
    dpa_status status = weight == NULL        ? DPA_NO_MEMORY
                        : j->pooled.count > 0 ? exchange(j, index, weight)
                                              : replicate(j, index, weight);
    free(weight);
    if (status == DPA_OK && dpa__watch_count(&j->watch)) status = DPA_CANCELLED;
    if (status != DPA_OK) atomic_store(&j->status, (int)status);
    return status != DPA_OK;
}

/* Each part reports its own progress. */
static dpa_status run(job *j, dpa_error *err) {
    static const char *const names[][2] = {
        [NORMAL] = {"bootstrap of the normal fit", "exchanged sides of the normal fit"},
        [MIXTURE] = {"bootstrap of the mixture", "exchanged sides of the mixture"}};
    DPA_TRY(dpa__watch_init(&j->watch, &j->request->progress, names[j->how][j->pooled.count > 0],
                            (double)j->count, err));
    const dpa_status ran =
        dpa__parallel(dpa__threads(j->request->threads), j->count, work, j, NULL);
    const dpa_status failed = (dpa_status)atomic_load(&j->status);
    const dpa_status status = failed != DPA_OK ? failed : ran;
    dpa__watch_free(&j->watch);
    return status == DPA_OK ? DPA_OK
                            : dpa__fail(err, status, "bootstrap: %s", dpa_status_text(status));
}

/* The k-th value from each end, k = (1−confidence)/2 of the replicates that have a value, or that
 * end mirrored at the estimate, whichever lies further out. */
static dpa_status outer_ends(job *j, double *lower, double *upper, dpa_error *err) {
    size_t kept = 0;
    *lower = *upper = NAN;
    for (size_t i = 0; i < j->count; ++i)
        if (!isnan(j->value[i])) j->value[kept++] = j->value[i];
    if (kept == 0) return DPA_OK;
    DPA_TRY(dpa__sort_numbers(j->value, kept, err));
    const double rank = floor(0.5 * (1.0 - j->request->confidence) * ((double)kept + 1.0));
    const size_t k = rank < 1.0 ? 0 : (size_t)rank - 1;
    *lower = j->value[k];
    *upper = j->value[kept - 1 - k];
    if (isinf(j->estimate) || isinf(*upper)) return DPA_OK; /* nothing to mirror */
    const double basic_lower = 2.0 * j->estimate - *upper, basic_upper = 2.0 * j->estimate - *lower;
    *lower = fmax(0.0, fmin(*lower, basic_lower));
    *upper = fmax(*upper, basic_upper);
    return DPA_OK;
}

/* The transformed losses of both sides, sorted with the largest first, as one list of groups. */
static dpa_status pool(job *j, const dpa__phi *phi, size_t n, size_t m, dpa_error *err) {
    double *both = DPA_NEW_ARRAY(double, n + m, err);
    if (both == NULL) return DPA_NO_MEMORY;
    memcpy(both, phi->train, n * sizeof *both);
    memcpy(both + n, phi->heldout, m * sizeof *both);
    dpa_status status = dpa__sort_numbers(both, n + m, err);
    if (status == DPA_OK)
        status = dpa__point_groups_new(both, n + m, dpa__grain(both, n + m), &j->pooled, err);
    free(both);
    return status;
}

/* Two passes: replicates for the ends, then exchanges to decide whether the lower end is 0. */
static dpa_status interval(job *j, const dpa_losses *l, const dpa__phi *phi, double *lower,
                           double *upper, dpa_error *err) {
    dpa_star star;
    DPA_TRY(dpa__star_fitted(j->fit, j->request->delta, &star, err));
    j->estimate = star.epsilon;
    DPA_TRY(dpa__point_groups_new(phi->train, l->train_count,
                                  dpa__grain(phi->train, l->train_count), &j->train, err));
    DPA_TRY(dpa__point_groups_new(phi->heldout, l->heldout_count,
                                  dpa__grain(phi->heldout, l->heldout_count), &j->heldout, err));
    DPA_TRY(run(j, err));
    DPA_TRY(outer_ends(j, lower, upper, err));
    if (!(*lower > 0.0)) return DPA_OK;
    DPA_TRY(pool(j, phi, l->train_count, l->heldout_count, err));
    const double exchanges = ceil(2.0 / (1.0 - j->request->confidence) - 1.0 - 1e-9);
    j->count = (size_t)fmin(exchanges, 10.0 * (double)j->count); /* limits extreme confidences */
    DPA_TRY(run(j, err));
    if (atomic_load(&j->reached)) *lower = 0.0;
    return DPA_OK;
}

static dpa_status fitted(const dpa_losses *losses, job *j, double *lower, double *upper,
                         dpa_error *err) {
    dpa__phi phi;
    DPA_TRY(dpa__phi_between(losses, j->fit->low, j->fit->high, &phi, err));
    j->value = DPA_NEW_ARRAY(double, j->count, err);
    const dpa_status status =
        j->value != NULL ? interval(j, losses, &phi, lower, upper, err) : DPA_NO_MEMORY;
    dpa__phi_free(&phi);
    dpa__point_groups_free(&j->train);
    dpa__point_groups_free(&j->heldout);
    dpa__point_groups_free(&j->pooled);
    free(j->value);
    return status;
}

dpa_status dpa__star_bootstrap(const dpa_losses *losses, const char *name, const dpa_loss_fit *fit,
                               size_t replicates, const dpa_request *request, double *lower,
                               double *upper, dpa_error *err) {
    job j = {.fit = fit, .request = request, .count = replicates};
    dpa__star_method which;
    DPA_TRY(dpa__request_check(request, err));
    DPA_TRY(dpa__star_method_find(name, &which, err));
    if (which == DPA__STAR_EMPIRICAL)
        return simulated(losses, replicates, request, lower, upper, err);
    if (which != DPA__STAR_NORMAL && which != DPA__STAR_MIXTURE)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "bootstrap: empirical, normal or mixture is right, not '%s'", name);
    if (fit == NULL) return dpa__fail(err, DPA_BAD_ARGUMENT, "bootstrap: '%s' needs its fit", name);
    j.how = which == DPA__STAR_NORMAL ? NORMAL : MIXTURE;
    return fitted(losses, &j, lower, upper, err);
}
