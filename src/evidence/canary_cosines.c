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

/* ── the vector that they are compared with, chunk by chunk as doubles ─────────────────── */

enum { MOST_SHIFT = 1000 }; /* powers of two that neither overflow nor lose bits */

static double element(const dpa_vector *vector, size_t i) {
    return vector->f32 != NULL ? (double)vector->f32[i] : vector->f64[i];
}

static void load_vector(const dpa_vector *vector, size_t first, size_t size, double *out) {
    if (vector->f32 != NULL)
        for (size_t i = 0; i < size; ++i) out[i] = (double)vector->f32[first + i];
    else
        memcpy(out, vector->f64 + first, size * sizeof *out);
}

/* model − initial, not scaled. */
static void load_difference(const dpa__target *d, size_t first, size_t size, double *out) {
    load_vector(d->model, first, size, out);
    if (d->initial == NULL) return;
    double start[DPA__CHUNK];
    load_vector(d->initial, first, size, start);
    for (size_t i = 0; i < size; ++i) out[i] -= start[i];
}

void dpa__target_load(const dpa__target *d, size_t first, size_t size, double *out) {
    load_difference(d, first, size, out);
    for (size_t i = 0; i < size; ++i) out[i] = dpa__canary_round(d->scale * out[i]);
}

static size_t chunk_size(size_t dim, size_t first) {
    return dim - first < DPA__CHUNK ? dim - first : DPA__CHUNK;
}

static dpa_status check_vector(const dpa_vector *vector, size_t dim, const char *what,
                               dpa_error *err) {
    if ((vector->f32 == NULL) == (vector->f64 == NULL))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: give float32 or float64 elements", what);
    if (vector->dim != dim)
        return dpa__fail(err, DPA_BAD_INPUT, "%s: has %zu elements, the canaries have %zu", what,
                         vector->dim, dim);
    return DPA_OK;
}

/* The largest absolute element; fails if one is not finite. */
static dpa_status find_largest(const dpa__target *d, size_t dim, double *largest, dpa_error *err) {
    double chunk[DPA__CHUNK];
    *largest = 0.0;
    for (size_t first = 0; first < dim; first += DPA__CHUNK) {
        const size_t size = chunk_size(dim, first);
        load_difference(d, first, size, chunk);
        for (size_t i = 0; i < size; ++i) {
            const double x = fabs(chunk[i]);
            if (!isfinite(x))
                return dpa__fail(err, DPA_BAD_INPUT, "model: element %zu is %g%s", first + i,
                                 element(d->model, first + i),
                                 d->initial != NULL ? " (or its change is not finite)" : "");
            if (x > *largest) *largest = x;
        }
    }
    return DPA_OK;
}

dpa_status dpa__target_init(dpa__target *d, const dpa_vector *model, const dpa_vector *initial,
                            size_t dim, int may_be_zero, dpa_error *err) {
    DPA_TRY(check_vector(model, dim, "model", err));
    if (initial != NULL) DPA_TRY(check_vector(initial, dim, "initial model", err));
    *d = (dpa__target){model, initial, 1.0, 0.0};
    double largest;
    DPA_TRY(find_largest(d, dim, &largest, err));
    if (largest == 0.0 && may_be_zero) return DPA_OK;
    if (largest == 0.0)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "model%s: all elements are 0, so there is no direction to compare with",
                         initial != NULL ? " minus initial" : "");
    const int exponent = ilogb(largest);
    d->scale = ldexp(1.0, exponent > MOST_SHIFT    ? -MOST_SHIFT
                          : exponent < -MOST_SHIFT ? MOST_SHIFT
                                                   : -exponent);
    double total = 0.0, chunk[DPA__CHUNK];
    for (size_t first = 0; first < dim; first += DPA__CHUNK) {
        const size_t size = chunk_size(dim, first);
        double sum = 0.0;
        dpa__target_load(d, first, size, chunk);
        for (size_t i = 0; i < size; ++i) sum += chunk[i] * chunk[i];
        total += sum;
    }
    d->norm = sqrt(total);
    return DPA_OK;
}

/* ── the sums ────────────────────────────────────────────────────────────────────────── */

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
