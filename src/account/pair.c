/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dominating pairs: allocation, and turning a tree into atoms. */
#include "account/pair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "math/dist.h"
#include "math/quad.h"

/* Atoms of two mixtures of Gaussians of one width, P's means at or above 0 and Q's at or below.
 *
 * The ratio of their densities rises with x: e^(c·x/σ²) grows for every mean c ≥ 0 of P and falls
 * for every mean of Q. The line is cut into short pieces. A piece [a,b] has masses p and q by
 * Gauss–Legendre (positive, entire integrands on pieces short against the curvature: 1e-14). Merged
 * into one outcome it is an atom of loss log(p/q): dominated by the pair. Spread to losses at its
 * two ends with p and q kept it dominates: high + low = p, high·e^−L(b) + low·e^−L(a) = q. */

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

static void gaussians_range(const dpa_pair *pair, double log_tail, double range[2]) {
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

static dpa_status gaussians_atoms(const dpa_pair *pair, double resolution, double log_tail,
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

enum { MOST_OUTCOMES = 10000000 };

void dpa_pair_free(dpa_pair *pair) {
    if (pair == NULL) return;
    dpa__atoms_free(&pair->atoms);
    for (size_t side = 0; side < 2; ++side) {
        free(pair->mean[side]);
        free(pair->weight[side]);
    }
    for (size_t k = 0; k < pair->parts; ++k) dpa_pair_free(pair->part[k]);
    free(pair->part);
    free(pair->chance);
    free(pair);
}

/* Fails unless p sums to 1, up to the rounding of the program that wrote it. */
static dpa_status check_pmf(const char *name, const double *p, size_t count, dpa_error *err) {
    double total = 0;
    for (size_t i = 0; i < count; ++i) {
        if (!(p[i] >= 0 && p[i] <= 1))
            return dpa__fail(err, DPA_BAD_INPUT, "%s: mass %zu is %g; it must be in [0, 1]", name,
                             i + 1, p[i]);
        total += p[i];
    }
    if (fabs(total - 1) <= 1e-6) return DPA_OK;
    return dpa__fail(err, DPA_BAD_INPUT, "%s sums to %.9g; a distribution sums to 1", name, total);
}

static dpa_status fill_pmfs(dpa_pair *pair, const double *p, const double *q, size_t count,
                            dpa_error *err) {
    for (size_t i = 0; i < count; ++i) {
        if (p[i] > 0 && q[i] > 0)
            DPA_TRY(dpa__atoms_add(&pair->atoms, log(p[i]) - log(q[i]), log(p[i]), err));
        else if (p[i] > 0)
            pair->atoms.p_sure += p[i];
        else
            pair->atoms.q_sure += q[i];
    }
    pair->atoms.p_out = pair->atoms.p_sure;
    pair->atoms.q_out = pair->atoms.q_sure;
    pair->atoms.error = 1e-15;
    pair->atoms.shift = 1e-15;
    return DPA_OK;
}

dpa_status dpa_pair_new(const double *p, const double *q, size_t count, dpa_pair **out,
                        dpa_error *err) {
    *out = NULL;
    if (count < 1 || count > MOST_OUTCOMES)
        return dpa__fail(err, DPA_BAD_INPUT, "a pair has 1 to %d outcomes, not %zu", MOST_OUTCOMES,
                         count);
    DPA_TRY(check_pmf("p", p, count, err));
    DPA_TRY(check_pmf("q", q, count, err));
    dpa_pair *pair = DPA_NEW(dpa_pair, err);
    if (pair == NULL) return DPA_NO_MEMORY;
    const dpa_status status = fill_pmfs(pair, p, q, count, err);
    if (status != DPA_OK) {
        dpa_pair_free(pair);
        return status;
    }
    *out = pair;
    return DPA_OK;
}

static double *copy_of(const double *from, size_t count, dpa_error *err) {
    double *to = DPA_NEW_ARRAY(double, count, err);
    if (to != NULL) memcpy(to, from, count * sizeof *to);
    return to;
}

dpa_status dpa__pair_gaussians(double sigma, const double *mean_p, const double *weight_p,
                               size_t count_p, const double *mean_q, const double *weight_q,
                               size_t count_q, dpa_pair **out, dpa_error *err) {
    *out = NULL;
    dpa_pair *pair = DPA_NEW(dpa_pair, err);
    if (pair == NULL) return DPA_NO_MEMORY;
    pair->kind = DPA__PAIR_GAUSSIANS;
    pair->sigma = sigma;
    pair->means[0] = count_p;
    pair->means[1] = count_q;
    pair->mean[0] = copy_of(mean_p, count_p, err);
    if (pair->mean[0] != NULL) pair->weight[0] = copy_of(weight_p, count_p, err);
    if (pair->weight[0] != NULL) pair->mean[1] = copy_of(mean_q, count_q, err);
    if (pair->mean[1] != NULL) pair->weight[1] = copy_of(weight_q, count_q, err);
    if (pair->weight[1] == NULL) {
        dpa_pair_free(pair);
        return DPA_NO_MEMORY;
    }
    *out = pair;
    return DPA_OK;
}

dpa_status dpa__pair_laplace(double scale, dpa_pair **out, dpa_error *err) {
    dpa_pair *pair = *out = DPA_NEW(dpa_pair, err);
    if (pair == NULL) return DPA_NO_MEMORY;
    pair->kind = DPA__PAIR_LAPLACE;
    pair->sigma = scale;
    return DPA_OK;
}

dpa_status dpa__pair_choice(dpa_pair **part, const double *chance, size_t count, dpa_pair **out,
                            dpa_error *err) {
    dpa_pair *pair = *out = DPA_NEW(dpa_pair, err);
    if (pair != NULL) {
        pair->kind = DPA__PAIR_CHOICE;
        pair->chance = copy_of(chance, count, err);
        pair->part = pair->chance == NULL ? NULL : DPA_NEW_ARRAY(dpa_pair *, count, err);
    }
    if (pair == NULL || pair->part == NULL) {
        for (size_t k = 0; k < count; ++k) dpa_pair_free(part[k]);
        dpa_pair_free(pair);
        *out = NULL;
        return DPA_NO_MEMORY;
    }
    memcpy(pair->part, part, count * sizeof *part);
    pair->parts = count;
    return DPA_OK;
}

dpa_status dpa__pair_node(dpa__pair_kind kind, dpa_pair *part, double q, dpa_pair **out,
                          dpa_error *err) {
    const double all = 1;
    DPA_TRY(dpa__pair_choice(&part, &all, 1, out, err));
    (*out)->kind = kind;
    (*out)->q = q;
    return DPA_OK;
}

static dpa_status copy_atoms(const dpa__atoms *from, dpa__atoms *to, dpa_error *err) {
    *to = (dpa__atoms){0};
    return dpa__atoms_join(to, from, 1, err);
}

/* A pmf on the grid as atoms; its masses were already rounded to the safe side. */
static dpa_status pmf_atoms(const dpa__pmf *pmf, dpa__atoms *out, dpa_error *err) {
    for (size_t i = 0; i < pmf->count; ++i) {
        const double loss = dpa__loss_at(pmf->origin, pmf->h, pmf->first + (ptrdiff_t)i);
        if (pmf->log_mass[i] > -HUGE_VAL) DPA_TRY(dpa__atoms_add(out, loss, pmf->log_mass[i], err));
    }
    out->shift = pmf->shift;
    return DPA_OK;
}

static dpa_status laplace_atoms(double scale, double resolution, size_t max, dpa__atoms out[2],
                                dpa_error *err) {
    const double epsilon0 = 1 / scale;
    const double h = epsilon0 / ceil(epsilon0 / fmin(resolution, 0.1));
    dpa__loss_cells cells;
    DPA_TRY(dpa__loss_cells_laplace(epsilon0, h, max, &cells, err));
    dpa_status status = DPA_OK;
    for (int side = DPA_OPTIMISTIC; side <= DPA_PESSIMISTIC && status == DPA_OK; ++side) {
        dpa__pmf pmf;
        status = side == DPA_OPTIMISTIC ? dpa__pmf_optimistic(&cells, 1, &pmf, err)
                                        : dpa__pmf_pessimistic(&cells, 1, &pmf, err);
        if (status != DPA_OK) break;
        status = pmf_atoms(&pmf, &out[side], err);
        dpa__pmf_free(&pmf);
    }
    dpa__loss_cells_free(&cells);
    return status;
}

static dpa_status choice_atoms(const dpa_pair *pair, double resolution, double log_tail, size_t max,
                               dpa__atoms out[2], dpa_error *err) {
    double rest = 1;
    for (size_t k = 0; k < pair->parts; ++k) {
        dpa__atoms part[2];
        DPA_TRY(dpa__pair_atoms(pair->part[k], resolution, log_tail, max, part, err));
        dpa_status status = DPA_OK;
        for (int side = 0; side < 2 && status == DPA_OK; ++side)
            status = dpa__atoms_join(&out[side], &part[side], pair->chance[k], err);
        dpa__atoms_free(&part[0]);
        dpa__atoms_free(&part[1]);
        DPA_TRY(status);
        rest -= pair->chance[k];
    }
    for (int side = 0; side < 2; ++side) { /* missing parts may have any loss */
        out[side].p_out += fmax(rest, 0);
        out[side].q_out += fmax(rest, 0);
    }
    return DPA_OK;
}

static dpa_status node_atoms(const dpa_pair *pair, double resolution, double log_tail, size_t max,
                             dpa__atoms out[2], dpa_error *err) {
    DPA_TRY(choice_atoms(pair, resolution, log_tail, max, out, err));
    for (int side = 0; side < 2; ++side) {
        if (pair->kind == DPA__PAIR_SAMPLED) DPA_TRY(dpa__atoms_sample(&out[side], pair->q, err));
        if (pair->kind == DPA__PAIR_SYMMETRIC)
            DPA_TRY(dpa__atoms_symmetric(&out[side], (dpa__rounding)side, err));
    }
    return DPA_OK;
}

static dpa_status leaf_atoms(const dpa_pair *pair, double resolution, double log_tail, size_t max,
                             dpa__atoms out[2], dpa_error *err) {
    if (pair->kind == DPA__PAIR_GAUSSIANS)
        return gaussians_atoms(pair, resolution, log_tail, max, out, err);
    if (pair->kind == DPA__PAIR_LAPLACE)
        return laplace_atoms(pair->sigma, resolution, max, out, err);
    DPA_TRY(copy_atoms(&pair->atoms, &out[0], err));
    return copy_atoms(&pair->atoms, &out[1], err);
}

dpa_status dpa__pair_atoms(const dpa_pair *pair, double resolution, double log_tail, size_t max,
                           dpa__atoms out[2], dpa_error *err) {
    out[0] = out[1] = (dpa__atoms){0};
    const dpa_status status = pair->parts > 0
                                  ? node_atoms(pair, resolution, log_tail, max, out, err)
                                  : leaf_atoms(pair, resolution, log_tail, max, out, err);
    if (status != DPA_OK) {
        dpa__atoms_free(&out[0]);
        dpa__atoms_free(&out[1]);
    }
    return status;
}

static void widen(double range[2], double low, double high) {
    range[0] = fmin(range[0], low);
    range[1] = fmax(range[1], high);
}

void dpa__pair_range(const dpa_pair *pair, double log_tail, double range[2]) {
    range[0] = range[1] = 0;
    for (size_t i = 0; i < pair->atoms.count; ++i)
        widen(range, pair->atoms.loss[i], pair->atoms.loss[i]);
    if (pair->kind == DPA__PAIR_GAUSSIANS) gaussians_range(pair, log_tail, range);
    if (pair->kind == DPA__PAIR_LAPLACE) widen(range, -1 / pair->sigma, 1 / pair->sigma);
    for (size_t k = 0; k < pair->parts; ++k) {
        double part[2];
        dpa__pair_range(pair->part[k], log_tail, part);
        widen(range, part[0], part[1]);
    }
    if (pair->kind == DPA__PAIR_SYMMETRIC) range[0] = -range[1];
    if (pair->kind == DPA__PAIR_SAMPLED)
        for (int end = 0; end < 2; ++end)
            range[end] =
                range[end] > 30 ? range[end] + log(pair->q) : log1p(pair->q * expm1(range[end]));
}

int dpa__pair_is_symmetric(const dpa_pair *pair) {
    return pair->kind == DPA__PAIR_SYMMETRIC || pair->kind == DPA__PAIR_LAPLACE;
}

double dpa__pair_pure(const dpa_pair *pair) {
    if (pair->kind != DPA__PAIR_ATOMS || pair->atoms.p_out > 0 || pair->atoms.q_out > 0)
        return INFINITY;
    double range[2];
    dpa__pair_range(pair, 0, range);
    return fmax(-range[0], range[1]);
}
