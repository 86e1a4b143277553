/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Canary clients in a federation (one-shot-federated, Algorithms 2 and 3): what they send, and what
 * the auditor keeps. Canaries pass through the same clipping as everybody else. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "federate/federation.h"

/* Limits of the queue of means that wait for their cosines. Larger models have no queue: each mean
 * is processed at once. */
enum { WAITING_BYTES = 128 << 20, WAITING_MOST = 32 };
_Static_assert(WAITING_MOST <= (int)DPA_CANARIES_ROUNDS, "so many rounds go at once");

/* With a Hadamard transform there is no queue, because it takes one mean at a time. */
static dpa_status waiting_init(dpa__waiting *w, const dpa_federate_opts *o, size_t size,
                               dpa_error *err) {
    const size_t room = WAITING_BYTES / sizeof(float) / size;
    w->room = room < 2 ? 1 : room > WAITING_MOST ? WAITING_MOST : room;
    if (o->direction == DPA_DIRECTION_HADAMARD) w->room = 1;
    w->own = DPA_NEW_ARRAY(dpa_own_round, w->room, err);
    w->candidate = dpa__malloc(w->room * (o->canaries + o->unobserved), sizeof(size_t), err);
    if (w->own == NULL || w->candidate == NULL) return DPA_NO_MEMORY;
    if (w->room == 1) return DPA_OK;
    w->vector = dpa__malloc(w->room * size, sizeof(float), err);
    return w->vector != NULL ? DPA_OK : DPA_NO_MEMORY;
}

dpa_status dpa__audit_init(dpa_federation *f, dpa_error *err) {
    const dpa_federate_opts *o = &f->opts;
    const size_t count = o->canaries + o->unobserved, size = f->model->size;
    if (count == 0) return DPA_OK;
    dpa_canaries_opts opts;
    dpa__canaries_opts_init(&opts);
    opts.seed = o->canary_seed;
    opts.dim = size;
    opts.observed = o->canaries;
    opts.unobserved = o->unobserved;
    opts.threads = o->threads;
    opts.direction = o->direction;
    DPA_TRY(dpa__canaries_new(&opts, &f->canaries, err));
    f->canary_norm = dpa__calloc(count, sizeof(double), err);
    f->start = DPA_NEW_ARRAY(float, size, err);
    if (f->canary_norm == NULL || f->start == NULL) return DPA_NO_MEMORY;
    memcpy(f->start, f->model->weight, size * sizeof(float));
    return o->all_iterates ? waiting_init(&f->waiting, o, size, err) : DPA_OK;
}

void dpa__audit_free(dpa_federation *f) {
    dpa__canaries_free(f->canaries);
    free(f->canary_norm);
    free(f->start);
    free(f->waiting.vector);
    free(f->waiting.own);
    free(f->waiting.candidate);
}

dpa_status dpa__audit_add(dpa_federation *f, double *energy, dpa_error *err) {
    const dpa__cohort *cohort = &f->cohort;
    *energy = 0.0;
    if (cohort->canaries == 0) return DPA_OK;
    const double sent = f->opts.canary_scale;
    const double norm = f->clip * (f->opts.fault == DPA_FAULT_CLIP_MEAN ? sent : fmin(sent, 1.0));
    memset(f->canary_norm, 0, dpa__canaries_count(f->canaries) * sizeof(double));
    for (size_t i = 0; i < cohort->canaries; ++i) {
        const double sum = norm * dpa__copies(f, f->clients->count + cohort->canary[i]);
        f->canary_norm[cohort->canary[i]] = sum;
        *energy += sum * sum;
    }
    return dpa__canaries_sum_f32(f->canaries, f->canary_norm, f->sum, NULL, err);
}

dpa_status dpa__audit_settle(dpa_federation *f, dpa_error *err) {
    dpa__waiting *w = &f->waiting;
    if (w->count == 0) return DPA_OK;
    const size_t size = f->model->size;
    dpa_vector released[WAITING_MOST];
    for (size_t i = 0; i < w->count; ++i)
        released[i] =
            (dpa_vector){.f32 = w->vector != NULL ? w->vector + i * size : f->sum, .dim = size};
    DPA_TRY(dpa__canaries_round_many(f->canaries, released, w->own, w->count, NULL, err));
    w->count = 0;
    return DPA_OK;
}

static int is_zero(const float *x, size_t size) {
    size_t i = 0;
    while (i < size && x[i] == 0.0F) ++i;
    return i == size;
}

/* Puts the round into the queue. */
static void wait_for(dpa_federation *f) {
    dpa__waiting *w = &f->waiting;
    const size_t size = f->model->size, all = dpa__canaries_count(f->canaries);
    size_t *candidate = w->candidate + w->count * all;
    memcpy(candidate, f->cohort.canary, f->cohort.candidates * sizeof *candidate);
    w->own[w->count] = (dpa_own_round){f->clip, candidate, f->cohort.candidates};
    if (w->vector != NULL) memcpy(w->vector + w->count * size, f->sum, size * sizeof(float));
    ++w->count;
}

dpa_status dpa__audit_release(dpa_federation *f, dpa_error *err) {
    dpa__waiting *w = &f->waiting;
    if (f->canaries == NULL) return DPA_OK;
    /* A mean of zeros (no clients and no noise) has no cosine. */
    if (!f->opts.all_iterates || is_zero(f->sum, f->model->size)) {
        const dpa_vector released = {.f32 = f->sum, .dim = f->model->size};
        const dpa_own_round own = {f->clip, f->cohort.canary, f->cohort.candidates};
        return dpa__canaries_own(f->canaries, &released, &own, NULL, err);
    }
    if (w->count == w->room) DPA_TRY(dpa__audit_settle(f, err));
    wait_for(f);
    if (w->vector != NULL) return DPA_OK;
    const dpa_status status = dpa__audit_settle(f, err);
    w->count = 0;
    return status;
}

static dpa_status need_canaries(const dpa_federation *f, dpa_error *err) {
    return f->canaries != NULL ? DPA_OK
                               : dpa__fail(err, DPA_BAD_ARGUMENT, "the training has no canaries");
}

dpa_status dpa_federation_cosines(dpa_federation *f, int since_start, double *out, dpa_error *err) {
    DPA_TRY(need_canaries(f, err));
    const dpa_vector now = {.f32 = f->model->weight, .dim = f->model->size};
    const dpa_vector start = {.f32 = f->start, .dim = f->model->size};
    return dpa__canaries_cosines(f->canaries, &now, since_start ? &start : NULL, out, NULL, err);
}

dpa_status dpa_federation_largest(dpa_federation *f, double *out, dpa_error *err) {
    DPA_TRY(need_canaries(f, err));
    DPA_TRY(dpa__audit_settle(f, err));
    memcpy(out, dpa__canaries_largest(f->canaries), dpa__canaries_count(f->canaries) * sizeof *out);
    return DPA_OK;
}

dpa_status dpa_federation_known(dpa_federation *f, double *score, double *times, double *spread,
                                dpa_error *err) {
    DPA_TRY(need_canaries(f, err));
    DPA_TRY(dpa__audit_settle(f, err));
    for (size_t i = 0; i < dpa__canaries_count(f->canaries); ++i) {
        score[i] = dpa__canaries_own_score(f->canaries, i);
        times[i] = (double)dpa__canaries_own_times(f->canaries, i);
    }
    *spread = dpa__canaries_own_spread(f->canaries);
    return DPA_OK;
}
