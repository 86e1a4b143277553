/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Mills ratio. Above t = 4 by Laplace's continued fraction
 *   R(t) = 1/(t + K),  K = 1/(t + 2/(t + 3/(t + …))),
 * which also gives 1 − t R(t) = K/(t + K) as a quotient of positive numbers; below it from
 * libRmath's log Φ, where the product t R(t) is still far enough from one. Relative error below
 * 1e-14 (tests/known/test_gaussian.c). */
#include "tradeoff/mills.h"

#include <math.h>

#include "math/dist.h"

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
