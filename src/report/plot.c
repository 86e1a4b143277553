/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small pictures for a terminal, from the same parts of a result as the charts of the page: bounds
 * as bars, ROC, posterior density. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "report/canvas.h"
#include "report/model.h"
#include "report/value.h"
#include "tradeoff/tradeoff.h"

enum { BAR = 36, NAME = 34, MOST_BARS = 24, CLAIM_POINTS = 64 };

/* ── bounds ──────────────────────────────────────────────────────────────────────────────────── */

static double shown_epsilon(const json_t *item) {
    const double point = dpa__number_of(item, "epsilon");
    return isnan(point) ? dpa__number_of(item, "epsilon_lower") : point;
}

static double largest_epsilon(const json_t *results, double claim) {
    double largest = isnan(claim) ? 0.0 : claim;
    size_t index;
    json_t *item;
    json_array_foreach(results, index, item) largest = fmax(largest, shown_epsilon(item));
    return largest;
}

/* Prints the name, padded to NAME columns. */
static void print_name(dpa__text *out, const json_t *item) {
    char name[NAME + 8];
    dpa__result_name(item, name, sizeof name);
    const int width = dpa__shown_width(name);
    dpa__text_printf(out, "  %s%*s ", name, width < NAME ? NAME - width : 0, "");
}

static void print_bar(dpa__text *out, const json_t *item, int claim_at, double scale, int unicode) {
    const char *standing = dpa__standing_of(item);
    const double value = shown_epsilon(item);
    const int length = (int)(fmax(value, 0.0) * scale + 0.5);
    print_name(out, item);
    for (int i = 0; i <= BAR; ++i) {
        const int is_end = i == length;
        if (is_end)
            dpa__text_add(out, standing[0] == 'c'   ? unicode ? "●" : "#"
                               : standing[0] == 'p' ? unicode ? "□" : "p"
                               : standing[0] == 'o' ? unicode ? "△" : "o"
                               : unicode            ? "◇"
                                                    : "*");
        else if (i == claim_at)
            dpa__text_add(out, unicode ? "┊" : ":");
        else
            dpa__text_add(out, i < length ? unicode ? "━" : "=" : " ");
    }
    dpa__text_printf(out, " %.4g\n", value);
}

static void plot_bounds(dpa__text *out, const json_t *result, int unicode) {
    const json_t *results = json_object_get(result, "results");
    const double claim = dpa__number_of(dpa__claim_of(result), "epsilon");
    const double largest = largest_epsilon(results, claim);
    const double scale = largest > 0.0 ? BAR / largest : 0.0;
    const int claim_at = isnan(claim) ? -1 : (int)(claim * scale + 0.5);
    size_t index;
    json_t *item;
    if (json_array_size(results) == 0) return;
    dpa__text_printf(out, "\n  Bounds on %s%s\n", unicode ? "ε" : "epsilon",
                     isnan(claim) ? ""
                     : unicode    ? "; ┊ is the claim"
                                  : "; : is the claim");
    json_array_foreach(results, index, item) {
        if (index >= MOST_BARS) break;
        if (isfinite(shown_epsilon(item))) print_bar(out, item, claim_at, scale, unicode);
    }
}

/* ── curves ──────────────────────────────────────────────────────────────────────────────────── */

static void draw_rows(dpa__canvas *canvas, const json_t *rows, const char *x, const char *y) {
    for (size_t i = 1; i < json_array_size(rows); ++i) {
        const json_t *from = json_array_get(rows, i - 1), *to = json_array_get(rows, i);
        dpa__canvas_line(canvas, dpa__number_of(from, x), dpa__number_of(from, y),
                         dpa__number_of(to, x), dpa__number_of(to, y));
    }
}

static void draw_claim(dpa__canvas *canvas, const json_t *claim, dpa__text *out) {
    dpa_curve *curve = NULL;
    const dpa_status status = dpa_curve_dp(dpa__number_of(claim, "epsilon"),
                                           dpa__number_of(claim, "delta"), &curve, NULL);
    out->failed |= status == DPA_NO_MEMORY;
    if (status != DPA_OK) return; /* no claim, or one that cannot be drawn */
    for (int i = 0; i < CLAIM_POINTS; ++i) {
        const double from = (double)i / CLAIM_POINTS, to = (double)(i + 1) / CLAIM_POINTS;
        if (i % 2 == 0)
            dpa__canvas_line(canvas, from, dpa__curve_tpr(curve, from), to,
                             dpa__curve_tpr(curve, to));
    }
    dpa_curve_free(curve);
}

static void plot_roc(dpa__text *out, const json_t *result, int unicode) {
    const json_t *roc = json_object_get(result, "roc");
    const json_t *claim = dpa__claim_of(result);
    dpa__canvas canvas;
    if (json_array_size(roc) < 2) return;
    dpa__canvas_init(&canvas, 0.0, 1.0, 0.0, 1.0, unicode);
    draw_rows(&canvas, roc, "fpr", "tpr");
    draw_claim(&canvas, claim, out);
    dpa__canvas_dotted(&canvas, 0.0, 0.0, 1.0, 1.0);
    dpa__text_printf(out, "\n  ROC of the attack; dotted: guessing%s\n",
                     json_is_object(claim) ? "; dashed: limit of the claim" : "");
    dpa__canvas_print(&canvas, out, "false positive rate", "true positive rate");
}

static void plot_posterior(dpa__text *out, const json_t *result, int unicode) {
    const json_t *points = json_object_get(json_object_get(result, "posterior"), "points");
    const size_t count = json_array_size(points);
    double top = 0.0;
    dpa__canvas canvas;
    if (count < 2) return;
    for (size_t i = 0; i < count; ++i)
        top = fmax(top, dpa__number_of(json_array_get(points, i), "density"));
    dpa__canvas_init(&canvas, dpa__number_of(json_array_get(points, 0), "epsilon"),
                     dpa__number_of(json_array_get(points, count - 1), "epsilon"), 0.0, top,
                     unicode);
    draw_rows(&canvas, points, "epsilon", "density");
    dpa__text_printf(out, "\n  Posterior density of %s\n", unicode ? "ε" : "epsilon");
    dpa__canvas_print(&canvas, out, unicode ? "ε" : "epsilon", "density");
}

/* Lines over a logarithmic axis, one for each value of `series`. */
static void plot_series(dpa__text *out, const json_t *rows, const char *series, const char *x,
                        const char *y, const char *title, const char *x_title, const char *y_title,
                        int unicode) {
    const size_t count = json_array_size(rows);
    double least = INFINITY, most = 0.0, top = 0.0;
    dpa__canvas canvas;
    for (size_t i = 0; i < count; ++i) {
        const json_t *row = json_array_get(rows, i);
        const double at = dpa__number_of(row, x);
        least = fmin(least, at);
        most = fmax(most, at);
        top = fmax(top, dpa__number_of(row, y));
    }
    if (!(least > 0.0 && most > least && isfinite(top))) return;
    dpa__canvas_init(&canvas, log10(least), log10(most), 0.0, top, unicode);
    for (size_t i = 1; i < count; ++i) {
        const json_t *from = json_array_get(rows, i - 1), *to = json_array_get(rows, i);
        if (strcmp(dpa__word_of(from, series), dpa__word_of(to, series)) != 0) continue;
        dpa__canvas_line(&canvas, log10(dpa__number_of(from, x)), dpa__number_of(from, y),
                         log10(dpa__number_of(to, x)), dpa__number_of(to, y));
    }
    dpa__text_add(out, title);
    dpa__canvas_print(&canvas, out, x_title, y_title);
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
