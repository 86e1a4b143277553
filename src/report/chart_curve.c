/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The trade-off curve of a claim: the smallest false negative rate at each false positive rate. */
#include "report/charts.h"
#include "report/value.h"

/* clang-format off */
static const char spec[] =
    "{'width': 'container', 'height': 300, 'data': {'name': 'main'}, 'encoding': {"
    "  'x': {'field': 'fpr', 'type': 'quantitative', 'title': 'false positive rate',"
    "        'scale': {'domain': [0, 1]}},"
    "  'tooltip': ["
         DPA__TIP("fpr", "FPR") ","
         DPA__TIP("fnr_lower", "smallest FNR, from") ","
         DPA__TIP("fnr_upper", "to") "]},"
    "'layer': ["
    "  {'mark': {'type': 'area', 'opacity': 0.15, 'color': '" DPA__BLUE "'}, 'encoding': {"
    "    'y': {'field': 'fnr', 'type': 'quantitative', 'title': 'smallest false negative rate',"
    "          'scale': {'domain': [0, 1]}}, 'y2': {'datum': 1}}},"
    "  {'mark': {'type': 'line', 'color': '" DPA__BLUE "', 'size': 2}, 'encoding': {"
    "    'y': {'field': 'fnr', 'type': 'quantitative'}}}"
    "]}";
/* clang-format on */

static void fill(const json_t *result, dpa__chart_data *data) {
    size_t index;
    json_t *point;
    json_array_foreach(json_object_get(result, "curve"), index, point)
        dpa__chart_row(data, "main", "fpr fnr fnr_lower fnr_upper", dpa__number_of(point, "fpr"),
                       dpa__number_of(point, "fnr"), dpa__number_of(point, "fnr_lower"),
                       dpa__number_of(point, "fnr_upper"));
}

static void describe(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    (void)result;
    (void)data;
    dpa__text_add(out, "The trade-off curve of the mechanism: every attack has its two error rates "
                       "in the shaded region; none has a point below the line.");
}

const dpa__chart dpa__chart_curve = {
    "curve", "What any attack can reach", DPA__PLACE_EVIDENCE, spec, fill, describe};
