/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dist.h on nmath. Arguments are checked here, because nmath answers a bad one with a message on
 * standard output, and a library must not print. What nmath does not do well enough is done here:
 * far beta tails, normal quantiles and all other quantiles. */
#include "math/dist.h"

#include <Rmath.h>
#include <float.h>
#include <math.h>

#include "math/logspace.h"

static int is_lower_tail(dpa__tail tail) {
    return tail == DPA_LOWER || tail == DPA_LOG_LOWER;
}

static int is_log_tail(dpa__tail tail) {
    return tail == DPA_LOG_LOWER || tail == DPA_LOG_UPPER;
}

/* A probability, stored as its smaller tail, which keeps all its digits. */
typedef struct probability {
    int is_lower; /* the smaller tail is the lower one */
    double p;     /* the smaller tail, ≤ 1/2; 0 where it underflows */
    double log_p;
} probability;

/* 0 if p is not a probability (or not the logarithm of one). */
static int level_of(double p, dpa__tail tail, probability *out) {
    const int is_lower = is_lower_tail(tail), is_log = is_log_tail(tail);
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

/* The beta law. nmath's pbeta (TOMS 708, here from R 4.2.2) agreed with a continued fraction at a
 * million random points with tails above 1e-240. Below that something in it underflows: against
 * mpmath it is off by 1, 23 and 29 % at three points (the last: upper tail at x = 0.4037, a
 * = 14.72, b = 1449.7), and its logarithms sum 1e7 terms or print that they underflow. That far out
 * the continued fraction needs only about ten steps, so it is used there. nmath's dbeta computes
 * (a+b−1)−a, which leaves 7 digits at a = 1e9, b = 1/2; here the smaller shape always goes first.
 */

/* Smaller values of pbeta are replaced by the continued fraction. */
static const double TRUSTED = 1e-200;

static int is_shape(double a, double b) {
    return a > 0 && b > 0 && isfinite(a) && isfinite(b);
}

/* log(x^a y^b / B(a,b)), y = 1 − x, by Loader's saddle-point expansion: a binomial probability with
 * shapes for counts. */
static double log_kernel(double x, double y, double a, double b) {
    const double log_pmf = a <= b ? dbinom_raw(a, a + b, x, y, 1) : dbinom_raw(b, a + b, y, x, 1);
    return log_pmf - log(1 / a + 1 / b);
}

double dpa__beta_log_pdf(double x, double a, double b) {
    if (!is_shape(a, b) || !(x >= 0 && x <= 1)) return NAN;
    if (x == 0 || x == 1) return dbeta(x, a, b, 1);
    return log_kernel(x, 1 - x, a, b) - log(x) - log1p(-x);
}

/* log I_x(a,b) far below the mean, y = 1 − x: the contracted fraction, whose terms keep their
 * digits for x near 1 too (Didonato and Morris, TOMS 18, 1992, section 10), by Lentz's method. */
static double log_far_tail(double x, double y, double a, double b) {
    const double lead = a * y - b * x + 1;
    double fraction = a * lead / (a + 1), c = fraction, d = 0;
    for (double n = 1; n < 1000; ++n) {
        const double odd = a + 2 * n - 1;
        const double up = (a + n - 1) / odd * ((a + b + n - 1) / odd) * x * (n * (b - n) * x);
        const double down = n + n * (b - n) * x / odd + (a + n) * (lead + n * (1 + y)) / (odd + 2);
        d = 1 / (down + up * d);
        c = down + up / c;
        fraction *= c * d;
        if (fabs(c * d - 1) <= DBL_EPSILON) break;
    }
    return log_kernel(x, y, a, b) - log(fraction);
}

double dpa__beta_cdf(double x, double a, double b, dpa__tail tail) {
    if (!is_shape(a, b) || isnan(x)) return NAN;
    const int is_lower = is_lower_tail(tail), is_log = is_log_tail(tail);
    const double p = pbeta(x, a, b, is_lower, 0);
    if (p < TRUSTED && x > 0 && x < 1) {
        const double log_p = is_lower ? log_far_tail(x, 1 - x, a, b) : log_far_tail(1 - x, x, b, a);
        return is_log ? log_p : exp(log_p);
    }
    if (!is_log) return p;
    return p > 0.5 ? log1p(-pbeta(x, a, b, !is_lower, 0)) : log(p);
}

/* The normal law. nmath's pnorm is accurate everywhere. Its qnorm (Wichura, AS 241) is a rational
 * approximation fitted for p > 1e-300, so quantiles are polished here by Newton's method on log Φ.
 */

double dpa__norm_log_pdf(double x) {
    return -0.5 * x * x - 0.5 * log(2 * M_PI);
}

double dpa__norm_cdf(double x, dpa__tail tail) {
    return pnorm5(x, 0, 1, is_lower_tail(tail), is_log_tail(tail));
}

double dpa__norm_quantile(double p, dpa__tail tail) {
    probability level;
    const int is_small = p <= 0.5;
    const double smaller = is_small ? p : 1 - p;    /* exact: p ≥ 1/2 */
    if (!is_log_tail(tail) && smaller >= DBL_MIN) { /* no logarithm is needed */
        const double x = qnorm5(smaller, 0, 1, 1, 0);
        return is_small == is_lower_tail(tail) ? x : -x;
    }
    if (!level_of(p, tail, &level)) return NAN;
    double x = -INFINITY;
    if (level.p > 0) {
        x = qnorm5(level.p, 0, 1, 1, 0);
    } else if (isfinite(level.log_p)) {
        /* log Φ is concave: Newton's method approaches from the left and stays there */
        x = -sqrt(-2 * level.log_p);
        for (int i = 0; i < 4; ++i) {
            const double log_cdf = pnorm5(x, 0, 1, 1, 1);
            x -= (log_cdf - level.log_p) * exp(log_cdf - dpa__norm_log_pdf(x));
        }
    }
    return level.is_lower ? x : -x;
}

/* log ∫ φ over m ± r for small r(|m|+1): φ(m)·Σ He_k(m) r^k/k! · 2r/(k+1), k even, from Taylor's
 * series of φ at m, whose terms follow the recurrence of the Hermite polynomials. */
static double log_narrow(double m, double r) {
    double before = 1, now = -m * r, sum = 1;
    for (int k = 2; k < 60; ++k) {
        const double next = -(m * r * now + r * r * before) / k;
        before = now;
        now = next;
        if (k % 2 == 0) sum += now / (k + 1);
        if (fabs(now) + fabs(before) < 1e-18) break;
    }
    return dpa__norm_log_pdf(m) + log(2 * r) + log(sum);
}

double dpa__norm_log_interval(double a, double b) {
    if (isnan(a) || isnan(b) || a > b) return NAN;
    if (a == b) return -INFINITY;
    const double middle = a + 0.5 * (b - a), half = 0.5 * (b - a);
    if (half * (fabs(middle) + 1) < 0.5) return log_narrow(middle, half);
    if (a >= 0) {
        return dpa__log_sub(dpa__norm_cdf(a, DPA_LOG_UPPER), dpa__norm_cdf(b, DPA_LOG_UPPER));
    }
    if (b <= 0) {
        return dpa__log_sub(dpa__norm_cdf(b, DPA_LOG_LOWER), dpa__norm_cdf(a, DPA_LOG_LOWER));
    }
    return log1p(-(dpa__norm_cdf(a, DPA_LOWER) + dpa__norm_cdf(b, DPA_UPPER)));
}

/* The Mills ratio. Above t = 4 by Laplace's continued fraction
 *   R(t) = 1/(t + K),  K = 1/(t + 2/(t + 3/(t + …))),
 * which also gives 1 − t R(t) = K/(t + K) as a quotient of positive numbers; below it from
 * libRmath's log Φ, where the product t R(t) is still far enough from one. Relative error below
 * 1e-14 (tests/known/test_gaussian.c). */
static const double from_fraction = 4.0;

/* Continued fraction evaluated backwards from term 9 + 500/t², which gives 1e-16 for t ≥ 4 (at
 * t = 4, 37 terms are needed). */
static double fraction(double t) {
    double tail = t;
    for (int n = 9 + (int)(500.0 / (t * t)); n >= 2; --n) tail = t + (double)n / tail;
    return 1.0 / tail;
}

double dpa__log_mills(double t) {
    if (t >= from_fraction) return -log(t + fraction(t));
    return dpa__norm_cdf(t, DPA_LOG_UPPER) - dpa__norm_log_pdf(t);
}

double dpa__mills(double t) {
    if (t >= from_fraction) return 1.0 / (t + fraction(t));
    return exp(dpa__log_mills(t));
}

double dpa__mills_drop(double t) {
    if (t < from_fraction) return 1.0 - t * dpa__mills(t);
    const double k = fraction(t);
    return k / (t + k);
}

static int is_count(double n) {
    return n >= 0 && n <= 0x1p53 && n == floor(n);
}

double dpa__binom_log_pmf(double k, double n, double q) {
    if (!(is_count(n) && q >= 0 && q <= 1) || isnan(k)) return NAN;
    if (!is_count(k) || k > n) return -INFINITY;
    return dbinom(k, n, q, 1);
}

double dpa__binom_cdf(double k, double n, double q, dpa__tail tail) {
    if (!(is_count(n) && q >= 0 && q <= 1) || isnan(k)) return NAN;
    const double count = floor(k); /* nmath would round 2.99999999 up to 3 */
    if (count < 0 || count >= n) {
        const int is_certain = (count >= n) == is_lower_tail(tail);
        return is_log_tail(tail) ? log((double)is_certain) : (double)is_certain;
    }
    /* more than k of n uniform numbers lie below q if and only if the one of rank k + 1 does */
    static const dpa__tail other[] = {DPA_UPPER, DPA_LOWER, DPA_LOG_UPPER, DPA_LOG_LOWER};
    return dpa__beta_cdf(q, count + 1, n - count, other[tail]);
}

double dpa__gamma_cdf(double x, double shape, double scale, dpa__tail tail) {
    if (!(shape > 0 && scale > 0) || isinf(shape) || isinf(scale) || isnan(x)) return NAN;
    return pgamma(x, shape, scale, is_lower_tail(tail), is_log_tail(tail));
}

/* T²/(T² + f) is Beta(1/2, f/2), and T is symmetric. nmath's pt is not used because it switches to
 * a normal approximation at f = 4e5. */
double dpa__t_cdf(double x, double freedom, dpa__tail tail) {
    if (!(freedom > 0) || isnan(x)) return NAN;
    if (isinf(freedom)) return dpa__norm_cdf(x, tail);
    const double z = x / sqrt(freedom), rest = 1 / (1 + z * z);
    const double log_both = rest < 0.5
                                ? dpa__beta_cdf(rest, 0.5 * freedom, 0.5, DPA_LOG_LOWER)
                                : dpa__beta_cdf(z * z * rest, 0.5, 0.5 * freedom, DPA_LOG_UPPER);
    const int is_log = is_log_tail(tail), is_small = (x < 0) == is_lower_tail(tail);
    if (is_small) return is_log ? log_both - M_LN2 : 0.5 * exp(log_both);
    return is_log ? log1p(-0.5 * exp(log_both)) : 1 - 0.5 * exp(log_both);
}

double dpa__chisq_quantile(double p, double freedom, dpa__tail tail) {
    return dpa__gamma_quantile(p, 0.5 * freedom, 2, tail);
}

static int is_trial(double k, double n, double p) {
    return n > 0 && isfinite(n) && k >= 0 && k <= n && p >= 0 && p <= 1;
}

double dpa__cp_lower(double k, double n, double p) {
    if (!is_trial(k, n, p)) return NAN;
    return k == 0 ? 0 : dpa__beta_quantile(p, k, n - k + 1, DPA_LOWER);
}

double dpa__cp_upper(double k, double n, double p) {
    if (!is_trial(k, n, p)) return NAN;
    return k == n ? 1 : dpa__beta_quantile(p, k + 1, n - k, DPA_UPPER);
}

double dpa__jeffreys_lower(double k, double n, double p) {
    if (!is_trial(k, n, p)) return NAN;
    return k == 0 ? 0 : dpa__beta_quantile(p, k + 0.5, n - k + 0.5, DPA_LOWER);
}

double dpa__jeffreys_upper(double k, double n, double p) {
    if (!is_trial(k, n, p)) return NAN;
    return k == n ? 1 : dpa__beta_quantile(p, k + 0.5, n - k + 0.5, DPA_UPPER);
}

/* Quantiles of beta, gamma and t, found from their own distribution functions.
 *
 * nmath's qbeta, qgamma and qt stop early in the tails and report that on standard output. Here
 * log tail(x) = log p is solved by Newton's method in log x. For beta (other shape ≥ 1) and
 * gamma the density of log X is log-concave, hence so are both tails. So Newton's method crosses
 * the root at most once and then approaches it from one side. A bracket covers the other cases. */

typedef struct law {
    double (*cdf)(double x, double a, double b, dpa__tail tail);
    double (*log_pdf)(double x, double a, double b);
    double a, b;
} law;

/* log(tail(x)/p). If p is a normal number, no logarithm of p is taken, because that would lose
 * digits. */
static double excess(const law *l, double x, const probability *level, double *log_tail) {
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
static double solve(const law *l, const probability *level, double x, double low, double high) {
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
static double log_power_start(const probability *level, double a, double log_c) {
    return (level->log_p - log_c) / a;
}

static double beta_start(const probability *level, double a, double b) {
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
static point beta_solve_half(const probability *level, double a, double b) {
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

static point beta_point(const probability *level, double a, double b) {
    if (isinf(level->log_p)) {
        return level->is_lower ? (point){0, 1, -INFINITY} : (point){1, 0, 0};
    }
    const law l = {dpa__beta_cdf, dpa__beta_log_pdf, a, b};
    double ignored;
    const double over = excess(&l, 0.5, level, &ignored);
    if (isnan(over)) return (point){NAN, NAN, NAN};
    if ((over >= 0) == level->is_lower || over == 0) return beta_solve_half(level, a, b);
    /* above 1/2: solve from the other end, where 1 − x has all its digits */
    const probability mirror = {!level->is_lower, level->p, level->log_p};
    const point y = beta_solve_half(&mirror, b, a);
    return (point){y.rest, y.x, log1p(-y.x)};
}

double dpa__beta_quantile(double p, double a, double b, dpa__tail tail) {
    probability level;
    if (!(a > 0 && b > 0) || isinf(a) || isinf(b) || !level_of(p, tail, &level)) return NAN;
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

static double gamma_start(const probability *level, double shape) {
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
    probability level;
    if (!(shape > 0 && scale > 0) || isinf(shape) || isinf(scale)) return NAN;
    if (!level_of(p, tail, &level)) return NAN;
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
    probability level;
    if (!(freedom > 0) || !level_of(p, tail, &level)) return NAN;
    if (isinf(freedom)) return dpa__norm_quantile(p, tail);
    probability both;
    if (!level_of(fmin(level.log_p + M_LN2, 0), DPA_LOG_UPPER, &both)) return NAN;
    if (level.p > 0 && !level_of(2 * level.p, DPA_UPPER, &both)) return NAN;
    /* the complement f/(T² + f) is small in the tails: its logarithm does not underflow */
    const probability mirror = {!both.is_lower, both.p, both.log_p};
    const point rest = beta_point(&mirror, 0.5 * freedom, 0.5);
    const double t = rest.rest < 0.5 ? sqrt(freedom * rest.rest / rest.x)
                                     : exp(0.5 * (log(freedom) + log1p(-rest.x) - rest.log_x));
    return level.is_lower ? -t : t;
}
