/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sampling. Each step (Poisson) or epoch (shuffle) has its own random stream, so a draw does not
 * depend on earlier ones and a resumed run draws what an unbroken one would have drawn. */
#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

static int by_size(const void *a, const void *b) {
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static dpa_status take_members(dpa__sampler *s, const size_t *members, size_t count,
                               size_t data_rows, dpa_error *err) {
    s->members = members != NULL ? count : data_rows;
    s->member = DPA_NEW_ARRAY(size_t, s->members, err);
    if (s->member == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < s->members; ++i) s->member[i] = members != NULL ? members[i] : i;
    qsort(s->member, s->members, sizeof(size_t), by_size);
    for (size_t i = 0; i < s->members; ++i) {
        if (s->member[i] >= data_rows)
            return dpa__fail(err, DPA_BAD_ARGUMENT, "member %zu of a data set with %zu rows",
                             s->member[i], data_rows);
        if (i > 0 && s->member[i] == s->member[i - 1])
            return dpa__fail(err, DPA_BAD_ARGUMENT, "member %zu is listed twice", s->member[i]);
    }
    return DPA_OK;
}

static dpa_status cut_units(dpa__sampler *s, dpa_error *err) {
    s->units = s->members;
    if (s->sampling != DPA_SAMPLE_POISSON || s->microbatch == 1) return DPA_OK;
    s->unit_start = DPA_NEW_ARRAY(size_t, s->members + 1, err);
    if (s->unit_start == NULL) return DPA_NO_MEMORY;
    s->units = dpa__sampler_groups(s, s->member, s->members, s->unit_start);
    return DPA_OK;
}

dpa_status dpa__sampler_init(dpa__sampler *s, const dpa_train_opts *opts, const size_t *members,
                             size_t count, size_t data_rows, dpa_error *err) {
    *s = (dpa__sampler){.seed = opts->seed,
                        .sampling = opts->sampling,
                        .batch = opts->batch,
                        .microbatch = opts->microbatch,
                        .epoch = UINT64_MAX};
    DPA_TRY(take_members(s, members, count, data_rows, err));
    DPA_TRY(cut_units(s, err));
    if (s->sampling == DPA_SAMPLE_POISSON) {
        s->q = opts->q > 0.0 ? opts->q : (double)s->batch / (double)s->members;
        if (!(s->q <= 1.0))
            return dpa__fail(err, DPA_BAD_ARGUMENT,
                             "sampling rate %g (batch %zu of %zu members): expected at most 1",
                             s->q, s->batch, s->members);
        return DPA_OK;
    }
    if (s->batch > s->members)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "batch of %zu from %zu members", s->batch,
                         s->members);
    s->order = DPA_NEW_ARRAY(size_t, s->members, err);
    return s->order != NULL ? DPA_OK : DPA_NO_MEMORY;
}

void dpa__sampler_free(dpa__sampler *s) {
    free(s->member);
    free(s->unit_start);
    free(s->order);
    *s = (dpa__sampler){0};
}

uint64_t dpa__sampler_epoch_steps(const dpa__sampler *s) {
    if (s->sampling == DPA_SAMPLE_SHUFFLE) return s->members / s->batch;
    const double steps = ceil(1.0 / s->q - 1e-9);
    return steps < 1.0 ? 1 : steps > 1e18 ? (uint64_t)1e18 : (uint64_t)steps;
}

/* Each unit is in with probability q. Draws the gaps between chosen units, which are geometric (k
 * with probability q(1−q)^k), so that the work is proportional to the batch and not to the data. */
static size_t draw_poisson(const dpa__sampler *s, uint64_t step, size_t *rows) {
    dpa_rng rng;
    dpa__rng_init(&rng, s->seed, DPA_PURPOSE_SAMPLING, step);
    const double scale = s->q < 1.0 ? 1.0 / log1p(-s->q) : 0.0;
    size_t count = 0;
    for (size_t unit = 0; unit < s->units; ++unit) {
        const double gap = s->q < 1.0 ? floor(log(dpa__rng_uniform(&rng)) * scale) : 0.0;
        if (gap >= (double)(s->units - unit)) break;
        unit += (size_t)gap;
        const size_t first = s->unit_start != NULL ? s->unit_start[unit] : unit;
        const size_t end = s->unit_start != NULL ? s->unit_start[unit + 1] : unit + 1;
        for (size_t i = first; i < end; ++i) rows[count++] = s->member[i];
    }
    return count;
}

static size_t draw_shuffled(dpa__sampler *s, uint64_t step, size_t *rows) {
    const uint64_t steps = dpa__sampler_epoch_steps(s), epoch = step / steps;
    if (s->epoch != epoch) {
        dpa_rng rng;
        dpa__rng_init(&rng, s->seed, DPA_PURPOSE_SAMPLING, epoch);
        memcpy(s->order, s->member, s->members * sizeof(size_t));
        dpa__rng_shuffle(&rng, s->order, s->members);
        s->epoch = epoch;
    }
    memcpy(rows, s->order + (size_t)(step % steps) * s->batch, s->batch * sizeof(size_t));
    return s->batch;
}

size_t dpa__sampler_draw(dpa__sampler *s, uint64_t step, size_t *rows) {
    return s->sampling == DPA_SAMPLE_POISSON ? draw_poisson(s, step, rows)
                                             : draw_shuffled(s, step, rows);
}

size_t dpa__sampler_groups(const dpa__sampler *s, const size_t *rows, size_t count, size_t *start) {
    size_t groups = 0;
    for (size_t i = 0; i < count; ++i) {
        const int is_new = s->sampling == DPA_SAMPLE_POISSON
                               ? i == 0 || s->microbatch == 1 ||
                                     rows[i] / s->microbatch != rows[i - 1] / s->microbatch ||
                                     i - start[groups - 1] == s->microbatch
                               : i % s->microbatch == 0;
        if (is_new) start[groups++] = i;
    }
    start[groups] = count;
    return groups;
}

void dpa__augment(const float *x, dpa_shape shape, int down, int right, int mirror, float *out) {
    const ptrdiff_t height = (ptrdiff_t)shape.height, width = (ptrdiff_t)shape.width;
    const size_t c = shape.channels;
    for (ptrdiff_t i = 0; i < height; ++i)
        for (ptrdiff_t j = 0; j < width; ++j, out += c) {
            const ptrdiff_t from_i = i - down, moved = j - right;
            const ptrdiff_t from_j = mirror ? width - 1 - moved : moved;
            if (from_i < 0 || from_i >= height || from_j < 0 || from_j >= width)
                memset(out, 0, c * sizeof *out);
            else
                memcpy(out, x + (size_t)(from_i * width + from_j) * c, c * sizeof *out);
        }
}
