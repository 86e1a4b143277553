/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scores of both classes, binned: section "histogram" {edges, members, nonmembers}. Shares
 * instead of counts, so that classes of different sizes can be compared. */
#include <math.h>

#include "report/charts.h"
#include "report/value.h"

/* clang-format off */
static const char spec[] =
    "{'width': 'container', 'height': 260, 'layer': ["
    "  {'data': {'name': 'main'}, 'mark': {'type': 'bar', 'opacity': 0.45, 'binSpacing': 0},"
    "   'encoding': {"
    "     'x': {'field': 'from', 'type': 'quantitative', 'bin': {'binned': true},"
    "           'title': 'score (higher means: was in the training set)',"
    "           'scale': {'zero': false}},"
    "     'x2': {'field': 'to'},"
    "     'y': {'field': 'share', 'type': 'quantitative', 'stack': null,"
    "           'title': 'share of the class', 'axis': {'format': '.1~%'}},"
    "     'color': {" DPA__CLASS_COLOUR ", 'legend': {'symbolStrokeWidth': 0}},"
    "     'tooltip': ["
            DPA__TIP_WORD("class", "class") ","
            DPA__TIP("from", "from") ","
            DPA__TIP("to", "to") ","
            DPA__TIP("count", "scores") "]}},"
    "  {'data': {'name': 'outline'}, 'mark': {'type': 'line', 'interpolate': 'step-after'},"
    "   'encoding': {"
    "     'x': {'field': 'x', 'type': 'quantitative'},"
    "     'y': {'field': 'share', 'type': 'quantitative'},"
    "     'color': {" DPA__CLASS_COLOUR "},"
    "     'strokeDash': {" DPA__CLASS_DASH "}}},"
    "  {'data': {'name': 'threshold'}, 'mark': {'type': 'rule', 'strokeDash': [2, 2]},"
    "   'encoding': {'x': {'field': 'threshold', 'type': 'quantitative'},"
    "     'tooltip': [" DPA__TIP("threshold", "threshold of the headline") "]}}"
    "]}";
/* clang-format on */

static void fill(const json_t *result, dpa__chart_data *data) {
    const json_t *histogram = json_object_get(result, "histogram");
    const double threshold =
        dpa__number_of(dpa__headline_of(json_object_get(result, "results")), "threshold");
    dpa__chart_bins(data, histogram, "members", "members");
    dpa__chart_bins(data, histogram, "nonmembers", "non-members");
    if (!isnan(threshold)) dpa__chart_row(data, "threshold", "threshold", threshold);
}

static void describe(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    const json_t *evidence = json_object_get(result, "evidence");
    const double members = dpa__number_of(evidence, "members");
    const double nonmembers = dpa__number_of(evidence, "nonmembers");
    if (!isnan(members) && !isnan(nonmembers))
        dpa__text_printf(out, "Scores of %.0f members and %.0f non-members. ", members, nonmembers);
    dpa__text_add(out, "The more the two shapes overlap, the less the attack can tell.");
    if (dpa__chart_rows(data, "threshold") > 0)
        dpa__text_add(out, " The dotted line is the threshold behind the headline.");
}

const dpa__chart dpa__chart_histogram = {
    "histogram", "Scores of both classes", DPA__PLACE_EVIDENCE, spec, fill, describe};
