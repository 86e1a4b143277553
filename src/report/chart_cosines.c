/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Canary cosines against the null. Section "cosines" {edges, observed, unobserved}. Without
 * unobserved canaries the null is exact (one-shot-federated, Proposition 3.1): the cosine of a
 * random direction in d dimensions has the density Γ(d/2)/(Γ((d−1)/2)√π) · (1−t²)^((d−3)/2). */
#include <math.h>

#include "base/gamma.h"
#include "report/charts.h"
#include "report/value.h"

enum { CURVE_POINTS = 160 };

/* clang-format off */
#define NAMES "['canaries', 'null']"

static const char spec[] =
    "{'width': 'container', 'height': 280, 'layer': ["
    "  {'data': {'name': 'main'}, 'mark': {'type': 'bar', 'opacity': 0.35, 'binSpacing': 0}, 'encoding': {"
    "     'x': {'field': 'from', 'type': 'quantitative', 'bin': {'binned': true}, 'title': 'cosine', 'scale': {'zero': false}},"
    "     'x2': {'field': 'to'},"
    "     'y': {'field': 'density', 'type': 'quantitative', 'title': 'density', 'stack': null},"
    "     'color': {'field': 'class', 'type': 'nominal', 'title': null, 'legend': {'symbolStrokeWidth': 0}, 'scale': {'domain': " NAMES ","
    "        'range': ['" DPA__BLUE "', '" DPA__ORANGE "']}},"
    "     'tooltip': [" DPA__TIP_WORD("class", "cosines of") "," DPA__TIP("from", "from") "," DPA__TIP("to", "to") "," DPA__TIP("count", "canaries") "]}},"
    "  {'data': {'name': 'law'}, 'mark': {'type': 'line', 'clip': true}, 'encoding': {"
    "     'x': {'field': 'cosine', 'type': 'quantitative'}, 'y': {'field': 'density', 'type': 'quantitative'},"
    "     'color': {'field': 'class', 'type': 'nominal'},"
    "     'strokeDash': {'field': 'class', 'type': 'nominal', 'title': null, 'legend': null, 'scale': {'domain': " NAMES ","
    "        'range': [[1, 0], [6, 3]]}},"
    "     'tooltip': [" DPA__TIP_WORD("class", "law of") "," DPA__TIP("cosine", "cosine") "," DPA__TIP("density", "density") "]}}"
    "]}";
/* clang-format on */

/* The range to draw: the bins, and four deviations of the null around 0. */
static void range_of(const json_t *edges, double dim, double *low, double *high) {
    const size_t count = json_array_size(edges);
    *low = json_number_value(json_array_get(edges, 0));
    *high = json_number_value(json_array_get(edges, count > 0 ? count - 1 : 0));
    if (!(dim >= 3.0)) return;
    *low = fmin(*low, -4.0 / sqrt(dim));
    *high = fmax(*high, 4.0 / sqrt(dim));
}

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

static void fill(const json_t *result, dpa__chart_data *data) {
    const json_t *histogram = json_object_get(result, "cosines");
    dpa__chart_bins(data, histogram, "observed", "canaries");
    dpa__chart_bins(data, histogram, "unobserved", "null");
    if (dpa__chart_rows(data, "main") > 0) add_laws(result, histogram, data);
}

static void describe(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    (void)data;
    dpa__text_add(
        out, "Cosines of the canaries that took part (bars, and the normal law fitted to them) ");
    dpa__text_add(out,
                  json_is_array(json_object_get(json_object_get(result, "cosines"), "unobserved"))
                      ? "and of canaries that did not."
                      : "and the exact law of a canary that did not (dashed).");
    dpa__text_add(out, " The farther the first lie to the right of the second, the larger ε.");
}

const dpa__chart dpa__chart_cosines = {
    "cosines", "Canaries against the null", DPA__PLACE_EVIDENCE, spec, fill, describe};
