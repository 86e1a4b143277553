/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The thin part of dist.h: domains are checked here, because nmath answers a bad argument with a
 * message on the standard output, and a library does not print. What nmath does not do well enough
 * is in normal.c (quantiles far out, intervals) and quantile.c (beta, gamma, t). */
#include "math/dist.h"

#include <Rmath.h>
#include <math.h>

#include "math/tail.h"

double dpa__beta_log_pdf(double x, double a, double b) {
    if (!(a > 0 && b > 0 && x >= 0 && x <= 1) || isinf(a) || isinf(b)) return NAN;
    return dbeta(x, a, b, 1);
}

double dpa__beta_cdf(double x, double a, double b, dpa__tail tail) {
    if (!(a > 0 && b > 0) || isinf(a) || isinf(b) || isnan(x)) return NAN;
    return pbeta(x, a, b, dpa__tail_is_lower(tail), dpa__tail_is_log(tail));
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
    /* nmath would round k = 2.99999999 up to 3 */
    return pbinom(fmax(floor(k), -1), n, q, dpa__tail_is_lower(tail), dpa__tail_is_log(tail));
}

double dpa__gamma_cdf(double x, double shape, double scale, dpa__tail tail) {
    if (!(shape > 0 && scale > 0) || isinf(shape) || isinf(scale) || isnan(x)) return NAN;
    return pgamma(x, shape, scale, dpa__tail_is_lower(tail), dpa__tail_is_log(tail));
}

double dpa__laplace_cdf(double x, double scale, dpa__tail tail) {
    if (!(scale > 0) || isinf(scale) || isnan(x)) return NAN;
    const double z = dpa__tail_is_lower(tail) ? x / scale : -x / scale;
    if (dpa__tail_is_log(tail)) return z < 0 ? z - M_LN2 : log1p(-0.5 * exp(-z));
    return z < 0 ? 0.5 * exp(z) : 1 - 0.5 * exp(-z);
}

double dpa__laplace_quantile(double p, double scale, dpa__tail tail) {
    if (!(scale > 0) || isinf(scale)) return NAN;
    dpa__level level;
    if (!dpa__level_of(p, tail, &level)) return NAN;
    /* the smaller tail is e^z/2 */
    const double z = scale * (level.log_p + M_LN2);
    return level.is_lower ? z : -z;
}

double dpa__t_cdf(double x, double freedom, dpa__tail tail) {
    if (!(freedom > 0) || isnan(x)) return NAN;
    const int is_lower = dpa__tail_is_lower(tail), is_log = dpa__tail_is_log(tail);
    if (freedom <= 4e5 || isinf(freedom) || isinf(x)) return pt(x, freedom, is_lower, is_log);
    /* from there on nmath takes a normal approximation, good to 1e-11 only in the middle */
    const double z = x / sqrt(freedom), small = 1 / (1 + z * z);
    const double both = small < 0.5 ? pbeta(small, 0.5 * freedom, 0.5, 1, is_log)
                                    : pbeta(z * z * small, 0.5, 0.5 * freedom, 0, is_log);
    const int is_small_tail = (x < 0) == is_lower;
    if (is_log) return is_small_tail ? both - M_LN2 : log1p(-0.5 * exp(both));
    return is_small_tail ? 0.5 * both : 1 - 0.5 * both;
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
