/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report as one page that needs nothing else: opens from disk, offline, prints, reads without its
 * script. It is made from the JSON of a result, so that a stored result and a fresh one give the
 * same page; the JSON may come from anyone, so every string is escaped and the
 * Content-Security-Policy allows our script by its hash and nothing from outside. */
#include "report/html.h"

#include <stdlib.h>

#include "base/memory.h"
#include "report/assets.h"
#include "report/charts.h"
#include "report/value.h"

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

static void add_heading(dpa__text *out, const dpa__html_part *part) {
    dpa__text_printf(out, "<h%d>", part->level);
    dpa__html_title(out, part->result);
    dpa__text_printf(out, "</h%d>\n", part->level);
}

/* Several results: their verdicts first, each a link. */
static void add_contents(dpa__text *out, json_t *const *results, size_t count) {
    dpa__text_printf(out, "<h1>%zu results</h1>\n<nav aria-label=\"Results\"><ol>\n", count);
    for (size_t i = 0; i < count; ++i) {
        const json_t *verdict = json_object_get(results[i], "verdict");
        dpa__text_printf(out, "<li><a href=\"#result-%zu\">", i);
        dpa__text_printf(out, "%s", dpa__html_mark(results[i]));
        dpa__text_add(out, ": ");
        dpa__html_title(out, results[i]);
        dpa__text_add(out, "</a> ");
        dpa__html_escape(out, dpa__word_of(verdict, "headline"));
        dpa__text_add(out, "</li>\n");
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

void dpa__html_page(dpa__text *out, json_t *const *results, size_t count) {
    json_t **charts = dpa__calloc(count, sizeof *charts, NULL);
    if (charts == NULL) {
        out->failed = 1;
        return;
    }
    add_head(out, results, count);
    if (count > 1) add_contents(out, results, count);
    for (size_t i = 0; i < count; ++i) {
        charts[i] = dpa__charts(results[i]);
        if (charts[i] == NULL) out->failed = 1;
        const dpa__html_part part = {results[i], charts[i], i, count > 1 ? 2 : 1};
        add_result(out, &part);
    }
    dpa__text_add(out, "</main>\n");
    dpa__html_chart_data(out, charts, count);
    add_script(out);
    for (size_t i = 0; i < count; ++i) json_decref(charts[i]);
    free(charts);
}
