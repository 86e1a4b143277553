/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The posterior density of ε: section "posterior" {family, atom, mean, median, points: [{epsilon,
 * density, cumulative}]}. */
#include <math.h>

#include "estimate/registry.h"
#include "report/charts.h"
#include "report/value.h"

/* clang-format off */
static const char spec[] =
    "{'width': 'container', 'height': 260, 'layer': ["
    "  {'data': {'name': 'main'}, 'mark': {'type': 'area', 'opacity': 0.3, 'color': '" DPA__PURPLE "',"
    "      'line': {'color': '" DPA__PURPLE "'}},"
    "   'encoding': {"
    "     'x': {'field': 'epsilon', 'type': 'quantitative', 'title': 'ε', 'scale': {'zero': false}},"
    "     'y': {'field': 'density', 'type': 'quantitative', 'title': 'posterior density'},"
    "     'tooltip': [" DPA__TIP("epsilon", "ε") "," DPA__TIP("density", "density") ","
                        DPA__TIP("cumulative", "probability below") "]}},"
    "  {'data': {'name': 'quantile'}, 'mark': {'type': 'rule', 'color': '" DPA__PURPLE "', 'size': 2},"
    "   'encoding': {'x': {'field': 'lower', 'type': 'quantitative'},"
    "     'tooltip': [" DPA__TIP("lower", "ε ≥") "," DPA__TIP("confidence", "probability") "]}},"
    DPA__CLAIM_RULE("x") "," DPA__CLAIM_WORD_X
    "]}";
/* clang-format on */

static const json_t *result_of(const json_t *result) {
    const json_t *section = json_object_get(result, "posterior");
    size_t index;
    json_t *item;
    json_array_foreach(json_object_get(result, "results"), index, item) {
        if (dpa__is_word(item, "method", dpa__registry_posterior()) &&
            dpa__is_word(item, "family", dpa__word_of(section, "family")))
            return item;
    }
    return NULL;
}

static void fill(const json_t *result, dpa__chart_data *data) {
    const json_t *section = json_object_get(result, "posterior");
    const json_t *bound = result_of(result);
    const double lower = dpa__number_of(bound, "epsilon_lower");
    size_t index;
    json_t *point;
    json_array_foreach(json_object_get(section, "points"), index, point)
        dpa__chart_row(data, "main", "epsilon density cumulative", dpa__number_of(point, "epsilon"),
                       dpa__number_of(point, "density"), dpa__number_of(point, "cumulative"));
    if (!isnan(lower))
        dpa__chart_row(data, "quantile", "lower confidence", lower,
                       dpa__number_of(bound, "confidence"));
    (void)dpa__chart_claim(result, data);
}

static void describe(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    const json_t *section = json_object_get(result, "posterior");
    const double mean = dpa__number_of(section, "mean"), atom = dpa__number_of(section, "atom");
    dpa__text_add(out, "Where ε lies, given the error counts and Jeffreys priors");
    if (dpa__word_of(section, "family")[0] != '\0')
        dpa__text_printf(out, " (family %s)", dpa__word_of(section, "family"));
    if (!isnan(mean)) dpa__text_printf(out, "; mean %.4g", mean);
    dpa__text_add(out, ".");
    if (dpa__chart_rows(data, "quantile") > 0)
        dpa__text_add(out, " The solid line is the lower bound: its right side holds the stated "
                           "probability.");
    if (atom > 1e-6)
        dpa__text_printf(out, " Probability %.3g sits at ε = 0 exactly and is not drawn.", atom);
}

const dpa__chart dpa__chart_posterior = {
    "posterior", "Posterior density of ε", DPA__PLACE_EVIDENCE, spec, fill, describe};
