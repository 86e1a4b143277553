/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans: the power of an audit against its size, and the interval of an estimate against the number
 * of samples. Sections "power_curve" {series, size, power, error} and "precision_curve" {series,
 * samples, epsilon_lower, epsilon_upper}. */
#include <math.h>

#include "report/charts.h"
#include "report/value.h"

/* clang-format off */
static const char power_spec[] =
    "{'width': 'container', 'height': 300, 'layer': ["
    "  {'data': {'name': 'main'}, 'mark': {'type': 'line', 'point': {'size': 12}}, 'encoding': {"
    "     'x': {'field': 'size', 'type': 'quantitative', 'title': 'size of the audit',"
    "           'scale': {'type': 'log', 'nice': false}, 'axis': {'format': '~s'}},"
    "     'y': {'field': 'power', 'type': 'quantitative', 'title': 'power',"
    "           'scale': {'domain': [0, 1]}},"
          DPA__SERIES("series") ","
    "     'tooltip': [" DPA__TIP_WORD("series", "audit") "," DPA__TIP("size", "size") ","
                        DPA__TIP("power", "power") "," DPA__TIP("error", "standard error") "]}},"
    "  {'data': {'name': 'simulated'}, 'mark': {'type': 'errorbar', 'ticks': true}, 'encoding': {"
    "     'x': {'field': 'size', 'type': 'quantitative'},"
    "     'y': {'field': 'low', 'type': 'quantitative', 'title': 'power'}, 'y2': {'field': 'high'},"
    "     'color': {" DPA__COLOURS("series") "}}},"
    "  {'data': {'name': 'wanted'}, 'mark': {'type': 'rule', 'strokeDash': [6, 4]}, 'encoding': {"
    "     'y': {'field': 'power', 'type': 'quantitative'},"
    "     'tooltip': [" DPA__TIP("power", "power that is wanted") "]}}"
    "]}";
static const char precision_spec[] =
    "{'width': 'container', 'height': 300, 'layer': ["
    "  {'data': {'name': 'main'}, 'mark': {'type': 'line', 'point': {'size': 12}}, 'encoding': {"
    "     'x': {'field': 'samples', 'type': 'quantitative', 'title': 'samples',"
    "           'scale': {'type': 'log', 'nice': false}, 'axis': {'format': '~s'}},"
    "     'y': {'field': 'epsilon', 'type': 'quantitative', 'title': 'ends of the interval of ε'},"
    "     'detail': {'field': 'end', 'type': 'nominal'},"
          DPA__SERIES("series") ","
    "     'tooltip': [" DPA__TIP_WORD("series", "interval") "," DPA__TIP_WORD("end", "end") ","
                        DPA__TIP("samples", "samples") "," DPA__TIP("epsilon", "ε") "]}}"
    "]}";
/* clang-format on */

static void fill_power(const json_t *result, dpa__chart_data *data) {
    size_t index;
    json_t *point;
    json_array_foreach(json_object_get(result, "power_curve"), index, point) {
        const char *series = dpa__word_of(point, "series");
        const double size = dpa__number_of(point, "size"), power = dpa__number_of(point, "power");
        const double error = dpa__number_of(point, "error");
        if (!(size > 0)) continue;
        dpa__chart_row(data, "main", "$series size power error", series, size, power, error);
        if (error > 0)
            dpa__chart_row(data, "simulated", "$series size low high", series, size,
                           fmax(0, power - 2 * error), fmin(1, power + 2 * error));
    }
    const double wanted = dpa__number_of(json_object_get(result, "plan"), "power");
    if (dpa__chart_rows(data, "main") > 0 && !isnan(wanted))
        dpa__chart_row(data, "wanted", "power", wanted);
}

static void describe_power(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    (void)result;
    dpa__text_add(out, "How probable it is that an audit of this size refutes the claim when the "
                       "suspected truth is true. The dashed line is the power that is wanted.");
    if (dpa__chart_rows(data, "simulated") > 0)
        dpa__text_add(out, " Bars are two standard errors of a simulation; lines without bars are "
                           "computed.");
}

static void fill_precision(const json_t *result, dpa__chart_data *data) {
    size_t index;
    json_t *point;
    json_array_foreach(json_object_get(result, "precision_curve"), index, point) {
        const char *series = dpa__word_of(point, "series");
        const double samples = dpa__number_of(point, "samples");
        if (!(samples > 0)) continue;
        dpa__chart_row(data, "main", "$series $end samples epsilon", series, "lower", samples,
                       dpa__number_of(point, "epsilon_lower"));
        dpa__chart_row(data, "main", "$series $end samples epsilon", series, "upper", samples,
                       dpa__number_of(point, "epsilon_upper"));
    }
}

static void describe_precision(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    (void)result;
    (void)data;
    dpa__text_add(out, "Both ends of each method's two-sided interval of ε against the number of "
                       "samples, for an attack with the stated error rates.");
}

const dpa__chart dpa__chart_power = {"power",    "Power and size", DPA__PLACE_EVIDENCE,
                                     power_spec, fill_power,       describe_power};
const dpa__chart dpa__chart_precision = {"precision",         "Precision and samples",
                                         DPA__PLACE_EVIDENCE, precision_spec,
                                         fill_precision,      describe_precision};
