/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A chart on a page: caption, drawing area, text alternative, its numbers in tables on demand; and
 * the block of specifications that the script reads. */
#include <stdint.h>
#include <string.h>

#include "report/model/model.h"
#include "report/model/value.h"
#include "report/render/html.h"

enum { TABLE_ROWS = 200 };

static void add_data_row(dpa__text *out, const json_t *row, int is_head) {
    const char *key;
    json_t *value;
    dpa__text_add(out, "<tr>");
    json_object_foreach((json_t *)(uintptr_t)row, key, value) {
        dpa__text_add(out, is_head ? "<th scope=\"col\">" : "<td>");
        if (is_head)
            dpa__html_label(out, key);
        else
            dpa__html_value(out, value);
        dpa__text_add(out, is_head ? "</th>" : "</td>");
    }
    dpa__text_add(out, "</tr>");
}

void dpa__html_rows(dpa__text *out, const char *name, const json_t *rows) {
    size_t index;
    json_t *row;
    dpa__text_add(out, "<table><caption>");
    dpa__html_label(out, name);
    dpa__text_add(out, "</caption><thead>");
    add_data_row(out, json_array_get(rows, 0), 1);
    dpa__text_add(out, "</thead><tbody>\n");
    json_array_foreach(rows, index, row) {
        if (index >= TABLE_ROWS) break;
        add_data_row(out, row, 0);
        dpa__text_add(out, "\n");
    }
    dpa__text_add(out, "</tbody></table>\n");
    if (json_array_size(rows) > TABLE_ROWS)
        dpa__text_printf(out, "<p>The first %d of %zu rows; all are in the JSON.</p>\n", TABLE_ROWS,
                         json_array_size(rows));
}

/* The chart's numbers, for readers who want them or cannot see it. */
static void add_data(dpa__text *out, const json_t *chart) {
    json_t *sets = json_object_get(json_object_get(chart, "spec"), "datasets");
    const char *name;
    json_t *rows;
    dpa__html_between(out, "<details class=\"data\"><summary>Data<span class=\"hidden\"> of: ",
                      dpa__word_of(chart, "title"),
                      "</span></summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                      "aria-label=\"Data\">\n");
    json_object_foreach(sets, name, rows)
        dpa__html_rows(out, strcmp(name, "main") == 0 ? "data" : name, rows);
    dpa__text_add(out, "</div></details>\n");
}

static void add_chart(dpa__text *out, size_t page, const json_t *chart) {
    const char *title = dpa__word_of(chart, "title");
    const char *alternative = dpa__word_of(chart, "alternative");
    dpa__text_printf(out, "<figure class=\"chart\" id=\"chart-%zu-%s\">", page,
                     dpa__word_of(chart, "id"));
    dpa__html_between(out, "<figcaption>", title, "</figcaption>\n");
    dpa__html_between(out, "<div class=\"plot\" role=\"img\" aria-label=\"", title, ". ");
    dpa__html_between(out, "", alternative, "\"></div>\n");
    dpa__html_between(out, "<p class=\"alternative\">", alternative, "</p>\n<div class=\"tools\">");
    add_data(out, chart);
    dpa__text_add(out, "</div></figure>\n");
}

void dpa__html_charts(dpa__text *out, const dpa__html_part *part, const char *place) {
    size_t index;
    json_t *chart;
    json_array_foreach(part->charts, index, chart) {
        if (dpa__is_word(chart, "place", place)) add_chart(out, part->number, chart);
    }
}

/* Writes "<" as an escape, so that no string can end the element. */
static void add_script_safe(dpa__text *out, const char *json) {
    for (;;) {
        const size_t plain = strcspn(json, "<");
        dpa__text_add_bytes(out, json, plain);
        json += plain;
        if (*json == '\0') return;
        dpa__text_add(out, "\\u003c");
        ++json;
    }
}

void dpa__html_chart_data(dpa__text *out, json_t *const *charts, size_t count) {
    dpa__text json = {0};
    const char *separator = "";
    dpa__text_add(&json, "[");
    for (size_t page = 0; page < count; ++page) {
        size_t index;
        json_t *chart;
        json_array_foreach(charts[page], index, chart) {
            dpa__text_printf(&json, "%s{\"id\": \"%zu-%s\", \"spec\": ", separator, page,
                             dpa__word_of(chart, "id"));
            dpa__json_write(&json, json_object_get(chart, "spec"), -1);
            dpa__text_add(&json, "}");
            separator = ",\n";
        }
    }
    dpa__text_add(&json, "]");
    dpa__text_add(out, "<script type=\"application/json\" id=\"charts\">");
    if (json.data != NULL) add_script_safe(out, json.data);
    out->failed |= json.failed;
    dpa__text_free(&json);
    dpa__text_add(out, "</script>\n");
}
