/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of charts, and what they have in common: width, data, text alternative. */
#include "report/charts.h"

static const dpa__chart *const charts[] = {
    &dpa__chart_bounds,
    &dpa__chart_curve,
};

static json_t *text_json(dpa__text *text) {
    json_t *value = text->failed ? NULL : json_string(text->data != NULL ? text->data : "");
    dpa__text_free(text);
    return value;
}

/* The chart, or NULL when the result has nothing for it; *failed when memory was out. */
static json_t *make(const dpa__chart *chart, const json_t *result, int *failed) {
    json_t *rows = chart->rows(result);
    if (json_array_size(rows) == 0) {
        json_decref(rows);
        return NULL;
    }
    dpa__text alternative = {0};
    chart->describe(result, &alternative);
    json_t *spec = chart->spec(result);
    json_t *made = json_pack("{s:s, s:s, s:o, s:o}", "id", chart->id, "title", chart->title,
                             "alternative", text_json(&alternative), "spec", spec);
    if (made == NULL) {
        json_decref(rows);
        *failed = 1;
        return NULL;
    }
    if (json_object_set_new(spec, "data", json_pack("{s:o}", "values", rows)) != 0 ||
        json_object_set_new(spec, "width", json_string("container")) != 0)
        *failed = 1;
    return made;
}

json_t *dpa__charts(const json_t *result) {
    json_t *array = json_array();
    int failed = array == NULL;
    for (size_t i = 0; i < sizeof charts / sizeof charts[0] && !failed; ++i) {
        json_t *chart = make(charts[i], result, &failed);
        if (chart != NULL && json_array_append_new(array, chart) != 0) failed = 1;
    }
    if (!failed) return array;
    json_decref(array);
    return NULL;
}
