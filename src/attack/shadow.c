/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Means and variances over the shadow models; each strip of columns is a task for a thread. */
#include <math.h>
#include <stdlib.h>

#include "attack/attack.h"
#include "attack/moments.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/simd.h"
#include "base/threads.h"

/* With fewer signals a second thread hardly saves time: starting it and its cold memory cost a
 * third of the work. */
enum { WORTH_A_THREAD = 1 << 21 };

size_t dpa__augmentations(const dpa_signals *signals) {
    return signals->augmentations > 1 ? signals->augmentations : 1;
}

size_t dpa__columns(const dpa_signals *signals) {
    return signals->points * dpa__augmentations(signals);
}

double dpa__signal_sign(const dpa_signals *signals) {
    return signals->kind == DPA_SIGNAL_LOSS ? -1.0 : 1.0;
}

dpa_status dpa__rows_used(const dpa_signals *signals, const dpa_attack_opts *opts, dpa__rows *out,
                          dpa_error *err) {
    for (size_t i = 0; i < opts->exclude_count; ++i)
        if (opts->exclude[i] >= signals->models)
            return dpa__fail(err, DPA_BAD_ARGUMENT,
                             "exclude: there is no model %zu, the last is %zu", opts->exclude[i],
                             signals->models - 1);
    *out = (dpa__rows){DPA_NEW_ARRAY(size_t, signals->models, err), 0};
    if (out->row == NULL) return DPA_NO_MEMORY;
    for (size_t m = 0; m < signals->models; ++m) out->row[m] = 1; /* is used */
    for (size_t i = 0; i < opts->exclude_count; ++i) out->row[opts->exclude[i]] = 0;
    if (opts->target < signals->models) out->row[opts->target] = 0;
    for (size_t m = 0; m < signals->models; ++m)
        if (out->row[m]) out->row[out->count++] = m;
    return DPA_OK;
}

dpa_status dpa__need_finite(const dpa_signals *signals, size_t model, dpa_error *err) {
    const size_t columns = dpa__columns(signals);
    const double *x = signals->signal + model * columns;
    for (size_t c = 0; c < columns; ++c)
        if (!isfinite(x[c]))
            return dpa__fail(err, DPA_BAD_INPUT,
                             "model %zu, point %zu: %g; a signal must be a finite number", model,
                             c / dpa__augmentations(signals), x[c]);
    return DPA_OK;
}

typedef struct job {
    const dpa_signals *signals;
    const dpa__rows *rows;
    dpa__value value;
    size_t strip; /* columns of a task */
    dpa__shadow *out;
} job;

/* Mean and variance from sums of values relative to an origin. */
DPA_CLONES static void finish_side(const double *restrict count, const double *restrict origin,
                                   const double *restrict sum, const double *restrict square,
                                   double sign, size_t width, double *restrict to_mean,
                                   double *restrict to_variance) {
    for (size_t c = 0; c < width; ++c) {
        const double n = count[c] > 1.0 ? count[c] : 1.0, mean = sum[c] / n;
        to_mean[c] = sign * (origin[c] + mean);
        to_variance[c] = square[c] / n - mean * mean;
    }
}

static void finish(const job *j, const dpa__moments *m, size_t first, size_t width) {
    const double sign = j->value == DPA__VALUE_SIGNAL ? dpa__signal_sign(j->signals) : 1.0;
    const dpa__side in = j->out->in, out = j->out->out;
    for (size_t c = 0; c < width; ++c) {
        in.count[first + c] = (double)(int64_t)m->count_in[c];
        out.count[first + c] = (double)j->rows->count - in.count[first + c];
    }
    finish_side(in.count + first, m->origin_in, m->sum_in, m->square_in, sign, width,
                in.mean + first, in.variance + first);
    finish_side(out.count + first, m->origin_out, m->sum_out, m->square_out, sign, width,
                out.mean + first, out.variance + first);
}

static int do_strip(void *user, size_t task) {
    const job *j = user;
    const dpa_signals *s = j->signals;
    const size_t columns = dpa__columns(s), repeat = dpa__augmentations(s);
    const size_t first = task * j->strip;
    const size_t width = columns - first < j->strip ? columns - first : j->strip;
    const dpa__strip strip = {.signal = s->signal + first,
                              .member = s->member != NULL ? s->member + first / repeat : NULL,
                              .stride = columns,
                              .repeat = repeat,
                              .phase = first % repeat,
                              .row = j->rows->row,
                              .rows = j->rows->count,
                              .width = width};
    dpa__moments moments;
    if (j->value == DPA__VALUE_SIGNAL)
        dpa__strip_signals(&strip, &moments);
    else
        dpa__strip_probabilities(
            &strip, s->kind == DPA_SIGNAL_LOSS,
            j->value == DPA__VALUE_PROBABILITY ? DPA__SIDES_BOTH : DPA__SIDES_OUT, &moments);
    finish(j, &moments, first, width);
    return 0;
}

/* Finds the signal that is not finite if the sums of a column show that there is one. */
static dpa_status check(const job *j, dpa_error *err) {
    const size_t columns = dpa__columns(j->signals);
    for (size_t c = 0; c < columns; ++c) {
        const dpa__side in = j->out->in, out = j->out->out;
        if (isfinite(in.mean[c] + in.variance[c] + out.mean[c] + out.variance[c])) continue;
        for (size_t i = 0; i < j->rows->count; ++i)
            DPA_TRY(dpa__need_finite(j->signals, j->rows->row[i], err));
        return dpa__fail(err, DPA_NUMERIC, "point %zu: its signals are too large to be squared",
                         c / dpa__augmentations(j->signals));
    }
    return DPA_OK;
}

/* As wide as it may be, but as many strips for each thread. */
static size_t strip_for(size_t columns, size_t threads) {
    const size_t rounds = (columns + threads * DPA__STRIP - 1) / (threads * DPA__STRIP);
    const size_t width = (columns + threads * rounds - 1) / (threads * rounds);
    return (width + DPA__COLUMNS - 1) / DPA__COLUMNS * DPA__COLUMNS;
}

dpa_status dpa__shadow_new(const dpa_signals *signals, const dpa__rows *rows, dpa__value value,
                           unsigned threads, dpa__shadow *out, dpa_error *err) {
    const size_t n = dpa__columns(signals);
    *out = (dpa__shadow){0};
    double *block = dpa__malloc(n, 6 * sizeof(double), err);
    if (block == NULL) return DPA_NO_MEMORY;
    out->block = block;
    out->in = (dpa__side){block, block + n, block + 2 * n};
    out->out = (dpa__side){block + 3 * n, block + 4 * n, block + 5 * n};
    threads = dpa__threads_worth(threads, (double)n * (double)rows->count, WORTH_A_THREAD);
    const job j = {signals, rows, value, strip_for(n, threads), out};
    dpa_status status =
        dpa__parallel(threads, (n + j.strip - 1) / j.strip, do_strip, (void *)(uintptr_t)&j, err);
    if (status == DPA_OK) status = check(&j, err);
    if (status != DPA_OK) dpa__shadow_free(out);
    return status;
}

void dpa__shadow_free(dpa__shadow *shadow) {
    free(shadow->block);
    *shadow = (dpa__shadow){0};
}

dpa_status dpa__need_side(const dpa_signals *signals, const dpa__side *side, double least,
                          const char *which, dpa_error *err) {
    const size_t repeat = dpa__augmentations(signals);
    for (size_t p = 0; p < signals->points; ++p)
        if (side->count[p * repeat] < least)
            return dpa__fail(err, DPA_BAD_INPUT,
                             "point %zu: %.0f models %s it, at least %.0f are needed", p,
                             side->count[p * repeat], which, least);
    return DPA_OK;
}
