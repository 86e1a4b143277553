/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ε between two arbitrary Gaussians (one-shot-federated, Appendix A), in the log domain.
 *
 * Shift and scale so that the second is N(0,1) and the first N(m,s²), m ≥ 0. The privacy loss
 * L(x) = log p₁/p₂ is a parabola; with D = m² + 2(s²−1)(log s + ε) its crossings of ε are, in units
 * of the first law (y) and of the second (x),
 *   y₁ = (2(log s + ε) − m²)/(√D + ms),     x₁ = (m² + 2s²(log s + ε))/(s√D + m),
 *   y₂ = −(ms + √D)/(s²−1),                 x₂ = −(m + s√D)/(s²−1):
 * forms of the appendix's roots that do not cancel and that go over into the equal-variance case as
 * s → 1 (the second crossing leaves for infinity). L > ε outside [y₂,y₁] when s > 1, inside
 * [y₁,y₂] when s < 1. From a crossing, u units into that region, L − ε = √D u + (s²−1)u²/2, so
 *   δ(ε) = Σ over crossings of φ(y) ∫ e^{−|y|u − u²/2} (1 − e^{−√D u − (s²−1)u²/2}) du.
 * Where the two probabilities of the appendix nearly cancel this integral is taken by
 * Gauss–Legendre panels, elsewhere their difference. ε is then found in a bracket. Relative error
 * of ε below 1e-11 against 80-digit numbers, ratios of deviations 1e±6, δ down to 1e-300
 * (tests/known/test_two_gaussians.c). */
#include <math.h>
#include <stddef.h>

#include "math/dist.h"
#include "math/logspace.h"
#include "math/root.h"
#include "tradeoff/tradeoff.h"

enum { NODES = 20, PANELS_MAX = 64 };

/* Gauss–Legendre nodes on [−1,1] and their weights. */
static const double rule[NODES][2] = {
    {-0.99312859918509488, 0.017614007139152208}, {-0.96397192727791381, 0.04060142980038705},
    {-0.91223442825132595, 0.062672048334109068}, {-0.83911697182221889, 0.083276741576704727},
    {-0.7463319064601508, 0.10193011981724048},   {-0.63605368072651502, 0.11819453196151831},
    {-0.51086700195082713, 0.13168863844917653},  {-0.37370608871541955, 0.14209610931838196},
    {-0.2277858511416451, 0.14917298647260382},   {-0.076526521133497338, 0.15275338713072598},
    {0.076526521133497338, 0.15275338713072598},  {0.2277858511416451, 0.14917298647260382},
    {0.37370608871541955, 0.14209610931838196},   {0.51086700195082713, 0.13168863844917653},
    {0.63605368072651502, 0.11819453196151831},   {0.7463319064601508, 0.10193011981724048},
    {0.83911697182221889, 0.083276741576704727},  {0.91223442825132595, 0.062672048334109068},
    {0.96397192727791381, 0.04060142980038705},   {0.99312859918509488, 0.017614007139152208},
};

/* N(m,s²) against N(0,1), s ≠ 1. */
typedef struct pair {
    double m, s;
    double log_s;
    double excess; /* s² − 1 */
    double target; /* log of the δ that is asked for */
} pair;

typedef struct crossing {
    double y, x; /* distance of the crossing, signed such that the region L > ε lies above */
} crossing;

/* log of φ(y) ∫₀^limit e^{−yu−u²/2} (1 − e^{−au−bu²/2}) du */
static double log_excess(const pair *p, double y, double root_d, double limit) {
    const double reach = 90.0 / (y + sqrt(y * y + 90.0)); /* e^−45 of the start, or of the top */
    const double length = fmin(reach, limit);
    size_t panels = 6 + (size_t)fmin(0.5 * length, PANELS_MAX - 6);
    const double width = length / (double)panels;
    dpa__sum sum = {0.0, 0.0};
    for (size_t k = 0; k < panels; ++k)
        for (size_t i = 0; i < NODES; ++i) {
            const double u = width * ((double)k + 0.5 * (1.0 + rule[i][0]));
            const double loss = root_d * u + 0.5 * p->excess * u * u;
            dpa__sum_add(&sum, rule[i][1] * exp(-u * (y + 0.5 * u)) * -expm1(-fmax(0.0, loss)));
        }
    return dpa__norm_log_pdf(y) + log(0.5 * width * dpa__sum_get(&sum));
}

/* log of e^ε times the second law's mass between the crossing and the point `limit` units of the
 * first law further on. At a crossing e^ε φ(x) = φ(y)/s, which removes e^ε: ε may be 1e40, and log
 * Φ(−x) about −ε. */
static double log_second(const pair *p, crossing c, double epsilon, double limit) {
    if (epsilon < 1e10 && !isinf(limit)) /* an error of ε·1e-16 here changes ε by 1e-16 */
        return dpa__norm_log_interval(c.x, c.x + p->s * limit) + epsilon;
    const double here = dpa__norm_log_pdf(c.y) + dpa__log_mills(c.x) - p->log_s;
    if (isinf(limit)) return here;
    const double there =
        dpa__norm_log_pdf(c.y + limit) + dpa__log_mills(c.x + p->s * limit) - p->log_s;
    return there < here ? dpa__log_sub(here, there) : here;
}

/* log(Pr₁ − e^ε Pr₂) of the part of the region that begins at a crossing; `limit` is its length in
 * units of the first law. */
static double log_part(const pair *p, crossing c, double epsilon, double root_d, double limit) {
    const int flat = !isinf(limit) && root_d * limit < 4.0; /* L − ε < 1 everywhere */
    if (flat) return log_excess(p, c.y, root_d, limit);
    const double first =
        isinf(limit) ? dpa__norm_cdf(c.y, DPA_LOG_UPPER) : dpa__norm_log_interval(c.y, c.y + limit);
    const double second = log_second(p, c, epsilon, limit);
    if (!(second < first - 0.1)) return log_excess(p, c.y, root_d, limit);
    return first + dpa__log1m_exp(second - first);
}

static double log_delta(const pair *p, double epsilon) {
    const double shift = p->log_s + epsilon;
    const double d = p->m * p->m + 2.0 * p->excess * shift;
    if (!(d > 0.0)) return -INFINITY; /* s < 1 and ε above the largest loss */
    const double root_d = sqrt(d);
    const crossing near = {(2.0 * shift - p->m * p->m) / (root_d + p->m * p->s),
                           (p->m * p->m + 2.0 * p->s * p->s * shift) / (p->s * root_d + p->m)};
    if (p->excess < 0.0) return log_part(p, near, epsilon, root_d, 2.0 * root_d / -p->excess);
    const crossing far = {(p->m * p->s + root_d) / p->excess, (p->m + p->s * root_d) / p->excess};
    return dpa__log_add(log_part(p, near, epsilon, root_d, HUGE_VAL),
                        log_part(p, far, epsilon, root_d, HUGE_VAL));
}

static double gap(double epsilon, void *user) {
    const pair *p = user;
    const double value = log_delta(p, epsilon);
    /* Far below the target only the sign matters; a finite value keeps the interpolation going. */
    return fmin(p->target - value, 1e6);
}

static double solve(pair *p) {
    if (gap(0.0, p) >= 0.0) return 0.0;
    double low = 0.0, high = 1.0;
    /* s < 1: the loss is bounded by its value at the top of the parabola */
    const double top = p->excess < 0.0 ? 0.5 * p->m * p->m / -p->excess - p->log_s : HUGE_VAL;
    while (high < top && gap(high, p) < 0.0) {
        low = high;
        high *= 4.0;
    }
    dpa__bracket root;
    if (dpa__root(gap, p, low, fmin(high, top), 0.0, 1e-15, &root, NULL) != DPA_OK)
        return fmin(high, top);
    return root.upper;
}

/* If a law is a point mass, it can be told from anything but itself. */
static double point_masses(double mu1, double s1, double mu2, double s2) {
    return s1 == s2 && mu1 == mu2 ? 0.0 : HUGE_VAL;
}

double dpa__two_gaussians_directed(double mu1, double s1, double mu2, double s2, double delta) {
    if (!isfinite(mu1) || !isfinite(mu2) || !(s1 >= 0.0 && isfinite(s1)) ||
        !(s2 >= 0.0 && isfinite(s2)) || !(delta >= 0.0 && delta <= 1.0))
        return NAN;
    if (delta == 1.0) return 0.0;
    if (s1 == 0.0 || s2 == 0.0) return point_masses(mu1, s1, mu2, s2);
    const double distance = fabs(mu1 - mu2) / s2;
    if (s1 == s2) return dpa_gaussian_epsilon(distance, delta);
    pair p = {.m = distance, .s = s1 / s2};
    const double over = (s1 - s2) / s2; /* s − 1 without rounding s first */
    p.log_s = fabs(over) < 0.5 ? log1p(over) : log(p.s);
    p.excess = over * (p.s + 1.0);
    p.target = log(delta);
    if (!isfinite(p.m * p.m) || !isfinite(p.excess * p.s)) return INFINITY; /* ε overflows too */
    if (delta == 0.0) {
        if (p.excess > 0.0) return INFINITY;
        return 0.5 * p.m * p.m / -p.excess - p.log_s;
    }
    return solve(&p);
}

double dpa__two_gaussians_epsilon(double mu1, double s1, double mu2, double s2, double delta) {
    const double there = dpa__two_gaussians_directed(mu1, s1, mu2, s2, delta);
    const double back = dpa__two_gaussians_directed(mu2, s2, mu1, s1, delta);
    return there > back ? there : back; /* both are NaN or neither is */
}
