/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums and differences of numbers known by their logarithm. log 0 is −INFINITY. */
#ifndef DPA_MATH_LOGSPACE_H
#define DPA_MATH_LOGSPACE_H

#include <math.h>
#include <stddef.h>

double dpa__log_add(double log_a, double log_b); /* log(a + b) */
double dpa__log_sub(double log_a,
                    double log_b); /* log(a − b), a ≥ b; −INFINITY when equal, NaN when a < b */
double dpa__log1m_exp(double log_a);                    /* log(1 − a), a ≤ 1 */
double dpa__log_sum(const double *log_a, size_t count); /* log Σ, scaled by the largest */
double dpa__logit(double p);
double dpa__log1p_exp(double x); /* log(1 + e^x) without overflow */
double dpa__log_choose(double n, double k);
/* log of positive numbers that are neither infinite nor subnormal, in vectors: within 1 ulp, the
 * same bits on every machine. `x` may be `out`. */
void dpa__logs(const double *x, size_t count, double *out);

/* Compensated (Neumaier) summation. */
typedef struct dpa__sum {
    double value, carry;
} dpa__sum;
static inline void dpa__sum_add(dpa__sum *sum, double x) {
    const double total = sum->value + x;
    /* an infinite total has no rounding error; inf − inf would make it NaN */
    if (isfinite(total)) {
        sum->carry +=
            fabs(sum->value) >= fabs(x) ? (sum->value - total) + x : (x - total) + sum->value;
    }
    sum->value = total;
}
double dpa__sum_get(const dpa__sum *sum);

#endif
