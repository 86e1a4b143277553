/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small pictures for a terminal, from the same parts of a result as the charts of the page: bounds
 * as bars, ROC, posterior density. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "report/model/model.h"
#include "report/model/value.h"
#include "tradeoff/tradeoff.h"

enum { BAR = 36, NAME = 34, LONG_NAME = 46, MOST_BARS = 24, CLAIM_POINTS = 64 };

/* ── a canvas ────────────────────────────────────────────────────────────────────────── */

/* Dots on a grid of Braille characters (2 × 4 dots each), or of plain characters without Unicode. A
 * Braille character is U+2800 plus one bit per dot: from the top, bits 0, 1, 2, 6 in the left
 * column and 3, 4, 5, 7 in the right one. Coordinates are in data units; points outside are not
 * drawn. */
enum { COLUMNS = 60, ROWS = 15, WIDE = 2 * COLUMNS, HIGH = 4 * ROWS, LABEL = 9 };

typedef struct grid {
    double left, right, bottom, top; /* range of the data */
    unsigned char dots[ROWS][COLUMNS];
    int unicode;
} grid;

static void canvas_init(grid *canvas, double left, double right, double bottom, double top,
                        int unicode) {
    *canvas = (grid){.left = left,
                     .right = right > left ? right : left + 1.0,
                     .bottom = bottom,
                     .top = top > bottom ? top : bottom + 1.0,
                     .unicode = unicode};
}

/* The index of a value among n dots; −1 if it is outside. */
static int place(double value, double low, double high, int n) {
    const double share = (value - low) / (high - low);
    if (!(share >= 0.0 && share <= 1.0)) return -1;
    return (int)(share * (n - 1) + 0.5);
}

static void dot(grid *canvas, double x, double y) {
    static const unsigned char bit[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    const int column = place(x, canvas->left, canvas->right, WIDE);
    const int row = HIGH - 1 - place(y, canvas->bottom, canvas->top, HIGH);
    if (column < 0 || row < 0 || row >= HIGH) return;
    unsigned char *cell = &canvas->dots[row / 4][column / 2];
    *cell = (unsigned char)(*cell | bit[row % 4][column % 2]);
}

/* With a `step` of 8 only every fourth dot is drawn. */
static void line(grid *canvas, double x0, double y0, double x1, double y1, int step) {
    enum { DOTS = 2 * WIDE };
    for (int i = 0; i <= DOTS; i += step) {
        const double share = (double)i / DOTS;
        dot(canvas, x0 + share * (x1 - x0), y0 + share * (y1 - y0));
    }
}

static void print_cell(const grid *canvas, dpa__text *out, unsigned char cell) {
    if (!canvas->unicode || cell == 0) {
        dpa__text_add(out, cell ? "*" : " ");
        return;
    }
    const char bytes[] = {(char)0xe2, (char)(0xa0 | cell >> 6), (char)(0x80 | (cell & 0x3f)), '\0'};
    dpa__text_add(out, bytes);
}

static void print_label(const grid *canvas, dpa__text *out, int row) {
    if (row == 0)
        dpa__text_printf(out, "  %*.4g ", LABEL, canvas->top);
    else if (row == ROWS - 1)
        dpa__text_printf(out, "  %*.4g ", LABEL, canvas->bottom);
    else
        dpa__text_printf(out, "  %*s ", LABEL, "");
    dpa__text_add(out, canvas->unicode ? "│" : "|");
}

/* The picture with its axes; each line is indented by two blanks. */
static void canvas_print(const grid *canvas, dpa__text *out, const char *x_title,
                         const char *y_title) {
    char right[24];
    dpa__text_printf(out, "  %s\n", y_title);
    for (int row = 0; row < ROWS; ++row) {
        int last = COLUMNS;
        while (last > 0 && canvas->dots[row][last - 1] == 0) --last;
        print_label(canvas, out, row);
        for (int column = 0; column < last; ++column)
            print_cell(canvas, out, canvas->dots[row][column]);
        dpa__text_add(out, "\n");
    }
    dpa__text_printf(out, "  %*s %s", LABEL, "", canvas->unicode ? "└" : "+");
    for (int column = 0; column < COLUMNS; ++column)
        dpa__text_add(out, canvas->unicode ? "─" : "-");
    (void)dpa__print(right, sizeof right, "%.4g", canvas->right);
    dpa__text_printf(out, "\n  %*s  %-10.4g%-*s%s\n", LABEL, "", canvas->left,
                     COLUMNS - 10 - (int)sizeof "0.0000", x_title, right);
}

/* ── bounds ──────────────────────────────────────────────────────────────────────────────────── */

static double shown_epsilon(const json_t *item) {
    const double point = dpa__number_of(item, "epsilon");
    return isnan(point) ? dpa__number_of(item, "epsilon_lower") : point;
}

enum { NAME_SIZE = DPA_FAMILY_SIZE + 3 * DPA_NAME_SIZE };

/* How the bars are drawn: names get more columns, and bars fewer, where a name is long. */
typedef struct bars {
    int name, length, claim_at; /* columns; where the claim is, −1 without one */
    double scale;               /* columns per unit of ε */
    int unicode;
} bars;

static bars bars_for(const json_t *results, double claim, int unicode) {
    bars out = {.name = NAME, .unicode = unicode};
    double largest = isnan(claim) ? 0.0 : claim;
    size_t index;
    json_t *item;
    json_array_foreach(results, index, item) {
        char name[NAME_SIZE];
        const double value = shown_epsilon(item);
        if (index >= MOST_BARS || !isfinite(value)) continue;
        dpa__result_name(item, name, sizeof name);
        const int width = dpa__shown_width(name);
        if (width > out.name) out.name = width < LONG_NAME ? width : LONG_NAME;
        largest = fmax(largest, value);
    }
    out.length = BAR - (out.name - NAME);
    out.scale = largest > 0.0 ? out.length / largest : 0.0;
    out.claim_at = isnan(claim) ? -1 : (int)(claim * out.scale + 0.5);
    return out;
}

static void print_name(dpa__text *out, const json_t *item, int columns) {
    char whole[NAME_SIZE], name[4 * LONG_NAME + 1];
    dpa__result_name(item, whole, sizeof whole);
    dpa__shorten(name, sizeof name, whole, columns);
    dpa__text_printf(out, "  %s%*s ", name, columns - dpa__shown_width(name), "");
}

static void print_bar(dpa__text *out, const json_t *item, const bars *b) {
    const char *standing = dpa__standing_of(item);
    const double value = shown_epsilon(item);
    const int end = (int)(fmax(value, 0.0) * b->scale + 0.5);
    print_name(out, item, b->name);
    for (int i = 0; i <= b->length; ++i) {
        if (i == end)
            dpa__text_add(out, standing[0] == 'c'   ? b->unicode ? "●" : "#"
                               : standing[0] == 'p' ? b->unicode ? "□" : "p"
                               : standing[0] == 'o' ? b->unicode ? "△" : "o"
                               : b->unicode         ? "◇"
                                                    : "*");
        else if (i == b->claim_at)
            dpa__text_add(out, b->unicode ? "┊" : ":");
        else
            dpa__text_add(out, i < end ? b->unicode ? "━" : "=" : " ");
    }
    dpa__text_printf(out, " %.4g\n", value);
}

static void plot_bounds(dpa__text *out, const json_t *result, int unicode) {
    const json_t *results = json_object_get(result, "results");
    const double claim = dpa__number_of(dpa__claim_of(result), "epsilon");
    const bars layout = bars_for(results, claim, unicode);
    size_t index;
    json_t *item;
    if (json_array_size(results) == 0) return;
    dpa__text_printf(out, "\n  Bounds on %s%s\n", unicode ? "ε" : "epsilon",
                     isnan(claim) ? ""
                     : unicode    ? "; ┊ is the claim"
                                  : "; : is the claim");
    json_array_foreach(results, index, item) {
        if (index >= MOST_BARS) break;
        if (isfinite(shown_epsilon(item))) print_bar(out, item, &layout);
    }
}

/* ── curves ──────────────────────────────────────────────────────────────────────────────────── */

static void draw_rows(grid *canvas, const json_t *rows, const char *x, const char *y) {
    for (size_t i = 1; i < json_array_size(rows); ++i) {
        const json_t *from = json_array_get(rows, i - 1), *to = json_array_get(rows, i);
        line(canvas, dpa__number_of(from, x), dpa__number_of(from, y), dpa__number_of(to, x),
             dpa__number_of(to, y), 1);
    }
}

static void draw_claim(grid *canvas, const json_t *claim, dpa__text *out) {
    dpa_curve *curve = NULL;
    const dpa_status status = dpa_curve_dp(dpa__number_of(claim, "epsilon"),
                                           dpa__number_of(claim, "delta"), &curve, NULL);
    out->failed |= status == DPA_NO_MEMORY;
    if (status != DPA_OK) return; /* no claim, or one that cannot be drawn */
    for (int i = 0; i < CLAIM_POINTS; ++i) {
        const double from = (double)i / CLAIM_POINTS, to = (double)(i + 1) / CLAIM_POINTS;
        if (i % 2 == 0)
            line(canvas, from, dpa__curve_tpr(curve, from), to, dpa__curve_tpr(curve, to), 1);
    }
    dpa_curve_free(curve);
}

static void plot_roc(dpa__text *out, const json_t *result, int unicode) {
    const json_t *roc = json_object_get(result, "roc");
    const json_t *claim = dpa__claim_of(result);
    grid canvas;
    if (json_array_size(roc) < 2) return;
    canvas_init(&canvas, 0.0, 1.0, 0.0, 1.0, unicode);
    draw_rows(&canvas, roc, "fpr", "tpr");
    draw_claim(&canvas, claim, out);
    line(&canvas, 0.0, 0.0, 1.0, 1.0, 8);
    dpa__text_printf(out, "\n  ROC of the attack; dotted: guessing%s\n",
                     json_is_object(claim) ? "; dashed: limit of the claim" : "");
    canvas_print(&canvas, out, "false positive rate", "true positive rate");
}

static void plot_posterior(dpa__text *out, const json_t *result, int unicode) {
    const json_t *points = json_object_get(json_object_get(result, "posterior"), "points");
    const size_t count = json_array_size(points);
    double top = 0.0;
    grid canvas;
    if (count < 2) return;
    for (size_t i = 0; i < count; ++i)
        top = fmax(top, dpa__number_of(json_array_get(points, i), "density"));
    canvas_init(&canvas, dpa__number_of(json_array_get(points, 0), "epsilon"),
                dpa__number_of(json_array_get(points, count - 1), "epsilon"), 0.0, top, unicode);
    draw_rows(&canvas, points, "epsilon", "density");
    dpa__text_printf(out, "\n  Posterior density of %s\n", unicode ? "ε" : "epsilon");
    canvas_print(&canvas, out, unicode ? "ε" : "epsilon", "density");
}

/* Lines over a logarithmic axis, one for each value of `series`. */
static void plot_series(dpa__text *out, const json_t *rows, const char *series, const char *x,
                        const char *y, const char *title, const char *x_title, const char *y_title,
                        int unicode) {
    const size_t count = json_array_size(rows);
    double least = INFINITY, most = 0.0, top = 0.0;
    grid canvas;
    for (size_t i = 0; i < count; ++i) {
        const json_t *row = json_array_get(rows, i);
        const double at = dpa__number_of(row, x);
        least = fmin(least, at);
        most = fmax(most, at);
        top = fmax(top, dpa__number_of(row, y));
    }
    if (!(least > 0.0 && most > least && isfinite(top))) return;
    canvas_init(&canvas, log10(least), log10(most), 0.0, top, unicode);
    for (size_t i = 1; i < count; ++i) {
        const json_t *from = json_array_get(rows, i - 1), *to = json_array_get(rows, i);
        if (strcmp(dpa__word_of(from, series), dpa__word_of(to, series)) != 0) continue;
        line(&canvas, log10(dpa__number_of(from, x)), dpa__number_of(from, y),
             log10(dpa__number_of(to, x)), dpa__number_of(to, y), 1);
    }
    dpa__text_add(out, title);
    canvas_print(&canvas, out, x_title, y_title);
}

static void plot_guesses(dpa__text *out, const json_t *result, int unicode) {
    plot_series(out, json_object_get(result, "guesses_curve"), "family", "guesses", "epsilon_lower",
                "\n  The bound with other numbers of guesses, a line per family\n",
                "log10 of the number of guesses", unicode ? "ε at least" : "epsilon at least",
                unicode);
}

static void plot_power(dpa__text *out, const json_t *result, int unicode) {
    plot_series(out, json_object_get(result, "power_curve"), "series", "size", "power",
                "\n  The power of the audit, a line per method\n", "log10 of the size", "power",
                unicode);
}

dpa_status dpa__report_plot(const dpa_report *report, const dpa_text_style *style, char **out,
                            dpa_error *err) {
    const int unicode = style == NULL || style->unicode;
    *out = NULL;
    json_t *result = dpa__report_to_json(report);
    if (result == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for a plot");
    dpa__text text = {0};
    dpa__text_add(&text, "");
    plot_bounds(&text, result, unicode);
    if (style == NULL || !style->brief) {
        plot_roc(&text, result, unicode);
        plot_posterior(&text, result, unicode);
        plot_guesses(&text, result, unicode);
        plot_power(&text, result, unicode);
    }
    json_decref(result);
    return dpa__text_take(&text, out, err);
}
