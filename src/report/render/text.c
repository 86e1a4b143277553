/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report for a terminal: the evidence, a table of all bounds, the verdict's sentence, and its
 * assumptions. Fits 80 columns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/model/model.h"
#include "report/model/value.h"

enum { COLUMNS = 7, CELL = 64, MIN_WIDTH = 40, LEAST_NAME = 12, FEW = 6, BLOCK = 64 };

typedef struct row {
    char cell[COLUMNS][CELL];
} row;

int dpa__shown_width(const char *text) {
    int width = 0;
    for (; *text != '\0'; ++text) width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void put_number(char *cell, double value) {
    if (isnan(value))
        cell[0] = '\0';
    else if (isinf(value))
        (void)snprintf(cell, CELL, "%s", "inf");
    else
        (void)dpa__print(cell, CELL, "%.4f", value);
}

/* The assumption is called "family-gaussian"; people say gaussian. */
static const char *without_prefix(const char *assumption) {
    static const char prefix[] = "family-";
    return strncmp(assumption, prefix, sizeof prefix - 1) == 0 ? assumption + sizeof prefix - 1
                                                               : assumption;
}

/* How the number relates to the verdict: it decides, or would if the data did not contradict what
 * it stands on, or holds only if an assumption does. */
static void put_standing(char *cell, const dpa_report *report, const dpa_result *result,
                         const dpa_text_style *style) {
    const char *conditional = dpa__result_conditional(result);
    const char *of = result->scope == DPA_SCOPE_STEP            ? "one step, "
                     : result->scope == DPA_SCOPE_PARTICIPATION ? "one client, "
                                                                : "";
    const dpa_guarantee guarantee = dpa__result_guarantee(result);
    if (result->role == DPA_PRIMARY && report->verdict.contradictions > 0)
        (void)snprintf(cell, CELL, "%svoid", style->unicode ? "✗ " : "");
    else if (result->role == DPA_PRIMARY)
        (void)snprintf(cell, CELL, "%s%s", style->unicode ? "✓ " : "",
                       report->verdict.state == DPA_NO_CLAIM ? "holds" : "decides");
    else if (guarantee != DPA_CONFIDENCE)
        (void)snprintf(cell, CELL, "%s%s", of, dpa__guarantee_name(guarantee));
    else if (conditional == dpa__assumption_name(DPA_ASSUMPTION_INDEX_CHANNELS))
        (void)snprintf(cell, CELL, "%sif independent", of); /* a line is short */
    else
        (void)snprintf(cell, CELL, "%s%s%.40s", of, conditional != NULL ? "if " : "shown",
                       conditional != NULL ? without_prefix(conditional) : "");
}

/* The byte at which character number `at` starts. */
static size_t byte_of(const char *text, int at) {
    size_t byte = 0;
    for (; text[byte] != '\0'; ++byte)
        if (((unsigned char)text[byte] & 0xc0) != 0x80 && at-- == 0) break;
    return byte;
}

void dpa__shorten(char *out, size_t size, const char *text, int width) {
    const int shown = dpa__shown_width(text);
    if (shown <= width && strlen(text) < size) {
        (void)snprintf(out, size, "%s", text);
        return;
    }
    out[0] = '\0';
    for (int left = (width < shown ? width : shown) - 3; left > 0; --left) {
        const size_t head = byte_of(text, (left + 1) / 2);
        const char *tail = text + byte_of(text, shown - left / 2);
        if (head + 3 + strlen(tail) >= size) continue; /* multi-byte characters */
        (void)snprintf(out, size, "%.*s...%s", (int)head, text, tail);
        return;
    }
}

static void fill_row(row *r, const dpa_report *report, const dpa_result *result,
                     const dpa_text_style *style) {
    dpa__shorten(r->cell[0], CELL, result->family[0] != '\0' ? result->family : "-", CELL - 1);
    (void)snprintf(r->cell[1], CELL, "%s", result->method);
    (void)snprintf(r->cell[2], CELL, "%s", result->select[0] ? result->select : "-");
    put_number(r->cell[3], result->epsilon);
    put_number(r->cell[4], result->epsilon_lower);
    put_number(r->cell[5], result->epsilon_upper);
    put_standing(r->cell[6], report, result, style);
}

/* Column widths; a column that no row uses gets none. */
static void measure(const row *rows, size_t count, const row *head, int *width) {
    for (int c = 0; c < COLUMNS; ++c) {
        width[c] = 0;
        for (size_t i = 0; i < count; ++i) {
            const int w = dpa__shown_width(rows[i].cell[c]);
            if (strcmp(rows[i].cell[c], "-") != 0 && w > width[c]) width[c] = w;
        }
        if (width[c] > 0 && dpa__shown_width(head->cell[c]) > width[c])
            width[c] = dpa__shown_width(head->cell[c]);
    }
}

/* If the table is wider than the screen, shortens the names of families. */
static void fit(row *rows, size_t count, int *width, int screen) {
    int all = 0;
    for (int c = 0; c < COLUMNS; ++c) all += width[c] > 0 ? 2 + width[c] : 0;
    const int room = width[0] - (all - screen), least = room > LEAST_NAME ? room : LEAST_NAME;
    if (all <= screen || least >= width[0]) return;
    width[0] = least;
    for (size_t i = 0; i < count; ++i) {
        char whole[CELL];
        memcpy(whole, rows[i].cell[0], sizeof whole);
        dpa__shorten(rows[i].cell[0], CELL, whole, width[0]);
    }
}

static void print_row(dpa__text *out, const row *r, const int *width) {
    for (int c = 0; c < COLUMNS; ++c) {
        if (width[c] == 0) continue;
        const int pad = width[c] - dpa__shown_width(r->cell[c]);
        const int right = c >= 3 && c <= 5;
        dpa__text_printf(out, "  %*s%s%*s", right ? pad : 0, "", r->cell[c], right ? 0 : pad, "");
    }
    while (out->length > 0 && out->data != NULL && out->data[out->length - 1] == ' ')
        out->data[--out->length] = '\0';
    dpa__text_add(out, "\n");
}

static void print_table(dpa__text *out, const dpa_report *report, const dpa_text_style *style) {
    const size_t all = report->results.count, most = report->shows_all ? BLOCK : FEW;
    row head = {{"family", "method", "chosen by", "estimate", "lower", "upper", "standing"}};
    (void)snprintf(head.cell[3], CELL, "%s", style->unicode ? "ε" : "eps");
    (void)snprintf(head.cell[4], CELL, "%s", style->unicode ? "ε ≥" : "eps >=");
    (void)snprintf(head.cell[5], CELL, "%s", style->unicode ? "ε ≤" : "eps <=");
    const size_t shown = all < most ? all : most;
    row *rows = calloc(shown, sizeof *rows); /* too large for a small stack */
    if (rows == NULL) {
        out->failed = 1;
        return;
    }
    int width[COLUMNS];
    for (size_t i = 0; i < shown; ++i) fill_row(&rows[i], report, &report->results.items[i], style);
    measure(rows, shown, &head, width);
    fit(rows, shown, width, style->width);
    print_row(out, &head, width);
    for (size_t i = 0; i < shown; ++i) print_row(out, &rows[i], width);
    free(rows);
    if (shown < all)
        dpa__text_printf(out, "  … and %zu more: %s\n", all - shown,
                         report->shows_all ? "see --json" : "--all shows them");
}

void dpa__print_words(dpa__text *out, const char *text, size_t length, int width, int column,
                      int indent) {
    const char *const begin = text;
    for (const char *end = text + length; text < end;) {
        size_t word = 0;
        int shown = 0;
        for (; text + word < end && text[word] != ' '; ++word)
            shown += ((unsigned char)text[word] & 0xc0) != 0x80;
        if (text != begin && column + 1 + shown > width) {
            dpa__text_printf(out, "\n%*s", indent, "");
            column = indent;
        } else if (text != begin) {
            dpa__text_add(out, " ");
            ++column;
        }
        dpa__text_add_bytes(out, text, word);
        column += shown;
        text += word;
        while (text < end && *text == ' ') ++text;
    }
    dpa__text_add(out, "\n");
}

/* Wraps sentences, also in the last column of a table, which starts after the last two adjacent
 * spaces. */
static void print_lines(dpa__text *out, const char *lines, int width) {
    for (size_t length; *lines != '\0'; lines += length + 1) {
        length = strcspn(lines, "\n");
        char line[4 * DPA_TEXT_SIZE];
        const int fits = length < sizeof line;
        (void)snprintf(line, sizeof line, "%.*s", (int)length, lines);
        if (fits && dpa__shown_width(line) > width) {
            char *last = line;
            for (char *gap = line; (gap = strstr(gap, "  ")) != NULL;) last = gap += 2;
            last += *last == ' ';
            dpa__text_add_bytes(out, line, (size_t)(last - line));
            const int column = dpa__shown_width(line) - dpa__shown_width(last);
            dpa__print_words(out, last, strlen(last), width, column, column);
        } else {
            dpa__text_add_bytes(out, lines, length);
            dpa__text_add(out, "\n");
        }
    }
}

/* Sides of the bounds; estimates always have two-sided intervals. */
static const char *sides_of(const dpa_report *report) {
    if (report->request.sides == 2) return " (two-sided)";
    for (size_t i = 0; i < report->results.count; ++i) {
        const dpa_result *r = &report->results.items[i];
        if (r->kind == DPA_ESTIMATE && r->sides == 2 && !isnan(r->epsilon_upper))
            return " (one-sided; estimates: two-sided)";
    }
    return " (one-sided)";
}

/* Prints the line and frees it. A line that there was no memory for is none that may be left out.
 */
static void print_line(dpa__text *out, dpa__text *line, int width, int indent) {
    if (line->failed)
        out->failed = 1;
    else
        dpa__print_words(out, line->data, strlen(line->data), width, 0, indent);
    dpa__text_free(line);
}

static void print_evidence(dpa__text *out, const dpa_report *report, int width) {
    const char *key;
    json_t *value;
    const char *separator = ": ";
    dpa__text line = {0};
    dpa__text_printf(&line, "dpaudit %s%s%s", report->command, report->subject[0] ? " " : "",
                     report->subject);
    json_object_foreach(report->evidence, key, value) {
        char number[40];
        if (strcmp(key, "kind") == 0 || (!json_is_number(value) && !json_is_string(value)))
            continue;
        const double real = json_number_value(value);
        const int is_count = real == floor(real) && fabs(real) < 1e15;
        (void)dpa__print(number, sizeof number, is_count ? "%.0f" : "%.6g", real);
        dpa__text_add(&line, separator);
        for (const char *c = key; *c != '\0'; ++c)
            dpa__text_add_bytes(&line, *c == '_' ? " " : c, 1);
        dpa__text_printf(&line, " %s", json_is_string(value) ? json_string_value(value) : number);
        separator = ", ";
    }
    dpa__text_printf(&line, "%sδ %g, confidence %s%s", separator, report->request.delta,
                     dpa__percent_of(report->request.confidence).text, sides_of(report));
    print_line(out, &line, width, 2);
}

static void print_lints(dpa__text *out, const dpa_report *report, int width) {
    size_t index;
    json_t *lint;
    json_array_foreach(report->lints, index, lint) {
        dpa__text line = {0};
        dpa__text_printf(&line, "note: %s", json_string_value(json_object_get(lint, "text")));
        print_line(out, &line, width, 6);
    }
}

static void print_basis(dpa__text *out, const dpa_report *report, int width) {
    const dpa_result *best = dpa_report_primary(report);
    if (best == NULL && report->results.count > 0) best = &report->results.items[0];
    if (best == NULL) return;
    for (unsigned i = 0; i < DPA_ASSUMPTION_COUNT; ++i) {
        char line[512];
        if ((best->assumptions >> i & 1U) == 0) continue;
        (void)snprintf(line, sizeof line, "assumes: %s", dpa__assumption_text(i));
        dpa__print_words(out, line, strlen(line), width, 0, 9);
    }
    if (best->note[0]) dpa__print_words(out, best->note, strlen(best->note), width, 0, 2);
}

static void print_verdict(dpa__text *out, const dpa_report *report, const dpa_text_style *style) {
    static const char *const colours[] = {"\033[1m", "\033[1;32m", "\033[1;31m", "\033[1;33m"};
    if (style->colour) dpa__text_add(out, colours[report->verdict.state]);
    dpa__print_words(out, report->verdict.headline, strlen(report->verdict.headline), style->width,
                     0, 0);
    if (style->colour) dpa__text_add(out, "\033[0m");
}

/* First the answer, then the evidence, the rows behind it, and the assumptions. */
dpa_status dpa_report_text(const dpa_report *report, const dpa_text_style *style, char **out,
                           dpa_error *err) {
    dpa_text_style used = style != NULL ? *style : (dpa_text_style){80, 0, 1, 0};
    const int is_judged = report->verdict.is_made;
    if (used.width < MIN_WIDTH) used.width = MIN_WIDTH;
    dpa__text text = {0};
    if (is_judged) {
        print_verdict(&text, report, &used);
        dpa__text_add(&text, "\n");
        print_evidence(&text, report, used.width);
        dpa__text_add(&text, "\n");
    }
    if (report->results.count > 0) {
        print_table(&text, report, &used);
        dpa__text_add(&text, "\n");
    }
    if (report->lines.length > 0) print_lines(&text, report->lines.data, used.width);
    if (is_judged) {
        print_basis(&text, report, used.width);
        print_lints(&text, report, used.width);
    }
    return dpa__text_take(&text, out, err);
}
