/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One step of the Poisson-subsampled Gaussian mechanism: N(0,σ²) against (1−q)N(0,σ²) + q N(1,σ²),
 * in both directions. The one direction is the Gaussian curve of μ = 1/σ diluted with t = q, the
 * other its inverse; the guarantee is the lower convex hull of both (Dong, Roth, Su, section 4.2:
 * C_q(f) = min{f_q, f_q⁻¹}**):
 *   f_q up to α* = Φ(−μ/2), where its slope is −1; the line of slope −1 up to f_q(α*); f_q⁻¹ after.
 * For ε ≥ 0 only slopes up to −1 count, so δ(ε) = q δ_μ(ε'), e^ε' = 1 + (e^ε−1)/q: a closed form,
 * as accurate as the Gaussian one. */
#include <math.h>

#include "base/error.h"
#include "math/dist.h"
#include "tradeoff/curve.h"
#include "tradeoff/diluted.h"

typedef struct subsampled_curve {
    dpa_curve base;
    dpa_curve *one_way; /* f_q */
    double q, mu;
    double low, high; /* α* and f_q(α*) */
} subsampled_curve;

static const subsampled_curve *subsampled(const dpa_curve *curve) {
    return (const subsampled_curve *)curve;
}

static double subsampled_fnr(const dpa_curve *curve, double fpr) {
    const subsampled_curve *c = subsampled(curve);
    if (fpr <= c->low) return dpa_curve_fnr(c->one_way, fpr);
    if (fpr <= c->high) return c->low + (c->high - fpr);
    return dpa__curve_fpr_at_tpr(c->one_way, 1.0 - fpr);
}

static double subsampled_tpr(const dpa_curve *curve, double fpr) {
    const subsampled_curve *c = subsampled(curve);
    if (fpr <= c->low) return dpa__curve_tpr(c->one_way, fpr);
    return 1.0 - subsampled_fnr(curve, fpr);
}

static double subsampled_fpr_at_tpr(const dpa_curve *curve, double tpr) {
    const subsampled_curve *c = subsampled(curve);
    const double fnr = 1.0 - tpr;
    if (fnr >= c->high) return dpa__curve_fpr_at_tpr(c->one_way, tpr);
    if (fnr >= c->low) return c->low + (c->high - fnr);
    return dpa_curve_fnr(c->one_way, fnr);
}

static double subsampled_log_fnr(const dpa_curve *curve, double log_fpr) {
    const subsampled_curve *c = subsampled(curve);
    const double fpr = exp(log_fpr);
    if (fpr <= c->low) return dpa__curve_log_fnr(c->one_way, log_fpr);
    if (fpr <= c->high) return log(c->low + (c->high - fpr));
    return log(dpa__curve_fpr_at_tpr(c->one_way, -expm1(log_fpr)));
}

static double subsampled_log_delta(const dpa_curve *curve, double epsilon, dpa__way side) {
    (void)side;
    const subsampled_curve *c = subsampled(curve);
    return log(c->q) + dpa__gaussian_log_delta(c->mu, dpa__undilute_epsilon(epsilon, c->q));
}

static double subsampled_epsilon(const dpa_curve *curve, double delta, dpa__way side) {
    (void)side;
    const subsampled_curve *c = subsampled(curve);
    if (delta >= c->q) return 0.0;
    return dpa__dilute_epsilon(dpa_gaussian_epsilon(c->mu, delta / c->q), c->q);
}

static void subsampled_release(dpa_curve *curve) {
    dpa_curve_free(((subsampled_curve *)curve)->one_way);
}

static const dpa__curve_kind subsampled_kind = {
    .fnr = subsampled_fnr,
    .tpr = subsampled_tpr,
    .fpr_at_tpr = subsampled_fpr_at_tpr,
    .log_fnr = subsampled_log_fnr,
    .log_delta = subsampled_log_delta,
    .epsilon = subsampled_epsilon,
    .release = subsampled_release,
};

dpa_status dpa__curve_subsampled_gaussian(double q, double sigma, dpa_curve **out, dpa_error *err) {
    if (!(q >= 0.0 && q <= 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "the sampling rate q is %g; it must be from 0 to 1",
                         q);
    if (!(sigma > 0.0 && isfinite(sigma)))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "sigma is %g; it must be positive and finite",
                         sigma);
    const double mu = 1.0 / sigma;
    if (q == 0.0) return dpa_curve_dp(0.0, 0.0, out, err);
    if (q == 1.0) return dpa_curve_gaussian(mu, out, err);
    dpa_curve *full, *one_way;
    DPA_TRY(dpa_curve_gaussian(mu, &full, err));
    const dpa_status status = dpa__curve_diluted(full, q, &one_way, err);
    dpa_curve_free(full);
    if (status != DPA_OK) return status;
    subsampled_curve *curve = dpa__curve_new(sizeof *curve, &subsampled_kind, 1, err);
    if (curve == NULL) {
        dpa_curve_free(one_way);
        return DPA_NO_MEMORY;
    }
    curve->one_way = one_way;
    curve->q = q;
    curve->mu = mu;
    curve->low = dpa__norm_cdf(0.5 * mu, DPA_UPPER);
    curve->high = q * curve->low + (1.0 - q) * (1.0 - curve->low); /* right even if α* underflows */
    *out = &curve->base;
    return DPA_OK;
}
