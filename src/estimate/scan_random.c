/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact random numbers for draws of order statistics and counts.
 *
 * Gamma: Marsaglia and Tsang (2000). Binomial: counting geometric gaps where few are expected
 * (Devroye 1986, X.4.3), else Hörmann's transformed rejection (1993) with the exact ratio of
 * probabilities. All to double precision; nothing is approximated by a normal law. */
#include <math.h>

#include "estimate/scan.h"

double dpa__random_gamma(dpa_rng *rng, double shape) {
    if (shape == 1) return -log(dpa__rng_uniform(rng));
    const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        const double x = dpa__rng_normal(rng), root = 1 + c * x;
        if (root <= 0) continue;
        const double v = root * root * root, u = dpa__rng_uniform(rng);
        if (u < 1 - 0.0331 * x * x * x * x) return d * v;
        if (log(u) < 0.5 * x * x + d * (1 - v + log(v))) return d * v;
    }
}

double dpa__random_beta(dpa_rng *rng, double a, double b) {
    const double x = dpa__random_gamma(rng, a);
    return x / (x + dpa__random_gamma(rng, b));
}

/* Gaps between successes are geometric. For p ≤ ½ and small np. */
static double by_gaps(dpa_rng *rng, double n, double p) {
    const double scale = 1 / log1p(-p);
    double passed = 0, count = 0;
    for (;;) {
        passed += floor(log(dpa__rng_uniform(rng)) * scale) + 1;
        if (passed > n) return count;
        ++count;
    }
}

/* log k! − (k+½)·log(k+1) + (k+1) − ½·log 2π. */
static double stirling_rest(double k) {
    static const double small[] = {0.08106146679532726, 0.04134069595540929, 0.02767792568499834,
                                   0.02079067210376509, 0.01664469118982119, 0.01387612882307075,
                                   0.01189670994589177, 0.01041126526197209, 0.009255462182712733,
                                   0.008330563433362871};
    if (k < 10) return small[(int)k];
    const double u = 1 / ((k + 1) * (k + 1));
    return (1.0 / 12 - u * (1.0 / 360 - u / 1260)) / (k + 1);
}

/* Hörmann's BTRS, for p ≤ ½ and np ≥ 10. */
static double by_rejection(dpa_rng *rng, double n, double p) {
    const double spread = sqrt(n * p * (1 - p));
    const double b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p;
    const double c = n * p + 0.5, alpha = (2.83 + 5.1 / b) * spread, top = 0.92 - 4.2 / b;
    const double odds = p / (1 - p), mode = floor((n + 1) * p);
    for (;;) {
        const double u = dpa__rng_uniform(rng) - 0.5, v = dpa__rng_uniform(rng);
        const double us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + c);
        if (k < 0 || k > n) continue;
        if (us >= 0.07 && v <= top) return k;
        const double height = log(v * alpha / (a / (us * us) + b));
        const double ratio = (mode + 0.5) * log((mode + 1) / (odds * (n - mode + 1))) +
                             (n + 1) * log((n - mode + 1) / (n - k + 1)) +
                             (k + 0.5) * log(odds * (n - k + 1) / (k + 1)) + stirling_rest(mode) +
                             stirling_rest(n - mode) - stirling_rest(k) - stirling_rest(n - k);
        if (height <= ratio) return k;
    }
}

double dpa__random_binomial(dpa_rng *rng, double n, double p) {
    if (!(p > 0) || n == 0) return 0;
    if (p >= 1) return n;
    if (p > 0.5) return n - dpa__random_binomial(rng, n, 1 - p);
    return n * p < 10 ? by_gaps(rng, n, p) : by_rejection(rng, n, p);
}
