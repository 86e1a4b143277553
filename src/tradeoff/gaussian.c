/* SPDX-License-Identifier: GPL-3.0-or-later */
/* N(0,1) against N(μ,1): f(α) = Φ(Φ⁻¹(1−α) − μ) (Dong, Roth, Su: Gaussian differential privacy),
 * and its δ(ε) (Balle, Wang 2018):  δ = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2).
 *
 * With x = ε/μ − μ/2 both terms carry the factor φ(x), since e^ε φ(x+μ) = φ(x), so
 *   δ = φ(x) [R(x) − R(x+μ)] = φ(x) ∫ₓ^{x+μ} (1 − t R(t)) dt,   R the Mills ratio.
 * The difference is taken where it does not cancel and the integral where it would (small μ); no
 * number in it is larger than the answer needs, whatever ε is. The inverses are Newton iterations
 * on log δ, which is concave in x and in μ, from the side on which they cannot overshoot. Relative
 * error of ε(δ) and of μ(ε,δ) below 1e-12 for μ in [1e-8, 1e4] and δ in [1e-300, 0.999] wherever
 * the problem itself is well conditioned (tests/known/test_gaussian.c). */
#include <math.h>

#include "base/error.h"
#include "math/dist.h"
#include "math/logspace.h"
#include "tradeoff/curve.h"
#include "tradeoff/tradeoff.h"

static const double small_mu = 0.3;
enum { MAX_STEPS = 200 };

/* ∫ₓ^{x+μ} (1 − t R(t)) dt by six-point Gauss–Legendre, whose error is below 1e-16 for μ < 0.3. */
static double drop_integral(double x, double mu) {
    static const double node[3] = {0.2386191860831969086, 0.6612093864662645137,
                                   0.9324695142031520278};
    static const double weight[3] = {0.4679139345726910473, 0.3607615730481386076,
                                     0.1713244923791703450};
    const double half = 0.5 * mu, middle = x + half;
    double sum = 0.0;
    for (int i = 0; i < 3; ++i)
        sum += weight[i] * (dpa__mills_drop(middle - half * node[i]) +
                            dpa__mills_drop(middle + half * node[i]));
    return half * sum;
}

/* log δ at x = ε/μ − μ/2 ≥ −μ/2; μ in (0, ∞). */
static double log_delta_at(double x, double mu) {
    if (isinf(x)) return -INFINITY;
    if (mu < small_mu) return dpa__norm_log_pdf(x) + log(drop_integral(x, mu));
    if (x > 4.0) return dpa__norm_log_pdf(x) + log(dpa__mills(x) - dpa__mills(x + mu));
    const double first = dpa__norm_cdf(x, DPA_LOG_UPPER);
    const double second = dpa__norm_log_pdf(x) + dpa__log_mills(x + mu);
    return first + dpa__log1m_exp(second - first);
}

double dpa__gaussian_log_delta(double mu, double epsilon) {
    if (!(mu >= 0.0) || !(epsilon >= 0.0)) return NAN;
    if (isinf(mu)) return 0.0;
    if (mu == 0.0 || isinf(epsilon)) return -INFINITY;
    return log_delta_at(epsilon / mu - 0.5 * mu, mu);
}

double dpa_gaussian_epsilon(double mu, double delta) {
    if (!(mu >= 0.0) || !(delta >= 0.0 && delta <= 1.0)) return NAN;
    if (mu == 0.0 || delta == 1.0) return 0.0;
    if (isinf(mu) || delta == 0.0) return INFINITY;
    const double target = log(delta);
    if (log_delta_at(-0.5 * mu, mu) <= target) return 0.0;
    /* δ < 1 − Φ(x), so this x is right of the root, and Newton's method descends to it. */
    double x = dpa__norm_quantile(delta, DPA_UPPER);
    for (int i = 0; i < MAX_STEPS; ++i) {
        const double value = log_delta_at(x, mu);
        const double log_slope =
            log(mu) + dpa__norm_log_pdf(x) + dpa__log_mills(x + mu) - value; /* of −log δ */
        const double next = fmax(x - (target - value) * exp(-log_slope), -0.5 * mu);
        if (!(next < x - 1e-16 * fabs(x))) break;
        x = next;
    }
    return fmax(0.0, mu * (x + 0.5 * mu));
}

double dpa_gaussian_mu(double epsilon, double delta) {
    if (!(epsilon >= 0.0) || !(delta >= 0.0 && delta <= 1.0)) return NAN;
    if (isinf(epsilon) || delta == 1.0) return INFINITY;
    if (delta == 0.0) return 0.0;
    const double target = log(delta);
    /* Two lower limits: δ ≤ 1 − Φ(x) gives μ²/2 + zμ ≥ ε; δ ≤ 2Φ(μ/2) − 1 ≤ μ/√(2π). */
    const double z = dpa__norm_quantile(delta, DPA_UPPER);
    const double root = hypot(z, sqrt(2.0 * epsilon));
    const double from_tail = z > 0.0 ? 2.0 * epsilon / (z + root) : root - z;
    const double sqrt_2pi = 2.50662827463100050242;
    double mu = fmax(from_tail, delta * sqrt_2pi);
    for (int i = 0; i < MAX_STEPS; ++i) {
        const double x = epsilon / mu - 0.5 * mu;
        const double value = log_delta_at(x, mu);
        /* ∂δ/∂μ = φ(x) */
        const double next = mu + (target - value) * exp(value - dpa__norm_log_pdf(x));
        if (!(next > mu * (1.0 + 2e-16))) break;
        mu = next;
    }
    return mu;
}

typedef struct gaussian_curve {
    dpa_curve base;
    double mu;
} gaussian_curve;

static double mu_of(const dpa_curve *curve) {
    return ((const gaussian_curve *)curve)->mu;
}

static double gaussian_fnr(const dpa_curve *curve, double fpr) {
    return dpa__norm_cdf(dpa__norm_quantile(fpr, DPA_UPPER) - mu_of(curve), DPA_LOWER);
}

static double gaussian_tpr(const dpa_curve *curve, double fpr) {
    return dpa__norm_cdf(dpa__norm_quantile(fpr, DPA_UPPER) - mu_of(curve), DPA_UPPER);
}

static double gaussian_fpr_at_tpr(const dpa_curve *curve, double tpr) {
    return dpa__norm_cdf(dpa__norm_quantile(tpr, DPA_UPPER) + mu_of(curve), DPA_UPPER);
}

static double gaussian_log_fnr(const dpa_curve *curve, double log_fpr) {
    return dpa__norm_cdf(dpa__norm_quantile(log_fpr, DPA_LOG_UPPER) - mu_of(curve), DPA_LOG_LOWER);
}

static double gaussian_log_delta(const dpa_curve *curve, double epsilon, dpa__way side) {
    (void)side;
    return dpa__gaussian_log_delta(mu_of(curve), epsilon);
}

static double gaussian_epsilon(const dpa_curve *curve, double delta, dpa__way side) {
    (void)side;
    return dpa_gaussian_epsilon(mu_of(curve), delta);
}

static const dpa__curve_kind gaussian_kind = {
    .fnr = gaussian_fnr,
    .tpr = gaussian_tpr,
    .fpr_at_tpr = gaussian_fpr_at_tpr,
    .log_fnr = gaussian_log_fnr,
    .log_delta = gaussian_log_delta,
    .epsilon = gaussian_epsilon,
};

dpa_status dpa_curve_gaussian(double mu, dpa_curve **out, dpa_error *err) {
    if (!(mu >= 0.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "mu is %g; it must be 0 or larger", mu);
    if (isinf(mu)) return dpa__curve_none(out, err);
    gaussian_curve *curve = dpa__curve_new(sizeof *curve, &gaussian_kind, 1, err);
    if (curve == NULL) return DPA_NO_MEMORY;
    curve->mu = mu;
    *out = &curve->base;
    return DPA_OK;
}
