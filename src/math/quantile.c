/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantiles of beta, gamma and t, found from their own distribution functions.
 *
 * nmath's qbeta, qgamma and qt stop early in the tails and report that on standard output. Here
 * log tail(x) = log p is solved by Newton's method in log x. For beta (other shape ≥ 1) and
 * gamma the density of log X is log-concave, hence so are both tails. So Newton's method crosses
 * the root at most once and then approaches it from one side. A bracket covers the other cases. */
#include <Rmath.h>
#include <float.h>
#include <math.h>

#include "math/dist.h"
#include "math/logspace.h"
#include "math/tail.h"

int dpa__level_of(double p, dpa__tail tail, dpa__level *out) {
    const int is_lower = dpa__tail_is_lower(tail), is_log = dpa__tail_is_log(tail);
    if (isnan(p) || (is_log ? p > 0 : p < 0 || p > 1)) return 0;
    const int is_small = is_log ? p <= -M_LN2 : p <= 0.5;
    out->is_lower = is_small ? is_lower : !is_lower;
    if (is_log) {
        out->p = is_small ? exp(p) : -expm1(p);
        out->log_p = is_small ? p : dpa__log1m_exp(p);
    } else {
        out->p = is_small ? p : 1 - p; /* exact: p ≥ 1/2 */
        out->log_p = log(out->p);
    }
    if (out->p < DBL_MIN) out->p = 0; /* a denormal has lost digits that its logarithm still has */
    return 1;
}

typedef struct law {
    double (*cdf)(double x, double a, double b, dpa__tail tail);
    double (*log_pdf)(double x, double a, double b);
    double a, b;
} law;

/* log(tail(x)/p). If p is a normal number, no logarithm of p is taken, because that would lose
 * digits. */
static double excess(const law *l, double x, const dpa__level *level, double *log_tail) {
    if (level->p > 0) {
        const double tail = l->cdf(x, l->a, l->b, level->is_lower ? DPA_LOWER : DPA_UPPER);
        if (tail >= DBL_MIN) {
            *log_tail = log(tail);
            return log(tail / level->p);
        }
    }
    *log_tail = l->cdf(x, l->a, l->b, level->is_lower ? DPA_LOG_LOWER : DPA_LOG_UPPER);
    return *log_tail - level->log_p;
}

/* The root in [low, high], starting at `x`; all positive. Steps are relative, because x may be
 * 1e-300. */
static double solve(const law *l, const dpa__level *level, double x, double low, double high) {
    for (int i = 0; i < 200 && low < high; ++i) {
        double log_tail;
        const double over = excess(l, x, level, &log_tail);
        if (over == 0) return x;
        if (isnan(over)) return NAN;
        if ((over > 0) == level->is_lower) {
            high = x;
        } else {
            low = x;
        }
        const double slope = exp(l->log_pdf(x, l->a, l->b) + log(x) - log_tail);
        const double step = (level->is_lower ? -over : over) / slope;
        if (fabs(step) <= DBL_EPSILON) return x + x * step;
        double next = x * exp(step);
        if (!(next > low && next < high)) next = sqrt(low) * sqrt(high);
        if (next <= low || next >= high) return x;
        x = next;
    }
    return x;
}

/* Where a law starts like c·x^a: solves tail(x) = p for log x. Exact below DBL_MIN. */
static double log_power_start(const dpa__level *level, double a, double log_c) {
    return (level->log_p - log_c) / a;
}

static double beta_start(const dpa__level *level, double a, double b) {
    if (level->is_lower) {
        const double x = exp(log_power_start(level, a, -log(a) - lbeta(a, b)));
        /* the next term of the series is x·a(b−1)/(a+1) */
        if (x * fabs(b - 1) < 0.1 * (1 + 1 / a)) return x;
    }
    if (a > 1 && b > 1) { /* Abramowitz and Stegun 26.5.22 */
        const double z = dpa__norm_quantile(level->log_p, DPA_LOG_LOWER);
        const double y = level->is_lower ? -z : z, r = (y * y - 3) / 6;
        const double s = 1 / (2 * a - 1), t = 1 / (2 * b - 1), h = 2 / (s + t);
        if (h + r > 0) {
            const double w = y * sqrt(h + r) / h - (t - s) * (r + 5.0 / 6 - 2 / (3 * h));
            return 1 / (1 + b / a * exp(2 * w));
        }
    }
    return a / (a + b);
}

typedef struct point {
    double x, rest, log_x; /* x, 1 − x, and log x, which is right even if x underflows */
} point;

/* The quantile in (0, 1/2]. */
static point beta_solve_half(const dpa__level *level, double a, double b) {
    const law l = {dpa__beta_cdf, dpa__beta_log_pdf, a, b};
    double ignored;
    const int underflows = (excess(&l, DBL_MIN, level, &ignored) > 0) == level->is_lower;
    if (underflows) {
        const double log_x =
            level->is_lower ? log_power_start(level, a, -log(a) - lbeta(a, b)) : -HUGE_VAL;
        return (point){exp(log_x), 1, log_x};
    }
    const double start = fmin(fmax(beta_start(level, a, b), DBL_MIN), 0.5);
    const double x = solve(&l, level, start, DBL_MIN, 0.5);
    return (point){x, 1 - x, log(x)};
}

static point beta_point(const dpa__level *level, double a, double b) {
    if (isinf(level->log_p)) {
        return level->is_lower ? (point){0, 1, -INFINITY} : (point){1, 0, 0};
    }
    const law l = {dpa__beta_cdf, dpa__beta_log_pdf, a, b};
    double ignored;
    const double over = excess(&l, 0.5, level, &ignored);
    if (isnan(over)) return (point){NAN, NAN, NAN};
    if ((over >= 0) == level->is_lower || over == 0) return beta_solve_half(level, a, b);
    /* above 1/2: solve from the other end, where 1 − x has all its digits */
    const dpa__level mirror = {!level->is_lower, level->p, level->log_p};
    const point y = beta_solve_half(&mirror, b, a);
    return (point){y.rest, y.x, log1p(-y.x)};
}

double dpa__beta_quantile(double p, double a, double b, dpa__tail tail) {
    dpa__level level;
    if (!(a > 0 && b > 0) || isinf(a) || isinf(b) || !dpa__level_of(p, tail, &level)) return NAN;
    return beta_point(&level, a, b).x;
}

static double unit_gamma_cdf(double x, double shape, double ignored, dpa__tail tail) {
    (void)ignored;
    return dpa__gamma_cdf(x, shape, 1, tail);
}

static double unit_gamma_log_pdf(double x, double shape, double ignored) {
    (void)ignored;
    return dgamma(x, shape, 1, 1);
}

static double gamma_start(const dpa__level *level, double shape) {
    const double z =
        dpa__norm_quantile(level->log_p, level->is_lower ? DPA_LOG_LOWER : DPA_LOG_UPPER);
    const double root = 1 - 1 / (9 * shape) + z / (3 * sqrt(shape)); /* Wilson and Hilferty, 1931 */
    const double cubic = shape * root * root * root;
    if (level->is_lower) {
        const double x = exp(log_power_start(level, shape, -lgamma1p(shape)));
        return root <= 0 || x < 0.1 * (shape + 1) ? x : cubic;
    }
    return shape < 1 || root <= 0 ? fmax(shape, -level->log_p) : cubic;
}

double dpa__gamma_quantile(double p, double shape, double scale, dpa__tail tail) {
    dpa__level level;
    if (!(shape > 0 && scale > 0) || isinf(shape) || isinf(scale)) return NAN;
    if (!dpa__level_of(p, tail, &level)) return NAN;
    if (isinf(level.log_p)) return level.is_lower ? 0 : HUGE_VAL;
    const law l = {unit_gamma_cdf, unit_gamma_log_pdf, shape, 0};
    double ignored;
    if ((excess(&l, DBL_MIN, &level, &ignored) > 0) == level.is_lower) {
        if (!level.is_lower) return 0;
        return exp(log_power_start(&level, shape, -lgamma1p(shape)) + log(scale));
    }
    const double start = fmin(fmax(gamma_start(&level, shape), DBL_MIN), 1e300);
    return scale * solve(&l, &level, start, DBL_MIN, DBL_MAX);
}

/* T² / (T² + f) is Beta(1/2, f/2), and T is symmetric. */
double dpa__t_quantile(double p, double freedom, dpa__tail tail) {
    dpa__level level;
    if (!(freedom > 0) || !dpa__level_of(p, tail, &level)) return NAN;
    if (isinf(freedom)) return dpa__norm_quantile(p, tail);
    dpa__level both;
    if (!dpa__level_of(fmin(level.log_p + M_LN2, 0), DPA_LOG_UPPER, &both)) return NAN;
    if (level.p > 0 && !dpa__level_of(2 * level.p, DPA_UPPER, &both)) return NAN;
    /* the complement f/(T² + f) is small in the tails: its logarithm does not underflow */
    const dpa__level mirror = {!both.is_lower, both.p, both.log_p};
    const point rest = beta_point(&mirror, 0.5 * freedom, 0.5);
    const double t = rest.rest < 0.5 ? sqrt(freedom * rest.rest / rest.x)
                                     : exp(0.5 * (log(freedom) + log1p(-rest.x) - rest.log_x));
    return level.is_lower ? -t : t;
}
