/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cells of one Poisson-subsampled Gaussian step.
 *
 * add/remove: P = (1−q)N(0,σ²) + qN(1,σ²) against Q = N(0,σ²), and the reverse (Zhu, Dong, Wang
 * 2022, Theorem 11). replace-one: the same P against (1−q)N(0,σ²) + qN(−1,σ²), which dominates
 * every replacement (docs/methods/account.md has the proof). In both the loss rises with the
 * observation x, so a cell is an interval of x with a closed-form inverse.
 *
 * With lower edge a and upper edge b of a cell (in x; losses g_a < g_b) connect-the-dots needs
 *   u = ∫ dP − e^g_a dQ = ∫ qN(x;1)(1 − e^−w) + κ e^g_a qN(x;−1)(e^w − 1),    w = (x−a)/σ²,
 *   d = ∫ e^g_b dQ − dP = ∫ qN(x;1)(e^v − 1) + κ e^g_b qN(x;−1)(1 − e^−v),    v = (b−x)/σ²,
 * κ = 0 (add/remove) or 1 (replace-one): the terms with 1−q cancel at the edge. The integrands are
 * positive and entire, so Gauss–Legendre on pieces short against the curvature is good to 1e-14. */
#include <math.h>

#include "account/pld.h"
#include "base/error.h"
#include "math/dist.h"
#include "math/logspace.h"
#include "math/quad.h"

enum { RULES = 6, MOST_NODES = 8 };
static const double EDGE_ROUNDING = 8 * 1.2e-16;
static const double LOG_SQRT_2PI = 0.91893853320467274178;

typedef struct rule {
    size_t nodes;
    double reach; /* (width/σ)·(steepness) up to which the relative error is below 1e-14 */
    double node[MOST_NODES], weight[MOST_NODES];
} rule;

typedef struct step {
    double sigma, q, h;
    int replace;
    double left, right; /* x outside this range belongs to the tails */
    rule rules[RULES];
} step;

typedef struct edge {
    double x; /* −INFINITY where the loss is below every x's */
    double g;
} edge;

/* Relative error of n-point Gauss–Legendre on a Gaussian times expm1:
 * 4n·(n!)⁴/((2n+1)(2n)!³)·y^(2n−1), y = width·(|x|+1+√2n)/σ² at most (Hermite polynomials:
 * |He_k(x)| ≤ (|x|+√k)^k). The reaches make it 1e-14 with a factor e^y for the density's variation.
 */
static void make_rules(rule *rules) {
    static const size_t nodes[RULES] = {2, 3, 4, 5, 6, 8};
    static const double reach[RULES] = {1.5e-4, 1.6e-2, 0.13, 0.4, 0.8, 1.5};
    for (size_t r = 0; r < RULES; ++r) {
        rules[r].nodes = nodes[r];
        rules[r].reach = reach[r];
        dpa__gauss_legendre(nodes[r], rules[r].node, rules[r].weight);
    }
}

static double loss_at(const step *s, double x) {
    const double variance = s->sigma * s->sigma;
    const double plus = dpa__log_mixture(s->q, (2 * x - 1) / (2 * variance));
    return s->replace ? plus - dpa__log_mixture(s->q, (-2 * x - 1) / (2 * variance)) : plus;
}

static double inverse_mixture(double q, double g) {
    if (g > 40) return g - log(q) + log1p(-(1 - q) * exp(-g));
    if (g < -1) {
        const double rest = (exp(g) - (1 - q)) / q;
        return rest > 0 ? log(rest) : -HUGE_VAL;
    }
    const double y = expm1(g) / q;
    return y > -1 ? log1p(y) : -HUGE_VAL;
}

/* y = e^(x/σ²) solves q′y² − (1−q)(λ−1)y − λq′ = 0, q′ = q·e^(−1/2σ²), λ = e^g; so
 * log y = g/2 + asinh((1−q)/q′·sinh(g/2)). */
static double inverse_replace(const step *s, double g) {
    const double variance = s->sigma * s->sigma;
    const double half = fabs(g) / 2;
    double bend = 0;
    if (s->q < 1 && half > 0) {
        const double log_sinh = half > 1 ? half - log(2) + log1p(-exp(-2 * half)) : log(sinh(half));
        const double log_s = log1p(-s->q) - log(s->q) + 1 / (2 * variance) + log_sinh;
        bend = log_s > 20 ? log_s + log(2) : asinh(exp(log_s));
    }
    return copysign(variance * (half + bend), g);
}

static edge edge_at(const step *s, double g) {
    const double variance = s->sigma * s->sigma;
    const double x = s->replace ? inverse_replace(s, g) : variance * inverse_mixture(s->q, g) + 0.5;
    return (edge){x, g};
}

static double log_normal(double x, double mean, double sigma) {
    const double t = (x - mean) / sigma;
    return -t * t / 2 - log(sigma) - LOG_SQRT_2PI;
}

/* e^log_a·(e^t − 1), t ≥ 0, when e^t alone may overflow. */
static double grown(double log_a, double t) {
    return t > 1 ? exp(log_a + t) - exp(log_a) : exp(log_a) * expm1(t);
}

/* Roughly the logarithm of the larger term of the integrands of u and of d, used as their scale. */
typedef struct scales {
    double u, d;
} scales;

static scales scales_at(const step *s, edge a, edge b, double x) {
    const double variance = s->sigma * s->sigma, plus = log_normal(x, 1, s->sigma);
    scales out = {plus, plus + (b.x - x) / variance};
    if (isinf(a.x)) out.u = fmax(out.u, log_normal(x, 0, s->sigma));
    if (s->replace) {
        const double minus = log_normal(x, -1, s->sigma);
        out.u = fmax(out.u, minus + a.g + (x - a.x) / variance);
        out.d = fmax(out.d, minus + b.g);
    }
    return out;
}

/* The largest scale over [from, to]: the terms are Gaussians around −1, 0 and 1, so for short
 * intervals the ends suffice. */
static scales scales_over(const step *s, edge a, edge b, double from, double to, int wide) {
    const double at[5] = {from, to, fmin(fmax(0, from), to), fmin(fmax(1, from), to),
                          fmin(fmax(-1, from), to)};
    scales most = {-HUGE_VAL, -HUGE_VAL};
    for (size_t k = 0; k < (wide ? 5 : 2); ++k) {
        const scales here = scales_at(s, a, b, at[k]);
        most.u = fmax(most.u, here.u);
        most.d = fmax(most.d, here.d);
    }
    return most;
}

/* The integrands of u and d at x, times e^−scale/q. */
static void integrands(const step *s, edge a, edge b, double x, scales scale, double *u,
                       double *d) {
    const double variance = s->sigma * s->sigma;
    const double plus = log_normal(x, 1, s->sigma), v = (b.x - x) / variance;
    *d = grown(plus - scale.d, v);
    if (isinf(a.x)) /* below the smallest loss: dP − e^g dQ = (1−q−e^g)N(x;0) + qN(x;1) */
        *u = exp(plus - scale.u) +
             fmax(-(expm1(a.g) + s->q), 0) / s->q * exp(log_normal(x, 0, s->sigma) - scale.u);
    else
        *u = exp(plus - scale.u) * -expm1(-(x - a.x) / variance);
    if (!s->replace) return;
    const double minus = log_normal(x, -1, s->sigma);
    *u += grown(minus + a.g - scale.u, (x - a.x) / variance);
    *d += exp(minus + b.g - scale.d) * -expm1(-v);
}

static void integrate_piece(const step *s, edge a, edge b, const double piece[2], scales scale,
                            const rule *r, double *u, double *d) {
    const double middle = 0.5 * (piece[0] + piece[1]), half = 0.5 * (piece[1] - piece[0]);
    for (size_t k = 0; k < r->nodes; ++k) {
        double at_u, at_d;
        integrands(s, a, b, middle + half * r->node[k], scale, &at_u, &at_d);
        *u += half * r->weight[k] * at_u;
        *d += half * r->weight[k] * at_d;
    }
}

/* log u and log d over the part of [a,b] inside the truncation. */
static void integrate_cell(const step *s, edge a, edge b, double *log_u, double *log_d) {
    const double from = fmax(a.x, s->left), to = fmin(b.x, s->right);
    *log_u = *log_d = -HUGE_VAL;
    if (!(from < to)) return;
    const double steep = (fmax(fabs(from), fabs(to)) + 2) / s->sigma + 4;
    const double y = (to - from) / s->sigma * steep;
    size_t which = 0;
    while (which + 1 < RULES && s->rules[which].reach < y) ++which;
    const size_t count = (size_t)fmax(ceil(y / s->rules[which].reach), 1);
    const scales scale = scales_over(s, a, b, from, to, y > 0.1);
    double u = 0, d = 0;
    for (size_t k = 0; k < count; ++k) {
        const double width = (to - from) / (double)count;
        const double piece[2] = {from + width * (double)k,
                                 k + 1 < count ? from + width * (double)(k + 1) : to};
        integrate_piece(s, a, b, piece, scale, &s->rules[which], &u, &d);
    }
    *log_u = log(u) + scale.u + log(s->q);
    *log_d = log(d) + scale.d + log(s->q);
}

/* Where x may be truncated: at most e^log_tail of P's and of Q's mass lies beyond each end. */
static void truncate_at(step *s, double log_tail) {
    const double shifted = fmin(log_tail - log(s->q), log(0.5));
    const double wide = dpa__norm_quantile(log_tail, DPA_LOG_UPPER) * s->sigma;
    const double far = 1 + dpa__norm_quantile(shifted, DPA_LOG_UPPER) * s->sigma;
    s->right = fmax(wide, far);
    s->left = s->replace ? -s->right : -wide;
}

/* Quadrature and log masses down to −800 contribute 2e-13. Edges: x is rounded, which moves the
 * loss there by that rounding over σ² times dL/dz (at most 1, and 1−(1−q)e^−L for add/remove). So
 * it changes the distance h of two edges, in which low and high are measured. */
static double cell_error(const step *s, edge a, edge b) {
    const double slope = s->replace ? 1 : fmin(1 - (1 - s->q) * exp(-b.g) + 1e-15, 1);
    const double x = fmax(fabs(fmax(a.x, s->left)), fabs(fmax(b.x, s->left)));
    const double moved = slope * x / (s->sigma * s->sigma) + fmax(fabs(a.g), fabs(b.g)) + s->q;
    return 2e-13 + 2 * EDGE_ROUNDING * moved / s->h;
}

/* With little noise nearly all of Q, and 1−q of P, have losses in a cluster just above log(1−q)
 * that is far narrower than a cell. If no grid point lies in it, pmf.c finds no partner to
 * merge it with, and the optimistic side is wrong by a share of h per step. So a grid point g is
 * placed such that everything below the next one, x < b, has exactly the ratio e^g:
 *   e^g = P(x<b)/Q(x<b) = 1 − q + q·Φ((b−1)/σ)/Φ(b/σ), loss(b) = g + h.
 *
 * A few iterations from g = log(1−q) come near enough, since every origin is valid. Replace-one
 * has its cluster around 0 by symmetry. */
static double origin_for(const step *s) {
    if (s->replace || s->q == 1) return 0;
    double g = log1p(-s->q);
    for (int number = 0; number < 8; ++number) {
        const double b = edge_at(s, g + s->h).x;
        const double log_ratio = dpa__norm_cdf((b - 1) / s->sigma, DPA_LOG_LOWER) -
                                 dpa__norm_cdf(b / s->sigma, DPA_LOG_LOWER);
        g = log1p(s->q * expm1(log_ratio));
    }
    return g - s->h * round(g / s->h);
}

double dpa__gaussian_span(double sigma, double q, dpa_adjacency adjacency, double log_tail) {
    step s = {.sigma = sigma, .q = q, .replace = adjacency == DPA_REPLACE_ONE};
    truncate_at(&s, log_tail);
    return loss_at(&s, s.right) - loss_at(&s, s.left);
}

dpa_status dpa__loss_cells_gaussian(double sigma, double q, dpa_adjacency adjacency, double h,
                                    double log_tail, size_t max, dpa__loss_cells *out,
                                    dpa_error *err) {
    step s = {.sigma = sigma, .q = q, .h = h, .replace = adjacency == DPA_REPLACE_ONE};
    make_rules(s.rules);
    truncate_at(&s, log_tail);
    const double lowest = loss_at(&s, s.left), highest = loss_at(&s, s.right);
    const double origin = origin_for(&s);
    DPA_TRY(dpa__loss_cells_alloc(h, floor((lowest - origin) / h) - 1,
                                  ceil((highest - origin) / h) + 1, max, out, err));
    out->origin = origin;
    edge a = edge_at(&s, dpa__loss_at(origin, h, out->first));
    for (size_t i = 0; i < out->count; ++i) {
        const edge b = edge_at(&s, dpa__loss_at(origin, h, out->first + (ptrdiff_t)i + 1));
        double log_u, log_d;
        integrate_cell(&s, a, b, &log_u, &log_d);
        out->log_high[i] = log_u - log(-expm1(-h));
        out->log_low[i] = log_d - log(expm1(h));
        out->error[i] = (float)cell_error(&s, a, b);
        a = b;
    }
    const double reach = fmax(fabs(s.left), fabs(s.right)) / (sigma * sigma);
    out->shift = EDGE_ROUNDING * (1 + reach + fmax(fabs(lowest), fabs(highest)));
    out->p_out = out->q_out = 4 * exp(log_tail);
    return DPA_OK;
}
