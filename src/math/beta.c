/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The beta law. nmath's pbeta (TOMS 708) is right to 1e-13 wherever the tail is a normal number,
 * but its logarithms of smaller tails sum 1e7 terms or print that they underflow; there the
 * continued fraction (DLMF 8.17.22) needs fewer than ten. nmath's dbeta forms (a+b−1)−a and has 7
 * digits left at a = 1e9, b = 1/2; here the smaller shape always goes first. */
#include <Rmath.h>
#include <float.h>
#include <math.h>

#include "math/dist.h"
#include "math/tail.h"

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

/* log I_x(a,b) far below the mean: the fraction by Lentz's method, modified so as not to divide by
 * zero. */
static double log_far_tail(double x, double y, double a, double b) {
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), product = d;
    for (double m = 1; m < 1000; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        product *= c * d;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        product *= c * d;
        if (fabs(c * d - 1) <= DBL_EPSILON) break;
    }
    return log_kernel(x, y, a, b) - log(a) + log(product);
}

static double log_cdf(double x, double a, double b, int is_lower) {
    const double tail = pbeta(x, a, b, is_lower, 0);
    if (tail > 0.5) return log1p(-pbeta(x, a, b, !is_lower, 0));
    /* below that, TOMS 708 comes near its own underflow */
    if (tail > 1e-290 || x <= 0 || x >= 1) return log(tail);
    return is_lower ? log_far_tail(x, 1 - x, a, b) : log_far_tail(1 - x, x, b, a);
}

double dpa__beta_cdf(double x, double a, double b, dpa__tail tail) {
    if (!is_shape(a, b) || isnan(x)) return NAN;
    const int is_lower = dpa__tail_is_lower(tail);
    return dpa__tail_is_log(tail) ? log_cdf(x, a, b, is_lower) : pbeta(x, a, b, is_lower, 0);
}
