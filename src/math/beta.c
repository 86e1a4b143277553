/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The beta law. nmath's pbeta (TOMS 708, here from R 4.2.2) agreed with a continued fraction at a
 * million random points with tails above 1e-240. Below that something in it underflows: against
 * mpmath it is off by 1, 23 and 29 % at three points (the last: upper tail at x = 0.4037, a
 * = 14.72, b = 1449.7), and its logarithms sum 1e7 terms or print that they underflow. That far out
 * the continued fraction needs only about ten steps, so it is used there. nmath's dbeta computes
 * (a+b−1)−a, which leaves 7 digits at a = 1e9, b = 1/2; here the smaller shape always goes first.
 */
#include <Rmath.h>
#include <float.h>
#include <math.h>

#include "math/dist.h"
#include "math/tail.h"

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
    const int is_lower = dpa__tail_is_lower(tail), is_log = dpa__tail_is_log(tail);
    const double p = pbeta(x, a, b, is_lower, 0);
    if (p < TRUSTED && x > 0 && x < 1) {
        const double log_p = is_lower ? log_far_tail(x, 1 - x, a, b) : log_far_tail(1 - x, x, b, a);
        return is_log ? log_p : exp(log_p);
    }
    if (!is_log) return p;
    return p > 0.5 ? log1p(-pbeta(x, a, b, !is_lower, 0)) : log(p);
}
