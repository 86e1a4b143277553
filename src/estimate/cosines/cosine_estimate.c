/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ε of the canary-cosine attack from fitted normal laws (one-shot-federated, Algorithms 1–3 and
 * Appendix A), with intervals.
 *
 * All in units of the null's deviation: ε = ε(N(0,1), N(m,s²); δ), the larger of both directions.
 * ε grows with |m|, and in s it has one minimum, near s = 1; an interval is the range of ε over a
 * region of (m, s) that holds the truth with the confidence asked for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/cosines/cosine.h"
#include "math/dist.h"
#include "math/root.h"
#include "tradeoff/tradeoff.h"

/* Cosines of random directions: the exact null (one-shot-federated, Proposition 3.1), moments, and
 * the Anderson–Darling test of normality with fitted parameters. */

double dpa__cosine_null_log_upper(double t, size_t dim) {
    if (!(t >= -1.0 && t <= 1.0) || dim < 2) return NAN;
    const double b = ((double)dim - 1.0) / 2.0;
    /* by symmetry Pr[τ ≥ |t|] is half of Pr[τ² ≥ t²] */
    const double half = dpa__beta_cdf(t * t, 0.5, b, DPA_LOG_UPPER) - M_LN2;
    return t >= 0.0 ? half : log1p(-exp(half));
}

double dpa__cosine_signs_log_upper(double t, size_t dim) {
    if (!(t >= -1.0 && t <= 1.0) || dim < 2) return NAN;
    if (t <= 0.0) return 0.0;
    const double x = t * sqrt((double)dim);
    /* the best constant: two equal terms attain it at x = √2 */
    const double log_constant = -2.0 * M_LN2 - dpa__norm_cdf(M_SQRT2, DPA_LOG_UPPER);
    const double normal = log_constant + dpa__norm_cdf(x, DPA_LOG_UPPER);
    return fmin(-M_LN2, fmin(-0.5 * x * x, normal));
}

/* The two densities cross where (d−3)/2·log(1−t²) + dt²/2 is a constant, so the distance has one
 * peak for t > 0 before the crossing in the tail; a fine grid in t√d finds it. */
double dpa__cosine_null_distance(size_t dim) {
    if (dim < 2) return NAN;
    const double root = sqrt((double)dim);
    double worst = 0.0;
    for (int i = 1; i <= 1000; ++i) {
        const double x = 0.005 * i; /* up to five deviations */
        const double exact = x < root ? exp(dpa__cosine_null_log_upper(x / root, dim)) : 0.0;
        worst = fmax(worst, fabs(exact - dpa__norm_cdf(x, DPA_UPPER)));
    }
    return worst;
}

dpa_status dpa__cosine_fit_sample(const double *cosines, size_t count, dpa_cosine_fit *out,
                                  dpa_error *err) {
    if (count == 0) return dpa__fail(err, DPA_BAD_INPUT, "cosines: there are none");
    double sum = 0.0, square = 0.0;
    for (size_t i = 0; i < count; ++i) {
        if (!(fabs(cosines[i]) <= 1.0 + 1e-9))
            return dpa__fail(err, DPA_BAD_INPUT, "cosines: number %zu is %g, not in [-1, 1]", i + 1,
                             cosines[i]);
        sum += cosines[i];
    }
    const double mean = sum / (double)count;
    for (size_t i = 0; i < count; ++i) square += (cosines[i] - mean) * (cosines[i] - mean);
    *out = (dpa_cosine_fit){count, mean, sqrt(square / (double)count)};
    return DPA_OK;
}

double *dpa__cosine_sorted(const double *x, size_t count, dpa_error *err) {
    double *sorted = DPA_NEW_ARRAY(double, count, err);
    if (sorted == NULL) return NULL;
    memcpy(sorted, x, count * sizeof *sorted);
    if (dpa__sort_numbers(sorted, count, err) == DPA_OK) return sorted;
    free(sorted);
    return NULL;
}

/* D'Agostino and Stephens (1986), table 4.9, for a fitted mean and variance. */
static double anderson_darling_p(double a) {
    if (a < 0.2) return -expm1(-13.436 + 101.14 * a - 223.73 * a * a);
    if (a < 0.34) return -expm1(-8.318 + 42.796 * a - 59.938 * a * a);
    if (a < 0.6) return exp(0.9177 - 4.279 * a - 1.38 * a * a);
    const double end = fmin(a, 150.0); /* beyond, the parabola would turn up again */
    return exp(1.2937 - 5.709 * end + 0.0186 * end * end);
}

static double anderson_darling_sum(const double *sorted, size_t count, double mean,
                                   double deviation) {
    double sum = 0.0;
    for (size_t i = 0; i < count; ++i) {
        const double low = (sorted[i] - mean) / deviation;
        const double high = (sorted[count - 1 - i] - mean) / deviation;
        sum += (2.0 * (double)i + 1.0) *
               (dpa__norm_cdf(low, DPA_LOG_LOWER) + dpa__norm_cdf(high, DPA_LOG_UPPER));
    }
    return -(double)count - sum / (double)count;
}

dpa_status dpa__anderson_darling(const double *sample, size_t count, double *statistic,
                                 double *p_value, dpa_error *err) {
    *statistic = NAN;
    *p_value = NAN;
    if (count < 8) return DPA_OK;
    double *sorted = dpa__cosine_sorted(sample, count, err);
    if (sorted == NULL) return DPA_NO_MEMORY;
    double mean = 0.0, square = 0.0;
    const double n = (double)count;
    for (size_t i = 0; i < count; ++i) mean += sorted[i] / n;
    for (size_t i = 0; i < count; ++i) square += (sorted[i] - mean) * (sorted[i] - mean);
    if (sorted[0] < sorted[count - 1]) {
        *statistic = anderson_darling_sum(sorted, count, mean, sqrt(square / (n - 1.0)));
        *p_value = fmin(1.0, anderson_darling_p(*statistic * (1.0 + 0.75 / n + 2.25 / (n * n))));
    }
    free(sorted);
    return DPA_OK;
}

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
