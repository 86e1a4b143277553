/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cosines of all canaries with a model. The canaries are split among threads; the model is read in
 * chunks that fit the first-level cache. One thread computes each canary's sums, in the order of
 * the chunks, so that the answer does not depend on the number of threads. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "evidence/canary.h"

/* A task is one part of the canaries; there are about as many parts as threads. */
typedef struct job {
    dpa_canaries *canaries;
    const dpa__target *model; /* [models] */
    size_t models;
    const size_t *which; /* [count] canaries; NULL: all */
    size_t count;
    const dpa_progress *progress; /* NULL: none */
    size_t parts;
    double *dot;    /* [count × models, rounded up to DPA__DOTS when there are several] */
    double *square; /* [count]; NULL for several models or signs, whose norms are known */
    double *chunk;  /* [parts × models × DPA__CHUNK], rounded up likewise */
    float *narrow;  /* the same numbers for signs; NULL for normals */
    atomic_int stop;
} job;

static size_t canary_at(const job *j, size_t i) {
    return j->which != NULL ? j->which[i] : i;
}

static size_t padded(size_t models) {
    return models == 1 ? 1 : (models + DPA__DOTS - 1) / DPA__DOTS * DPA__DOTS;
}

/* Part 0 reports progress for all, assuming that threads run at the same pace. */
static void report(job *j, size_t done) {
    const dpa_progress *p = j->progress;
    const double count = (double)j->count, dim = (double)j->canaries->opts.dim;
    if (p == NULL || p->call == NULL) return;
    if (p->call(p->user, "normals", count * (double)done, count * dim) != 0)
        atomic_store(&j->stop, 1);
}

/* Loads a chunk of each model; pads its end, and missing models, with zeros. */
static void load_chunks(const job *j, size_t first, size_t size, double *chunk) {
    if (size < DPA__CHUNK) memset(chunk, 0, padded(j->models) * DPA__CHUNK * sizeof *chunk);
    for (size_t m = 0; m < j->models; ++m)
        dpa__target_load(&j->model[m], first, size, chunk + m * DPA__CHUNK);
}

static void add_signs(const dpa__canary_stream *stream, size_t first, const float *model,
                      size_t models, double *dot) {
    dpa__signs signs;
    dpa__signs_make(stream, first, &signs);
    for (size_t m = 0; m < models; ++m) dot[m] += dpa__signs_dot(&signs, model + m * DPA__CHUNK);
}

static int do_part(void *user, size_t part) {
    job *j = user;
    const size_t dim = j->canaries->opts.dim, count = j->count;
    const size_t each = count / j->parts, more = count % j->parts;
    const size_t begin = part * each + (part < more ? part : more);
    const size_t end = begin + each + (part < more), models = padded(j->models);
    double *chunk = j->chunk + part * models * DPA__CHUNK;
    float *narrow = j->narrow != NULL ? j->narrow + part * models * DPA__CHUNK : NULL;
    dpa__canary_stream stream;
    if (models > 1)
        for (size_t i = begin; i < end; ++i) (void)dpa__canary_norm(j->canaries, canary_at(j, i));
    for (size_t first = 0; first < dim && !atomic_load(&j->stop); first += DPA__CHUNK) {
        const size_t size = dim - first < DPA__CHUNK ? dim - first : DPA__CHUNK;
        load_chunks(j, first, size, chunk);
        for (size_t at = 0; narrow != NULL && at < models * DPA__CHUNK; ++at)
            narrow[at] = (float)chunk[at];
        for (size_t i = begin; i < end; ++i) {
            dpa__canary_stream_init(&stream, j->canaries->opts.seed,
                                    j->canaries->opts.first + canary_at(j, i));
            if (narrow != NULL)
                add_signs(&stream, first, narrow, models, &j->dot[i * models]);
            else if (models > 1)
                dpa__canary_chunk_many(j->canaries, canary_at(j, i), first, size, chunk, models,
                                       &j->dot[i * models]);
            else
                dpa__canary_chunk(j->canaries, &stream, first, size, chunk, &j->dot[i],
                                  &j->square[i]);
        }
        if (part == 0) report(j, first + size);
    }
    return atomic_load(&j->stop);
}

/* out [count × models]. */
static dpa_status all_sums(job *j, double *out, dpa_error *err) {
    DPA_TRY(dpa__parallel(j->canaries->opts.threads, j->parts, do_part, j, err));
    for (size_t i = 0; i < j->count; ++i) {
        double *norm = &j->canaries->norm[canary_at(j, i)];
        if (j->square != NULL) *norm = sqrt(j->square[i]);
        for (size_t m = 0; m < j->models; ++m)
            out[i * j->models + m] = j->model[m].norm > 0.0 ? j->dot[i * padded(j->models) + m] /
                                                                  *norm / j->model[m].norm
                                                            : 0.0;
    }
    return DPA_OK;
}

static dpa_status job_allocate(job *j, dpa_error *err) {
    const size_t numbers = j->parts * padded(j->models) * DPA__CHUNK, count = j->count;
    const int has_signs = j->canaries->opts.direction == DPA_DIRECTION_SIGNS;
    const int needs_norms = j->models == 1 && !has_signs;
    j->dot = dpa__calloc(count * padded(j->models), sizeof *j->dot, err);
    if (j->dot != NULL) j->chunk = dpa__calloc(numbers, sizeof *j->chunk, err);
    if (j->chunk == NULL) return DPA_NO_MEMORY;
    if (has_signs) j->narrow = dpa__calloc(numbers, sizeof *j->narrow, err);
    if (needs_norms) j->square = dpa__calloc(count, sizeof *j->square, err);
    return (has_signs && j->narrow == NULL) || (needs_norms && j->square == NULL) ? DPA_NO_MEMORY
                                                                                  : DPA_OK;
}

dpa_status dpa__canary_cosines(dpa_canaries *canaries, const dpa__target *model, size_t models,
                               const size_t *which, size_t count, double *out,
                               const dpa_progress *progress, dpa_error *err) {
    if (canaries->opts.direction == DPA_DIRECTION_HADAMARD)
        return dpa__canary_fast_cosines(canaries, model, models, which, count, out, progress, err);
    const size_t threads = canaries->opts.threads;
    job j = {.canaries = canaries,
             .model = model,
             .models = models,
             .which = which,
             .count = count,
             .progress = progress,
             .parts = threads < count ? threads : count};
    atomic_init(&j.stop, 0);
    const dpa_status status =
        job_allocate(&j, err) == DPA_OK ? all_sums(&j, out, err) : DPA_NO_MEMORY;
    free(j.dot);
    free(j.chunk);
    free(j.narrow);
    free(j.square);
    return status;
}

dpa_status dpa__canaries_cosines(dpa_canaries *canaries, const dpa_vector *model,
                                 const dpa_vector *initial, double *out,
                                 const dpa_progress *progress, dpa_error *err) {
    dpa__target d;
    DPA_TRY(dpa__target_init(&d, model, initial, canaries->opts.dim, 0, err));
    return dpa__canary_cosines(canaries, &d, 1, NULL, canaries->count, out, progress, err);
}
