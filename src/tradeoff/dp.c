/* SPDX-License-Identifier: GPL-3.0-or-later */
/* (ε₀,δ₀)-DP: f(α) = max(0, 1−δ₀−e^ε₀ α, e^−ε₀(1−δ₀−α)) (Wasserman, Zhou 2010; Kairouz, Oh,
 * Viswanath 2015). The two lines meet at α* = (1−δ₀)/(1+e^ε₀). e^ε₀ is only ever used as a
 * logarithm, so ε₀ = 800 does not overflow. Answers have a relative error of about ε₀·1e-16. */
#include <math.h>

#include "base/error.h"
#include "math/logspace.h"
#include "tradeoff/curve.h"

typedef struct dp_curve {
    dpa_curve base;
    double epsilon, delta;
    double rest;       /* 1 − δ₀ */
    double log_corner; /* log α* */
    double corner;     /* α* */
} dp_curve;

static const dp_curve *dp(const dpa_curve *curve) {
    return (const dp_curve *)curve;
}

/* x e^power; e^power alone may overflow. */
static double scaled(double x, double power) {
    if (fabs(power) < 700.0) return x * exp(power);
    return x > 0.0 ? exp(log(x) + power) : 0.0;
}

static double dp_fnr(const dpa_curve *curve, double fpr) {
    const dp_curve *c = dp(curve);
    if (fpr <= c->corner) return fmax(c->corner, c->rest - scaled(fpr, c->epsilon));
    return fpr >= c->rest ? 0.0 : scaled(c->rest - fpr, -c->epsilon);
}

static double dp_tpr(const dpa_curve *curve, double fpr) {
    const dp_curve *c = dp(curve);
    if (fpr <= c->corner) return fmin(1.0 - c->corner, c->delta + scaled(fpr, c->epsilon));
    return 1.0 - dp_fnr(curve, fpr);
}

static double dp_fpr_at_tpr(const dpa_curve *curve, double tpr) {
    const dp_curve *c = dp(curve);
    if (tpr <= c->delta) return 0.0;
    if (tpr <= 1.0 - c->corner) return scaled(tpr - c->delta, -c->epsilon);
    return fmax(c->corner, c->rest - scaled(1.0 - tpr, c->epsilon));
}

static double dp_log_fnr(const dpa_curve *curve, double log_fpr) {
    const dp_curve *c = dp(curve);
    if (log_fpr <= c->log_corner)
        return fmax(c->log_corner, log1p(-fmin(1.0, c->delta + exp(log_fpr + c->epsilon))));
    return log(fmax(0.0, -expm1(log_fpr) - c->delta)) - c->epsilon;
}

static double dp_log_delta(const dpa_curve *curve, double epsilon, dpa__way side) {
    (void)side;
    const dp_curve *c = dp(curve);
    if (epsilon >= c->epsilon) return log(c->delta);
    /* At α*: 1 − (1+e^ε) α* = (e^ε₀ − e^ε + δ₀(1 + e^ε)) / (1 + e^ε₀). */
    const double lost = exp(dpa__log1p_exp(epsilon) + c->log_corner);
    if (lost < 0.5) return log1p(-lost);
    const double gap = c->epsilon + log(-expm1(epsilon - c->epsilon));
    const double more = log(c->delta) + dpa__log1p_exp(epsilon);
    return dpa__log_add(gap, more) - dpa__log1p_exp(c->epsilon);
}

static double dp_delta(const dpa_curve *curve, double epsilon, dpa__way side) {
    if (epsilon >= dp(curve)->epsilon) return dp(curve)->delta;
    return exp(dp_log_delta(curve, epsilon, side));
}

static double dp_epsilon(const dpa_curve *curve, double delta, dpa__way side) {
    (void)side;
    const dp_curve *c = dp(curve);
    if (delta < c->delta) return INFINITY;
    const double lost = (delta - c->delta) * (1.0 + exp(-c->epsilon)) / c->rest;
    return lost < 1.0 ? fmax(0.0, c->epsilon + log1p(-lost)) : 0.0;
}

static const dpa__curve_kind dp_kind = {
    .fnr = dp_fnr,
    .tpr = dp_tpr,
    .fpr_at_tpr = dp_fpr_at_tpr,
    .log_fnr = dp_log_fnr,
    .delta = dp_delta,
    .log_delta = dp_log_delta,
    .epsilon = dp_epsilon,
};

dpa_status dpa_curve_dp(double epsilon, double delta, dpa_curve **out, dpa_error *err) {
    if (!(epsilon >= 0.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "epsilon is %g; it must be 0 or larger", epsilon);
    if (!(delta >= 0.0 && delta <= 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta is %g; it must be from 0 to 1", delta);
    if (isinf(epsilon) || delta == 1.0) return dpa__curve_none(out, err);
    dp_curve *curve = dpa__curve_new(sizeof *curve, &dp_kind, 1, err);
    if (curve == NULL) return DPA_NO_MEMORY;
    curve->epsilon = epsilon;
    curve->delta = delta;
    curve->rest = 1.0 - delta;
    curve->log_corner = log1p(-delta) - dpa__log1p_exp(epsilon);
    curve->corner = exp(curve->log_corner);
    *out = &curve->base;
    return DPA_OK;
}
