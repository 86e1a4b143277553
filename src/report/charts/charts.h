/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Charts as Vega-Lite specifications, made from the JSON of a result: web/charts.json says what
 * they look like, chart_*.c what they show. Each chart needs one part of the result and is left out
 * if that part is missing. The JSON may come from a file that anybody wrote. */
#ifndef DPA_REPORT_CHARTS_H
#define DPA_REPORT_CHARTS_H

#include <jansson.h>

#include "base/text.h"

/* All charts for which the result has data: an array of {id, place, title, alternative, spec}. NULL
 * if memory ran out. */
json_t *dpa__charts(const json_t *result);

/* The text of web/charts.json, embedded at build time: {shared: parts by name, charts: {id: {title,
 * place, alternative: {list: sentence}, spec}}}. In a specification, "@name" is a shared part; each
 * layer names its data. A layer whose list is empty is left out, and so is a chart whose list
 * "main" is empty. The colours work in both themes: each has a contrast of at least 3 on white and
 * on the dark page. */
const char *dpa__report_chart_plans(void);

/* The data of a chart: named lists of flat rows. Failing to store a row is remembered. */
typedef struct dpa__chart_data {
    json_t *sets; /* object: name → array of rows */
    int failed;
} dpa__chart_data;

/* Appends a row. `keys` are words separated by blanks; each takes a double or, if it starts with
 * '$', a const char *. Numbers that are not finite become null and are not drawn. */
void dpa__chart_row(dpa__chart_data *data, const char *set, const char *keys, ...);
size_t dpa__chart_rows(const dpa__chart_data *data, const char *set);
/* Appends the claim of a result, if it has one, to the list "claim". */
void dpa__chart_claim(const json_t *result, dpa__chart_data *data);

typedef struct dpa__chart {
    const char *id; /* its key in web/charts.json */
    void (*fill)(const json_t *result, dpa__chart_data *data);
    /* The beginning of the text alternative, where it has numbers; NULL: it has none. */
    void (*describe)(const json_t *result, const dpa__chart_data *data, dpa__text *out);
} dpa__chart;

/* Each list ends with a chart without an id. */
extern const dpa__chart dpa__charts_of_epsilon[], dpa__charts_of_rates[], dpa__charts_of_samples[];

#endif
