/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All bounds of a result, with the claim as a line. Valid bounds, optimistic ones and estimates
 * differ in shape, not only in colour; a bar from 0 means "at least". */
#include <math.h>

#include "report/charts.h"
#include "report/value.h"

/* clang-format off */
#define Y_AND_TIP \
    "'y': {'field': 'name', 'type': 'nominal', 'sort': null, 'title': null," \
    "      'axis': {'ticks': false, 'domain': false, 'labelPadding': 8}}," \
    "'tooltip': [" \
         DPA__TIP_WORD("name", "result") "," \
         DPA__TIP_WORD("standing", "standing") "," \
         DPA__TIP("epsilon", "ε") "," \
         DPA__TIP("lower", "ε ≥") "," \
         DPA__TIP("upper", "ε ≤") "],"

static const char spec[] =
    "{'width': 'container', 'height': {'step': 26}, 'layer': ["
    "  {'data': {'name': 'main'}, 'mark': {'type': 'bar', 'height': 6, 'opacity': 0.35},"
    "   'encoding': {" Y_AND_TIP " 'x': {'field': 'lower', 'type': 'quantitative', 'title': 'ε'},"
    "     'color': {'field': 'standing'}}},"
    "  {'data': {'name': 'interval'}, 'mark': {'type': 'rule', 'size': 2},"
    "   'encoding': {" Y_AND_TIP " 'x': {'field': 'lower', 'type': 'quantitative'}, 'x2': {'field': 'upper'},"
    "     'color': {'field': 'standing'}}},"
    "  {'data': {'name': 'main'}, 'mark': {'type': 'point', 'filled': true, 'size': 110,"
    "      'opacity': 1},"
    "   'encoding': {" Y_AND_TIP " 'x': {'field': 'epsilon', 'type': 'quantitative'},"
    "     'shape': {'field': 'standing', 'type': 'nominal', 'title': null,"
    "       'legend': {'orient': 'bottom'},"
    "       'scale': {'domain': ['confidence', 'posterior', 'optimistic', 'estimate'],"
    "                 'range': ['circle', 'square', 'triangle-up', 'diamond']}},"
    "     'color': {'field': 'standing', 'type': 'nominal', 'title': null,"
    "       'legend': {'orient': 'bottom'},"
    "       'scale': {'domain': ['confidence', 'posterior', 'optimistic', 'estimate'],"
    "                 'range': ['" DPA__BLUE "', '" DPA__PURPLE "', '" DPA__ORANGE "', '" DPA__GREEN "']}}}},"
    DPA__CLAIM_RULE("x") "," DPA__CLAIM_WORD_X
    "]}";
/* clang-format on */

static void add_result(dpa__chart_data *data, const json_t *item) {
    char name[160];
    const double lower = dpa__number_of(item, "epsilon_lower");
    const double upper = dpa__number_of(item, "epsilon_upper");
    const double point = dpa__number_of(item, "epsilon");
    const double shown = isnan(point) ? lower : point;
    const char *standing = dpa__standing_of(item);
    if (isnan(shown)) return;
    dpa__result_name(item, name, sizeof name);
    dpa__chart_row(data, "main", "$name $standing epsilon lower upper", name, standing, shown,
                   lower, upper);
    if (!isnan(lower) && !isnan(upper))
        dpa__chart_row(data, "interval", "$name $standing lower upper", name, standing, lower,
                       upper);
}

static void fill(const json_t *result, dpa__chart_data *data) {
    size_t index;
    json_t *item;
    json_array_foreach(json_object_get(result, "results"), index, item) add_result(data, item);
    (void)dpa__chart_claim(result, data);
}

static void describe(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    const double claim = dpa__number_of(dpa__claim_of(result), "epsilon");
    const size_t count = dpa__chart_rows(data, "main");
    dpa__text_printf(out,
                     "%zu result%s on one axis of ε: circles are bounds at a confidence, squares "
                     "posterior ones, triangles optimistic ones, diamonds estimates.",
                     count, count == 1 ? "" : "s");
    if (!isnan(claim)) dpa__text_printf(out, " The dashed line is the claim, ε = %.6g.", claim);
}

const dpa__chart dpa__chart_bounds = {"bounds", "What was shown", DPA__PLACE_BOUNDS, spec,
                                      fill,     describe};
