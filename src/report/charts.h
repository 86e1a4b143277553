/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Charts as Vega-Lite specifications, made from the JSON of a result. Each chart needs one part of
 * the result and is left out if that part is missing. The JSON may come from a file that anybody
 * wrote. */
#ifndef DPA_REPORT_CHARTS_H
#define DPA_REPORT_CHARTS_H

#include <jansson.h>

#include "base/text.h"

/* All charts for which the result has data: an array of {id, place, title, alternative, spec}. NULL
 * if memory ran out. */
json_t *dpa__charts(const json_t *result);

/* The data of a chart: named lists of flat rows. Failing to store a row is remembered. */
typedef struct dpa__chart_data {
    json_t *sets; /* object: name → array of rows */
    int failed;
} dpa__chart_data;

/* Appends a row. `keys` are words separated by blanks; each takes a double or, if it starts with
 * '$', a const char *. Numbers that are not finite become null and are not drawn. */
void dpa__chart_row(dpa__chart_data *data, const char *set, const char *keys, ...);
size_t dpa__chart_rows(const dpa__chart_data *data, const char *set);

/* The part of the page that a chart belongs to. */
typedef enum dpa__chart_place { DPA__PLACE_BOUNDS, DPA__PLACE_EVIDENCE } dpa__chart_place;

/* `spec` is Vega-Lite with ' instead of ", which reads better in C. Each layer names its data. A
 * layer whose list is empty is left out, and so is the chart if the list "main" is empty. */
typedef struct dpa__chart {
    const char *id, *title;
    dpa__chart_place place;
    const char *spec;
    void (*fill)(const json_t *result, dpa__chart_data *data);
    void (*describe)(const json_t *result, const dpa__chart_data *data, dpa__text *alternative);
} dpa__chart;

/* Parts of specifications that many charts share. The colours work in both themes: each has a
 * contrast of at least 3 on white and on the dark page. */
#define DPA__BLUE "#3b7dd8"
#define DPA__ORANGE "#cf6a12"
#define DPA__GREEN "#1f9069"
#define DPA__PURPLE "#9a62cf"
#define DPA__GREY "#808488"
/* The two classes, distinguished by colour and dash. */
#define DPA__CLASS_COLOUR                                                                          \
    "'field': 'class', 'type': 'nominal', 'title': null, 'scale': {'domain': ['members', "         \
    "'non-members'], 'range': ['" DPA__BLUE "', '" DPA__ORANGE "']}"
#define DPA__CLASS_DASH                                                                            \
    "'field': 'class', 'type': 'nominal', 'title': null, 'legend': null, 'scale': {'domain': "     \
    "['members', "                                                                                 \
    "'non-members'], 'range': [[1, 0], [5, 3]]}"
/* One column of a tooltip. */
#define DPA__TIP(field, title)                                                                     \
    "{'field': '" field "', 'type': 'quantitative', 'title': '" title "', 'format': '.5~g'}"
#define DPA__TIP_WORD(field, title)                                                                \
    "{'field': '" field "', 'type': 'nominal', 'title': '" title "'}"

/* Curves in the plane of error rates, drawn the same way in all charts. */
#define DPA__CURVE_NAMES "['attack', 'limit of the claim', 'strongest bound', 'guessing']"
#define DPA__CURVES                                                                                \
    "'color': {'field': 'curve', 'type': 'nominal', 'title': null, 'scale': "                      \
    "{'domain': " DPA__CURVE_NAMES ", 'range': ['" DPA__BLUE "', '" DPA__ORANGE "', '" DPA__GREEN  \
    "', '" DPA__GREY                                                                               \
    "']}}, 'strokeDash': {'field': 'curve', 'type': 'nominal', 'title': null, 'scale': "           \
    "{'domain': " DPA__CURVE_NAMES ", 'range': [[1, 0], [6, 3], [8, 3, 2, 3], [2, 3]]}}"
#define DPA__COLOURS(field)                                                                        \
    "'field': '" field "', 'type': 'nominal', 'title': null, 'scale': {'range': ['" DPA__BLUE      \
    "', '" DPA__ORANGE "', '" DPA__GREEN "', '" DPA__PURPLE "', '" DPA__GREY                       \
    "', '#b0528f', '#80801f', '#3d8ea3']}"
/* Series by name, distinguished by colour and dash: eight colours and seven dashes, so that
 * combinations repeat late. */
#define DPA__SERIES(field)                                                                         \
    "'color': {" DPA__COLOURS(                                                                     \
        field) "}, 'strokeDash': {'field': '" field                                                \
               "', 'type': 'nominal', 'title': null, 'scale': {'range': [[1, 0], [6, 3], [2, 2], " \
               "[8, 3, 2, 3], [10, 4], [4, 4], [1, 3]]}}"
/* The claim as a dashed rule across `axis`, with the word above (x) or at the left (y). */
#define DPA__CLAIM_RULE(axis)                                                                      \
    "{'data': {'name': 'claim'}, 'mark': {'type': 'rule', 'strokeDash': [6, 4], 'size': 1.5}, "    \
    "'encoding': {'" axis "': {'field': 'epsilon', 'type': 'quantitative'}, 'tooltip': "           \
    "[{'field': 'epsilon', 'type': 'quantitative', 'title': 'claimed ε', 'format': '.5~g'}]}}"
#define DPA__CLAIM_WORD_X                                                                          \
    "{'data': {'name': 'claim'}, 'mark': {'type': 'text', 'text': 'claim', 'baseline': "           \
    "'bottom'}, 'encoding': {'y': {'value': -3}, 'x': {'field': 'epsilon', 'type': "               \
    "'quantitative'}}}"
#define DPA__CLAIM_WORD_Y                                                                          \
    "{'data': {'name': 'claim'}, 'mark': {'type': 'text', 'text': 'claim', 'baseline': "           \
    "'bottom', 'align': 'left', 'dx': 4, 'dy': -2}, 'encoding': {'x': {'value': 0}, 'y': "         \
    "{'field': 'epsilon', 'type': 'quantitative'}}}"

/* A histogram {"edges": […], key: [counts]} as rows of the list "main" {class, from, to, share,
 * density, count} and its outline as rows of "outline" {class, x, share, density}. */
void dpa__chart_bins(dpa__chart_data *data, const json_t *histogram, const char *key,
                     const char *name);

/* Appends the claim of a result to the list "claim". Returns its ε, NaN if there is none. */
double dpa__chart_claim(const json_t *result, dpa__chart_data *data);

#define DPA__CHART_LIST(X)                                                                         \
    X(trend)                                                                                       \
    X(bounds)                                                                                      \
    X(histogram)                                                                                   \
    X(roc)                                                                                         \
    X(roc_log)                                                                                     \
    X(region)                                                                                      \
    X(posterior)                                                                                   \
    X(epsilon_delta)                                                                               \
    X(guesses)                                                                                     \
    X(losses)                                                                                      \
    X(cosines)                                                                                     \
    X(landscape)                                                                                   \
    X(landscape_epsilon)                                                                           \
    X(landscape_utility)                                                                           \
    X(curve)                                                                                       \
    X(power)                                                                                       \
    X(precision)

#define DPA__CHART_DECLARE(name) extern const dpa__chart dpa__chart_##name;
DPA__CHART_LIST(DPA__CHART_DECLARE)
#undef DPA__CHART_DECLARE

#endif
