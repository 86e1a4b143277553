/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers known by their logarithm. Every sum is scaled by its largest term; every difference uses
 * log1p or expm1, whichever does not cancel (Mächler, "Accurately computing log(1 − exp(−|a|))",
 * 2012: the two forms cross at log 2). */
#include "math/logspace.h"

#include <math.h>

#include "base/gamma.h"
#include "base/simd.h"

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

/* x = 2^k (1+f) with 1+f in [√½, √2); log(1+f) = f − f²/2 + s(f²/2 + R), s = f/(2+f), R the
 * polynomial in s² of Sun's fdlibm (e_log.c, 1993). k enters as the low bits of 2⁵² + k. */
DPA_CLONES static void logs(const double *x, size_t count, double *out) {
    const uint64_t root_half = 0x3FE6A09E667F3BCD, one = 0x3FF0000000000000;
    for (size_t i = 0; i < count; ++i) {
        const uint64_t bits = dpa__bits_of(x[i]) + (one - root_half);
        const double k = dpa__of_bits(bits >> 52 | 0x4330000000000000) - (0x1p52 + 1023);
        const double f = dpa__of_bits((bits & 0x000FFFFFFFFFFFFF) + root_half) - 1;
        const double s = f / (2 + f), z = s * s, w = z * z, half_square = 0.5 * f * f;
        const double even = w * (3.999999999940941908e-01 +
                                 w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
        const double odd =
            z * (6.666666666666735130e-01 +
                 w * (2.857142874366239149e-01 +
                      w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
        const double rest = s * (half_square + (odd + even)) + k * 1.90821492927058770002e-10;
        out[i] = k * 6.93147180369123816490e-01 - ((half_square - rest) - f);
    }
}

void dpa__logs(const double *x, size_t count, double *out) {
    logs(x, count, out);
}

double dpa__sum_get(const dpa__sum *sum) {
    return sum->value + sum->carry;
}
