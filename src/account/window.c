/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exponential tilting and the window of the composed loss.
 *
 * Chernoff: for any s > 0 the tilted sum S exceeds w with mass at most e^(−sw)·Π M_k(s)^T_k, M_k
 * the moment generating function of the tilted step. Every s gives a valid window; a short search
 * takes a good one. The same with s < 0 for the other side. */
#include "account/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "account/rough_minimum.h"
#include "base/error.h"
#include "base/memory.h"
#include "math/logspace.h"

static const double ROUNDING = 1.2e-16;
/* Smaller tilted masses are dropped: all of them together, over all steps, are far below the error
 * of a bin. */
static const double LEAST_EXPONENT = -660;

static double loss_of(const dpa__tilted *tilted, size_t i) {
    return dpa__loss_at(tilted->origin, tilted->h, tilted->first + (ptrdiff_t)i);
}

static void moments(dpa__tilted *tilted) {
    dpa__sum total = {0}, first = {0}, second = {0};
    for (size_t i = 0; i < tilted->count; ++i) {
        dpa__sum_add(&total, tilted->mass[i]);
        dpa__sum_add(&first, tilted->mass[i] * loss_of(tilted, i));
    }
    tilted->mean = dpa__sum_get(&first) / dpa__sum_get(&total);
    for (size_t i = 0; i < tilted->count; ++i) {
        const double off = loss_of(tilted, i) - tilted->mean;
        dpa__sum_add(&second, tilted->mass[i] * off * off);
    }
    tilted->variance = dpa__sum_get(&second) / dpa__sum_get(&total);
}

dpa_status dpa__tilt(const dpa__pmf *pmf, double theta, dpa__tilted *out, dpa_error *err) {
    *out =
        (dpa__tilted){.h = pmf->h, .origin = pmf->origin, .first = pmf->first, .count = pmf->count};
    out->mass = DPA_NEW_ARRAY(double, out->count, err);
    if (out->mass == NULL) return DPA_NO_MEMORY;
    out->steps = pmf->steps;
    out->log_scale = dpa__pmf_log_mgf(pmf, theta);
    double largest = 0; /* of the exponents' terms */
    size_t begin = out->count, end = 0;
    for (size_t i = 0; i < out->count; ++i) {
        const double tilt = theta * loss_of(out, i);
        const double exponent = pmf->log_mass[i] + tilt - out->log_scale;
        out->mass[i] = exponent > LEAST_EXPONENT ? exp(exponent) : 0;
        if (out->mass[i] == 0) continue;
        largest = fmax(largest, fabs(pmf->log_mass[i]) + fabs(tilt));
        if (begin > i) begin = i;
        end = i + 1;
    }
    out->error = 4 * ROUNDING * (1 + largest + fabs(out->log_scale));
    if (begin < end) { /* drop the negligible masses at both ends */
        memmove(out->mass, out->mass + begin, (end - begin) * sizeof *out->mass);
        out->first += (ptrdiff_t)begin;
        out->count = end - begin;
    }
    moments(out);
    return DPA_OK;
}

void dpa__tilted_free(dpa__tilted *tilted) {
    free(tilted->mass);
    *tilted = (dpa__tilted){0};
}

/* log Σ mass·e^(s·loss), rounded up. Powers of e^(sh) are recomputed for every block, so their
 * rounding stays below 64 ulp. */
static double log_mgf(const dpa__tilted *tilted, double s) {
    enum { BLOCK = 64 };
    const double ratio = exp(s * tilted->h);
    const double last = loss_of(tilted, tilted->count - 1);
    const double top = fmax(s * loss_of(tilted, 0), s * last);
    double largest = -HUGE_VAL, total = 0; /* the sum is total·e^largest */
    for (size_t from = 0; from < tilted->count; from += BLOCK) {
        const size_t to = from + BLOCK < tilted->count ? from + BLOCK : tilted->count;
        double inner = 0;
        for (size_t i = to; i > from; --i) inner = inner * ratio + tilted->mass[i - 1];
        if (inner == 0) continue;
        const double exponent = log(inner) + s * loss_of(tilted, from);
        if (exponent > largest) {
            total = total * exp(largest - exponent) + 1;
            largest = exponent;
        } else {
            total += exp(exponent - largest);
        }
    }
    const double rounding = 4 * ROUNDING * (128 + (double)tilted->count / BLOCK + fabs(top));
    return largest + log(total) + rounding;
}

static double log_mgf_all(const dpa__tilted *tilted, size_t count, double s) {
    double total = 0;
    for (size_t k = 0; k < count; ++k) total += tilted[k].steps * log_mgf(&tilted[k], s);
    return total;
}

typedef struct end {
    const dpa__tilted *tilted;
    size_t count;
    double log_tail, sign;
} end;

/* Where the window may end on one side (positive is outwards) by the Chernoff bound at s. */
static double end_at(double s, void *user) {
    const end *e = user;
    return (log_mgf_all(e->tilted, e->count, e->sign * s) - e->log_tail) / s;
}

dpa__range dpa__window(const dpa__tilted *tilted, size_t count, double log_tail) {
    double variance = 0, least = 0, most = 0;
    for (size_t k = 0; k < count; ++k) {
        variance += tilted[k].steps * tilted[k].variance;
        least += tilted[k].steps * loss_of(&tilted[k], 0);
        most += tilted[k].steps * loss_of(&tilted[k], tilted[k].count - 1);
    }
    const double h = tilted[0].h;
    const double start = sqrt(-2 * log_tail / fmax(variance, h * h));
    end above = {tilted, count, log_tail, 1}, below = {tilted, count, log_tail, -1};
    double upper, lower;
    (void)dpa__descend(end_at, &above, start, &upper);
    (void)dpa__descend(end_at, &below, start, &lower);
    /* The sum cannot leave [least, most] at all. */
    return (dpa__range){.lower = fmax(-lower, least),
                        .upper = fmin(upper, most),
                        .log_below = -lower > least ? log_tail : -HUGE_VAL,
                        .log_above = upper < most ? log_tail : -HUGE_VAL};
}
