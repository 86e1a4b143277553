/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The expectation step of EM over one block of points, in loops that compilers turn into vector
 * instructions: per component and point one exponential, per point one logarithm.
 *
 * The exponential of x ≤ 0: x = n·log 2 + r, |r| ≤ log(2)/2, e^r by its series to r¹³ (the rest is
 * below 5e-18), 2^n added to the exponent's bits. The logarithm of x in [1, 2⁵²): x = m·2^n with m
 * in [√½, √2), log m = 2·atanh((m−1)/(m+1)) by its series. Both are within 4e-16 (tests). Below
 * LEAST the exponential stays at e^LEAST, 1e-304. Sums run over DPA_LANES lanes, so all
 * instruction sets give the same bytes. */

#include "base/simd.h"
#include "estimate/epsilon_star.h"

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
