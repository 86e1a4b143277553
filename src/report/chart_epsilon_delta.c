/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bound at other δ: section "epsilon_delta", rows {family, method, delta, epsilon_lower}. For a
 * result with a Gaussian parameter μ the curve is computed from μ if there is no section. The claim
 * is one point. */
#include <math.h>
#include <string.h>

#include "account/family.h"
#include "report/charts.h"
#include "report/value.h"
#include "tradeoff/tradeoff.h"

enum { NAME_SIZE = 120, LOWEST = -10, STEPS_PER_DECADE = 4 };

/* clang-format off */
static const char spec[] =
    "{'width': 'container', 'height': 260, 'layer': ["
    "  {'data': {'name': 'main'}, 'mark': {'type': 'line', 'clip': true}, 'encoding': {"
    "     'x': {'field': 'delta', 'type': 'quantitative', 'title': 'δ', 'scale': {'type': 'log', 'nice': false},"
    "           'axis': {'format': '.0e', 'tickCount': 5}},"
    "     'y': {'field': 'epsilon', 'type': 'quantitative', 'title': 'ε at least'},"
          DPA__SERIES("name") ","
    "     'tooltip': [" DPA__TIP_WORD("name", "result") "," DPA__TIP("delta", "δ") "," DPA__TIP("epsilon", "ε ≥") "]}},"
    "  {'data': {'name': 'claim'}, 'mark': {'type': 'point', 'shape': 'square', 'size': 90, 'filled': true, 'color': '" DPA__GREY "'},"
    "   'encoding': {'x': {'field': 'delta', 'type': 'quantitative'}, 'y': {'field': 'epsilon', 'type': 'quantitative'},"
    "     'tooltip': [" DPA__TIP("epsilon", "claimed ε") "," DPA__TIP("delta", "at δ") "]}},"
    "  {'data': {'name': 'claim'}, 'mark': {'type': 'text', 'text': 'claim', 'dy': -12},"
    "   'encoding': {'x': {'field': 'delta', 'type': 'quantitative'}, 'y': {'field': 'epsilon', 'type': 'quantitative'}}}"
    "]}";
/* clang-format on */

/* One line per family: 1 if this method has the family's strongest valid bound. If none is valid,
 * all lines are drawn. */
static int is_strongest(const json_t *results, const json_t *point) {
    const char *family = dpa__word_of(point, "family"), *method = "";
    double largest = -1.0;
    size_t index;
    json_t *item;
    int best_counts = 0;
    json_array_foreach(results, index, item) {
        const double lower = dpa__number_of(item, "epsilon_lower");
        const int counts = dpa__is_word(item, "guarantee", "confidence");
        if (isnan(lower) || !dpa__is_word(item, "family", family) ||
            dpa__is_word(item, "guarantee", "optimistic"))
            continue;
        if (counts > best_counts || (counts == best_counts && lower > largest)) {
            best_counts = counts;
            largest = lower;
            method = dpa__word_of(item, "method");
        }
    }
    return largest < 0.0 || dpa__is_word(point, "method", method);
}

static void add_section(const json_t *section, const json_t *results, dpa__chart_data *data) {
    size_t index;
    json_t *point;
    json_array_foreach(section, index, point) {
        char name[NAME_SIZE];
        if (!is_strongest(results, point)) continue;
        dpa__result_name(point, name, sizeof name);
        if (dpa__number_of(point, "delta") > 0)
            dpa__chart_row(data, "main", "$name delta epsilon", name,
                           dpa__number_of(point, "delta"), dpa__number_of(point, "epsilon_lower"));
    }
}

static void add_gaussian(const json_t *item, dpa__chart_data *data) {
    const json_t *parameter = json_object_get(item, "parameter");
    const double mu = dpa__number_of(parameter, "lower");
    char name[NAME_SIZE];
    if (!dpa__family_is_gaussian(dpa__word_of(item, "family")) ||
        !dpa__is_word(parameter, "name", "mu") || !(mu > 0) ||
        !dpa__is_word(item, "guarantee", "confidence"))
        return;
    dpa__result_name(item, name, sizeof name);
    for (int i = LOWEST * STEPS_PER_DECADE; i <= -STEPS_PER_DECADE / 2; ++i) {
        const double delta = pow(10.0, (double)i / STEPS_PER_DECADE);
        dpa__chart_row(data, "main", "$name delta epsilon", name, delta,
                       dpa_gaussian_epsilon(mu, delta));
    }
}

static void fill(const json_t *result, dpa__chart_data *data) {
    const json_t *section = json_object_get(result, "epsilon_delta");
    const json_t *results = json_object_get(result, "results");
    const json_t *claim = dpa__claim_of(result);
    const double delta = dpa__number_of(claim, "delta");
    size_t index;
    json_t *item;
    add_section(section, results, data);
    json_array_foreach(results, index, item) {
        if (json_array_size(section) == 0 && is_strongest(results, item)) add_gaussian(item, data);
    }
    if (delta > 0 && !isnan(dpa__number_of(claim, "epsilon")))
        dpa__chart_row(data, "claim", "delta epsilon", delta, dpa__number_of(claim, "epsilon"));
}

static void describe(const json_t *result, const dpa__chart_data *data, dpa__text *out) {
    (void)result;
    dpa__text_add(out, "One statement for every δ: a mechanism keeps (ε,δ) only if it lies above "
                       "its line.");
    if (dpa__chart_rows(data, "claim") > 0)
        dpa__text_add(out, " A claim below the line of the test that decides is refuted.");
}

const dpa__chart dpa__chart_epsilon_delta = {
    "epsilon-delta", "ε at other δ", DPA__PLACE_EVIDENCE, spec, fill, describe};
