/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Charts of what was observed: scores, canary cosines, losses. */
#include <math.h>

#include "base/gamma.h"
#include "report/charts/charts.h"
#include "report/model/value.h"

enum { CURVE_POINTS = 160 };

/* ── histogram {edges, members, nonmembers}: the scores of both classes ──────────────── */

static double value_at(const json_t *array, size_t index) {
    const json_t *value = json_array_get(array, index);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static double sum_of(const json_t *array) {
    double sum = 0;
    for (size_t i = 0; i < json_array_size(array); ++i) sum += value_at(array, i);
    return sum;
}

/* A histogram {"edges": […], key: [counts]} as rows of the list "main" and its outline as rows of
 * "outline". Shares instead of counts, so that classes of different sizes can be compared. */
static void add_bins(dpa__chart_data *data, const json_t *histogram, const char *key,
                     const char *name) {
    const json_t *edges = json_object_get(histogram, "edges");
    const json_t *counts = json_object_get(histogram, key);
    const double total = sum_of(counts);
    const size_t bins = json_array_size(counts);
    if (!(total > 0) || json_array_size(edges) != bins + 1) return;
    for (size_t i = 0; i < bins; ++i) {
        const double from = value_at(edges, i), to = value_at(edges, i + 1);
        const double count = value_at(counts, i), share = count / total;
        const double density = share / (to - from);
        dpa__chart_row(data, "main", "$class from to share density count", name, from, to, share,
                       density, count);
        dpa__chart_row(data, "outline", "$class x share density", name, from, share, density);
    }
    dpa__chart_row(data, "outline", "$class x share density", name, value_at(edges, bins), 0.0,
                   0.0);
}

static void fill_histogram(const json_t *result, dpa__chart_data *data) {
    const json_t *histogram = json_object_get(result, "histogram");
    const double threshold =
        dpa__number_of(dpa__headline_of(json_object_get(result, "results")), "threshold");
    add_bins(data, histogram, "members", "members");
    add_bins(data, histogram, "nonmembers", "non-members");
    if (!isnan(threshold)) dpa__chart_row(data, "threshold", "threshold", threshold);
}

static void describe_histogram(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    (void)data;
    const json_t *evidence = json_object_get(result, "evidence");
    const double members = dpa__number_of(evidence, "members");
    const double nonmembers = dpa__number_of(evidence, "nonmembers");
    if (!isnan(members) && !isnan(nonmembers))
        dpa__text_printf(out, "Scores of %.0f members and %.0f non-members. ", members, nonmembers);
}

/* ── cosines {edges, observed, unobserved}: canaries against the null ────────────────── */

/* The range to draw: the bins, and four deviations of the null around 0. */
static void range_of(const json_t *edges, double dim, double *low, double *high) {
    const size_t count = json_array_size(edges);
    *low = json_number_value(json_array_get(edges, 0));
    *high = json_number_value(json_array_get(edges, count > 0 ? count - 1 : 0));
    if (!(dim >= 3.0)) return;
    *low = fmin(*low, -4.0 / sqrt(dim));
    *high = fmax(*high, 4.0 / sqrt(dim));
}

/* Without unobserved canaries the null is exact (one-shot-federated, Proposition 3.1): the cosine
 * of a random direction in d dimensions has the density Γ(d/2)/(Γ((d−1)/2)√π) · (1−t²)^((d−3)/2).
 */
static double null_density(double t, double dim) {
    return exp(dpa__log_gamma(0.5 * dim) - dpa__log_gamma(0.5 * (dim - 1.0)) -
               0.5 * log(acos(-1.0)) + 0.5 * (dim - 3.0) * log1p(-t * t));
}

static double normal_density(double x, double mean, double deviation) {
    const double z = (x - mean) / deviation;
    return exp(-0.5 * z * z) / (deviation * sqrt(2.0 * acos(-1.0)));
}

/* The first result that carries the fit of the observed cosines. */
static const json_t *fit_of(const json_t *results) {
    size_t index;
    json_t *item;
    json_array_foreach(results, index, item) {
        if (dpa__number_of(item, "cosine_deviation") > 0) return item;
    }
    return NULL;
}

static void add_laws(const json_t *result, const json_t *histogram, dpa__chart_data *data) {
    const json_t *fit = fit_of(json_object_get(result, "results"));
    const double dim = dpa__number_of(json_object_get(result, "evidence"), "dim");
    const double mean = dpa__number_of(fit, "cosine_mean");
    const double deviation = dpa__number_of(fit, "cosine_deviation");
    double low, high;
    range_of(json_object_get(histogram, "edges"), dim, &low, &high);
    for (int i = 0; i <= CURVE_POINTS; ++i) {
        const double t = low + (high - low) * i / CURVE_POINTS;
        if (dim >= 3.0 && fabs(t) < 1.0)
            dpa__chart_row(data, "law", "$class cosine density", "null", t, null_density(t, dim));
        if (deviation > 0)
            dpa__chart_row(data, "law", "$class cosine density", "canaries", t,
                           normal_density(t, mean, deviation));
    }
}

static void fill_cosines(const json_t *result, dpa__chart_data *data) {
    const json_t *histogram = json_object_get(result, "cosines");
    add_bins(data, histogram, "observed", "canaries");
    add_bins(data, histogram, "unobserved", "null");
    if (dpa__chart_rows(data, "main") > 0) add_laws(result, histogram, data);
}

static void describe_cosines(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    (void)data;
    dpa__text_add(
        out, "Cosines of the canaries that took part (bars, and the normal law fitted to them) ");
    dpa__text_add(out,
                  json_is_array(json_object_get(json_object_get(result, "cosines"), "unobserved"))
                      ? "and of canaries that did not."
                      : "and the exact law of a canary that did not (dashed).");
    dpa__text_add(out, " The farther the first lie to the right of the second, the larger ε.");
}

/* ── epsilon_star {rates, models}: the losses of the first model ─────────────────────── */

/* The distribution functions, observed and fitted, and the thresholds where the maximum is
 * attained. */
static void add_rate(dpa__chart_data *data, const char *name, double threshold, double share) {
    if (!isnan(share))
        dpa__chart_row(data, "main", "$losses threshold share", name, threshold, share);
}

static void fill_losses(const json_t *result, dpa__chart_data *data) {
    const json_t *section = json_object_get(result, "epsilon_star");
    const json_t *model = json_array_get(json_object_get(section, "models"), 0);
    size_t index;
    json_t *row;
    json_array_foreach(json_object_get(section, "rates"), index, row) {
        const double threshold = dpa__number_of(row, "threshold");
        add_rate(data, "training", threshold, 1.0 - dpa__number_of(row, "fnr"));
        add_rate(data, "held-out", threshold, dpa__number_of(row, "fpr"));
        add_rate(data, "training, fitted", threshold, 1.0 - dpa__number_of(row, "fnr_fitted"));
        add_rate(data, "held-out, fitted", threshold, dpa__number_of(row, "fpr_fitted"));
    }
    json_array_foreach(json_object_get(model, "results"), index, row) {
        const double epsilon = dpa__number_of(row, "epsilon");
        if (!isnan(dpa__number_of(row, "threshold")))
            dpa__chart_row(data, "attained", "$method threshold epsilon $ratio label_at",
                           dpa__word_of(row, "method"), dpa__number_of(row, "threshold"),
                           isnan(epsilon) ? dpa__number_of(row, "epsilon_lower") : epsilon,
                           dpa__word_of(row, "ratio"), 0.06 + 0.08 * (double)(index % 8));
    }
}

const dpa__chart dpa__charts_of_samples[] = {
    {"histogram", fill_histogram, describe_histogram},
    {"cosines", fill_cosines, describe_cosines},
    {"losses", fill_losses, NULL},
    {0},
};
