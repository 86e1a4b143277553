/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of all results beside its chart. Columns that no result uses are left out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/html.h"
#include "report/value.h"

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

static void add_cell(dpa__text *out, const json_t *item, const column *c) {
    const json_t *parameter = json_object_get(item, c->key);
    dpa__text_add(out, c->kind == WORD || c->kind == STANDING ? "<td>" : "<td class=\"number\">");
    if (c->kind == STANDING)
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

static void add_row(dpa__text *out, const json_t *item, const int *used, int best) {
    const char *standing = dpa__standing_of(item);
    dpa__text_printf(out, "<tr class=\"%s%s\">", standing, best ? " best" : "");
    for (int c = 0; c < COLUMNS; ++c)
        if (used[c]) add_cell(out, item, &columns[c]);
    dpa__text_add(out, "</tr>\n");
}

static void add_table(dpa__text *out, const json_t *results) {
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
    json_array_foreach(results, index, item) add_row(out, item, used, item == best);
    dpa__text_add(out, "</tbody></table></div>\n");
}

void dpa__html_bounds(dpa__text *out, const dpa__html_part *part) {
    const json_t *results = json_object_get(part->result, "results");
    const int level = part->level + 1;
    if (json_array_size(results) == 0) return;
    dpa__text_printf(out, "<section><h%d>Results</h%d>\n", level, level);
    dpa__html_charts(out, part, "bounds");
    add_table(out, results);
    dpa__text_add(out, "<p class=\"small\">The row in bold is the test that decides, named before "
                       "the data were looked at. All others are shown: what would follow under "
                       "other assumptions, posterior probabilities, estimates.</p>\n</section>\n");
}
