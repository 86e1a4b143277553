/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several audits side by side, in the order given (checkpoints, releases): a sentence, one chart
 * with the claim as a line, and a table. Shows only what can be compared at a glance; every number
 * keeps its own δ, confidence and assumptions below. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/model/value.h"
#include "report/render/html.h"

enum { NAME = 200 };

/* Empty for standard input; a name that is not UTF-8 is cut before its first bad byte. */
void dpa__html_stem(const char *path, char *out, size_t size) {
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    const size_t length = dot != NULL && dot != name ? (size_t)(dot - name) : strlen(name);
    (void)snprintf(out, size, "%.*s", (int)length, strcmp(path, "-") == 0 ? "" : name);
    out[dpa__utf8_span(out, strlen(out))] = '\0';
}

static int is_taken(const json_t *rows, const char *name) {
    size_t index;
    json_t *row;
    json_array_foreach(rows, index, row) {
        if (dpa__is_word(row, "audit", name)) return 1;
    }
    return 0;
}

/* The name on the axis; if it is already taken, the audit's number is appended. */
static void name_of(const json_t *rows, const char *path, size_t number, char *out, size_t size) {
    char stem[NAME / 2];
    dpa__html_stem(path, stem, sizeof stem);
    if (stem[0] == '\0' || is_taken(rows, stem))
        (void)snprintf(out, size, "%s %zu", stem[0] == '\0' ? "result" : stem, number + 1);
    else
        (void)snprintf(out, size, "%s", stem);
}

static const char *verdict_word(const json_t *verdict) {
    if (dpa__is_word(verdict, "state", "refuted")) return "refuted";
    if (dpa__is_word(verdict, "state", "not-refuted")) return "not refuted";
    if (dpa__is_word(verdict, "state", "inconclusive")) return "inconclusive";
    return "no claim";
}

static json_t *number_or_null(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *row_of(const json_t *result, const char *name, size_t number) {
    const json_t *verdict = json_object_get(result, "verdict");
    const json_t *seen = json_object_get(verdict, "would_detect");
    /* a test of noise knows nothing of other leaks */
    const int by_noise =
        json_object_get(seen, "epsilon") == NULL && json_object_get(seen, "epsilon_gaussian");
    const char *key = by_noise ? "epsilon_gaussian" : "epsilon";
    const int is_blind = seen != NULL && isnan(dpa__number_of(seen, key));
    const json_t *provenance = json_object_get(result, "provenance");
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:b, s:b, s:o, s:s, s:o}", "audit", name, "verdict",
                     verdict_word(verdict), "epsilon",
                     number_or_null(dpa__number_of(verdict, "epsilon_lower")), "claim",
                     number_or_null(dpa__number_of(dpa__claim_of(result), "epsilon")), "detects",
                     number_or_null(dpa__number_of(seen, key)), "by_noise", by_noise, "is_blind",
                     is_blind, "delta", number_or_null(dpa__number_of(result, "delta")), "time",
                     dpa__word_of(provenance, "time"), "number", json_integer((json_int_t)number));
}

json_t *dpa__trend(json_t *const *results, const char *const *paths, size_t count) {
    json_t *rows = json_array();
    for (size_t i = 0; i < count; ++i) {
        char name[NAME];
        if (isnan(dpa__number_of(json_object_get(results[i], "verdict"), "epsilon_lower")))
            continue;
        name_of(rows, paths[i], i, name, sizeof name);
        if (json_array_append_new(rows, row_of(results[i], name, i)) != 0) {
            json_decref(rows);
            return NULL;
        }
    }
    return json_pack("{s:o}", "trend", rows);
}

/* ── on the page ─────────────────────────────────────────────────────────────────────────────── */

static void add_sentence(dpa__text *out, const json_t *rows) {
    const size_t count = json_array_size(rows);
    const json_t *first = json_array_get(rows, 0), *last = json_array_get(rows, count - 1);
    size_t index, refuted = 0, judged = 0;
    json_t *row;
    json_array_foreach(rows, index, row) {
        refuted += (size_t)dpa__is_word(row, "verdict", "refuted");
        judged += (size_t)!dpa__is_word(row, "verdict", "no claim");
    }
    dpa__text_printf(out, "<p>The leak that was shown: at least ε = %.4g in the first audit, ",
                     dpa__number_of(first, "epsilon"));
    dpa__text_printf(out, "%.4g in the last.", dpa__number_of(last, "epsilon"));
    if (judged > 0)
        dpa__text_printf(out, " The claim fell in %zu of %zu audit%s.", refuted, judged,
                         judged == 1 ? "" : "s");
    dpa__text_add(out, " A lower number in a later audit is less shown, not less leaked: compare "
                       "what each would have detected.</p>\n");
}

/* The cell of a number; `none` where there is none. */
static void add_cell(dpa__text *out, const json_t *row, const char *key, int digits,
                     const char *none, const char *after) {
    const double value = dpa__number_of(row, key);
    dpa__text_add(out, "<td class=\"number\">");
    if (isnan(value))
        dpa__text_add(out, none);
    else
        dpa__text_printf(out, "%.*g", digits, value);
    dpa__text_printf(out, "%s</td>", after);
}

static void add_detected(dpa__text *out, const json_t *row) {
    const int is_blind = json_is_true(json_object_get(row, "is_blind"));
    const int by_noise = json_is_true(json_object_get(row, "by_noise"));
    add_cell(out, row, "detects", 3, is_blind ? "no leak" : "–",
             by_noise ? " from too little Gaussian noise" : "");
}

static void add_table(dpa__text *out, const json_t *rows) {
    size_t index;
    json_t *row;
    dpa__text_add(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"The "
                       "audits\"><table><thead><tr><th scope=\"col\">audit</th><th scope=\"col\">"
                       "verdict</th><th scope=\"col\" class=\"number\">ε ≥</th><th scope=\"col\" "
                       "class=\"number\">claimed</th><th scope=\"col\" class=\"number\">would have "
                       "detected</th><th scope=\"col\" class=\"number\">δ</th><th scope=\"col\">"
                       "when</th></tr></thead><tbody>\n");
    json_array_foreach(rows, index, row) {
        dpa__text_printf(out, "<tr><td><a href=\"#result-%.0f\">", dpa__number_of(row, "number"));
        dpa__html_between(out, "", dpa__word_of(row, "audit"), "</a></td><td>");
        dpa__html_between(out, "", dpa__word_of(row, "verdict"), "</td>");
        add_cell(out, row, "epsilon", 4, "–", "");
        add_cell(out, row, "claim", 4, "–", "");
        add_detected(out, row);
        add_cell(out, row, "delta", 3, "–", "");
        dpa__html_between(out, "<td>", dpa__word_of(row, "time"), "</td></tr>\n");
    }
    dpa__text_add(out, "</tbody></table></div>\n");
}

void dpa__html_trend(dpa__text *out, const dpa__html_part *part) {
    const json_t *rows = json_object_get(part->result, "trend");
    dpa__text_add(out, "<section id=\"trend\"><h2>From audit to audit</h2>\n");
    add_sentence(out, rows);
    dpa__html_charts(out, part, "bounds");
    add_table(out, rows);
    dpa__text_add(out, "</section>\n");
}
