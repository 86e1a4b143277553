/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of charts, and what they share: specification, data, text alternative. */
#include "report/charts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "report/value.h"

/* Upper limit of rows per chart; our own data are binned far below it. */
enum { MOST_ROWS = 20000, KEY_SIZE = 40 };

#define POINT(name) &dpa__chart_##name,
static const dpa__chart *const charts[] = {DPA__CHART_LIST(POINT)};
#undef POINT

/* ── data ────────────────────────────────────────────────────────────────────────────────────── */

size_t dpa__chart_rows(const dpa__chart_data *data, const char *set) {
    return json_array_size(json_object_get(data->sets, set));
}

/* Seven digits: more than a screen shows, and pages stay small. */
static json_t *short_number(double value) {
    char text[32];
    if (!isfinite(value)) return json_null();
    (void)dpa__print(text, sizeof text, "%.7g", value);
    double rounded = value;
    (void)dpa__number_whole(text, &rounded);
    return json_real(rounded);
}

static json_t *list_of(dpa__chart_data *data, const char *set) {
    json_t *list = json_object_get(data->sets, set);
    if (list != NULL || data->sets == NULL) return list;
    list = json_array();
    return json_object_set_new(data->sets, set, list) == 0 ? list : NULL;
}

void dpa__chart_row(dpa__chart_data *data, const char *set, const char *keys, ...) {
    json_t *row = json_object();
    json_t *list = list_of(data, set);
    va_list args;
    va_start(args, keys);
    while (*keys != '\0') {
        char key[KEY_SIZE];
        const int is_text = *keys == '$';
        keys += is_text;
        const size_t length = strcspn(keys, " ");
        (void)snprintf(key, sizeof key, "%.*s", (int)length, keys);
        json_t *value =
            is_text ? json_string(va_arg(args, const char *)) : short_number(va_arg(args, double));
        if (value == NULL || json_object_set_new(row, key, value) != 0) data->failed = 1;
        keys += length + strspn(keys + length, " ");
    }
    va_end(args);
    if (json_array_size(list) >= MOST_ROWS)
        json_decref(row);
    else if (json_array_append_new(list, row) != 0)
        data->failed = 1;
}

double dpa__chart_claim(const json_t *result, dpa__chart_data *data) {
    const double claim = dpa__number_of(dpa__claim_of(result), "epsilon");
    if (!isnan(claim)) dpa__chart_row(data, "claim", "epsilon", claim);
    return claim;
}

/* ── specification ───────────────────────────────────────────────────────────────────────────── */

static json_t *parse_spec(const char *quoted) {
    char *text = dpa__strdup(quoted, NULL);
    if (text == NULL) return NULL;
    for (char *c = text; *c != '\0'; ++c)
        if (*c == '\'') *c = '"';
    json_t *spec = dpa__json_load(text, strlen(text), 0, NULL);
    free(text);
    return spec;
}

/* A layer without data would give an empty axis or an error. */
static void drop_empty_layers(json_t *layers, const dpa__chart_data *data) {
    for (size_t i = json_array_size(layers); i-- > 0;) {
        const json_t *layer = json_array_get(layers, i);
        const char *name =
            json_string_value(json_object_get(json_object_get(layer, "data"), "name"));
        if (name != NULL && dpa__chart_rows(data, name) == 0) (void)json_array_remove(layers, i);
    }
}

/* 1 if any row has this word in this field. */
static int occurs(json_t *sets, const char *field, const char *word) {
    const char *name;
    json_t *rows, *row;
    size_t index;
    json_object_foreach(sets, name, rows) {
        json_array_foreach(rows, index, row) {
            if (dpa__is_word(row, field, word)) return 1;
        }
    }
    return 0;
}

/* Removes words from a scale that no row has, so that the legend shows only what is there. */
static void drop_unused_words(json_t *part, const dpa__chart_data *data) {
    const char *field = dpa__word_of(part, "field"), *key;
    json_t *scale = json_object_get(part, "scale"), *value;
    json_t *domain = json_object_get(scale, "domain"), *range = json_object_get(scale, "range");
    size_t index;
    for (size_t i = json_array_size(domain); i-- > 0;) {
        const char *word = json_string_value(json_array_get(domain, i));
        if (word == NULL || occurs(data->sets, field, word)) continue;
        (void)json_array_remove(domain, i);
        (void)json_array_remove(range, i);
    }
    json_object_foreach(part, key, value) drop_unused_words(value, data);
    json_array_foreach(part, index, value) drop_unused_words(value, data);
}

static json_t *text_json(dpa__text *text) {
    json_t *value = text->failed ? NULL : json_string(text->data != NULL ? text->data : "");
    dpa__text_free(text);
    return value;
}

static json_t *finished_spec(const dpa__chart *chart, const dpa__chart_data *data) {
    json_t *spec = parse_spec(chart->spec);
    drop_empty_layers(json_object_get(spec, "layer"), data);
    drop_unused_words(spec, data);
    if (json_object_set_new(spec, "$schema",
                            json_string("https://vega.github.io/schema/vega-lite/v6.json")) == 0 &&
        json_object_set(spec, "datasets", data->sets) == 0)
        return spec;
    json_decref(spec);
    return NULL;
}

/* The chart, or NULL if the result has no data for it; *failed is set if memory ran out. */
static json_t *make(const dpa__chart *chart, const json_t *result, int *failed) {
    static const char *const places[] = {"bounds", "evidence"};
    dpa__chart_data data = {json_object(), 0};
    json_t *made = NULL;
    chart->fill(result, &data);
    *failed |= data.failed || data.sets == NULL;
    if (!*failed && dpa__chart_rows(&data, "main") > 0) {
        dpa__text alternative = {0};
        chart->describe(result, &data, &alternative);
        made = json_pack("{s:s, s:s, s:s, s:o, s:o}", "id", chart->id, "place",
                         places[chart->place], "title", chart->title, "alternative",
                         text_json(&alternative), "spec", finished_spec(chart, &data));
        *failed |= made == NULL;
    }
    json_decref(data.sets);
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
