/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The canary handle: options, and single canaries as vectors. */
#include "evidence/canary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/threads.h"

void dpa__canaries_opts_init(dpa_canaries_opts *opts) {
    *opts = (dpa_canaries_opts){.seed = 1};
}

static dpa_status check_hadamard(const dpa_canaries_opts *opts, dpa_error *err) {
    dpa__hadamard h;
    if (opts->dim >> DPA__HADAMARD_BITS > 1)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "dim: less than 2^%d for hadamard, not %zu",
                         DPA__HADAMARD_BITS + 1, opts->dim);
    dpa__hadamard_init(&h, opts->seed, opts->dim);
    if (opts->first + opts->observed + opts->unobserved > dpa__hadamard_size(&h))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "canaries: %zu dimensions have %zu orthogonal directions of hadamard, "
                         "fewer than asked for",
                         opts->dim, dpa__hadamard_size(&h));
    return DPA_OK;
}

static dpa_status check_opts(const dpa_canaries_opts *opts, dpa_error *err) {
    const uint64_t most = UINT64_C(1) << DPA_RNG_INDEX_BITS;
    if (opts->dim < 2 || opts->dim > most)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "dim: at least 2 and at most 2^%d, not %zu",
                         DPA_RNG_INDEX_BITS, opts->dim);
    if (opts->observed > most || opts->unobserved > most || opts->first > most ||
        opts->first + opts->observed + opts->unobserved > most)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "canaries: indices must be below 2^%d",
                         DPA_RNG_INDEX_BITS);
    if (opts->observed + opts->unobserved == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "canaries: at least one is needed");
    if (opts->threads > DPA__MOST_THREADS)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "threads: at most %d, not %u", DPA__MOST_THREADS,
                         opts->threads);
    if ((int)opts->direction < 0 || opts->direction > DPA_DIRECTION_HADAMARD)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "direction: %d is none of sphere, signs, hadamard",
                         (int)opts->direction);
    if (opts->direction == DPA_DIRECTION_HADAMARD) DPA_TRY(check_hadamard(opts, err));
    if (dpa__canary_kernel_find(opts->kernel) == NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "kernel: '%s' is not one that this machine has (portable always is)",
                         opts->kernel);
    return DPA_OK;
}

static int has_signs(const dpa_canaries *canaries) {
    return canaries->opts.direction == DPA_DIRECTION_SIGNS;
}

static int is_hadamard(const dpa_canaries *canaries) {
    return canaries->opts.direction == DPA_DIRECTION_HADAMARD;
}

/* The norm of the numbers before scaling. */
static double first_norm(const dpa_canaries *canaries) {
    if (has_signs(canaries)) return sqrt((double)canaries->opts.dim);
    if (is_hadamard(canaries)) return sqrt((double)dpa__hadamard_size(&canaries->hadamard));
    return (double)NAN;
}

static dpa_status allocate(dpa_canaries *canaries, dpa_error *err) {
    const size_t count = canaries->count;
    canaries->norm = DPA_NEW_ARRAY(double, count, err);
    canaries->largest = DPA_NEW_ARRAY(double, count, err);
    canaries->own = dpa__calloc(count, sizeof *canaries->own, err);
    canaries->times = dpa__calloc(count, sizeof *canaries->times, err);
    if (canaries->norm == NULL || canaries->largest == NULL || canaries->own == NULL ||
        canaries->times == NULL)
        return DPA_NO_MEMORY;
    if (is_hadamard(canaries)) {
        dpa__hadamard_init(&canaries->hadamard, canaries->opts.seed, canaries->opts.dim);
        canaries->row = DPA_NEW_ARRAY(size_t, count, err);
        if (canaries->row == NULL) return DPA_NO_MEMORY;
    }
    for (size_t i = 0; i < count; ++i) {
        canaries->norm[i] = first_norm(canaries);
        canaries->largest[i] = -INFINITY;
        if (canaries->row != NULL)
            canaries->row[i] = dpa__hadamard_row(&canaries->hadamard, canaries->opts.first + i);
    }
    return DPA_OK;
}

dpa_status dpa__canaries_new(const dpa_canaries_opts *opts, dpa_canaries **out, dpa_error *err) {
    DPA_TRY(check_opts(opts, err));
    dpa_canaries *canaries = DPA_NEW(dpa_canaries, err);
    if (canaries == NULL) return DPA_NO_MEMORY;
    canaries->opts = *opts;
    canaries->opts.kernel = NULL; /* belongs to the caller; the kernel itself is stored below */
    canaries->opts.threads = dpa__threads(opts->threads);
    canaries->kernel = dpa__canary_kernel_find(opts->kernel);
    canaries->count = opts->observed + opts->unobserved;
    canaries->spread = 1.0;
    const dpa_status status = allocate(canaries, err);
    if (status != DPA_OK) {
        dpa__canaries_free(canaries);
        return status;
    }
    *out = canaries;
    return DPA_OK;
}

void dpa__canaries_free(dpa_canaries *canaries) {
    if (canaries == NULL) return;
    free(canaries->norm);
    free(canaries->largest);
    free(canaries->own);
    free(canaries->times);
    free(canaries->row);
    free(canaries->work);
    free(canaries);
}

size_t dpa__canaries_dim(const dpa_canaries *canaries) {
    return canaries->opts.dim;
}

size_t dpa__canaries_observed(const dpa_canaries *canaries) {
    return canaries->opts.observed;
}

size_t dpa__canaries_unobserved(const dpa_canaries *canaries) {
    return canaries->opts.unobserved;
}

size_t dpa__canaries_count(const dpa_canaries *canaries) {
    return canaries->count;
}

uint64_t dpa__canaries_seed(const dpa_canaries *canaries) {
    return canaries->opts.seed;
}

const char *dpa__direction_name(dpa_direction direction) {
    static const char *const names[] = {"sphere", "signs", "hadamard"};
    return (size_t)direction < sizeof names / sizeof names[0] ? names[direction] : NULL;
}

dpa_direction dpa__canaries_direction(const dpa_canaries *canaries) {
    return canaries->opts.direction;
}

void dpa__canary_numbers(const dpa_canaries *canaries, size_t index, size_t first, size_t size,
                         float *out) {
    if (is_hadamard(canaries)) {
        dpa__hadamard_write(&canaries->hadamard, canaries->row[index], first, size, out);
        return;
    }
    dpa__canary_stream stream;
    dpa__canary_stream_init(&stream, canaries->opts.seed, canaries->opts.first + index);
    if (has_signs(canaries)) {
        dpa__signs signs;
        dpa__signs_make(&stream, first, &signs);
        dpa__signs_write(&signs, out);
        return;
    }
    const size_t calls = (size + DPA__CALL - 1) / DPA__CALL;
    canaries->kernel->normals(&stream, first / DPA__GROUP, calls * DPA__CALL_GROUPS, out);
}

void dpa__canary_chunk(const dpa_canaries *canaries, const dpa__canary_stream *stream, size_t first,
                       size_t size, const double *model, double *dot, double *square) {
    dpa__lanes lanes = {{0}, {0}};
    const size_t whole = size - size % DPA__CALL;
    if (whole > 0)
        canaries->kernel->sums(stream, first / DPA__GROUP, whole / DPA__GROUP, model, &lanes);
    if (whole < size) {
        float z[DPA__CALL];
        canaries->kernel->normals(stream, (first + whole) / DPA__GROUP, DPA__CALL_GROUPS, z);
        for (size_t at = 0; whole + at < size; at += DPA__GROUP)
            dpa__lanes_add_group(&lanes, z + at, model + whole + at, size - whole - at);
    }
    *dot += dpa__lanes_fold(lanes.dot);
    *square += dpa__lanes_fold(lanes.square);
}

void dpa__canary_chunk_many(const dpa_canaries *canaries, size_t index, size_t first, size_t size,
                            const double *model, size_t models, double *dot) {
    float z[DPA__CHUNK];
    const size_t groups = (size + DPA__CALL - 1) / DPA__CALL * DPA__CALL_GROUPS;
    dpa__canary_numbers(canaries, index, first, size, z);
    for (size_t m = 0; m < models; m += DPA__DOTS) {
        double lane[DPA__DOTS * DPA__LANES] = {0};
        canaries->kernel->dots(z, groups, model + m * DPA__CHUNK, DPA__CHUNK, lane);
        for (size_t k = 0; k < DPA__DOTS; ++k) dot[m + k] += dpa__lanes_fold(lane + k * DPA__LANES);
    }
}

double dpa__canary_norm(dpa_canaries *canaries, size_t index) {
    static const double nothing[DPA__CHUNK];
    const size_t dim = canaries->opts.dim;
    double dot = 0.0, square = 0.0;
    if (isnan(canaries->norm[index])) {
        dpa__canary_stream stream;
        dpa__canary_stream_init(&stream, canaries->opts.seed, canaries->opts.first + index);
        for (size_t first = 0; first < dim; first += DPA__CHUNK)
            dpa__canary_chunk(canaries, &stream, first,
                              dim - first < DPA__CHUNK ? dim - first : DPA__CHUNK, nothing, &dot,
                              &square);
        canaries->norm[index] = sqrt(square);
    }
    return canaries->norm[index];
}

/* Exactly one of f32 and f64 is not NULL. */
static dpa_status write_canary(dpa_canaries *canaries, size_t index, double norm, float *f32,
                               double *f64, dpa_error *err) {
    if (index >= canaries->count)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "canary %zu: there are only %zu", index,
                         canaries->count);
    if (!isfinite(norm))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "norm of a canary: must be finite, not %g", norm);
    const size_t dim = canaries->opts.dim;
    const double scale = norm / dpa__canary_norm(canaries, index);
    for (size_t first = 0; first < dim; first += DPA__CHUNK) {
        float z[DPA__CHUNK];
        const size_t size = dim - first < DPA__CHUNK ? dim - first : DPA__CHUNK;
        dpa__canary_numbers(canaries, index, first, size, z);
        for (size_t i = 0; i < size; ++i) {
            const double x = scale * (double)z[i];
            if (f32 != NULL)
                f32[first + i] = (float)x;
            else
                f64[first + i] = x;
        }
    }
    return DPA_OK;
}

dpa_status dpa__canaries_make_f32(dpa_canaries *canaries, size_t index, double norm, float *out,
                                  dpa_error *err) {
    return write_canary(canaries, index, norm, out, NULL, err);
}

dpa_status dpa__canaries_make_f64(dpa_canaries *canaries, size_t index, double norm, double *out,
                                  dpa_error *err) {
    return write_canary(canaries, index, norm, NULL, out, err);
}
