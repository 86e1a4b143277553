/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums of many canaries. The vector is split among threads, and each chunk adds the canaries in
 * their order to double sums, so that the answer does not depend on the number of threads. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "evidence/canary.h"

typedef struct job {
    dpa_canaries *canaries;
    const double *norm;
    double *scale; /* [count] wanted norm divided by the norm of the numbers */
    float *f32;    /* one of the two is NULL */
    double *f64;
    const dpa_progress *progress;
    atomic_size_t done;
    atomic_flag speaking; /* one report at a time; a thread that finds it set stays silent */
} job;

/* 1: the caller wants to stop. */
static int report(job *j, double done, double total) {
    const dpa_progress *p = j->progress;
    if (p == NULL || p->call == NULL || atomic_flag_test_and_set(&j->speaking)) return 0;
    const int stop = p->call(p->user, "canaries", done, total) != 0;
    atomic_flag_clear(&j->speaking);
    return stop;
}

static int find_scale(void *user, size_t i) {
    job *j = user;
    j->scale[i] = j->norm[i] != 0.0 ? j->norm[i] / dpa__canary_norm(j->canaries, i) : 0.0;
    return report(j, 0.0, (double)j->canaries->count);
}

static void add_numbers(const job *j, size_t i, size_t first, size_t size, double *total) {
    float z[DPA__CHUNK];
    dpa__canary_numbers(j->canaries, i, first, size, z);
    const double scale = j->scale[i];
    for (size_t at = 0; at < size; ++at) total[at] += scale * (double)z[at];
}

static int do_chunk(void *user, size_t chunk) {
    job *j = user;
    const size_t dim = j->canaries->opts.dim, count = j->canaries->count;
    const size_t first = chunk * DPA__CHUNK;
    const size_t size = dim - first < DPA__CHUNK ? dim - first : DPA__CHUNK;
    double total[DPA__CHUNK];
    for (size_t at = 0; at < size; ++at)
        total[at] = j->f32 != NULL ? (double)j->f32[first + at] : j->f64[first + at];
    for (size_t i = 0; i < count; ++i)
        if (j->scale[i] != 0.0) add_numbers(j, i, first, size, total);
    for (size_t at = 0; at < size; ++at) {
        if (j->f32 != NULL)
            j->f32[first + at] = (float)total[at];
        else
            j->f64[first + at] = total[at];
    }
    const size_t done = atomic_fetch_add(&j->done, size) + size;
    return report(j, (double)count * ((double)done / (double)dim), (double)count);
}

static dpa_status sum(job *j, dpa_error *err) {
    const dpa_canaries *canaries = j->canaries;
    for (size_t i = 0; i < canaries->count; ++i)
        if (!isfinite(j->norm[i]))
            return dpa__fail(err, DPA_BAD_ARGUMENT, "norm of canary %zu: must be finite, not %g", i,
                             j->norm[i]);
    if (canaries->opts.direction == DPA_DIRECTION_HADAMARD)
        return dpa__canary_fast_sum(j->canaries, j->norm, j->f32, j->f64, err);
    atomic_init(&j->done, 0);
    atomic_flag_clear(&j->speaking);
    j->scale = DPA_NEW_ARRAY(double, canaries->count, err);
    if (j->scale == NULL) return DPA_NO_MEMORY;
    const unsigned threads = canaries->opts.threads;
    dpa_status status = dpa__parallel(threads, canaries->count, find_scale, j, err);
    if (status == DPA_OK)
        status = dpa__parallel(threads, (canaries->opts.dim + DPA__CHUNK - 1) / DPA__CHUNK,
                               do_chunk, j, err);
    free(j->scale);
    return status;
}

dpa_status dpa__canaries_sum_f32(dpa_canaries *canaries, const double *norm, float *out,
                                 const dpa_progress *progress, dpa_error *err) {
    job j = {.canaries = canaries, .norm = norm, .f32 = out, .progress = progress};
    return sum(&j, err);
}

dpa_status dpa__canaries_sum_f64(dpa_canaries *canaries, const double *norm, double *out,
                                 const dpa_progress *progress, dpa_error *err) {
    job j = {.canaries = canaries, .norm = norm, .f64 = out, .progress = progress};
    return sum(&j, err);
}
