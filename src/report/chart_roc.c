/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The attack's ROC on linear and on log axes: section "roc", rows {fpr, tpr} and, where known, the
 * band {tpr_lower, tpr_upper}. No attack on a mechanism that keeps the claim can exceed the claim's
 * trade-off curve, which is drawn too. */
#include <math.h>

#include "report/charts.h"
#include "report/value.h"
#include "tradeoff/tradeoff.h"

enum { CLAIM_POINTS = 80, DECADES_SHOWN = 6 };

/* clang-format off */
#define LAYERS \
    "'layer': [" \
    "  {'data': {'name': 'band'}, 'mark': {'type': 'area', 'opacity': 0.2, 'color': '" DPA__BLUE "', 'clip': true}," \
    "   'encoding': {'x': {'field': 'fpr', 'type': 'quantitative'}," \
    "     'y': {'field': 'tpr_lower', 'type': 'quantitative'}, 'y2': {'field': 'tpr_upper'}}}," \
    "  {'data': {'name': 'main'}, 'mark': {'type': 'line', 'clip': true, 'interpolate': 'linear'}," \
    "   'encoding': {"

#define X_Y(scale) \
    "'x': {'field': 'fpr', 'type': 'quantitative', 'title': 'false positive rate', 'scale': " scale "}," \
    "'y': {'field': 'tpr', 'type': 'quantitative', 'title': 'true positive rate', 'scale': " scale "}"

#define REST \
    "," DPA__CURVES ", 'order': {'field': 'fpr', 'type': 'quantitative'}," \
    "'tooltip': [" DPA__TIP_WORD("curve", "curve") "," DPA__TIP("fpr", "FPR") "," DPA__TIP("tpr", "TPR") "]}}" \
    "]}"

static const char linear_spec[] =
    "{'width': 'container', 'height': 300, " LAYERS X_Y("{'domain': [0, 1]}") REST;
static const char log_spec[] =
    "{'width': 'container', 'height': 300, " LAYERS
    X_Y("{'type': 'log', 'domainMax': 1, 'nice': false}, 'axis': {'tickCount': 3, 'format': '~g'}") REST;
/* clang-format on */

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

static void add_curve(dpa__chart_data *data, const char *name, const dpa_curve *curve,
                      double floor) {
    for (int i = 0; i <= CLAIM_POINTS; ++i) {
        const double share = (double)i / CLAIM_POINTS;
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
    add_curve(data, "limit of the claim", curve, floor);
    dpa_curve_free(curve);
}

static void add_all(const json_t *result, dpa__chart_data *data, double floor) {
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
    add_all(result, data, 0.0);
}

static void fill_log(const json_t *result, dpa__chart_data *data) {
    add_all(result, data, smallest_fpr(json_object_get(result, "roc")));
}

static void describe(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
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

static void describe_log(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    (void)result;
    (void)data;
    dpa__text_add(out, "The same on log axes: what the attack does where it is hardly ever wrong, "
                       "which is where a leak shows first.");
}

const dpa__chart dpa__chart_roc = {"roc",       "ROC of the attack", DPA__PLACE_EVIDENCE,
                                   linear_spec, fill_linear,         describe};
const dpa__chart dpa__chart_roc_log = {
    "roc-log", "ROC at low error rates", DPA__PLACE_EVIDENCE, log_spec, fill_log, describe_log};
