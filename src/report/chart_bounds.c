/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All bounds of a result, the claim as a line; what is valid and what is optimistic differ in
 * shape, not only in colour. */
#include <stdio.h>
#include <string.h>

#include "report/charts.h"

static const char *word(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static const char *standing(const json_t *item) {
    if (strcmp(word(item, "kind"), "estimate") == 0) return "estimate";
    return json_is_true(json_object_get(item, "valid")) ? "valid" : "optimistic";
}

static json_t *row(const json_t *item) {
    char name[160];
    const json_t *point = json_object_get(item, "epsilon");
    const json_t *lower = json_object_get(item, "epsilon_lower");
    const json_t *upper = json_object_get(item, "epsilon_upper");
    if (!json_is_number(point)) point = lower;
    if (!json_is_number(point)) return NULL;
    (void)snprintf(name, sizeof name, "%.40s%s%.40s%s%.40s", word(item, "family"),
                   word(item, "family")[0] ? " · " : "", word(item, "method"),
                   word(item, "select")[0] ? " · " : "", word(item, "select"));
    json_t *made = json_pack("{s:s, s:s, s:f}", "name", name, "standing", standing(item), "epsilon",
                             json_number_value(point));
    if (json_is_number(lower))
        (void)json_object_set_new(made, "lower", json_real(json_number_value(lower)));
    if (json_is_number(upper))
        (void)json_object_set_new(made, "upper", json_real(json_number_value(upper)));
    return made;
}

static json_t *rows(const json_t *result) {
    json_t *array = json_array();
    size_t index;
    json_t *item;
    json_array_foreach(json_object_get(result, "results"), index, item) {
        json_t *made = row(item);
        if (made != NULL) (void)json_array_append_new(array, made);
    }
    return array;
}

static json_t *points_layer(void) {
    return json_pack("{s:{s:s, s:b, s:i}, s:{s:{s:s, s:s, s:n, s:s}, s:{s:s, s:s, s:s}, s:{s:s, "
                     "s:s, s:s}, s:{s:s, s:s}}}",
                     "mark", "type", "point", "filled", 1, "size", 90, "encoding", "y", "field",
                     "name", "type", "nominal", "sort", "title", "", "x", "field", "epsilon",
                     "type", "quantitative", "title", "ε", "shape", "field", "standing", "type",
                     "nominal", "title", "standing", "color", "field", "standing", "type",
                     "nominal");
}

static json_t *interval_layer(void) {
    return json_pack("{s:s, s:{s:{s:s, s:s, s:n}, s:{s:s, s:s}, s:{s:s}}}", "mark", "rule",
                     "encoding", "y", "field", "name", "type", "nominal", "sort", "x", "field",
                     "lower", "type", "quantitative", "x2", "field", "upper");
}

static json_t *claim_layer(double epsilon) {
    return json_pack("{s:{s:[{s:f}]}, s:{s:s, s:[i,i], s:i, s:b}, s:{s:{s:s, s:s}}}", "data",
                     "values", "claim", epsilon, "mark", "type", "rule", "strokeDash", 6, 4, "size",
                     2, "tooltip", 1, "encoding", "x", "field", "claim", "type", "quantitative");
}

static json_t *spec(const json_t *result) {
    const json_t *claim = json_object_get(json_object_get(result, "claim"), "epsilon");
    json_t *layers = json_array();
    (void)json_array_append_new(layers, interval_layer());
    (void)json_array_append_new(layers, points_layer());
    if (json_is_number(claim))
        (void)json_array_append_new(layers, claim_layer(json_number_value(claim)));
    return json_pack("{s:o, s:{s:i}}", "layer", layers, "height", "step", 22);
}

static void describe(const json_t *result, dpa__text *out) {
    const json_t *claim = json_object_get(json_object_get(result, "claim"), "epsilon");
    dpa__text_printf(out, "Every result on one axis of epsilon: %zu in all.",
                     json_array_size(json_object_get(result, "results")));
    if (json_is_number(claim))
        dpa__text_printf(out, " The dashed line is the claim, epsilon %.6g.",
                         json_number_value(claim));
}

const dpa__chart dpa__chart_bounds = {"bounds", "Bounds and estimates", rows, spec, describe};
