/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The privacy–utility landscape (epsilon-star, figures 1 and 2): strategies as points with their
 * ranges, the frontier as a line, and a density per group on either axis. Section "landscape"
 * {points, frontier, densities}. */
#include <math.h>

#include "report/charts.h"
#include "report/value.h"

/* clang-format off */
#define SHAPES \
    "'shape': {'field': 'group', 'type': 'nominal', 'title': null, 'scale': {'range': " \
    "['circle', 'square', 'triangle-up', 'diamond', 'cross', 'triangle-down', 'triangle-left', 'triangle-right']}}"
#define TIPS \
    "'tooltip': [" DPA__TIP_WORD("strategy", "strategy") "," DPA__TIP_WORD("group", "group") "," \
        DPA__TIP("epsilon", "ε") "," DPA__TIP("utility", "utility") "," DPA__TIP("runs", "runs") "," \
        DPA__TIP_WORD("frontier", "on the frontier") "," DPA__TIP("share", "of draws on it") "]"

static const char spec[] =
    "{'width': 'container', 'height': 360, 'layer': ["
    "  {'data': {'name': 'frontier'}, 'mark': {'type': 'line', 'color': '" DPA__GREY "', 'strokeDash': [6, 3]},"
    "   'encoding': {'x': {'field': 'epsilon', 'type': 'quantitative'}, 'y': {'field': 'utility', 'type': 'quantitative'},"
    "     'order': {'field': 'epsilon', 'type': 'quantitative'}}},"
    "  {'data': {'name': 'main'}, 'mark': {'type': 'rule', 'opacity': 0.5},"
    "   'encoding': {'x': {'field': 'epsilon_lowest', 'type': 'quantitative'}, 'x2': {'field': 'epsilon_highest'},"
    "     'y': {'field': 'utility', 'type': 'quantitative'}, 'color': {'field': 'group', 'type': 'nominal'}}},"
    "  {'data': {'name': 'main'}, 'mark': {'type': 'rule', 'opacity': 0.5},"
    "   'encoding': {'y': {'field': 'utility_lowest', 'type': 'quantitative'}, 'y2': {'field': 'utility_highest'},"
    "     'x': {'field': 'epsilon', 'type': 'quantitative'}, 'color': {'field': 'group', 'type': 'nominal'}}},"
    "  {'data': {'name': 'main'}, 'mark': {'type': 'point', 'filled': true, 'opacity': 1, 'size': 80}, 'encoding': {"
    "     'x': {'field': 'epsilon', 'type': 'quantitative', 'title': 'measured ε (less is more private)', 'scale': {'zero': false}},"
    "     'y': {'field': 'utility', 'type': 'quantitative', 'title': 'utility (more is better)', 'scale': {'zero': false}},"
    "     'color': {" DPA__COLOURS("group") "}," SHAPES "," TIPS "}}"
    "]}";

#define DENSITY(title) \
    "{'width': 'container', 'height': 180, 'data': {'name': 'main'}," \
    " 'mark': {'type': 'line'}, 'encoding': {" \
    "   'x': {'field': 'at', 'type': 'quantitative', 'title': '" title "', 'scale': {'zero': false}}," \
    "   'y': {'field': 'density', 'type': 'quantitative', 'title': 'density of strategies'}," \
    DPA__SERIES("group") "," \
    "   'tooltip': [" DPA__TIP_WORD("group", "group") "," DPA__TIP("at", title) "," DPA__TIP("density", "density") "]}}"

static const char epsilon_spec[] = DENSITY("measured ε");
static const char utility_spec[] = DENSITY("utility");
/* clang-format on */

static void add_point(dpa__chart_data *data, const json_t *point) {
    const json_t *epsilon = json_object_get(point, "epsilon");
    const json_t *utility = json_object_get(point, "utility");
    const int on = json_is_true(json_object_get(point, "on_frontier"));
    dpa__chart_row(data, "main",
                   "$strategy $group epsilon epsilon_lowest epsilon_highest utility "
                   "utility_lowest utility_highest runs $frontier share",
                   dpa__word_of(point, "strategy"), dpa__word_of(point, "group"),
                   dpa__number_of(epsilon, "mean"), dpa__number_of(epsilon, "lowest"),
                   dpa__number_of(epsilon, "highest"), dpa__number_of(utility, "mean"),
                   dpa__number_of(utility, "lowest"), dpa__number_of(utility, "highest"),
                   dpa__number_of(point, "runs"), on ? "yes" : "no",
                   dpa__number_of(point, "frontier_share"));
}

static void fill(const json_t *result, dpa__chart_data *data) {
    const json_t *section = json_object_get(result, "landscape");
    size_t index;
    json_t *point;
    json_array_foreach(json_object_get(section, "points"), index, point) add_point(data, point);
    json_array_foreach(json_object_get(section, "frontier"), index, point) dpa__chart_row(
        data, "frontier", "$strategy epsilon utility", dpa__word_of(point, "strategy"),
        dpa__number_of(json_object_get(point, "epsilon"), "mean"),
        dpa__number_of(json_object_get(point, "utility"), "mean"));
}

static void describe(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    (void)result;
    dpa__text_printf(out,
                     "%zu strategies, each at the mean of its runs with their range; the dashed "
                     "line joins the %zu on the frontier. Left and up is better.",
                     dpa__chart_rows(data, "main"), dpa__chart_rows(data, "frontier"));
}

static void fill_density(const json_t *result, const char *axis, dpa__chart_data *data) {
    size_t index;
    json_t *row;
    json_array_foreach(json_object_get(json_object_get(result, "landscape"), "densities"), index,
                       row) {
        if (dpa__is_word(row, "axis", axis))
            dpa__chart_row(data, "main", "$group at density", dpa__word_of(row, "group"),
                           dpa__number_of(row, "at"), dpa__number_of(row, "density"));
    }
}

static void fill_epsilon(const json_t *result, dpa__chart_data *data) {
    fill_density(result, "epsilon", data);
}

static void fill_utility(const json_t *result, dpa__chart_data *data) {
    fill_density(result, "utility", data);
}

static void describe_density(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    (void)result;
    (void)data;
    dpa__text_add(out, "How the strategies of each group are spread along this axis of the "
                       "landscape (Gaussian kernel, Scott's bandwidth).");
}

const dpa__chart dpa__chart_landscape = {
    "landscape", "Privacy and utility", DPA__PLACE_EVIDENCE, spec, fill, describe};
const dpa__chart dpa__chart_landscape_epsilon = {"landscape-epsilon", "Privacy by group",
                                                 DPA__PLACE_EVIDENCE, epsilon_spec,
                                                 fill_epsilon,        describe_density};
const dpa__chart dpa__chart_landscape_utility = {"landscape-utility", "Utility by group",
                                                 DPA__PLACE_EVIDENCE, utility_spec,
                                                 fill_utility,        describe_density};
