/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Epsilon*: the distribution functions of the losses, observed and fitted, and the thresholds where
 * the maximum is attained. Section "epsilon_star": rates [{threshold, fpr, fnr, fpr_fitted,
 * fnr_fitted}] of the first model, models [{results [{method, threshold, epsilon, ratio}]}]. */
#include <math.h>

#include "report/charts.h"
#include "report/value.h"

/* clang-format off */
#define NAMES "['training', 'held-out', 'training, fitted', 'held-out, fitted']"

static const char spec[] =
    "{'width': 'container', 'height': 280, 'layer': ["
    "  {'data': {'name': 'main'}, 'mark': {'type': 'line', 'clip': true}, 'encoding': {"
    "     'x': {'field': 'threshold', 'type': 'quantitative', 'title': 'loss', 'scale': {'zero': false}},"
    "     'y': {'field': 'share', 'type': 'quantitative', 'title': 'share of points at or below',"
    "           'scale': {'domain': [0, 1]}, 'axis': {'format': '.0%'}},"
    "     'color': {'field': 'losses', 'type': 'nominal', 'title': null, 'scale': {'domain': " NAMES ","
    "        'range': ['" DPA__BLUE "', '" DPA__ORANGE "', '" DPA__BLUE "', '" DPA__ORANGE "']}},"
    "     'strokeDash': {'field': 'losses', 'type': 'nominal', 'title': null, 'scale': {'domain': " NAMES ","
    "        'range': [[1, 0], [1, 0], [3, 3], [3, 3]]}},"
    "     'tooltip': [" DPA__TIP_WORD("losses", "losses") "," DPA__TIP("threshold", "loss") "," DPA__TIP("share", "share") "]}},"
    "  {'data': {'name': 'attained'}, 'mark': {'type': 'rule', 'size': 1.5}, 'encoding': {"
    "     'x': {'field': 'threshold', 'type': 'quantitative'},"
    "     'tooltip': [" DPA__TIP_WORD("method", "method") "," DPA__TIP("threshold", "loss at most") ","
                        DPA__TIP("epsilon", "ε*") "," DPA__TIP_WORD("ratio", "attained by") "]}},"
    "  {'data': {'name': 'attained'}, 'mark': {'type': 'text', 'baseline': 'middle', 'align': 'left', 'dx': 4},"
    "   'encoding': {'x': {'field': 'threshold', 'type': 'quantitative'}, 'y': {'field': 'label_at', 'type': 'quantitative'},"
    "     'text': {'field': 'method'}}}"
    "]}";
/* clang-format on */

static void add_rate(dpa__chart_data *data, const char *name, double threshold, double share) {
    if (!isnan(share))
        dpa__chart_row(data, "main", "$losses threshold share", name, threshold, share);
}

static void fill(const json_t *result, dpa__chart_data *data) {
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

static void describe(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    (void)result;
    dpa__text_add(out, "Distribution functions of the losses on training and held-out points, as "
                       "observed and as a normal law fitted on the transformed scale.");
    if (dpa__chart_rows(data, "attained") > 0)
        dpa__text_add(out, " A vertical line is the threshold where a method finds its maximum.");
}

const dpa__chart dpa__chart_losses = {
    "losses", "Losses in and out of the training set", DPA__PLACE_EVIDENCE, spec, fill, describe};
