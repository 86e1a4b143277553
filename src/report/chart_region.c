/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The privacy region (bayesian-estimation, figure 3): the plane of the two error rates, the joint
 * posterior of the attack's rates in it, what the claim allows and what the bound shows. The
 * posterior under Jeffreys priors is a product of two betas, Beta(fp+½, tn+½) and Beta(fn+½, tp+½);
 * only ratios of densities are drawn, so no constant is needed. */
#include <math.h>

#include "account/family.h"
#include "estimate/registry.h"
#include "report/charts.h"
#include "report/value.h"
#include "tradeoff/tradeoff.h"

enum { CELLS = 20, CURVE_POINTS = 120 };

/* clang-format off */
static const char spec[] =
    "{'width': 'container', 'height': 320, 'layer': ["
    "  {'data': {'name': 'posterior'}, 'mark': {'type': 'rect', 'color': '" DPA__PURPLE "', 'stroke': null, 'clip': true},"
    "   'encoding': {"
    "     'x': {'field': 'fpr', 'type': 'quantitative'}, 'x2': {'field': 'fpr_to'},"
    "     'y': {'field': 'fnr', 'type': 'quantitative'}, 'y2': {'field': 'fnr_to'},"
    "     'opacity': {'field': 'density', 'type': 'quantitative', 'legend': null,"
    "                 'scale': {'domain': [0, 1], 'range': [0, 0.9]}},"
    "     'tooltip': [" DPA__TIP("fpr", "FPR from") "," DPA__TIP("fnr", "FNR from") ","
                        DPA__TIP("density", "density, of the largest") "]}},"
    "  {'data': {'name': 'curves'}, 'mark': {'type': 'line', 'clip': true}, 'encoding': {"
    "     'x': {'field': 'fpr', 'type': 'quantitative', 'title': 'false positive rate',"
    "           'scale': {'domain': [0, 1]}},"
    "     'y': {'field': 'fnr', 'type': 'quantitative', 'title': 'false negative rate',"
    "           'scale': {'domain': [0, 1]}},"
    "     'order': {'field': 'fpr', 'type': 'quantitative'}," DPA__CURVES ","
    "     'tooltip': [" DPA__TIP_WORD("curve", "curve") "," DPA__TIP("fpr", "FPR") "," DPA__TIP("fnr", "FNR") "]}},"
    "  {'data': {'name': 'main'}, 'mark': {'type': 'point', 'shape': 'cross', 'size': 110, 'filled': true, 'opacity': 1, 'color': '" DPA__PURPLE "', 'stroke': 'white', 'strokeWidth': 1.2},"
    "   'encoding': {'x': {'field': 'fpr', 'type': 'quantitative'}, 'y': {'field': 'fnr', 'type': 'quantitative'},"
    "     'tooltip': [" DPA__TIP("fpr", "observed FPR") "," DPA__TIP("fnr", "observed FNR") "]}}"
    "]}";
/* clang-format on */

/* The posterior of a rate that was observed `hits` times in `hits` + `misses`. */
typedef struct rate {
    double a, b, mean, deviation;
} rate;

static rate rate_of(double hits, double misses) {
    rate r = {hits + 0.5, misses + 0.5, 0, 0};
    const double n = r.a + r.b;
    r.mean = r.a / n;
    r.deviation = sqrt(r.a / n * (r.b / n) / (n + 1.0));
    return r;
}

static double log_density(const rate *r, double x) {
    return (r->a - 1.0) * log(x) + (r->b - 1.0) * log1p(-x);
}

/* The edge of cell i: within four deviations of the mean, and inside (0, 1). */
static double edge(const rate *r, int i) {
    const double low = fmax(r->mean - 4.0 * r->deviation, 0.0);
    const double high = fmin(r->mean + 4.0 * r->deviation, 1.0);
    return low + (high - low) * i / CELLS;
}

static double middle(const rate *r, int i) {
    return 0.5 * (edge(r, i) + edge(r, i + 1));
}

static double largest_log_density(const rate *r) {
    double largest = -INFINITY;
    for (int i = 0; i < CELLS; ++i) largest = fmax(largest, log_density(r, middle(r, i)));
    return largest;
}

static void add_posterior(dpa__chart_data *data, const rate *fpr, const rate *fnr) {
    const double top = largest_log_density(fpr) + largest_log_density(fnr);
    for (int i = 0; i < CELLS; ++i)
        for (int j = 0; j < CELLS; ++j) {
            const double height =
                log_density(fpr, middle(fpr, i)) + log_density(fnr, middle(fnr, j)) - top;
            if (!(height > log(0.01))) continue;
            dpa__chart_row(data, "posterior", "fpr fpr_to fnr fnr_to density", edge(fpr, i),
                           edge(fpr, i + 1), edge(fnr, j), edge(fnr, j + 1), exp(height));
        }
}

static void add_curve(dpa__chart_data *data, const char *name, double epsilon, double delta,
                      int gaussian) {
    dpa_curve *curve = NULL;
    const dpa_status status =
        gaussian ? dpa_curve_gaussian(dpa_gaussian_mu(epsilon, delta), &curve, NULL)
                 : dpa_curve_dp(epsilon, delta, &curve, NULL);
    data->failed |= status == DPA_NO_MEMORY;
    if (status != DPA_OK) return;
    for (int i = 0; i <= CURVE_POINTS; ++i) {
        const double share = (double)i / CURVE_POINTS;
        const double fpr = share * share; /* steep near 0 */
        dpa__chart_row(data, "curves", "$curve fpr fnr", name, fpr, dpa_curve_fnr(curve, fpr));
    }
    dpa_curve_free(curve);
}

/* The counts to draw the region for: of the strongest result by joint posterior, else of the
 * headline, else those that were given. */
static const json_t *counts_of(const json_t *result) {
    const json_t *results = json_object_get(result, "results");
    const json_t *counts = json_object_get(dpa__headline_of(results), "counts");
    double largest = -1.0;
    size_t index;
    json_t *item;
    json_array_foreach(results, index, item) {
        const double lower = dpa__number_of(item, "epsilon_lower");
        const json_t *own = json_object_get(item, "counts");
        if (!dpa__is_word(item, "method", dpa__registry_posterior()) || !json_is_object(own) ||
            !(lower > largest))
            continue;
        largest = lower;
        counts = own;
    }
    return json_is_object(counts) ? counts : json_object_get(result, "evidence");
}

static void fill(const json_t *result, dpa__chart_data *data) {
    const json_t *counts = counts_of(result);
    const json_t *claim = dpa__claim_of(result);
    const json_t *best = dpa__primary_of(json_object_get(result, "results"));
    const double fn = dpa__number_of(counts, "fn"), tp = dpa__number_of(counts, "tp");
    const double fp = dpa__number_of(counts, "fp"), tn = dpa__number_of(counts, "tn");
    if (!(fn >= 0 && tp >= 0 && fp >= 0 && tn >= 0 && fn + tp > 0 && fp + tn > 0)) return;
    const rate fpr = rate_of(fp, tn), fnr = rate_of(fn, tp);
    add_posterior(data, &fpr, &fnr);
    add_curve(data, "limit of the claim", dpa__number_of(claim, "epsilon"),
              dpa__number_of(claim, "delta"), 0);
    add_curve(data, "strongest bound", dpa__number_of(best, "epsilon_lower"),
              dpa__number_of(result, "delta"),
              dpa__family_is_gaussian(dpa__word_of(best, "family")));
    add_curve(data, "guessing", 0.0, 0.0, 0);
    dpa__chart_row(data, "main", "fpr fnr", fp / (fp + tn), fn / (fn + tp));
}

static void describe(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    const json_t *point = json_array_get(json_object_get(data->sets, "main"), 0);
    dpa__text_printf(out,
                     "The attack's error rates, FPR %.4g and FNR %.4g, as a cross; the cloud is "
                     "their joint posterior.",
                     dpa__number_of(point, "fpr"), dpa__number_of(point, "fnr"));
    if (json_is_object(dpa__claim_of(result)))
        dpa__text_add(out,
                      " Below the limit of the claim no attack on a mechanism that keeps the claim "
                      "can be.");
}

const dpa__chart dpa__chart_region = {"region", "Privacy region", DPA__PLACE_EVIDENCE, spec,
                                      fill,     describe};
