/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report as one self-contained page: it opens from disk and offline, prints, and can be read
 * without its script. It is made from the JSON of a result, so that a stored result and a fresh one
 * give the same page. The JSON may come from anybody, so every string is escaped, and the
 * Content-Security-Policy allows our script by its hash and nothing from outside. */
#include "report/render/html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/data.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "report/charts/charts.h"
#include "report/model/model.h"
#include "report/model/value.h"

static void add_head(dpa__text *out, json_t *const *results, size_t count) {
    dpa__text_printf(out,
                     "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "script-src '%s'; style-src 'unsafe-inline'; img-src data: blob:; "
                     "base-uri 'none'; form-action 'none'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"generator\" content=\"dpaudit\">\n<title>",
                     dpa__report_script_hash());
    if (count == 1) {
        dpa__text_printf(out, "%s – ", dpa__html_mark(results[0]));
        dpa__html_title(out, results[0]);
        dpa__text_add(out, " – ");
    }
    dpa__text_add(out, "dpaudit report</title>\n<style>\n");
    dpa__text_add(out, dpa__report_style());
    dpa__text_add(out, "</style>\n</head>\n<body>\n<header class=\"top\"><span class=\"brand\">"
                       "dpaudit</span> <span>privacy audit report</span></header>\n<main>\n");
}

/* The file if there are several, and what was done to what. */
static void add_title(dpa__text *out, const json_t *result, const char *path) {
    char name[128] = "";
    if (path != NULL) dpa__html_stem(path, name, sizeof name);
    dpa__html_between(out, "", name, name[0] != '\0' ? ": " : "");
    dpa__html_title(out, result);
}

static void add_heading(dpa__text *out, const dpa__html_part *part) {
    dpa__text_printf(out, "<h%d>", part->level);
    add_title(out, part->result, part->path);
    dpa__text_printf(out, "</h%d>\n", part->level);
}

/* For several results: their verdicts first, each with a link. */
static void add_contents(dpa__text *out, json_t *const *results, const char *const *paths,
                         size_t count) {
    dpa__text_printf(out, "<h1>%zu results</h1>\n<nav aria-label=\"Results\"><ol>\n", count);
    for (size_t i = 0; i < count; ++i) {
        const json_t *verdict = json_object_get(results[i], "verdict");
        dpa__text_printf(out, "<li><a href=\"#result-%zu\">", i);
        add_title(out, results[i], paths != NULL ? paths[i] : NULL);
        dpa__text_printf(out, "</a> <strong>%s</strong>. ", dpa__html_mark(results[i]));
        dpa__html_between(out, "", dpa__word_of(verdict, "headline"), "</li>\n");
    }
    dpa__text_add(out, "</ol></nav>\n");
}

static void add_result(dpa__text *out, const dpa__html_part *part) {
    dpa__text_printf(out, "<article id=\"result-%zu\">\n", part->number);
    add_heading(out, part);
    dpa__html_verdict(out, part);
    dpa__html_basis(out, part);
    dpa__html_bounds(out, part);
    dpa__html_evidence(out, part);
    dpa__html_provenance(out, part);
    dpa__text_add(out, "</article>\n");
}

static void add_script(dpa__text *out) {
    size_t length = 0;
    const char *script = dpa__report_script(&length);
    dpa__text_add(out, length > 0
                           ? "<noscript><p>The charts need JavaScript; the tables under them hold "
                             "the same numbers.</p></noscript>\n"
                           : "<p>This dpaudit was built without its charts; the tables hold the "
                             "same numbers.</p>\n");
    dpa__text_add(out, "<script>");
    dpa__text_add_bytes(out, script, length);
    dpa__text_add(out, "</script>\n</body>\n</html>\n");
}

/* With at least two bounds: the trend. Returns its charts for the script. */
static json_t *add_trend(dpa__text *out, json_t *const *results, const char *const *paths,
                         size_t count) {
    json_t *trend = dpa__trend(results, paths, count), *charts = NULL;
    const int is_one = json_array_size(json_object_get(trend, "trend")) > 1;
    if (is_one) charts = dpa__charts(trend);
    out->failed |= trend == NULL || (is_one && charts == NULL);
    const dpa__html_part part = {trend, charts, count, 1, NULL};
    if (charts != NULL) dpa__html_trend(out, &part);
    json_decref(trend);
    return charts;
}

void dpa__html_page(dpa__text *out, json_t *const *results, const char *const *paths,
                    size_t count) {
    json_t **charts = dpa__calloc(count + 1, sizeof *charts, NULL);
    if (charts == NULL) {
        out->failed = 1;
        return;
    }
    add_head(out, results, count);
    if (count > 1) add_contents(out, results, paths, count);
    if (count > 1 && paths != NULL) charts[count] = add_trend(out, results, paths, count);
    for (size_t i = 0; i < count; ++i) {
        charts[i] = dpa__charts(results[i]);
        if (charts[i] == NULL) out->failed = 1;
        const int is_named = count > 1 && paths != NULL;
        const dpa__html_part part = {results[i], charts[i], i, count > 1 ? 2 : 1,
                                     is_named ? paths[i] : NULL};
        add_result(out, &part);
    }
    dpa__text_add(out, "</main>\n");
    dpa__html_chart_data(out, charts, count + 1);
    add_script(out);
    for (size_t i = 0; i <= count; ++i) json_decref(charts[i]);
    free(charts);
}

/* ── from a report, or from stored results, to a page ────────────────────────────────── */

dpa_status dpa_report_html(const dpa_report *report, char **out, dpa_error *err) {
    json_t *value = dpa__report_to_json(report);
    if (value == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for a page");
    dpa__text text = {0};
    dpa__html_page(&text, &value, NULL, 1);
    json_decref(value);
    return dpa__text_take(&text, out, err);
}

static dpa_status charts_of(const dpa_report *report, json_t **out, dpa_error *err) {
    json_t *value = dpa__report_to_json(report);
    *out = value != NULL ? dpa__charts(value) : NULL;
    json_decref(value);
    if (*out != NULL) return DPA_OK;
    return dpa__fail(err, DPA_NO_MEMORY, "no memory for the charts of a report");
}

dpa_status dpa__report_charts(const dpa_report *report, char **out, dpa_error *err) {
    json_t *charts;
    dpa__text text = {0};
    DPA_TRY(charts_of(report, &charts, err));
    dpa__json_write(&text, charts, 0);
    json_decref(charts);
    return dpa__text_take(&text, out, err);
}

static dpa_status write_spec(const char *directory, const json_t *chart, dpa_error *err) {
    dpa__text path = {0}, text = {0};
    dpa__text_printf(&path, "%s/%s.vl.json", directory, dpa__word_of(chart, "id"));
    dpa__json_write(&text, json_object_get(chart, "spec"), 0);
    dpa__text_add(&text, "\n");
    const dpa_status status = path.failed || text.failed
                                  ? dpa__fail(err, DPA_NO_MEMORY, "no memory for a chart")
                                  : dpa__file_write(path.data, text.data, text.length, err);
    dpa__text_free(&path);
    dpa__text_free(&text);
    return status;
}

dpa_status dpa__report_vega(const dpa_report *report, const char *directory, dpa_error *err) {
    size_t index;
    json_t *charts, *chart;
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return dpa__fail_file(err, DPA_IO, directory, "cannot make the directory: %s",
                              strerror(errno));
    DPA_TRY(charts_of(report, &charts, err));
    dpa_status status = DPA_OK;
    json_array_foreach(charts, index, chart) {
        if (status == DPA_OK) status = write_spec(directory, chart, err);
    }
    json_decref(charts);
    return status;
}

static dpa_status read_result(const char *path, json_t **out, dpa_error *err) {
    DPA_TRY(dpa__json_read(path, out, NULL, err));
    const dpa_status status = dpa__result_check(path, *out, err);
    if (status == DPA_OK) return DPA_OK;
    json_decref(*out);
    *out = NULL;
    return status;
}

dpa_status dpa__report_combine(const char *const *paths, size_t count, char **out, dpa_error *err) {
    *out = NULL;
    if (count == 0) return dpa__fail(err, DPA_BAD_ARGUMENT, "a report needs at least one result");
    json_t **results = dpa__calloc(count, sizeof(json_t *), err);
    if (results == NULL) return DPA_NO_MEMORY;
    dpa_status status = DPA_OK;
    for (size_t i = 0; i < count && status == DPA_OK; ++i)
        status = read_result(paths[i], &results[i], err);
    dpa__text text = {0};
    if (status == DPA_OK) dpa__html_page(&text, results, paths, count);
    for (size_t i = 0; i < count; ++i) json_decref(results[i]);
    free(results);
    return status == DPA_OK ? dpa__text_take(&text, out, err) : status;
}
