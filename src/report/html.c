/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report as one page that needs nothing else: opens from disk, offline, prints, reads without its
 * script. It is made from the JSON of a result, so that a stored result and a fresh one give the
 * same page; the JSON may come from anyone, so every string is escaped and the
 * Content-Security-Policy allows our script by its hash and nothing from outside. */
#include "report/html.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "dpaudit/estimate.h"
#include "report/assets.h"
#include "report/charts.h"
#include "report/model.h"

enum { TABLE_ROWS = 400 };

void dpa__html_escape(dpa__text *out, const char *text) {
    for (; *text != '\0'; ++text) {
        switch (*text) {
        case '&':
            dpa__text_add(out, "&amp;");
            break;
        case '<':
            dpa__text_add(out, "&lt;");
            break;
        case '>':
            dpa__text_add(out, "&gt;");
            break;
        case '"':
            dpa__text_add(out, "&quot;");
            break;
        case '\'':
            dpa__text_add(out, "&#39;");
            break;
        default:
            dpa__text_add_bytes(out, text, 1);
        }
    }
}

/* ── reading values of unknown type
 * ───────────────────────────────────────────────────────────────── */

static const char *string_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static void add_value(dpa__text *out, const json_t *value) {
    char number[48];
    if (json_is_string(value)) {
        dpa__html_escape(out, json_string_value(value));
    } else if (json_is_number(value)) {
        (void)snprintf(number, sizeof number, "%.6g", json_number_value(value));
        dpa__text_add(out, number);
    } else if (json_is_boolean(value)) {
        dpa__text_add(out, json_is_true(value) ? "yes" : "no");
    }
}

/* ── the verdict and what it stands on
 * ────────────────────────────────────────────────────────────── */

static void add_verdict(dpa__text *out, const json_t *result) {
    const json_t *verdict = json_object_get(result, "verdict");
    if (!json_is_object(verdict)) return;
    const int refuted = json_is_true(json_object_get(verdict, "refuted"));
    const int claimed = json_is_object(json_object_get(result, "claim"));
    dpa__text_printf(out,
                     "<div class=\"verdict%s\" role=\"status\"><span class=\"mark\">%s</span> ",
                     refuted ? " refuted" : "",
                     refuted   ? "✗ Claim refuted"
                     : claimed ? "○ Claim not refuted"
                               : "● Result");
    dpa__html_escape(out, string_of(verdict, "headline"));
    dpa__text_add(out, "</div>\n");
}

static const char *assumption_sentence(const char *name) {
    for (unsigned i = 0; i < DPA_ASSUMPTION_COUNT; ++i)
        if (strcmp(dpa_assumption_name(i), name) == 0) return dpa_assumption_text(i);
    return name; /* of a newer version, or invented: shown as it is */
}

/* The result that the verdict speaks of: the largest valid lower bound, else the first one. */
static const json_t *headline_result(const json_t *results) {
    const json_t *best = json_array_get(results, 0);
    double largest = -1.0;
    size_t index;
    json_t *item;
    json_array_foreach(results, index, item) {
        const double lower = json_number_value(json_object_get(item, "epsilon_lower"));
        if (json_is_true(json_object_get(item, "valid")) && lower > largest &&
            strcmp(string_of(item, "kind"), "bound") == 0) {
            largest = lower;
            best = item;
        }
    }
    return best;
}

static void add_list(dpa__text *out, const json_t *array, const char *key) {
    size_t index;
    json_t *item;
    json_array_foreach(array, index, item) {
        dpa__text_add(out, "<li>");
        if (key != NULL)
            dpa__html_escape(out, string_of(item, key));
        else if (json_is_string(item))
            dpa__html_escape(out, assumption_sentence(json_string_value(item)));
        dpa__text_add(out, "</li>\n");
    }
}

static void add_basis(dpa__text *out, const json_t *result) {
    const json_t *best = headline_result(json_object_get(result, "results"));
    if (best == NULL) return;
    dpa__text_add(out, "<h2>How sure, and why</h2>\n<p>The headline holds under these assumptions:"
                       "</p>\n<ul>\n");
    add_list(out, json_object_get(best, "assumptions"), NULL);
    dpa__text_add(out, "</ul>\n<ul>\n");
    if (string_of(best, "select")[0] != '\0') {
        dpa__text_add(out, "<li>The threshold or number of guesses was chosen by: <strong>");
        dpa__html_escape(out, string_of(best, "select"));
        dpa__text_add(out, "</strong></li>\n");
    }
    if (json_is_number(json_object_get(best, "numerical_error"))) {
        dpa__text_add(out, "<li>Numerical error on ε: at most ");
        add_value(out, json_object_get(best, "numerical_error"));
        dpa__text_add(out, "</li>\n");
    }
    if (string_of(best, "note")[0] != '\0') {
        dpa__text_add(out, "<li>");
        dpa__html_escape(out, string_of(best, "note"));
        dpa__text_add(out, "</li>\n");
    }
    dpa__text_add(out,
                  "<li>A lower bound says what was shown, not what is there: 0 means nothing was "
                  "shown, never that the model is private.</li>\n");
    add_list(out, json_object_get(json_object_get(result, "evidence"), "lints"), "text");
    dpa__text_add(out, "</ul>\n");
}

/* ── the table of all results
 * ─────────────────────────────────────────────────────────────────────── */

static void add_number_cell(dpa__text *out, const json_t *item, const char *key) {
    char flag[64];
    (void)snprintf(flag, sizeof flag, "%s_infinite", key);
    dpa__text_add(out, "<td class=\"number\">");
    if (json_is_true(json_object_get(item, flag)))
        dpa__text_add(out, "∞");
    else if (json_is_number(json_object_get(item, key)))
        dpa__text_printf(out, "%.4f", json_number_value(json_object_get(item, key)));
    dpa__text_add(out, "</td>");
}

static void add_result_row(dpa__text *out, const json_t *item) {
    const int estimate = strcmp(string_of(item, "kind"), "estimate") == 0;
    const int valid = json_is_true(json_object_get(item, "valid"));
    static const char *const words[] = {"family", "method", "select"};
    dpa__text_printf(out, "<tr%s>", !estimate && !valid ? " class=\"optimistic\"" : "");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
        dpa__text_add(out, "<td>");
        dpa__html_escape(out, string_of(item, words[i]));
        dpa__text_add(out, "</td>");
    }
    add_number_cell(out, item, "epsilon");
    add_number_cell(out, item, "epsilon_lower");
    add_number_cell(out, item, "epsilon_upper");
    dpa__text_printf(out, "<td class=\"number\">%.4g%%</td><td>%s</td></tr>\n",
                     100.0 * json_number_value(json_object_get(item, "confidence")),
                     estimate ? "estimate"
                     : valid  ? "✓ valid"
                              : "optimistic");
}

static void add_results(dpa__text *out, const json_t *result) {
    const json_t *results = json_object_get(result, "results");
    size_t index;
    json_t *item;
    if (json_array_size(results) == 0) return;
    dpa__text_add(out,
                  "<h2>All results</h2>\n<div class=\"scroll\"><table><thead><tr><th>family</th>"
                  "<th>method</th><th>chosen by</th><th class=\"number\">ε</th>"
                  "<th class=\"number\">ε ≥</th><th class=\"number\">ε ≤</th>"
                  "<th class=\"number\">confidence</th><th>standing</th></tr></thead><tbody>\n");
    json_array_foreach(results, index, item) add_result_row(out, item);
    dpa__text_add(out, "</tbody></table></div>\n");
}

/* ── charts
 * ───────────────────────────────────────────────────────────────────────────────────────── */

/* Ids become part of element ids: only letters, digits and dashes. */
static void add_id(dpa__text *out, const char *id) {
    for (; *id != '\0'; ++id) {
        const int plain = (*id >= 'a' && *id <= 'z') || (*id >= '0' && *id <= '9') || *id == '-';
        dpa__text_printf(out, "%c", plain ? *id : '-');
    }
}

static void add_data_head(dpa__text *out, const json_t *row) {
    const char *key;
    json_t *value;
    dpa__text_add(out, "<thead><tr>");
    json_object_foreach((json_t *)(uintptr_t)row, key, value) {
        dpa__text_add(out, "<th>");
        dpa__html_escape(out, key);
        dpa__text_add(out, "</th>");
    }
    dpa__text_add(out, "</tr></thead>");
}

/* A chart's own numbers, for those who want them or cannot see it. */
static void add_data_table(dpa__text *out, const json_t *spec) {
    const json_t *values = json_object_get(json_object_get(spec, "data"), "values");
    size_t index;
    json_t *row;
    if (json_array_size(values) == 0) return;
    dpa__text_add(out, "<details><summary>Data</summary><div class=\"scroll\"><table>");
    add_data_head(out, json_array_get(values, 0));
    dpa__text_add(out, "<tbody>\n");
    json_array_foreach(values, index, row) {
        const char *key;
        json_t *value;
        if (index >= TABLE_ROWS) break;
        dpa__text_add(out, "<tr>");
        json_object_foreach(row, key, value) {
            dpa__text_add(out, "<td class=\"number\">");
            add_value(out, value);
            dpa__text_add(out, "</td>");
        }
        dpa__text_add(out, "</tr>\n");
    }
    dpa__text_add(out, "</tbody></table></div>");
    if (json_array_size(values) > TABLE_ROWS)
        dpa__text_printf(out, "<p>The first %d of %zu rows; all are in the JSON.</p>", TABLE_ROWS,
                         json_array_size(values));
    dpa__text_add(out, "</details>\n");
}

static void add_chart(dpa__text *out, size_t page, const json_t *chart) {
    dpa__text_printf(out, "<figure class=\"chart\" id=\"chart-%zu-", page);
    add_id(out, string_of(chart, "id"));
    dpa__text_add(out, "\"><figcaption>");
    dpa__html_escape(out, string_of(chart, "title"));
    dpa__text_add(out, "</figcaption><div class=\"plot\" role=\"img\" aria-label=\"");
    dpa__html_escape(out, string_of(chart, "alternative"));
    dpa__text_add(out, "\"></div><p class=\"alternative\">");
    dpa__html_escape(out, string_of(chart, "alternative"));
    dpa__text_add(out, "</p>\n");
    add_data_table(out, json_object_get(chart, "spec"));
    dpa__text_add(out, "</figure>\n");
}

static void add_charts(dpa__text *out, size_t page, const json_t *result) {
    size_t index;
    json_t *chart;
    json_array_foreach(json_object_get(result, "charts"), index, chart) add_chart(out, page, chart);
}

/* The specifications, for the script. "<" is written as an escape, so that no string can end the
 * element. */
static void add_chart_data(dpa__text *out, json_t *const *charts, size_t count) {
    dpa__text json = {0};
    const char *separator = "";
    dpa__text_add(&json, "[");
    for (size_t page = 0; page < count; ++page) {
        size_t index;
        json_t *chart;
        json_array_foreach(charts[page], index, chart) {
            dpa__text_printf(&json, "%s{\"id\": \"%zu-", separator, page);
            add_id(&json, string_of(chart, "id"));
            dpa__text_add(&json, "\", \"spec\": ");
            const json_t *spec = json_object_get(chart, "spec");
            if (json_is_object(spec))
                dpa__json_write(&json, spec, -1);
            else
                dpa__text_add(&json, "{}");
            dpa__text_add(&json, "}");
            separator = ",\n";
        }
    }
    dpa__text_add(&json, "]");
    dpa__text_add(out, "<script type=\"application/json\" id=\"charts\">");
    for (const char *c = json.data; c != NULL && *c != '\0'; ++c) {
        if (*c == '<')
            dpa__text_add(out, "\\u003c");
        else
            dpa__text_add_bytes(out, c, 1);
    }
    out->failed |= json.failed;
    dpa__text_free(&json);
    dpa__text_add(out, "</script>\n");
}

/* ── evidence and provenance
 * ──────────────────────────────────────────────────────────────────────── */

static void add_fact(dpa__text *out, const char *key, const json_t *value) {
    dpa__text_add(out, "<tr><th scope=\"row\">");
    dpa__html_escape(out, key);
    dpa__text_add(out, "</th><td>");
    add_value(out, value);
    dpa__text_add(out, "</td></tr>\n");
}

static void add_facts(dpa__text *out, const json_t *object) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (json_is_object(value) || json_is_array(value) || strcmp(key, "sha256") == 0) continue;
        add_fact(out, key, value);
    }
}

static void add_evidence(dpa__text *out, const json_t *result) {
    dpa__text_add(out, "<h2>Evidence</h2>\n<table>\n");
    add_facts(out, json_object_get(result, "evidence"));
    if (json_is_number(json_object_get(result, "delta")))
        add_fact(out, "δ", json_object_get(result, "delta"));
    dpa__text_add(out, "</table>\n");
}

static void add_provenance(dpa__text *out, const json_t *result) {
    const json_t *provenance = json_object_get(result, "provenance");
    size_t index;
    json_t *input;
    dpa__text_add(out, "<h2>Provenance</h2>\n<table>\n<tr><th scope=\"row\">dpaudit</th><td>");
    dpa__html_escape(out, string_of(result, "dpaudit"));
    dpa__text_add(out, "</td></tr>\n");
    add_facts(out, provenance);
    json_array_foreach(json_object_get(provenance, "inputs"), index, input) {
        dpa__text_add(out, "<tr><th scope=\"row\">input</th><td>");
        dpa__html_escape(out, string_of(input, "path"));
        dpa__text_add(out, "<br><span class=\"hash\">SHA-256 ");
        dpa__html_escape(out, string_of(input, "sha256"));
        dpa__text_add(out, "</span></td></tr>\n");
    }
    dpa__text_add(out, "</table>\n");
}

static void add_result(dpa__text *out, size_t page, const json_t *result, const json_t *charts) {
    dpa__text_add(out, "<main>\n<h1>dpaudit ");
    dpa__html_escape(out, string_of(result, "command"));
    dpa__text_add(out, "</h1>\n");
    add_verdict(out, result);
    add_basis(out, result);
    add_results(out, result);
    add_evidence(out, result);
    add_charts(out, page, charts);
    add_provenance(out, result);
    dpa__text_add(out, "</main>\n");
}

static void add_head(dpa__text *out) {
    dpa__text_printf(out,
                     "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "script-src '%s'; style-src 'unsafe-inline'; img-src data: blob:; "
                     "base-uri 'none'; form-action 'none'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<title>dpaudit report</title>\n<style>\n",
                     dpa__report_script_hash());
    dpa__text_add(out, dpa__report_style());
    dpa__text_add(out, "</style>\n</head>\n<body>\n");
}

static void add_script(dpa__text *out) {
    size_t length = 0;
    const char *script = dpa__report_script(&length);
    if (length == 0)
        dpa__text_add(out, "<p>This dpaudit was built without its charts; the tables hold the same "
                           "numbers.</p>\n");
    dpa__text_add(out, "<script>");
    dpa__text_add_bytes(out, script, length);
    dpa__text_add(out, "</script>\n</body>\n</html>\n");
}

void dpa__html_page(dpa__text *out, json_t *const *results, size_t count) {
    json_t **charts = dpa__calloc(count, sizeof *charts, NULL);
    if (charts == NULL) {
        out->failed = 1;
        return;
    }
    add_head(out);
    for (size_t i = 0; i < count; ++i) {
        charts[i] = dpa__charts(results[i]);
        if (charts[i] == NULL) out->failed = 1;
        add_result(out, i, results[i], charts[i]);
    }
    add_chart_data(out, charts, count);
    add_script(out);
    for (size_t i = 0; i < count; ++i) json_decref(charts[i]);
    free(charts);
}
