/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each of several audits showed, in their order, with the claim as a line. A tick marks what
 * the audit would have detected, so that a weak audit does not look like a private model. */
#include <math.h>

#include "report/charts.h"
#include "report/value.h"

/* clang-format off */
#define X "'x': {'field': 'audit', 'type': 'ordinal', 'sort': null, 'title': null," \
          "      'axis': {'labelAngle': -30, 'labelLimit': 120}}"
#define TIP "'tooltip': [" \
         DPA__TIP_WORD("audit", "audit") "," \
         DPA__TIP_WORD("verdict", "verdict") "," \
         DPA__TIP("epsilon", "ε ≥") "," \
         DPA__TIP("claim", "claimed ε") "," \
         DPA__TIP("detects", "would have detected") "," \
         DPA__TIP_WORD("time", "when") "]"

static const char spec[] =
    "{'width': 'container', 'height': 240, 'layer': ["
    "  {'data': {'name': 'main'}, 'mark': {'type': 'line', 'color': '" DPA__BLUE "', 'opacity': 0.6},"
    "   'encoding': {" X ", 'y': {'field': 'epsilon', 'type': 'quantitative', 'title': 'ε at least',"
    "      'scale': {'zero': true}}}},"
    "  {'data': {'name': 'detects'}, 'mark': {'type': 'tick', 'thickness': 2, 'size': 22, 'color': '" DPA__GREY "'},"
    "   'encoding': {" X ", 'y': {'field': 'detects', 'type': 'quantitative'}," TIP "}},"
    "  {'data': {'name': 'claims'}, 'mark': {'type': 'line', 'strokeDash': [6, 4], 'strokeWidth': 1.5,"
    "      'color': '" DPA__ORANGE "', 'point': {'shape': 'stroke', 'size': 400, 'strokeWidth': 1.5, 'color': '" DPA__ORANGE "'}},"
    "   'encoding': {" X ", 'y': {'field': 'claim', 'type': 'quantitative'}," TIP "}},"
    "  {'data': {'name': 'last'}, 'mark': {'type': 'text', 'text': 'claim', 'align': 'right',"
    "      'baseline': 'bottom', 'dx': 10, 'dy': -4},"
    "   'encoding': {" X ", 'y': {'field': 'claim', 'type': 'quantitative'}}},"
    "  {'data': {'name': 'main'}, 'mark': {'type': 'point', 'filled': true, 'size': 120, 'opacity': 1},"
    "   'encoding': {" X ", 'y': {'field': 'epsilon', 'type': 'quantitative'},"
    "     'shape': {'field': 'verdict', 'type': 'nominal', 'title': null, 'legend': {'orient': 'bottom'},"
    "       'scale': {'domain': ['refuted', 'not refuted', 'inconclusive', 'no claim'],"
    "                 'range': ['cross', 'circle', 'triangle-up', 'diamond']}},"
    "     'color': {'field': 'verdict', 'type': 'nominal', 'title': null, 'legend': {'orient': 'bottom'},"
    "       'scale': {'domain': ['refuted', 'not refuted', 'inconclusive', 'no claim'],"
    "                 'range': ['" DPA__ORANGE "', '" DPA__BLUE "', '" DPA__PURPLE "', '" DPA__GREY "']}}," TIP "}}"
    "]}";
/* clang-format on */

static void add_row(dpa__chart_data *data, const char *set, const json_t *row) {
    dpa__chart_row(data, set, "$audit $verdict epsilon claim detects $time",
                   dpa__word_of(row, "audit"), dpa__word_of(row, "verdict"),
                   dpa__number_of(row, "epsilon"), dpa__number_of(row, "claim"),
                   dpa__number_of(row, "detects"), dpa__word_of(row, "time"));
}

static void fill(const json_t *result, dpa__chart_data *data) {
    const json_t *rows = json_object_get(result, "trend"), *last = NULL;
    size_t index;
    json_t *row;
    json_array_foreach(rows, index, row) {
        add_row(data, "main", row);
        if (!isnan(dpa__number_of(row, "detects"))) add_row(data, "detects", row);
        if (isnan(dpa__number_of(row, "claim"))) continue;
        add_row(data, "claims", row);
        last = row;
    }
    if (last != NULL) add_row(data, "last", last);
}

static void describe(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    (void)result;
    dpa__text_printf(out,
                     "%zu audits in their order: a mark for what each showed ε to be at least, "
                     "a cross where its claim is refuted.",
                     dpa__chart_rows(data, "main"));
    if (dpa__chart_rows(data, "claims") > 0) dpa__text_add(out, " The dashed line is the claim.");
    if (dpa__chart_rows(data, "detects") > 0)
        dpa__text_add(out, " A grey tick: the leak that the audit would have detected.");
}

const dpa__chart dpa__chart_trend = {
    "trend", "What was shown, audit by audit", DPA__PLACE_BOUNDS, spec, fill, describe};
