/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cosines of all canaries with a model: the canaries are split among threads, the model passes by
 * in chunks that stay in the first-level cache, and each canary's sums are made by one thread in
 * the order of the chunks. So the answer does not depend on the number of threads. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "evidence/canary.h"

enum { MOST_SHIFT = 1000 }; /* powers of two that neither overflow nor lose bits */

/* model − initial, scaled by a power of two so that no square over- or underflows. */
typedef struct direction {
    const dpa_vector *model, *initial;
    double scale;
    double norm; /* of the scaled vector */
} direction;

static double element(const dpa_vector *vector, size_t i) {
    return vector->f32 != NULL ? (double)vector->f32[i] : vector->f64[i];
}

static void load_vector(const dpa_vector *vector, size_t first, size_t size, double *out) {
    if (vector->f32 != NULL)
        for (size_t i = 0; i < size; ++i) out[i] = (double)vector->f32[first + i];
    else
        memcpy(out, vector->f64 + first, size * sizeof *out);
}

/* model − initial as they are. */
static void load_difference(const direction *d, size_t first, size_t size, double *out) {
    load_vector(d->model, first, size, out);
    if (d->initial == NULL) return;
    double start[DPA__CHUNK];
    load_vector(d->initial, first, size, start);
    for (size_t i = 0; i < size; ++i) out[i] -= start[i];
}

static void load_chunk(const direction *d, size_t first, size_t size, double *out) {
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

/* Of the absolute elements; all must be finite. */
static dpa_status find_largest(const direction *d, size_t dim, double *largest, dpa_error *err) {
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

static dpa_status direction_init(direction *d, const dpa_vector *model, const dpa_vector *initial,
                                 size_t dim, dpa_error *err) {
    DPA_TRY(check_vector(model, dim, "model", err));
    if (initial != NULL) DPA_TRY(check_vector(initial, dim, "initial model", err));
    *d = (direction){model, initial, 1.0, 0.0};
    double largest;
    DPA_TRY(find_largest(d, dim, &largest, err));
    if (largest == 0.0)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "model%s: all elements are 0, so there is no direction to compare with",
                         initial != NULL ? " minus initial" : "");
    const int exponent = ilogb(largest);
    if (abs(exponent) > 100)
        d->scale = ldexp(1.0, exponent > MOST_SHIFT    ? -MOST_SHIFT
                              : exponent < -MOST_SHIFT ? MOST_SHIFT
                                                       : -exponent);
    double total = 0.0, chunk[DPA__CHUNK];
    for (size_t first = 0; first < dim; first += DPA__CHUNK) {
        const size_t size = chunk_size(dim, first);
        double sum = 0.0;
        load_chunk(d, first, size, chunk);
        for (size_t i = 0; i < size; ++i) sum += chunk[i] * chunk[i];
        total += sum;
    }
    d->norm = sqrt(total);
    return DPA_OK;
}

/* One part of the canaries is a task: about as many parts as threads. */
typedef struct job {
    dpa_canaries *canaries;
    const direction *model; /* [models] */
    size_t models;
    const dpa_progress *progress; /* NULL: none */
    size_t parts;
    double *dot;    /* [count × models, rounded up to DPA__DOTS when there are several] */
    double *square; /* [count]; NULL when there are several, or signs: the norms are known */
    double *chunk;  /* [parts × models × DPA__CHUNK], likewise rounded up */
    float *narrow;  /* the same numbers for signs; NULL for normals */
    atomic_int stop;
} job;

static size_t padded(size_t models) {
    return models == 1 ? 1 : (models + DPA__DOTS - 1) / DPA__DOTS * DPA__DOTS;
}

/* Part 0 says how far all are, taken that the threads go at the same pace. */
static void report(job *j, size_t done) {
    const dpa_progress *p = j->progress;
    const double count = (double)j->canaries->count, dim = (double)j->canaries->opts.dim;
    if (p == NULL || p->call == NULL) return;
    if (p->call(p->user, "normals", count * (double)done, count * dim) != 0)
        atomic_store(&j->stop, 1);
}

/* A chunk of each model, zeros behind its end and for the models that fill up. */
static void load_chunks(const job *j, size_t first, size_t size, double *chunk) {
    if (size < DPA__CHUNK) memset(chunk, 0, padded(j->models) * DPA__CHUNK * sizeof *chunk);
    for (size_t m = 0; m < j->models; ++m)
        load_chunk(&j->model[m], first, size, chunk + m * DPA__CHUNK);
}

static void add_signs(const dpa__canary_stream *stream, size_t first, const float *model,
                      size_t models, double *dot) {
    dpa__signs signs;
    dpa__signs_make(stream, first, &signs);
    for (size_t m = 0; m < models; ++m) dot[m] += dpa__signs_dot(&signs, model + m * DPA__CHUNK);
}

static int do_part(void *user, size_t part) {
    job *j = user;
    const size_t dim = j->canaries->opts.dim, count = j->canaries->count;
    const size_t each = count / j->parts, more = count % j->parts;
    const size_t begin = part * each + (part < more ? part : more);
    const size_t end = begin + each + (part < more), models = padded(j->models);
    double *chunk = j->chunk + part * models * DPA__CHUNK;
    float *narrow = j->narrow != NULL ? j->narrow + part * models * DPA__CHUNK : NULL;
    dpa__canary_stream stream;
    if (models > 1)
        for (size_t i = begin; i < end; ++i) (void)dpa__canary_norm(j->canaries, i);
    for (size_t first = 0; first < dim && !atomic_load(&j->stop); first += DPA__CHUNK) {
        const size_t size = chunk_size(dim, first);
        load_chunks(j, first, size, chunk);
        for (size_t at = 0; narrow != NULL && at < models * DPA__CHUNK; ++at)
            narrow[at] = (float)chunk[at];
        for (size_t i = begin; i < end; ++i) {
            dpa__canary_stream_init(&stream, j->canaries->opts.seed, j->canaries->opts.first + i);
            if (narrow != NULL)
                add_signs(&stream, first, narrow, models, &j->dot[i * models]);
            else if (models > 1)
                dpa__canary_chunk_many(j->canaries, &stream, first, size, chunk, models,
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
    for (size_t i = 0; i < j->canaries->count; ++i) {
        if (j->square != NULL) j->canaries->norm[i] = sqrt(j->square[i]);
        for (size_t m = 0; m < j->models; ++m)
            out[i * j->models + m] =
                j->dot[i * padded(j->models) + m] / j->canaries->norm[i] / j->model[m].norm;
    }
    return DPA_OK;
}

static dpa_status job_allocate(job *j, dpa_error *err) {
    const size_t numbers = j->parts * padded(j->models) * DPA__CHUNK, count = j->canaries->count;
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

static dpa_status cosines(dpa_canaries *canaries, const direction *model, size_t models,
                          double *out, const dpa_progress *progress, dpa_error *err) {
    const size_t threads = canaries->opts.threads, count = canaries->count;
    job j = {.canaries = canaries,
             .model = model,
             .models = models,
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

dpa_status dpa_canaries_cosines(dpa_canaries *canaries, const dpa_vector *model,
                                const dpa_vector *initial, double *out,
                                const dpa_progress *progress, dpa_error *err) {
    direction d;
    DPA_TRY(direction_init(&d, model, initial, canaries->opts.dim, err));
    return cosines(canaries, &d, 1, out, progress, err);
}

static dpa_status rounds(dpa_canaries *canaries, const dpa_vector *change, size_t count,
                         direction *d, double *cosine, const dpa_progress *progress,
                         dpa_error *err) {
    for (size_t m = 0; m < count; ++m)
        DPA_TRY(direction_init(&d[m], &change[m], NULL, canaries->opts.dim, err));
    DPA_TRY(cosines(canaries, d, count, cosine, progress, err));
    for (size_t i = 0; i < canaries->count; ++i)
        for (size_t m = 0; m < count; ++m)
            if (cosine[i * count + m] > canaries->largest[i])
                canaries->largest[i] = cosine[i * count + m];
    canaries->rounds += count;
    return DPA_OK;
}

dpa_status dpa_canaries_round_many(dpa_canaries *canaries, const dpa_vector *change, size_t count,
                                   const dpa_progress *progress, dpa_error *err) {
    if (count == 0) return DPA_OK;
    if (count > DPA_CANARIES_ROUNDS)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%zu rounds at once: at most %d", count,
                         (int)DPA_CANARIES_ROUNDS);
    direction *d = DPA_NEW_ARRAY(direction, count, err);
    double *cosine = d != NULL ? dpa__malloc(count * canaries->count, sizeof(double), err) : NULL;
    const dpa_status status =
        cosine != NULL ? rounds(canaries, change, count, d, cosine, progress, err) : DPA_NO_MEMORY;
    free(d);
    free(cosine);
    return status;
}

dpa_status dpa_canaries_round(dpa_canaries *canaries, const dpa_vector *change,
                              const dpa_progress *progress, dpa_error *err) {
    return dpa_canaries_round_many(canaries, change, 1, progress, err);
}
