/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers known by their logarithm. Every sum is scaled by its largest term; every difference uses
 * log1p or expm1, whichever does not cancel (Mächler, "Accurately computing log(1 − exp(−|a|))",
 * 2012: the two forms cross at log 2). */
#include "math/logspace.h"

#include <math.h>

#include "base/gamma.h"

double dpa__log1m_exp(double log_a) {
    if (isnan(log_a) || log_a > 0) return NAN;
    return log_a > -M_LN2 ? log(-expm1(log_a)) : log1p(-exp(log_a));
}

double dpa__log1p_exp(double x) {
    /* above 34 the term e^−2x/2 of the series is below half a unit in the last place */
    return x > 34 ? x + exp(-x) : log1p(exp(x));
}

double dpa__log_choose(double n, double k) {
    return dpa__log_gamma(n + 1) - dpa__log_gamma(k + 1) - dpa__log_gamma(n - k + 1);
}

double dpa__log_add(double log_a, double log_b) {
    if (isnan(log_a) || isnan(log_b)) return NAN;
    const double large = fmax(log_a, log_b), small = fmin(log_a, log_b);
    if (isinf(large)) return large;
    return large + log1p(exp(small - large));
}

double dpa__log_sub(double log_a, double log_b) {
    if (isnan(log_a) || isnan(log_b) || log_a < log_b) return NAN;
    if (log_a == log_b) return -INFINITY;
    if (isinf(log_a)) return log_a;
    return log_a + dpa__log1m_exp(log_b - log_a);
}

double dpa__log_sum(const double *log_a, size_t count) {
    double largest = -INFINITY;
    for (size_t i = 0; i < count; ++i) {
        if (isnan(log_a[i])) return NAN;
        largest = fmax(largest, log_a[i]);
    }
    if (isinf(largest)) return largest;
    dpa__sum sum = {0};
    for (size_t i = 0; i < count; ++i) dpa__sum_add(&sum, exp(log_a[i] - largest));
    return largest + log(dpa__sum_get(&sum));
}

double dpa__logit(double p) {
    if (!(p >= 0 && p <= 1)) return NAN;
    /* near 1/2 both logarithms are near log 2 and cancel: 2p − 1 is exact there */
    if (p > 0.25 && p < 0.75) return log1p((2 * p - 1) / (1 - p));
    return log(p) - log1p(-p);
}

void dpa__sum_add(dpa__sum *sum, double x) {
    const double total = sum->value + x;
    /* an infinite total has no rounding error; inf − inf would make it NaN */
    if (isfinite(total)) {
        sum->carry +=
            fabs(sum->value) >= fabs(x) ? (sum->value - total) + x : (x - total) + sum->value;
    }
    sum->value = total;
}

double dpa__sum_get(const dpa__sum *sum) {
    return sum->value + sum->carry;
}
