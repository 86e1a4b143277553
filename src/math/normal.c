/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The normal law. nmath's pnorm is accurate everywhere. Its qnorm (Wichura, AS 241) is a rational
 * approximation fitted for p > 1e-300, so quantiles are polished here by Newton's method on log Φ.
 */
#include <Rmath.h>
#include <math.h>

#include "math/dist.h"
#include "math/logspace.h"
#include "math/tail.h"

double dpa__norm_log_pdf(double x) {
    return -0.5 * x * x - 0.5 * log(2 * M_PI);
}

double dpa__norm_cdf(double x, dpa__tail tail) {
    return pnorm5(x, 0, 1, dpa__tail_is_lower(tail), dpa__tail_is_log(tail));
}

double dpa__norm_quantile(double p, dpa__tail tail) {
    dpa__level level;
    if (!dpa__level_of(p, tail, &level)) return NAN;
    double x = -INFINITY;
    if (level.p > 0) {
        x = qnorm5(level.p, 0, 1, 1, 0);
    } else if (isfinite(level.log_p)) {
        /* log Φ is concave: Newton's method approaches from the left and stays there */
        x = -sqrt(-2 * level.log_p);
        for (int i = 0; i < 4; ++i) {
            const double log_cdf = pnorm5(x, 0, 1, 1, 1);
            x -= (log_cdf - level.log_p) * exp(log_cdf - dpa__norm_log_pdf(x));
        }
    }
    return level.is_lower ? x : -x;
}

/* log ∫ φ over m ± r for small r(|m|+1): φ(m)·Σ He_k(m) r^k/k! · 2r/(k+1), k even, from Taylor's
 * series of φ at m, whose terms follow the recurrence of the Hermite polynomials. */
static double log_narrow(double m, double r) {
    double before = 1, now = -m * r, sum = 1;
    for (int k = 2; k < 60; ++k) {
        const double next = -(m * r * now + r * r * before) / k;
        before = now;
        now = next;
        if (k % 2 == 0) sum += now / (k + 1);
        if (fabs(now) + fabs(before) < 1e-18) break;
    }
    return dpa__norm_log_pdf(m) + log(2 * r) + log(sum);
}

double dpa__norm_log_interval(double a, double b) {
    if (isnan(a) || isnan(b) || a > b) return NAN;
    if (a == b) return -INFINITY;
    const double middle = a + 0.5 * (b - a), half = 0.5 * (b - a);
    if (half * (fabs(middle) + 1) < 0.5) return log_narrow(middle, half);
    if (a >= 0) {
        return dpa__log_sub(dpa__norm_cdf(a, DPA_LOG_UPPER), dpa__norm_cdf(b, DPA_LOG_UPPER));
    }
    if (b <= 0) {
        return dpa__log_sub(dpa__norm_cdf(b, DPA_LOG_LOWER), dpa__norm_cdf(a, DPA_LOG_LOWER));
    }
    return log1p(-(dpa__norm_cdf(a, DPA_LOWER) + dpa__norm_cdf(b, DPA_UPPER)));
}
