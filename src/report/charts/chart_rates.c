/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Charts in the plane of the two error rates. No attack on a mechanism that keeps the claim can
 * exceed the claim's trade-off curve, which is drawn too. */
#include <math.h>

#include "account/family.h"
#include "estimate/registry.h"
#include "report/charts/charts.h"
#include "report/model/value.h"
#include "tradeoff/tradeoff.h"

enum { ROC_POINTS = 80, DECADES_SHOWN = 6, CELLS = 20, REGION_POINTS = 120 };

/* ── roc [{fpr, tpr, tpr_lower, tpr_upper}], on linear and on log axes ───────────────── */

/* The smallest positive false positive rate that is drawn on log axes. */
static double smallest_fpr(const json_t *roc) {
    double smallest = 1.0;
    size_t index;
    json_t *point;
    json_array_foreach(roc, index, point) {
        const double fpr = dpa__number_of(point, "fpr");
        if (fpr > 0 && fpr < smallest) smallest = fpr;
    }
    return fmax(smallest, pow(10, -DECADES_SHOWN));
}

static void add_point(dpa__chart_data *data, const json_t *point, double floor) {
    const double fpr = dpa__number_of(point, "fpr"), tpr = dpa__number_of(point, "tpr");
    const double lower = dpa__number_of(point, "tpr_lower");
    const double upper = dpa__number_of(point, "tpr_upper");
    if (!(fpr >= floor) || !(tpr >= floor)) return;
    dpa__chart_row(data, "main", "$curve fpr tpr", "attack", fpr, tpr);
    if (!isnan(lower) && !isnan(upper))
        dpa__chart_row(data, "band", "fpr tpr_lower tpr_upper", fpr, fmax(lower, floor), upper);
}

static void add_roc_curve(dpa__chart_data *data, const char *name, const dpa_curve *curve,
                          double floor) {
    for (int i = 0; i <= ROC_POINTS; ++i) {
        const double share = (double)i / ROC_POINTS;
        const double fpr = floor > 0 ? pow(floor, 1.0 - share) : share * share;
        const double tpr = dpa__curve_tpr(curve, fpr);
        if (tpr >= floor) dpa__chart_row(data, "main", "$curve fpr tpr", name, fpr, tpr);
    }
}

static void add_claim(const json_t *result, dpa__chart_data *data, double floor) {
    const json_t *claim = dpa__claim_of(result);
    dpa_curve *curve = NULL;
    const dpa_status status = dpa_curve_dp(dpa__number_of(claim, "epsilon"),
                                           dpa__number_of(claim, "delta"), &curve, NULL);
    data->failed |= status == DPA_NO_MEMORY;
    if (status != DPA_OK) return; /* no claim, or one that cannot be drawn */
    add_roc_curve(data, "limit of the claim", curve, floor);
    dpa_curve_free(curve);
}

static void add_roc(const json_t *result, dpa__chart_data *data, double floor) {
    const json_t *roc = json_object_get(result, "roc");
    size_t index;
    json_t *point;
    json_array_foreach(roc, index, point) add_point(data, point, floor);
    if (dpa__chart_rows(data, "main") == 0) return;
    add_claim(result, data, floor);
    dpa__chart_row(data, "main", "$curve fpr tpr", "guessing", floor, floor);
    dpa__chart_row(data, "main", "$curve fpr tpr", "guessing", 1.0, 1.0);
}

static void fill_linear(const json_t *result, dpa__chart_data *data) {
    add_roc(result, data, 0.0);
}

static void fill_log(const json_t *result, dpa__chart_data *data) {
    add_roc(result, data, smallest_fpr(json_object_get(result, "roc")));
}

static void describe_roc(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    const json_t *auc = json_object_get(json_object_get(result, "quality"), "auc");
    const double value = dpa__number_of(auc, "value");
    dpa__text_add(out, "True positive rate of the attack at each false positive rate.");
    if (!isnan(value)) dpa__text_printf(out, " Area under the curve: %.4f.", value);
    if (json_is_object(dpa__claim_of(result)))
        dpa__text_add(
            out, " A mechanism that keeps its claim has no attack above the limit, up to chance.");
    if (dpa__chart_rows(data, "band") > 0)
        dpa__text_printf(
            out, " The band is the interval of each TPR by itself, at %.4g%%.",
            100.0 *
                dpa__number_of(dpa__headline_of(json_object_get(result, "results")), "confidence"));
}

/* ── privacy region (bayesian-estimation, figure 3) ──────────────────────────────────── */

/* The joint posterior of the attack's rates, what the claim allows and what the bound shows. Under
 * Jeffreys priors the posterior is a product of two betas, Beta(fp+½, tn+½) and Beta(fn+½, tp+½);
 * only ratios of densities are drawn, so no constant is needed. */

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

static void add_region_curve(dpa__chart_data *data, const char *name, double epsilon, double delta,
                             int gaussian) {
    dpa_curve *curve = NULL;
    const dpa_status status =
        gaussian ? dpa_curve_gaussian(dpa_gaussian_mu(epsilon, delta), &curve, NULL)
                 : dpa_curve_dp(epsilon, delta, &curve, NULL);
    data->failed |= status == DPA_NO_MEMORY;
    if (status != DPA_OK) return;
    for (int i = 0; i <= REGION_POINTS; ++i) {
        const double share = (double)i / REGION_POINTS;
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

static void fill_region(const json_t *result, dpa__chart_data *data) {
    const json_t *counts = counts_of(result);
    const json_t *claim = dpa__claim_of(result);
    const json_t *best = dpa__primary_of(json_object_get(result, "results"));
    const double fn = dpa__number_of(counts, "fn"), tp = dpa__number_of(counts, "tp");
    const double fp = dpa__number_of(counts, "fp"), tn = dpa__number_of(counts, "tn");
    if (!(fn >= 0 && tp >= 0 && fp >= 0 && tn >= 0 && fn + tp > 0 && fp + tn > 0)) return;
    const rate fpr = rate_of(fp, tn), fnr = rate_of(fn, tp);
    add_posterior(data, &fpr, &fnr);
    add_region_curve(data, "limit of the claim", dpa__number_of(claim, "epsilon"),
                     dpa__number_of(claim, "delta"), 0);
    add_region_curve(data, "strongest bound", dpa__number_of(best, "epsilon_lower"),
                     dpa__number_of(result, "delta"),
                     dpa__family_is_gaussian(dpa__word_of(best, "family")));
    add_region_curve(data, "guessing", 0.0, 0.0, 0);
    dpa__chart_row(data, "main", "fpr fnr", fp / (fp + tn), fn / (fn + tp));
}

static void describe_region(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
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

/* ── curve [{fpr, fnr, fnr_lower, fnr_upper}] of a mechanism ─────────────────────────── */

static void fill_curve(const json_t *result, dpa__chart_data *data) {
    size_t index;
    json_t *point;
    json_array_foreach(json_object_get(result, "curve"), index, point)
        dpa__chart_row(data, "main", "fpr fnr fnr_lower fnr_upper", dpa__number_of(point, "fpr"),
                       dpa__number_of(point, "fnr"), dpa__number_of(point, "fnr_lower"),
                       dpa__number_of(point, "fnr_upper"));
}

const dpa__chart dpa__charts_of_rates[] = {
    {"roc", fill_linear, describe_roc},
    {"roc-log", fill_log, NULL},
    {"region", fill_region, describe_region},
    {"curve", fill_curve, NULL},
    {0},
};
