/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ε of the canary-cosine attack from fitted normal laws (one-shot-federated, Algorithms 1–3 and
 * Appendix A), with intervals.
 *
 * All in units of the null's deviation: ε = ε(N(0,1), N(m,s²); δ), the larger of both directions.
 * ε grows with |m|, and in s it has one minimum, near s = 1; an interval is the range of ε over a
 * region of (m, s) that holds the truth with the confidence asked for. */
#include <math.h>

#include "base/error.h"
#include "estimate/cosine.h"
#include "estimate/cosines.h"
#include "math/dist.h"
#include "math/root.h"
#include "tradeoff/tradeoff.h"

/* s in [low, high], |m − mean| ≤ fixed + slope·s. */
typedef struct region {
    double mean, fixed, slope, low, high;
    double delta;
} region;

static double epsilon_of(double mean, double deviation, double delta) {
    return dpa__two_gaussians_epsilon(0.0, 1.0, mean, deviation, delta);
}

static double least_at(const region *r, double s) {
    return epsilon_of(fmax(0.0, fabs(r->mean) - r->fixed - r->slope * s), s, r->delta);
}

static double most_at(const region *r, double s) {
    return epsilon_of(fabs(r->mean) + r->fixed + r->slope * s, s, r->delta);
}

enum { GRID = 32, GOLDEN_STEPS = 40 };
static const double LEAST_LEFT = 0.05; /* of the squared length, for a correction */

static double minus_least(double log_s, void *user) {
    return -least_at(user, exp(log_s));
}

/* Golden section on log s between the grid neighbours of the smallest value. */
static double refine_least(region *r, double left, double right) {
    const dpa__peak peak = dpa__golden(minus_least, r, left, right, GOLDEN_STEPS);
    return fmin(-peak.value[0], -peak.value[1]);
}

static void range(region *r, double *lower, double *upper) {
    const double left = log(r->low), step = (log(r->high) - left) / GRID;
    int best = 0;
    *lower = INFINITY;
    *upper = 0.0;
    for (int i = 0; i <= GRID; ++i) {
        const double s = exp(left + step * i);
        const double least = least_at(r, s);
        *upper = fmax(*upper, most_at(r, s));
        if (least < *lower) {
            *lower = least;
            best = i;
        }
    }
    const double from = left + step * (best > 0 ? best - 1 : 0);
    const double to = left + step * (best < GRID ? best + 1 : GRID);
    if (step > 0.0 && *lower > 0.0) *lower = fmin(*lower, refine_least(r, from, to));
}

static dpa_status check(double delta, double confidence, dpa_error *err) {
    if (!(delta >= 0.0 && delta < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta: at least 0 and less than 1, not %g", delta);
    if (!(confidence > 0.0 && confidence < 1.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "confidence: between 0 and 1, not %g", confidence);
    return DPA_OK;
}

static dpa_status check_dim(size_t dim, dpa_error *err) {
    if (dim < 2) return dpa__fail(err, DPA_BAD_ARGUMENT, "dim: at least 2, not %zu", dim);
    return DPA_OK;
}

static dpa_status check_deviation(const dpa_cosine_fit *fit, const char *which, dpa_error *err) {
    if (fit->count < 2 || !(fit->deviation > 0.0))
        return dpa__fail(err, DPA_BAD_INPUT,
                         "%s: a deviation needs at least two cosines that differ", which);
    return DPA_OK;
}

dpa_status dpa__cosines_mean(const dpa_cosine_fit *fit, size_t dim, double delta, double confidence,
                             dpa_cosine_estimate *out, dpa_error *err) {
    DPA_TRY(check(delta, confidence, err));
    DPA_TRY(check_dim(dim, err));
    const double mean = fit->mean * sqrt((double)dim);
    const double half =
        dpa__norm_quantile((1.0 - confidence) / 2.0, DPA_UPPER) / sqrt((double)fit->count);
    region r = {mean, half, 0.0, 1.0, 1.0, delta};
    *out = (dpa_cosine_estimate){.epsilon = epsilon_of(fabs(mean), 1.0, delta),
                                 .lower = least_at(&r, 1.0),
                                 .upper = most_at(&r, 1.0),
                                 .mean = mean,
                                 .deviation = 1.0};
    return DPA_OK;
}

double dpa__cosines_crowd(const dpa_cosine_fit *fit, double canaries, double clients) {
    return fit->mean * fit->mean * (canaries + clients);
}

/* μ from μ̂ = m; INFINITY if the crowd alone has that length. */
static double without_crowd(double m, double crowd) {
    const double left = 1.0 - m * m * crowd;
    return left > 0.0 ? m / sqrt(left) : (double)INFINITY;
}

static double crowded_epsilon(double m, double crowd, double delta) {
    const double mu = without_crowd(fmax(0.0, m), crowd);
    return isinf(mu) ? (double)INFINITY : epsilon_of(mu, 1.0, delta);
}

dpa_status dpa__cosines_corrected(const dpa_cosine_fit *fit, size_t dim, double canaries,
                                  double clients, double delta, double confidence,
                                  dpa_cosine_estimate *out, dpa_error *err) {
    DPA_TRY(check(delta, confidence, err));
    DPA_TRY(check_dim(dim, err));
    if (!(canaries >= 0.0 && clients >= 0.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "crowd: %g canaries, clients of %g: expected 0 or "
                         "more",
                         canaries, clients);
    const double d = (double)dim, m = fabs(fit->mean) * sqrt(d), crowd = (canaries + clients) / d;
    const double half =
        dpa__norm_quantile((1.0 - confidence) / 2.0, DPA_UPPER) / sqrt((double)fit->count);
    *out = (dpa_cosine_estimate){(double)NAN, (double)NAN, (double)NAN, (double)NAN, 1.0};
    if (1.0 - m * m * crowd < LEAST_LEFT) return DPA_OK;
    *out = (dpa_cosine_estimate){.epsilon = crowded_epsilon(m, crowd, delta),
                                 .lower = crowded_epsilon(m - half, crowd, delta),
                                 .upper = crowded_epsilon(m + half, crowd, delta),
                                 .mean = without_crowd(m, crowd),
                                 .deviation = 1.0};
    return DPA_OK;
}

/* For normal cosines mean and deviation are independent, so a region with error a for each pivot
 * covers with probability exactly (1−a)². */
dpa_status dpa__cosines_mean_and_deviation(const dpa_cosine_fit *fit, size_t dim, double delta,
                                           double confidence, dpa_cosine_estimate *out,
                                           dpa_error *err) {
    DPA_TRY(check(delta, confidence, err));
    DPA_TRY(check_dim(dim, err));
    DPA_TRY(check_deviation(fit, "cosines", err));
    const double root = sqrt((double)dim), n = (double)fit->count;
    const double mean = fit->mean * root, deviation = fit->deviation * root;
    const double half_error = (1.0 - sqrt(confidence)) / 2.0;
    region r = {.mean = mean,
                .slope = dpa__norm_quantile(half_error, DPA_UPPER) / sqrt(n),
                .low = deviation * sqrt(n / dpa__chisq_quantile(half_error, n - 1.0, DPA_UPPER)),
                .high = deviation * sqrt(n / dpa__chisq_quantile(half_error, n - 1.0, DPA_LOWER)),
                .delta = delta};
    *out = (dpa_cosine_estimate){
        .epsilon = epsilon_of(fabs(mean), deviation, delta), .mean = mean, .deviation = deviation};
    range(&r, &out->lower, &out->upper);
    return DPA_OK;
}

/* m̂ = (x̄₁ − x̄₀)/σ̂₀ has variance about s²/k₁ + 1/k₀ + m²/(2k₀), log ŝ about 1/(2k₁) + 1/(2k₀). */
dpa_status dpa__cosines_all_iterates(const dpa_cosine_fit *unobserved,
                                     const dpa_cosine_fit *observed, double delta,
                                     double confidence, dpa_cosine_estimate *out, dpa_error *err) {
    DPA_TRY(check(delta, confidence, err));
    DPA_TRY(check_deviation(unobserved, "unobserved canaries", err));
    DPA_TRY(check_deviation(observed, "observed canaries", err));
    const double k0 = (double)unobserved->count - 1.0, k1 = (double)observed->count - 1.0;
    const double m = (observed->mean - unobserved->mean) / unobserved->deviation;
    const double s = observed->deviation / unobserved->deviation;
    const double z = dpa__norm_quantile((1.0 - confidence) / 4.0, DPA_UPPER);
    const double log_half = z * sqrt(0.5 / k0 + 0.5 / k1);
    region r = {.mean = m,
                .fixed = z * sqrt(s * s / k1 + 1.0 / k0 + 0.5 * m * m / k0),
                .low = s * exp(-log_half),
                .high = s * exp(log_half),
                .delta = delta};
    *out =
        (dpa_cosine_estimate){.epsilon = epsilon_of(fabs(m), s, delta), .mean = m, .deviation = s};
    range(&r, &out->lower, &out->upper);
    return DPA_OK;
}
