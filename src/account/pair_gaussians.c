/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Atoms of two mixtures of Gaussians of one width, P's means at or above 0 and Q's at or below.
 *
 * The ratio of their densities rises with x: e^(c·x/σ²) grows for every mean c ≥ 0 of P and falls
 * for every mean of Q. The line is cut into short pieces. A piece [a,b] has masses p and q by
 * Gauss–Legendre (positive, entire integrands on pieces short against the curvature: 1e-14). Merged
 * into one outcome it is an atom of loss log(p/q): dominated by the pair. Spread to losses at its
 * two ends with p and q kept it dominates: high + low = p, high·e^−L(b) + low·e^−L(a) = q. */
#include <math.h>

#include "account/pair.h"
#include "base/error.h"
#include "math/dist.h"
#include "math/quad.h"

enum { NODES = 6 };
static const double LOG_SQRT_2PI = 0.91893853320467274178;
static const double ROUNDING = 1.2e-16;

static double log_density(const dpa_pair *pair, int which, double x) {
    const double *mean = pair->mean[which], *weight = pair->weight[which];
    double top = -HUGE_VAL, sum = 0;
    for (size_t i = 0; i < pair->means[which]; ++i) {
        const double t = (x - mean[i]) / pair->sigma;
        if (weight[i] > 0) top = fmax(top, -t * t / 2);
    }
    for (size_t i = 0; i < pair->means[which]; ++i) {
        const double t = (x - mean[i]) / pair->sigma;
        sum += weight[i] * exp(-t * t / 2 - top);
    }
    return top + log(sum) - log(pair->sigma) - LOG_SQRT_2PI;
}

static double loss_at(const dpa_pair *pair, double x) {
    return log_density(pair, 0, x) - log_density(pair, 1, x);
}

typedef struct line {
    double left, right; /* at most e^log_tail of either mass lies outside */
    double reach;       /* the largest mean of P minus the smallest of Q */
} line;

static line line_of(const dpa_pair *pair, double log_tail) {
    double high = 0, low = 0;
    for (size_t i = 0; i < pair->means[0]; ++i) high = fmax(high, pair->mean[0][i]);
    for (size_t i = 0; i < pair->means[1]; ++i) low = fmin(low, pair->mean[1][i]);
    const double far = dpa__norm_quantile(log_tail, DPA_LOG_UPPER) * pair->sigma;
    return (line){low - far, high + far, high - low};
}

void dpa__gaussians_range(const dpa_pair *pair, double log_tail, double range[2]) {
    const line l = line_of(pair, log_tail);
    range[0] = loss_at(pair, l.left);
    range[1] = loss_at(pair, l.right);
}

typedef struct piece {
    double log_p, log_q;
} piece;

static piece integrate(const dpa_pair *pair, double a, double b, const double *node,
                       const double *weight) {
    const double middle = 0.5 * (a + b), half = 0.5 * (b - a);
    double at[2][NODES], top[2] = {-HUGE_VAL, -HUGE_VAL}, sum[2] = {0, 0};
    for (int which = 0; which < 2; ++which) {
        for (size_t k = 0; k < NODES; ++k) {
            at[which][k] = log_density(pair, which, middle + half * node[k]);
            top[which] = fmax(top[which], at[which][k]);
        }
        for (size_t k = 0; k < NODES; ++k) sum[which] += weight[k] * exp(at[which][k] - top[which]);
    }
    return (piece){top[0] + log(half * sum[0]), top[1] + log(half * sum[1])};
}

/* Splits the P-mass of a piece between its two ends: (p − e^L(a)·q)/(1 − e^−(L(b)−L(a))) goes to b.
 * If both ends have the same loss, the split does not matter. */
static dpa_status spread(dpa__atoms *atoms, piece m, double low, double high, dpa_error *err) {
    const double width = high - low;
    double share = 1;
    if (width > 0) share = fmin(fmax(-expm1(low - (m.log_p - m.log_q)) / -expm1(-width), 0), 1);
    if (share > 0) DPA_TRY(dpa__atoms_add(atoms, high, m.log_p + log(share), err));
    if (share < 1) DPA_TRY(dpa__atoms_add(atoms, low, m.log_p + log1p(-share), err));
    return DPA_OK;
}

static dpa_status cut(const dpa_pair *pair, const line *l, size_t count, dpa__atoms out[2],
                      dpa_error *err) {
    double node[NODES], weight[NODES];
    dpa__gauss_legendre(NODES, node, weight);
    const double width = (l->right - l->left) / (double)count;
    double a = l->left, low = loss_at(pair, a);
    for (size_t i = 0; i < count; ++i) {
        const double b = i + 1 < count ? l->left + width * (double)(i + 1) : l->right;
        const double high = fmax(loss_at(pair, b), low);
        const piece m = integrate(pair, a, b, node, weight);
        const double loss = fmin(fmax(m.log_p - m.log_q, low), high);
        DPA_TRY(dpa__atoms_add(&out[DPA_OPTIMISTIC], loss, m.log_p, err));
        DPA_TRY(spread(&out[DPA_PESSIMISTIC], m, low, high, err));
        a = b;
        low = high;
    }
    return DPA_OK;
}

dpa_status dpa__gaussians_atoms(const dpa_pair *pair, double resolution, double log_tail,
                                size_t max, dpa__atoms out[2], dpa_error *err) {
    const line l = line_of(pair, log_tail);
    const double variance = pair->sigma * pair->sigma, span = l.right - l.left;
    const double far = fmax(fabs(l.left), fabs(l.right));
    /* The loss rises by at most reach/σ² per unit; the quadrature needs pieces short against
     * σ²/|x|. */
    const double width = fmin(resolution * variance / l.reach, 0.25 * variance / (far + l.reach));
    const double count = ceil(span / fmin(width, 0.25 * pair->sigma));
    if (!(count <= (double)max))
        return dpa__fail(err, DPA_NUMERIC,
                         "a mixture of Gaussians needs %.3g pieces, more than the grid limit %zu: "
                         "raise the tolerance, or max_grid of the library",
                         count, max);
    DPA_TRY(cut(pair, &l, (size_t)count, out, err));
    const double size = (far + l.reach) * (far + l.reach) / variance; /* size of an exponent */
    for (int side = 0; side < 2; ++side) {
        out[side].p_out = out[side].q_out = 2 * exp(log_tail);
        out[side].error = 2e-14 + 8 * ROUNDING * size;
        out[side].shift = 4e-14 + 16 * ROUNDING * size;
    }
    return DPA_OK;
}
