/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Charts as Vega-Lite specifications, made from the JSON of a result. A chart needs one part of the
 * result and is left out where that part is missing; the parts may come from a file that anyone
 * wrote. */
#ifndef DPA_REPORT_CHARTS_H
#define DPA_REPORT_CHARTS_H

#include <jansson.h>

#include "base/text.h"

/* All charts that a result has the data for: array of {id, title, alternative, spec}. NULL when
 * memory is out. */
json_t *dpa__charts(const json_t *result);

/* What the makers of charts use. A maker gives a specification without data (new reference;
 * json_pack is the tool), and writes the alternative text; the data (array of flat rows) is put in
 * by the caller. NULL: nothing to draw. */
typedef struct dpa__chart {
    const char *id, *title;
    json_t *(*rows)(const json_t *result); /* new reference, or NULL */
    json_t *(*spec)(const json_t *result); /* new reference */
    void (*describe)(const json_t *result, dpa__text *alternative);
} dpa__chart;

extern const dpa__chart dpa__chart_bounds;
extern const dpa__chart dpa__chart_curve;

#endif
