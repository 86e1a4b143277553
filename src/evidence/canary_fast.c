/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All Hadamard canaries at once. Cosines: the chosen coordinates of the target, with signs applied,
 * are transformed; each canary's cosine is then one of the results. Sum: the canaries' norms are
 * transformed, and the results are the coordinates. The only memory is one float32 array of n
 * numbers, which the handle keeps. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "evidence/canary.h"

typedef struct job {
    const dpa__hadamard *hadamard;
    const dpa__target *target; /* for cosines */
    float *x;                  /* [2^bits] */
    float *f32;                /* for the sum: one of the two is NULL */
    double *f64;
} job;

static dpa_status need_work(dpa_canaries *canaries, dpa_error *err) {
    if (canaries->work == NULL)
        canaries->work =
            dpa__malloc(dpa__hadamard_size(&canaries->hadamard), sizeof *canaries->work, err);
    return canaries->work != NULL ? DPA_OK : DPA_NO_MEMORY;
}

static size_t chunk_at(const job *j, size_t task, dpa__hadamard_chunk *chunk) {
    const size_t left = dpa__hadamard_size(j->hadamard) - task * DPA__CHUNK;
    const size_t size = left < DPA__CHUNK ? left : DPA__CHUNK;
    dpa__hadamard_positions(j->hadamard, task * DPA__CHUNK, size, chunk);
    return size;
}

/* The coordinates of a chunk span at most twice its length. */
static int gather(void *user, size_t task) {
    const job *j = user;
    dpa__hadamard_chunk chunk;
    double value[2 * DPA__CHUNK];
    const size_t size = chunk_at(j, task, &chunk), from = chunk.coordinate[0];
    const size_t span = chunk.coordinate[size - 1] - from + 1;
    const size_t half = span < DPA__CHUNK ? span : DPA__CHUNK;
    dpa__target_load(j->target, from, half, value);
    if (span > half) dpa__target_load(j->target, from + half, span - half, value + half);
    float *x = j->x + task * DPA__CHUNK;
    for (size_t i = 0; i < size; ++i)
        x[i] = chunk.sign[i] * (float)value[chunk.coordinate[i] - from];
    return 0;
}

static int scatter(void *user, size_t task) {
    const job *j = user;
    dpa__hadamard_chunk chunk;
    const size_t size = chunk_at(j, task, &chunk);
    const float *x = j->x + task * DPA__CHUNK;
    if (j->f32 != NULL)
        for (size_t i = 0; i < size; ++i) j->f32[chunk.coordinate[i]] += chunk.sign[i] * x[i];
    else
        for (size_t i = 0; i < size; ++i)
            j->f64[chunk.coordinate[i]] += (double)(chunk.sign[i] * x[i]);
    return 0;
}

static size_t tasks(const dpa__hadamard *h) {
    return (dpa__hadamard_size(h) + DPA__CHUNK - 1) / DPA__CHUNK;
}

static dpa_status one_target(dpa_canaries *canaries, const dpa__target *target, dpa_error *err) {
    const dpa__hadamard *h = &canaries->hadamard;
    job j = {.hadamard = h, .target = target, .x = canaries->work};
    DPA_TRY(dpa__parallel(canaries->opts.threads, tasks(h), gather, &j, err));
    return dpa__hadamard_transform(j.x, h->bits, canaries->opts.threads, err);
}

static int report(const dpa_progress *p, size_t done, size_t of) {
    return p != NULL && p->call != NULL &&
           p->call(p->user, "transforms", (double)done, (double)of) != 0;
}

dpa_status dpa__canary_fast_cosines(dpa_canaries *canaries, const dpa__target *model, size_t models,
                                    const size_t *which, size_t count, double *out,
                                    const dpa_progress *progress, dpa_error *err) {
    DPA_TRY(need_work(canaries, err));
    for (size_t m = 0; m < models; ++m) {
        DPA_TRY(one_target(canaries, &model[m], err));
        for (size_t i = 0; i < count; ++i) {
            const size_t canary = which != NULL ? which[i] : i;
            const size_t place =
                dpa__hadamard_place(canaries->row[canary], canaries->hadamard.bits);
            out[i * models + m] = model[m].norm > 0.0 ? (double)canaries->work[place] /
                                                            canaries->norm[canary] / model[m].norm
                                                      : 0.0;
        }
        if (report(progress, m + 1, models))
            return dpa__fail(err, DPA_CANCELLED, "stopped on request");
    }
    return DPA_OK;
}

dpa_status dpa__canary_fast_sum(dpa_canaries *canaries, const double *norm, float *f32, double *f64,
                                dpa_error *err) {
    const dpa__hadamard *h = &canaries->hadamard;
    DPA_TRY(need_work(canaries, err));
    memset(canaries->work, 0, dpa__hadamard_size(h) * sizeof *canaries->work);
    for (size_t i = 0; i < canaries->count; ++i)
        canaries->work[dpa__hadamard_place(canaries->row[i], h->bits)] =
            (float)(norm[i] / canaries->norm[i]);
    DPA_TRY(dpa__hadamard_transform(canaries->work, h->bits, canaries->opts.threads, err));
    job j = {.hadamard = h, .x = canaries->work, .f32 = f32, .f64 = f64};
    return dpa__parallel(canaries->opts.threads, tasks(h), scatter, &j, err);
}
