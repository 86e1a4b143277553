/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cosines of random directions: the exact null (one-shot-federated, Proposition 3.1), moments, and
 * the Anderson–Darling test of normality with fitted parameters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/cosine.h"
#include "math/dist.h"

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

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void dpa__cosine_sort(double *x, size_t count) {
    qsort(x, count, sizeof *x, ascending);
}

double *dpa__cosine_sorted(const double *x, size_t count, dpa_error *err) {
    double *sorted = DPA_NEW_ARRAY(double, count, err);
    if (sorted == NULL) return NULL;
    memcpy(sorted, x, count * sizeof *sorted);
    dpa__cosine_sort(sorted, count);
    return sorted;
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
