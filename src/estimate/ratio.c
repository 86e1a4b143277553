/* SPDX-License-Identifier: GPL-3.0-or-later */
/* At δ = 0, ε is the larger of log(TPR/FPR) and log(TNR/FNR) in absolute value: ratios of two
 * independent rates, for which biostatistics has closed intervals.
 *   Katz-log (Katz et al. 1978), adjusted-log with ½ added (Walter 1975), Bailey's cube root
 *   (Bailey 1987), inverse sinh (Newcombe 2001).
 * All four rest on a normal law for a transformed ratio: large samples, no guarantee for small
 * ones. The two ratios share the error (union bound). */
#include "estimate/ratio.h"

#include <math.h>

#include "math/dist.h"

static dpa__log_ratio katz(double a, double m, double b, double n, double z) {
    const double centre = log(a / m) - log(b / n), width = z * sqrt(1 / a - 1 / m + 1 / b - 1 / n);
    return (dpa__log_ratio){centre - width, centre + width};
}

static dpa__log_ratio inverse_sinh(double a, double m, double b, double n, double z) {
    const double centre = log(a / m) - log(b / n);
    const double width = 2 * asinh(0.5 * z * sqrt(1 / a - 1 / m + 1 / b - 1 / n));
    return (dpa__log_ratio){centre - width, centre + width};
}

/* The roots r of (1−r)² = (z²/9)(q₁/a + r²·q₂/b) are the limits of (ratio/estimate)^⅓: Fieller's
 * argument for cube roots of rates. */
static dpa__log_ratio bailey(double a, double m, double b, double n, double z) {
    const double u = z * z * (1 - a / m) / (9 * a), v = z * z * (1 - b / n) / (9 * b);
    const double root = sqrt(fmax(u + v - u * v, 0)), centre = log(a / m) - log(b / n);
    const double low = (1 - u) / (1 + root); /* the smaller root, without cancellation */
    return (dpa__log_ratio){low > 0 ? centre + 3 * log(low) : -HUGE_VAL,
                            v < 1 ? centre + 3 * log((1 + root) / (1 - v)) : HUGE_VAL};
}

dpa__log_ratio dpa__ratio_limits(dpa__ratio method, double a, double m, double b, double n,
                                 double p) {
    const double z = dpa__norm_quantile(p, DPA_UPPER);
    if (method != DPA__ADJUSTED_LOG && (a == 0 || b == 0)) return (dpa__log_ratio){NAN, NAN};
    switch (method) {
    case DPA__KATZ_LOG:
        return katz(a, m, b, n, z);
    case DPA__ADJUSTED_LOG:
        return katz(a + 0.5, m + 0.5, b + 0.5, n + 0.5, z);
    case DPA__BAILEY:
        return bailey(a, m, b, n, z);
    case DPA__INVERSE_SINH:
        return inverse_sinh(a, m, b, n, z);
    }
    return (dpa__log_ratio){NAN, NAN};
}

int dpa__ratio_epsilon(dpa__ratio method, const dpa_counts *c, double p, int sides, double *lower,
                       double *upper) {
    const double fn = (double)c->fn, tp = (double)c->tp, fp = (double)c->fp, tn = (double)c->tn;
    const double each = p / (sides == 1 ? 2 : 4);
    const dpa__log_ratio in = dpa__ratio_limits(method, tp, tp + fn, fp, fp + tn, each);
    const dpa__log_ratio out = dpa__ratio_limits(method, tn, fp + tn, fn, tp + fn, each);
    if (isnan(in.lower) && isnan(out.lower)) return 0;
    /* fmax ignores a missing ratio, which is NaN */
    *lower = fmax(0, fmax(in.lower, out.lower));
    *upper = HUGE_VAL;
    if (sides == 2) *lower = fmax(*lower, fmax(-in.upper, -out.upper));
    if (!isnan(in.lower) && !isnan(out.lower))
        *upper = fmax(fmax(in.upper, -in.lower), fmax(out.upper, -out.lower));
    return 1;
}
