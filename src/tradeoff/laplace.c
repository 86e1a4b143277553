/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Laplace noise of scale 1/ε₀ on a statistic of sensitivity 1: Lap(0) against Lap(1) (Dong, Roth,
 * Su, section 2.4). f is the line 1 − e^ε₀ α up to e^−ε₀/2, the hyperbola e^−ε₀/(4α) up to 1/2, and
 * the mirrored line e^−ε₀(1−α) after it. A line of slope −e^ε touches the hyperbola at
 * α = e^{−(ε₀+ε)/2}/2, which gives
 *   δ(ε) = 1 − e^{−(ε₀−ε)/2} below ε₀ and 0 from there on;  ε(δ) = ε₀ + 2 log(1−δ).
 * Elementary functions only: errors are those of exp and log. */
#include <math.h>

#include "base/error.h"
#include "tradeoff/curve.h"

static const double log_2 = 0.69314718055994530942;

typedef struct laplace_curve {
    dpa_curve base;
    double epsilon;
} laplace_curve;

static double parameter(const dpa_curve *curve) {
    return ((const laplace_curve *)curve)->epsilon;
}

static double laplace_log_fnr(const dpa_curve *curve, double log_fpr) {
    const double e = parameter(curve);
    if (log_fpr < -e - log_2) return log1p(-exp(log_fpr + e));
    if (log_fpr <= -log_2) return -e - 2.0 * log_2 - log_fpr;
    return log(-expm1(log_fpr)) - e;
}

static double laplace_fnr(const dpa_curve *curve, double fpr) {
    const double shrink = exp(-parameter(curve));
    if (fpr > 0.5) return shrink * (1.0 - fpr);
    if (fpr > 0.5 * shrink) return 0.25 * shrink / fpr;
    /* Here e^ε₀ α ≤ 1/2. If e^−ε₀ has underflowed, only α = 0 gets here. */
    return fpr > 0.0 ? 1.0 - fpr / shrink : 1.0;
}

static double laplace_tpr(const dpa_curve *curve, double fpr) {
    const double shrink = exp(-parameter(curve));
    if (fpr > 0.0 && fpr <= 0.5 * shrink) return fpr / shrink;
    return 1.0 - laplace_fnr(curve, fpr);
}

static double laplace_fpr_at_tpr(const dpa_curve *curve, double tpr) {
    const double shrink = exp(-parameter(curve)), rest = 1.0 - tpr;
    if (tpr <= 0.5) return tpr * shrink;
    if (rest >= 0.5 * shrink) return rest > 0.0 ? 0.25 * shrink / rest : 1.0;
    return 1.0 - rest / shrink;
}

static double laplace_log_delta(const dpa_curve *curve, double epsilon, dpa__way side) {
    (void)side;
    return log(-expm1(0.5 * fmin(0.0, epsilon - parameter(curve))));
}

static double laplace_epsilon(const dpa_curve *curve, double delta, dpa__way side) {
    (void)side;
    return fmax(0.0, parameter(curve) + 2.0 * log1p(-delta));
}

static const dpa__curve_kind laplace_kind = {
    .fnr = laplace_fnr,
    .tpr = laplace_tpr,
    .fpr_at_tpr = laplace_fpr_at_tpr,
    .log_fnr = laplace_log_fnr,
    .log_delta = laplace_log_delta,
    .epsilon = laplace_epsilon,
};

dpa_status dpa_curve_laplace(double epsilon0, dpa_curve **out, dpa_error *err) {
    if (!(epsilon0 >= 0.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "epsilon is %g; it must be 0 or larger", epsilon0);
    if (isinf(epsilon0)) return dpa__curve_none(out, err);
    laplace_curve *curve = dpa__curve_new(sizeof *curve, &laplace_kind, 1, err);
    if (curve == NULL) return DPA_NO_MEMORY;
    curve->epsilon = epsilon0;
    *out = &curve->base;
    return DPA_OK;
}
