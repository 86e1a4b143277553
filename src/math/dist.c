/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Thin wrappers for dist.h. Arguments are checked here, because nmath answers a bad one with a
 * message on standard output, and a library must not print. What nmath does not do well enough is
 * in normal.c, beta.c and quantile.c. */
#include "math/dist.h"

#include <Rmath.h>
#include <math.h>

#include "math/tail.h"

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
        const int is_certain = (count >= n) == dpa__tail_is_lower(tail);
        return dpa__tail_is_log(tail) ? log((double)is_certain) : (double)is_certain;
    }
    /* more than k of n uniform numbers lie below q if and only if the one of rank k + 1 does */
    return dpa__beta_cdf(q, count + 1, n - count, dpa__tail_other(tail));
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

/* T²/(T² + f) is Beta(1/2, f/2), and T is symmetric. nmath's pt is not used because it switches to
 * a normal approximation at f = 4e5. */
double dpa__t_cdf(double x, double freedom, dpa__tail tail) {
    if (!(freedom > 0) || isnan(x)) return NAN;
    if (isinf(freedom)) return dpa__norm_cdf(x, tail);
    const double z = x / sqrt(freedom), rest = 1 / (1 + z * z);
    const double log_both = rest < 0.5
                                ? dpa__beta_cdf(rest, 0.5 * freedom, 0.5, DPA_LOG_LOWER)
                                : dpa__beta_cdf(z * z * rest, 0.5, 0.5 * freedom, DPA_LOG_UPPER);
    const int is_log = dpa__tail_is_log(tail), is_small = (x < 0) == dpa__tail_is_lower(tail);
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
