/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Percentile bootstrap of Epsilon*: both samples are drawn again with replacement and the estimate
 * is made again. A replicate is a list of multiplicities over the sorted losses, so nothing is
 * sorted twice; it is a function of (seed, replicate), so threads change nothing. */
#include <math.h>
#include <pthread.h>
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

typedef struct job {
    const dpa_losses *losses;
    const dpa_loss_fit *fit; /* of `mixture`: where EM starts */
    const dpa_request *request;
    method how;
    dpa__phi phi; /* of the fits */
    double *value;
    size_t count;
    atomic_size_t next;
    atomic_int status;
    pthread_mutex_t progress;
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
    return dpa__mixture_em(sample, out, REFIT_STEPS, NULL, NULL);
}

static dpa_status fitted_value(const job *j, const uint32_t *train_weight,
                               const uint32_t *heldout_weight, double *value) {
    const dpa_losses *l = j->losses;
    const dpa__weighted train = {j->phi.train, train_weight, l->train_count,
                                 (double)l->train_count};
    const dpa__weighted heldout = {j->phi.heldout, heldout_weight, l->heldout_count,
                                   (double)l->heldout_count};
    dpa_loss_fit fit = {.low = j->phi.low, .high = j->phi.high};
    dpa_star star;
    *value = NAN;
    if (refit(j, &train, &j->fit->train, &fit.train) != DPA_OK ||
        refit(j, &heldout, &j->fit->heldout, &fit.heldout) != DPA_OK)
        return DPA_OK;
    DPA_TRY(dpa_star_fitted(&fit, j->request->delta, &star, NULL));
    *value = star.epsilon;
    return DPA_OK;
}

static dpa_status replicate(const job *j, size_t index, uint32_t *weight) {
    const dpa_losses *l = j->losses;
    uint32_t *heldout_weight = weight + l->train_count;
    dpa_rng rng;
    dpa_rng_init(&rng, j->request->seed, DPA_PURPOSE_BOOTSTRAP, index);
    resample(&rng, l->train_count, weight);
    resample(&rng, l->heldout_count, heldout_weight);
    if (j->how != EMPIRICAL) return fitted_value(j, weight, heldout_weight, &j->value[index]);
    const dpa__weighted train = {l->train, weight, l->train_count, (double)l->train_count};
    const dpa__weighted heldout = {l->heldout, heldout_weight, l->heldout_count,
                                   (double)l->heldout_count};
    dpa_star star;
    dpa__star_sweep(&train, &heldout, j->request->delta, &star);
    j->value[index] = star.epsilon;
    return DPA_OK;
}

static int cancelled(job *j, size_t done) {
    const dpa_progress *progress = &j->request->progress;
    if (progress->call == NULL) return 0;
    (void)pthread_mutex_lock(&j->progress);
    const int stop = progress->call(progress->user, "bootstrap", (double)done, (double)j->count);
    (void)pthread_mutex_unlock(&j->progress);
    return stop;
}

static void *work(void *user) {
    job *j = user;
    uint32_t *weight =
        dpa__malloc(j->losses->train_count + j->losses->heldout_count, sizeof *weight, NULL);
    dpa_status status = weight == NULL ? DPA_NO_MEMORY : DPA_OK;
    while (status == DPA_OK && atomic_load(&j->status) == DPA_OK) {
        const size_t index = atomic_fetch_add(&j->next, 1);
        if (index >= j->count) break;
        status = replicate(j, index, weight);
        if (status == DPA_OK && cancelled(j, index)) status = DPA_CANCELLED;
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
static dpa_status run(job *j, dpa_error *err) {
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

/* The k-th from each end, k = (1−confidence)/2 of the replicates that have a value. */
static dpa_status percentiles(job *j, double *lower, double *upper, dpa_error *err) {
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
    if (status == DPA_OK && pthread_mutex_init(&j.progress, NULL) != 0)
        status = dpa__fail(err, DPA_INTERNAL, "bootstrap: no lock");
    if (status == DPA_OK) {
        status = run(&j, err);
        if (status == DPA_OK) status = percentiles(&j, lower, upper, err);
        (void)pthread_mutex_destroy(&j.progress);
    }
    dpa__phi_free(&j.phi);
    free(j.value);
    return status;
}
