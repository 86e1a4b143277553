/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interval of Epsilon* by resampling: both samples are drawn again with replacement and the
 * estimate is made again. A replicate is a list of multiplicities over the sorted losses, so
 * nothing is sorted twice; it is a function of (seed, replicate), so threads change nothing.
 *
 * ε* is a maximum of noisy ratios, so replicates are biased as the estimate is, and once more. Of
 * the two classical intervals the percentile one keeps that bias and the basic one, 2ε* − quantile,
 * takes it out; each fails where the other holds (papers/epsilon-star), so the ends are the outer
 * ones of both. Neither reaches 0 when there is no leak. For that the sides are exchanged at random
 * 2/(1−confidence) − 1 times: if any of these samples, in which nothing can leak, gives as much,
 * the lower end is 0 (an exact test at (1−confidence)/2). */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/epsilon_star.h"
#include "evidence/scores_sort.h"

enum { REFIT_STEPS = 30, MOST_THREADS = 64 };

typedef enum method { EMPIRICAL, NORMAL, MIXTURE } method;

/* Replicates from here on are exchanges of the sides. */
static const uint64_t FIRST_EXCHANGE = UINT64_C(1) << 40;

typedef struct job {
    const dpa_losses *losses;
    const dpa_loss_fit *fit; /* of `mixture`: where EM starts */
    const dpa_request *request;
    method how;
    dpa__phi phi;   /* of the fits */
    double *pooled; /* both sides, as the method sees them; while sides are exchanged */
    double estimate;
    double *value;
    size_t count;
    atomic_int reached; /* an exchange gave as much as the estimate */
    atomic_size_t next;
    atomic_int status;
    dpa__watch watch;
} job;

static void resample(dpa_rng *rng, size_t count, uint32_t *weight) {
    memset(weight, 0, count * sizeof *weight);
    for (size_t i = 0; i < count; ++i) ++weight[dpa_rng_below(rng, count)];
}

/* One side of a fit; a resample without spread has no estimate. */
static dpa_status refit(const job *j, const dpa__weighted *sample, const dpa_mixture *start,
                        dpa_mixture *out) {
    if (j->how == NORMAL) return dpa__normal_fit(sample, "resampled", out, NULL);
    *out = *start;
    return dpa__mixture_em(sample, out, REFIT_STEPS, NULL, NULL, NULL);
}

static dpa_status sample_value(const job *j, const dpa__weighted *train,
                               const dpa__weighted *heldout, double *value) {
    dpa_loss_fit fit = {.low = j->phi.low, .high = j->phi.high};
    dpa_star star;
    *value = NAN;
    if (j->how == EMPIRICAL) {
        dpa__star_sweep(train, heldout, j->request->delta, &star);
    } else {
        dpa_status status = refit(j, train, &j->fit->train, &fit.train);
        if (status == DPA_OK) status = refit(j, heldout, &j->fit->heldout, &fit.heldout);
        if (status != DPA_OK) return status == DPA_BAD_INPUT ? DPA_OK : status;
        DPA_TRY(dpa_star_fitted(&fit, j->request->delta, &star, NULL));
    }
    *value = star.epsilon;
    return DPA_OK;
}

static dpa_status replicate(job *j, size_t index, uint32_t *weight) {
    const dpa_losses *l = j->losses;
    const int plain = j->how == EMPIRICAL;
    uint32_t *heldout_weight = weight + l->train_count;
    dpa_rng rng;
    dpa_rng_init(&rng, j->request->seed, DPA_PURPOSE_BOOTSTRAP, index);
    resample(&rng, l->train_count, weight);
    resample(&rng, l->heldout_count, heldout_weight);
    const dpa__weighted train = {plain ? l->train : j->phi.train, weight, l->train_count,
                                 (double)l->train_count};
    const dpa__weighted heldout = {plain ? l->heldout : j->phi.heldout, heldout_weight,
                                   l->heldout_count, (double)l->heldout_count};
    return sample_value(j, &train, &heldout, &j->value[index]);
}

/* Any train_count of the pooled losses are called training losses, each choice as likely. */
static dpa_status exchange(job *j, size_t index, uint32_t *weight) {
    const size_t n = j->losses->train_count, m = j->losses->heldout_count;
    uint32_t *other = weight + n + m;
    size_t wanted = n;
    double value;
    dpa_rng rng;
    if (atomic_load(&j->reached)) return DPA_OK;
    dpa_rng_init(&rng, j->request->seed, DPA_PURPOSE_BOOTSTRAP, FIRST_EXCHANGE + index);
    for (size_t i = 0; i < n + m; ++i) {
        weight[i] = dpa_rng_below(&rng, n + m - i) < wanted;
        other[i] = 1 - weight[i];
        wanted -= weight[i];
    }
    const dpa__weighted train = {j->pooled, weight, n + m, (double)n};
    const dpa__weighted heldout = {j->pooled, other, n + m, (double)m};
    DPA_TRY(sample_value(j, &train, &heldout, &value));
    if (!(value < j->estimate)) atomic_store(&j->reached, 1);
    return DPA_OK;
}

static void *work(void *user) {
    job *j = user;
    const size_t points = j->losses->train_count + j->losses->heldout_count;
    uint32_t *weight = dpa__malloc(2 * points, sizeof *weight, NULL);
    dpa_status status = weight == NULL ? DPA_NO_MEMORY : DPA_OK;
    while (status == DPA_OK && atomic_load(&j->status) == DPA_OK) {
        const size_t index = atomic_fetch_add(&j->next, 1);
        if (index >= j->count) break;
        status = j->pooled != NULL ? exchange(j, index, weight) : replicate(j, index, weight);
        if (status == DPA_OK && dpa__watch_count(&j->watch)) status = DPA_CANCELLED;
    }
    if (status != DPA_OK) atomic_store(&j->status, (int)status);
    free(weight);
    return NULL;
}

static unsigned thread_count(const dpa_request *request) {
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const unsigned wanted = request->threads > 0 ? request->threads
                            : cores > 0          ? (unsigned)cores
                                                 : 1;
    return wanted < MOST_THREADS ? wanted : MOST_THREADS;
}

/* This thread works too, so that threads that cannot be started are only missed. */
static dpa_status run_threads(job *j, dpa_error *err) {
    pthread_t thread[MOST_THREADS];
    unsigned started = 0;
    const unsigned wanted = thread_count(j->request);
    while (started + 1 < wanted && pthread_create(&thread[started], NULL, work, j) == 0) ++started;
    (void)work(j);
    for (unsigned i = 0; i < started; ++i) (void)pthread_join(thread[i], NULL);
    const dpa_status status = (dpa_status)atomic_load(&j->status);
    return status == DPA_OK ? DPA_OK
                            : dpa__fail(err, status, "bootstrap: %s", dpa_status_text(status));
}

/* A replicate of a mixture costs a hundred of the empirical: each part is reported as its own. */
static dpa_status run(job *j, dpa_error *err) {
    static const char *const names[][2] = {
        [EMPIRICAL] = {"bootstrap", "exchanged sides"},
        [NORMAL] = {"bootstrap of the normal fit", "exchanged sides of the normal fit"},
        [MIXTURE] = {"bootstrap of the mixture", "exchanged sides of the mixture"}};
    DPA_TRY(dpa__watch_init(&j->watch, &j->request->progress, names[j->how][j->pooled != NULL],
                            (double)j->count, err));
    const dpa_status status = run_threads(j, err);
    dpa__watch_free(&j->watch);
    return status;
}

/* The k-th from each end, k = (1−confidence)/2 of the replicates that have a value, or that end
 * mirrored at the estimate if it lies further out. */
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

/* The estimate from the sample as it is. */
static dpa_status estimate(job *j, dpa_error *err) {
    dpa_star star;
    DPA_TRY(j->how == EMPIRICAL ? dpa_star_empirical(j->losses, j->request->delta, &star, err)
                                : dpa_star_fitted(j->fit, j->request->delta, &star, err));
    j->estimate = star.epsilon;
    return DPA_OK;
}

static dpa_status pool(job *j, dpa_error *err) {
    const size_t n = j->losses->train_count, m = j->losses->heldout_count;
    const int plain = j->how == EMPIRICAL;
    j->pooled = DPA_NEW_ARRAY(double, n + m, err);
    if (j->pooled == NULL) return DPA_NO_MEMORY;
    memcpy(j->pooled, plain ? j->losses->train : j->phi.train, n * sizeof *j->pooled);
    memcpy(j->pooled + n, plain ? j->losses->heldout : j->phi.heldout, m * sizeof *j->pooled);
    return dpa__sort_numbers(j->pooled, n + m, err);
}

/* Both passes: replicates for the ends, then exchanges for the question whether 0 is one. */
static dpa_status interval(job *j, double *lower, double *upper, dpa_error *err) {
    DPA_TRY(estimate(j, err));
    DPA_TRY(run(j, err));
    DPA_TRY(outer_ends(j, lower, upper, err));
    if (!(*lower > 0.0)) return DPA_OK;
    DPA_TRY(pool(j, err));
    const double exchanges = ceil(2.0 / (1.0 - j->request->confidence) - 1.0 - 1e-9);
    j->count = (size_t)fmin(exchanges, 10.0 * (double)j->count); /* absurd confidences end */
    atomic_store(&j->next, 0);
    DPA_TRY(run(j, err));
    if (atomic_load(&j->reached)) *lower = 0.0;
    return DPA_OK;
}

static dpa_status find_method(const char *name, method *out, dpa_error *err) {
    static const char *const names[] = {"empirical", "normal", "mixture"};
    for (int i = EMPIRICAL; i <= MIXTURE; ++i)
        if (strcmp(name, names[i]) == 0) {
            *out = (method)i;
            return DPA_OK;
        }
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "bootstrap: empirical, normal or mixture is right, not '%s'", name);
}

dpa_status dpa_star_bootstrap(const dpa_losses *losses, const char *name, const dpa_loss_fit *fit,
                              size_t replicates, const dpa_request *request, double *lower,
                              double *upper, dpa_error *err) {
    job j = {.losses = losses, .fit = fit, .request = request, .count = replicates};
    DPA_TRY(dpa_request_check(request, err));
    DPA_TRY(find_method(name, &j.how, err));
    if (j.how != EMPIRICAL && fit == NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "bootstrap: '%s' needs its fit", name);
    j.value = DPA_NEW_ARRAY(double, replicates, err);
    if (j.value == NULL) return DPA_NO_MEMORY;
    dpa_status status = j.how == EMPIRICAL ? DPA_OK : dpa__phi_new(losses, &j.phi, err);
    if (status == DPA_OK) status = interval(&j, lower, upper, err);
    dpa__phi_free(&j.phi);
    free(j.pooled);
    free(j.value);
    return status;
}
