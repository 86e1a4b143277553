/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all charts share: data, specification, text alternative. */
#include "report/charts/charts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/data.h"
#include "base/json.h"
#include "base/text.h"
#include "report/model/value.h"

/* Upper limit of rows per chart; our own data are binned far below it. */
enum { MOST_ROWS = 20000, KEY_SIZE = 40 };

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

void dpa__chart_claim(const json_t *result, dpa__chart_data *data) {
    const double claim = dpa__number_of(dpa__claim_of(result), "epsilon");
    if (!isnan(claim)) dpa__chart_row(data, "claim", "epsilon", claim);
}

/* ── specification ───────────────────────────────────────────────────────────────────────────── */

/* A copy in which every string "@name" is the shared part of that name; NULL if memory ran out. */
static json_t *resolved(json_t *part, const json_t *shared) {
    const char *key, *word = json_string_value(part);
    json_t *value;
    size_t index;
    int failed = 0;
    if (word != NULL && word[0] == '@') return resolved(json_object_get(shared, word + 1), shared);
    if (!json_is_object(part) && !json_is_array(part)) return json_incref(part);
    json_t *copy = json_is_object(part) ? json_object() : json_array();
    json_object_foreach(part, key, value) failed |=
        json_object_set_new(copy, key, resolved(value, shared));
    json_array_foreach(part, index, value) failed |=
        json_array_append_new(copy, resolved(value, shared));
    if (!failed) return copy;
    json_decref(copy);
    return NULL;
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

static json_t *finished_spec(json_t *plan, const json_t *shared, const dpa__chart_data *data) {
    json_t *spec = resolved(plan, shared);
    drop_empty_layers(json_object_get(spec, "layer"), data);
    drop_unused_words(spec, data);
    if (json_object_set_new(spec, "$schema",
                            json_string("https://vega.github.io/schema/vega-lite/v6.json")) == 0 &&
        json_object_set(spec, "datasets", data->sets) == 0)
        return spec;
    json_decref(spec);
    return NULL;
}

/* The numbers, then a sentence for each list that is not empty. */
static json_t *alternative_of(const dpa__chart *chart, json_t *sentences, const json_t *result,
                              const dpa__chart_data *data) {
    dpa__text text = {0};
    const char *set;
    json_t *sentence;
    if (chart->describe != NULL) chart->describe(result, data, &text);
    json_object_foreach(sentences, set, sentence) {
        if (dpa__chart_rows(data, set) > 0) dpa__text_add(&text, json_string_value(sentence));
    }
    json_t *value = text.failed ? NULL : json_string(text.data);
    dpa__text_free(&text);
    return value;
}

static const dpa__chart *find(const char *id) {
    static const dpa__chart *const lists[] = {dpa__charts_of_epsilon, dpa__charts_of_rates,
                                              dpa__charts_of_samples};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; ++i)
        for (const dpa__chart *chart = lists[i]; chart->id != NULL; ++chart)
            if (strcmp(chart->id, id) == 0) return chart;
    return NULL;
}

/* The chart that `plan` is of, or NULL if the result has no data for it; *failed is set if memory
 * ran out. */
static json_t *make(const dpa__chart *chart, const json_t *plan, const json_t *shared,
                    const json_t *result, int *failed) {
    dpa__chart_data data = {json_object(), 0};
    json_t *made = NULL;
    chart->fill(result, &data);
    *failed |= data.failed || data.sets == NULL;
    if (!*failed && dpa__chart_rows(&data, "main") > 0) {
        json_t *sentences = json_object_get(plan, "alternative");
        made = json_pack("{s:s, s:O, s:O, s:o, s:o}", "id", chart->id, "place",
                         json_object_get(plan, "place"), "title", json_object_get(plan, "title"),
                         "alternative", alternative_of(chart, sentences, result, &data), "spec",
                         finished_spec(json_object_get(plan, "spec"), shared, &data));
        *failed |= made == NULL;
    }
    json_decref(data.sets);
    return made;
}

json_t *dpa__charts(const json_t *result) {
    const char *text = dpa__report_chart_plans(), *id;
    json_t *plans = dpa__json_load(text, strlen(text), 0, NULL), *plan;
    json_t *array = json_array();
    int failed = array == NULL || plans == NULL;
    json_object_foreach(json_object_get(plans, "charts"), id, plan) {
        if (failed) break;
        json_t *chart = make(find(id), plan, json_object_get(plans, "shared"), result, &failed);
        if (chart != NULL && json_array_append_new(array, chart) != 0) failed = 1;
    }
    json_decref(plans);
    if (!failed) return array;
    json_decref(array);
    return NULL;
}
