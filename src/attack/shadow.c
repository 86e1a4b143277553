/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Means and variances of the shadow models, in one pass over the matrix: rows are read in order,
 * the sums of all points stay in cache. Values are taken relative to the target's, so that a small
 * variance beside a large mean loses no digits. */
#include <stdlib.h>

#include "attack/attack.h"
#include "base/error.h"
#include "base/memory.h"

int dpa__is_used(const dpa_attack_opts *opts, size_t model) {
    if (model == opts->target) return 0;
    for (size_t i = 0; i < opts->exclude_count; ++i)
        if (opts->exclude[i] == model) return 0;
    return 1;
}

double dpa__signal_sign(const dpa_signals *signals) {
    return signals->kind == DPA_SIGNAL_LOSS ? -1.0 : 1.0;
}

static void add_row(dpa__shadow *s, const double *value, const uint8_t *member,
                    const double *origin, size_t points) {
    for (size_t p = 0; p < points; ++p) {
        const double d = value[p] - origin[p];
        const double in = member != NULL ? (double)member[p] : 0.0;
        const double out = 1.0 - in;
        s->in.count[p] += in;
        s->in.mean[p] += in * d;
        s->in.variance[p] += in * d * d;
        s->out.count[p] += out;
        s->out.mean[p] += out * d;
        s->out.variance[p] += out * d * d;
    }
}

static void finish(dpa__side *side, const double *origin, size_t points) {
    for (size_t p = 0; p < points; ++p) {
        const double n = side->count[p] > 0 ? side->count[p] : 1.0;
        const double mean = side->mean[p] / n;
        const double variance = side->variance[p] / n - mean * mean;
        side->variance[p] = variance > 0 ? variance : 0.0;
        side->mean[p] = mean + origin[p];
    }
}

static void turn_row(const dpa_signals *signals, size_t model, dpa__transform transform,
                     double *out) {
    const double *row = signals->signal + model * signals->points;
    const double sign = dpa__signal_sign(signals);
    for (size_t p = 0; p < signals->points; ++p)
        out[p] = transform != NULL ? transform(row[p]) : sign * row[p];
}

dpa_status dpa__shadow_new(const dpa_signals *signals, const dpa_attack_opts *opts,
                           dpa__transform transform, dpa__shadow *out, dpa_error *err) {
    const size_t n = signals->points;
    *out = (dpa__shadow){0};
    double *block = dpa__calloc(8, n * sizeof(double), err);
    if (block == NULL) return DPA_NO_MEMORY;
    out->block = block;
    out->in = (dpa__side){block, block + n, block + 2 * n};
    out->out = (dpa__side){block + 3 * n, block + 4 * n, block + 5 * n};
    double *origin = block + 6 * n, *row = block + 7 * n;
    turn_row(signals, opts->target, transform, origin);
    for (size_t m = 0; m < signals->models; ++m) {
        if (!dpa__is_used(opts, m)) continue;
        turn_row(signals, m, transform, row);
        add_row(out, row, signals->member != NULL ? signals->member + m * n : NULL, origin, n);
    }
    finish(&out->in, origin, n);
    finish(&out->out, origin, n);
    return DPA_OK;
}

void dpa__shadow_free(dpa__shadow *shadow) {
    free(shadow->block);
    *shadow = (dpa__shadow){0};
}

dpa_status dpa__need_side(const dpa__side *side, size_t points, double least, const char *which,
                          dpa_error *err) {
    for (size_t p = 0; p < points; ++p)
        if (side->count[p] < least)
            return dpa__fail(err, DPA_BAD_INPUT,
                             "point %zu: %.0f models %s it, at least %.0f are needed", p,
                             side->count[p], which, least);
    return DPA_OK;
}
