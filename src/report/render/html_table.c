/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of a page: all results beside their chart (columns that no result uses are left out),
 * the evidence, and the provenance: by which version, when, and the hashes to verify it. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/model/value.h"
#include "report/render/html.h"

typedef struct column {
    const char *key, *title;
    enum { WORD, NUMBER, PERCENT, PARAMETER, STANDING } kind;
} column;

static const column columns[] = {
    {"family", "family", WORD},
    {"method", "method", WORD},
    {"select", "chosen by", WORD},
    {"epsilon", "ε", NUMBER},
    {"epsilon_lower", "ε ≥", NUMBER},
    {"epsilon_upper", "ε ≤", NUMBER},
    {"guarantee", "guarantee", STANDING}, /* before what a narrow window cuts off */
    {"parameter", "parameter", PARAMETER},
    {"confidence", "confidence", PERCENT},
    {"p_value", "p of the claim", NUMBER},
    {"threshold", "threshold", NUMBER},
};
enum { COLUMNS = (int)(sizeof columns / sizeof columns[0]) };

static int is_infinite(const json_t *item, const char *key) {
    char flag[64];
    (void)snprintf(flag, sizeof flag, "%s_infinite", key);
    return json_is_true(json_object_get(item, flag));
}

static int has(const json_t *item, const column *c) {
    switch (c->kind) {
    case WORD:
        return dpa__word_of(item, c->key)[0] != '\0';
    case PARAMETER:
        return !isnan(dpa__number_of(json_object_get(item, c->key), "lower"));
    case STANDING:
        return 1;
    default:
        return !isnan(dpa__number_of(item, c->key)) || is_infinite(item, c->key);
    }
}

static int is_used(const json_t *results, const column *c) {
    size_t index;
    json_t *item;
    json_array_foreach(results, index, item) if (has(item, c)) return 1;
    return 0;
}

static void add_standing(dpa__text *out, const json_t *item) {
    const char *standing = dpa__standing_of(item);
    dpa__text_printf(out, "%s %s",
                     standing[0] == 'c'   ? "●"
                     : standing[0] == 'p' ? "■"
                     : standing[0] == 'o' ? "▲"
                                          : "◆",
                     standing);
}

static void add_cell(dpa__text *out, const json_t *item, const column *c, int is_void) {
    const json_t *parameter = json_object_get(item, c->key);
    dpa__text_add(out, c->kind == WORD || c->kind == STANDING ? "<td>" : "<td class=\"number\">");
    if (c->kind == STANDING && is_void)
        dpa__text_add(out, "✗ void");
    else if (c->kind == STANDING)
        add_standing(out, item);
    else if (!has(item, c))
        dpa__text_add(out, "");
    else if (c->kind == WORD)
        dpa__html_escape(out, dpa__word_of(item, c->key));
    else if (c->kind == PARAMETER) {
        dpa__html_escape(out, dpa__word_of(parameter, "name"));
        dpa__text_printf(out, " %.4g", dpa__number_of(parameter, "lower"));
    } else if (is_infinite(item, c->key))
        dpa__text_add(out, "∞");
    else if (c->kind == PERCENT)
        dpa__text_add(out, dpa__percent_of(dpa__number_of(item, c->key)).text);
    else
        dpa__text_printf(out, strncmp(c->key, "epsilon", 7) == 0 ? "%.4f" : "%.4g",
                         dpa__number_of(item, c->key));
    dpa__text_add(out, "</td>");
}

static void add_row(dpa__text *out, const json_t *item, const int *used, int best, int is_void) {
    const char *standing = dpa__standing_of(item);
    dpa__text_printf(out, "<tr class=\"%s%s\">", standing, best ? " best" : "");
    for (int c = 0; c < COLUMNS; ++c)
        if (used[c]) add_cell(out, item, &columns[c], best && is_void);
    dpa__text_add(out, "</tr>\n");
}

static void add_table(dpa__text *out, const json_t *results, int is_void) {
    const json_t *best = dpa__headline_of(results);
    int used[COLUMNS];
    size_t index;
    json_t *item;
    dpa__text_add(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                       "aria-label=\"All results\"><table><thead><tr>");
    for (int c = 0; c < COLUMNS; ++c) {
        used[c] = is_used(results, &columns[c]);
        if (used[c])
            dpa__text_printf(
                out, "<th scope=\"col\"%s>%s</th>",
                columns[c].kind == WORD || columns[c].kind == STANDING ? "" : " class=\"number\"",
                columns[c].title);
    }
    dpa__text_add(out, "</tr></thead><tbody>\n");
    json_array_foreach(results, index, item) add_row(out, item, used, item == best, is_void);
    dpa__text_add(out, "</tbody></table></div>\n");
}

void dpa__html_bounds(dpa__text *out, const dpa__html_part *part) {
    const json_t *results = json_object_get(part->result, "results");
    const int level = part->level + 1, is_void = dpa__html_is_void(part->result);
    if (json_array_size(results) == 0) return;
    dpa__text_printf(out, "<section><h%d>Results</h%d>\n", level, level);
    dpa__html_charts(out, part, "bounds");
    add_table(out, results, is_void);
    dpa__text_add(out, "<p class=\"small\">The row in bold is the test that decides, named before "
                       "the data were looked at. ");
    if (is_void)
        dpa__text_add(out, "Here it decides nothing: the data contradict what it stands on. ");
    dpa__text_add(out, "All others are shown: what would follow under other assumptions, posterior "
                       "probabilities, estimates.</p>\n</section>\n");
}

/* ── evidence and provenance ─────────────────────────────────────────────────────────── */

static void open_fact(dpa__text *out, const char *prefix, const char *key) {
    dpa__text_add(out, "<tr><th scope=\"row\">");
    if (prefix[0] != '\0') {
        dpa__html_label(out, prefix);
        dpa__text_add(out, " · ");
    }
    dpa__html_label(out, key);
    dpa__text_add(out, "</th><td>");
}

static int is_scalar(const json_t *value) {
    return json_is_string(value) || json_is_number(value) || json_is_boolean(value);
}

static void add_fact(dpa__text *out, const char *prefix, const char *key, const json_t *value) {
    open_fact(out, prefix, key);
    dpa__html_value(out, value);
    dpa__text_add(out, "</td></tr>\n");
}

static void add_facts(dpa__text *out, const char *prefix, const json_t *object) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (is_scalar(value) && strcmp(key, "sha256") != 0) add_fact(out, prefix, key, value);
    }
}

/* {"value": …, "lower": …, "upper": …}: a measurement; without a value an interval. */
static int is_measure(const json_t *value) {
    return !isnan(dpa__number_of(value, "lower"));
}

static void add_measure(dpa__text *out, const char *prefix, const char *key, const json_t *value) {
    const double middle = dpa__number_of(value, "value"), upper = dpa__number_of(value, "upper");
    const int digits = isnan(middle) ? 8 : 4;
    open_fact(out, prefix, key);
    if (!isnan(middle)) dpa__text_printf(out, "%.*g, from ", digits, middle);
    dpa__text_printf(out, "%.*g to ", digits, dpa__number_of(value, "lower"));
    if (isnan(upper))
        dpa__text_add(out, "∞</td></tr>\n");
    else
        dpa__text_printf(out, "%.*g</td></tr>\n", digits, upper);
}

/* How well the attack tells the classes apart: section "quality". */
static void add_quality(dpa__text *out, const json_t *quality) {
    const char *key;
    json_t *value;
    size_t index;
    json_object_foreach((json_t *)(uintptr_t)quality, key, value) {
        if (is_measure(value)) add_measure(out, "attack", key, value);
    }
    json_array_foreach(json_object_get(quality, "tpr_at_fpr"), index, value) {
        char label[48];
        (void)dpa__print(label, sizeof label, "TPR at FPR %g", dpa__number_of(value, "fpr"));
        if (is_measure(json_object_get(value, "tpr")))
            add_measure(out, "attack", label, json_object_get(value, "tpr"));
    }
}

/* The answer of a command without a verdict (account, calibrate): numbers, intervals, groups. */
static void add_answers(dpa__text *out, const json_t *result) {
    static const char *const elsewhere[] = {"dpaudit",    "command", "subject",
                                            "provenance", "notes",   "delta"};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)result, key, value) {
        int known = 0;
        for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; ++i)
            known |= strcmp(key, elsewhere[i]) == 0;
        if (known) continue;
        if (is_scalar(value))
            add_fact(out, "", key, value);
        else if (is_measure(value))
            add_measure(out, "", key, value);
        else
            add_facts(out, key, value);
    }
}

/* The tables of a plan: rows, ceilings and stops of its sections. */
static void add_tables(dpa__text *out, const json_t *result) {
    static const char *const tables[] = {"rows", "ceilings", "stops"};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)result, key, value) {
        for (size_t i = 0; i < sizeof tables / sizeof tables[0]; ++i) {
            const json_t *rows = json_object_get(value, tables[i]);
            if (json_array_size(rows) == 0) continue;
            dpa__text_add(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                               "aria-label=\"Table\">\n");
            dpa__html_rows(out, i == 0 ? key : tables[i], rows);
            dpa__text_add(out, "</div>\n");
        }
    }
}

void dpa__html_evidence(dpa__text *out, const dpa__html_part *part) {
    const int level = part->level + 1;
    const json_t *delta = json_object_get(part->result, "delta");
    const int judged = json_is_object(json_object_get(part->result, "verdict"));
    dpa__text_printf(out, "<section><h%d>%s</h%d>\n<table class=\"facts\">\n", level,
                     judged ? "Evidence" : "In numbers", level);
    add_facts(out, "", json_object_get(part->result, "evidence"));
    if (json_is_number(delta)) add_fact(out, "", "δ", delta);
    add_quality(out, json_object_get(part->result, "quality"));
    if (!judged) add_answers(out, part->result);
    dpa__text_add(out, "</table>\n");
    if (!judged) add_tables(out, part->result);
    dpa__text_add(out, "<div class=\"gallery\">\n");
    dpa__html_charts(out, part, "evidence");
    dpa__text_add(out, "</div>\n</section>\n");
}

static void add_inputs(dpa__text *out, const json_t *inputs) {
    size_t index;
    json_t *input;
    json_array_foreach(inputs, index, input) {
        dpa__html_between(out, "<tr><th scope=\"row\">input</th><td>", dpa__word_of(input, "path"),
                          "<br>");
        dpa__html_between(out, "<span class=\"hash\">SHA-256 ", dpa__word_of(input, "sha256"),
                          "</span></td></tr>\n");
    }
}

void dpa__html_provenance(dpa__text *out, const dpa__html_part *part) {
    const json_t *provenance = json_object_get(part->result, "provenance");
    const int level = part->level + 1;
    dpa__text_printf(out, "<section><h%d>Provenance</h%d>\n<table class=\"facts\">\n", level,
                     level);
    add_fact(out, "", "dpaudit", json_object_get(part->result, "dpaudit"));
    add_facts(out, "", provenance);
    add_inputs(out, json_object_get(provenance, "inputs"));
    dpa__text_add(out, "</table>\n</section>\n");
}
