/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gaussian mixtures in one dimension by EM.
 *
 * One step costs count × components exponentials (mixture_block.c); points of weight 0 are left out
 * beforehand. The variances are kept at or above FLOOR times the sample's: the constrained
 * maximiser of each step is the larger of the two, so the likelihood still never falls (tests
 * assert it), and a component cannot collapse on one point. Ends when a step gains less than
 * TOLERANCE per point. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/simd.h"
#include "estimate/epsilon_star.h"
#include "math/logspace.h"

/* The expectation step of EM over one block of points, in loops that compilers turn into vector
 * instructions: per component and point one exponential, per point one logarithm.
 *
 * The exponential of x ≤ 0: x = n·log 2 + r, |r| ≤ log(2)/2, e^r by its series to r¹³ (the rest is
 * below 5e-18), 2^n added to the exponent's bits. The logarithm of x in [1, 2⁵²): x = m·2^n with m
 * in [√½, √2), log m = 2·atanh((m−1)/(m+1)) by its series. Both are within 4e-16 (tests). Below
 * LEAST the exponential stays at e^LEAST, 1e-304. Sums run over DPA_LANES lanes, so all
 * instruction sets give the same bytes. */

/* Adding this to a small number leaves the nearest integer in the lowest bits. */
static const double ROUND = 6755399441055744.0; /* 1.5·2⁵² */
static const double LOG2_E = 1.4426950408889634, LN2_HIGH = 0x1.62e42fefa3800p-1,
                    LN2_LOW = 0x1.ef35793c76730p-45, LEAST = -700.0;

/* A separate loop, because gcc would turn the choice into a jump around the exponential. */
static inline void keep_above_least(double *x) {
    for (size_t i = 0; i < DPA__BLOCK; ++i) x[i] = x[i] > LEAST ? x[i] : LEAST;
}

static inline double exponential(double x) {
    const double shifted = x * LOG2_E + ROUND, n = shifted - ROUND;
    const double r = (x - n * LN2_HIGH) - n * LN2_LOW;
    double p = 1.0 / 6227020800;
    p = p * r + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = (p * r) * r + r;
    return dpa__of_bits(dpa__bits_of(1.0 + p) + (dpa__bits_of(shifted) << 52));
}

static inline double logarithm(double x) {
    const uint64_t root_half = UINT64_C(0x3fe6a09e667f3bcd), fraction = UINT64_C(0xfffffffffffff);
    const uint64_t above = dpa__bits_of(x) - root_half;
    const uint64_t exponent = above >> 52; /* x ≥ 1: it is ≥ 0 */
    const double m = dpa__of_bits((above & fraction) + root_half);
    const double n = dpa__of_bits(dpa__bits_of(ROUND) + exponent) - ROUND;
    const double s = (m - 1.0) / (m + 1.0), q = s * s;
    double p = 1.0 / 21;
    p = p * q + 1.0 / 19;
    p = p * q + 1.0 / 17;
    p = p * q + 1.0 / 15;
    p = p * q + 1.0 / 13;
    p = p * q + 1.0 / 11;
    p = p * q + 1.0 / 9;
    p = p * q + 1.0 / 7;
    p = p * q + 1.0 / 5;
    p = p * q + 1.0 / 3;
    return n * LN2_HIGH + (2.0 * s + (2.0 * s * q * p + n * LN2_LOW));
}

DPA_CLONES void dpa__block_exp(double *x) {
    keep_above_least(x);
    for (size_t i = 0; i < DPA__BLOCK; ++i) x[i] = exponential(x[i]);
}

DPA_CLONES void dpa__block_log(double *x) {
    for (size_t i = 0; i < DPA__BLOCK; ++i) x[i] = logarithm(x[i]);
}

/* Adds the lanes pairwise. */
static inline double fold(double *lane) {
    for (size_t width = DPA_LANES / 2; width > 0; width /= 2)
        for (size_t l = 0; l < width; ++l) lane[l] += lane[l + width];
    return lane[0];
}

/* Σ r, Σ r·d, Σ r·d² with r = density·factor, d = x − centre. */
static inline dpa__moments moments_of(const double *density, const double *factor, const double *x,
                                      double centre) {
    double weight[DPA_LANES] = {0}, first[DPA_LANES] = {0}, second[DPA_LANES] = {0};
    for (size_t i = 0; i < DPA__BLOCK; i += DPA_LANES)
        for (size_t l = 0; l < DPA_LANES; ++l) {
            const double r = density[i + l] * factor[i + l], d = x[i + l] - centre;
            weight[l] += r;
            first[l] += r * d;
            second[l] += r * d * d;
        }
    return (dpa__moments){fold(weight), fold(first), fold(second)};
}

DPA_CLONES double dpa__mixture_block(const dpa__mixture_terms *t, const double *x,
                                     const double *weight, dpa__moments *sum) {
    double term[DPA_MIXTURE_MAX][DPA__BLOCK], most[DPA__BLOCK], total[DPA__BLOCK] = {0};
    double factor[DPA__BLOCK], lane[DPA_LANES] = {0};
    for (size_t i = 0; i < DPA__BLOCK; ++i) most[i] = -1e300;
    for (size_t j = 0; j < t->count; ++j)
        for (size_t i = 0; i < DPA__BLOCK; ++i) {
            const double z = (x[i] - t->mean[j]) * t->scale[j];
            const double here = t->log_factor[j] - 0.5 * z * z;
            term[j][i] = here;
            most[i] = here > most[i] ? here : most[i];
        }
    for (size_t j = 0; j < t->count; ++j) {
        for (size_t i = 0; i < DPA__BLOCK; ++i) term[j][i] -= most[i];
        keep_above_least(term[j]);
        for (size_t i = 0; i < DPA__BLOCK; ++i) {
            term[j][i] = exponential(term[j][i]);
            total[i] += term[j][i];
        }
    }
    for (size_t i = 0; i < DPA__BLOCK; ++i) factor[i] = weight[i] / total[i];
    for (size_t j = 0; j < t->count; ++j) {
        const dpa__moments m = moments_of(term[j], factor, x, t->centre);
        sum[j].weight += m.weight;
        sum[j].first += m.first;
        sum[j].second += m.second;
    }
    for (size_t i = 0; i < DPA__BLOCK; i += DPA_LANES)
        for (size_t l = 0; l < DPA_LANES; ++l)
            lane[l] += weight[i + l] * (most[i + l] + logarithm(total[i + l]));
    return fold(lane);
}

static const double FLOOR = 1e-6, TOLERANCE = 1e-8, VANISHED = 1e-8;
/* The log of a weight of 0: its component is nowhere the likeliest. */
static const double LOG_NOTHING = -1e5;

typedef struct step {
    double *x, *weight; /* the points with weight, padded to whole blocks with weight 0 */
    size_t count;
    double total, floor;
    dpa__mixture_terms terms;
    dpa__moments sum[DPA_MIXTURE_MAX];
} step;

static dpa_status step_new(step *e, const dpa__weighted *s, double centre, dpa_error *err) {
    size_t used = 0;
    for (size_t i = 0; i < s->count; ++i) used += s->weight == NULL || s->weight[i] > 0;
    e->count = (used + DPA__BLOCK - 1) / DPA__BLOCK * DPA__BLOCK;
    e->x = DPA_NEW_ARRAY(double, 2 * e->count, err);
    if (e->x == NULL) return DPA_NO_MEMORY;
    e->weight = e->x + e->count;
    size_t at = 0;
    for (size_t i = 0; i < s->count; ++i) {
        if (s->weight != NULL && s->weight[i] == 0) continue;
        e->x[at] = s->value[i];
        e->weight[at++] = s->weight != NULL ? (double)s->weight[i] : 1.0;
    }
    for (; at < e->count; ++at) {
        e->x[at] = centre;
        e->weight[at] = 0.0;
    }
    e->total = s->total;
    e->terms.centre = centre;
    return DPA_OK;
}

/* Sums block by block, which keeps rounding errors small. */
static double expectation(step *e, const dpa_mixture *m) {
    dpa__mixture_terms *t = &e->terms;
    dpa__sum likelihood = {0, 0};
    memset(e->sum, 0, sizeof e->sum);
    t->count = m->count;
    for (size_t j = 0; j < m->count; ++j) {
        t->mean[j] = m->mean[j];
        t->scale[j] = 1.0 / m->deviation[j];
        t->log_factor[j] =
            fmax(log(m->weight[j]), LOG_NOTHING) - log(m->deviation[j]) - 0.5 * log(2.0 * M_PI);
    }
    for (size_t i = 0; i < e->count; i += DPA__BLOCK)
        dpa__sum_add(&likelihood, dpa__mixture_block(t, e->x + i, e->weight + i, e->sum));
    return dpa__sum_get(&likelihood);
}

static void maximisation(const step *e, dpa_mixture *m) {
    for (size_t j = 0; j < m->count; ++j) {
        const dpa__moments *s = &e->sum[j];
        m->weight[j] = s->weight / e->total;
        if (!(s->weight > VANISHED)) continue; /* nothing to estimate the rest from */
        const double mean = s->first / s->weight;
        m->mean[j] = e->terms.centre + mean;
        m->deviation[j] = sqrt(fmax(s->second / s->weight - mean * mean, e->floor));
    }
}

static void sort_components(dpa_mixture *m) {
    for (size_t i = 1; i < m->count; ++i)
        for (size_t j = i; j > 0 && m->mean[j] < m->mean[j - 1]; --j) {
            double *const field[3] = {m->weight, m->mean, m->deviation};
            for (int f = 0; f < 3; ++f) {
                const double held = field[f][j];
                field[f][j] = field[f][j - 1];
                field[f][j - 1] = held;
            }
        }
}

/* Steps until one gains too little, or `most`. */
static dpa_status run_steps(step *e, dpa_mixture *m, unsigned most, double *trace,
                            dpa__watch *watch, dpa_error *err) {
    double before = -HUGE_VAL;
    m->converged = 0;
    for (m->iterations = 0; m->iterations < most && !m->converged; ++m->iterations) {
        m->log_likelihood = expectation(e, m);
        if (trace != NULL) trace[m->iterations] = m->log_likelihood;
        m->converged = m->log_likelihood - before < TOLERANCE * e->total;
        before = m->log_likelihood;
        if (!m->converged) maximisation(e, m);
        if (watch != NULL && dpa__watch_count(watch))
            return dpa__fail(err, DPA_CANCELLED, "%s: stopped on request", watch->what);
    }
    if (!m->converged) m->log_likelihood = expectation(e, m);
    m->bic = -2.0 * m->log_likelihood + (3.0 * (double)m->count - 1.0) * log(e->total);
    sort_components(m);
    return DPA_OK;
}

dpa_status dpa__mixture_em(const dpa__weighted *sample, dpa_mixture *m, unsigned most,
                           double *trace, dpa__watch *watch, dpa_error *err) {
    dpa_mixture whole;
    DPA_TRY(dpa__normal_fit(sample, "given", &whole, err));
    step e = {.floor = FLOOR * whole.deviation[0] * whole.deviation[0]};
    DPA_TRY(step_new(&e, sample, whole.mean[0], err));
    const dpa_status status = run_steps(&e, m, most, trace, watch, err);
    free(e.x);
    return status;
}
