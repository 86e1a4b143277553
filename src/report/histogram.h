/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two samples in common bins, so that a page of a million values stays small. */
#ifndef DPA_REPORT_HISTOGRAM_H
#define DPA_REPORT_HISTOGRAM_H

#include "report/model.h"

typedef struct dpa__sample {
    const char *name; /* the key of its counts */
    const double *values;
    size_t count;
} dpa__sample;

/* Section `key`: {"edges": […], NAME: [counts], …} of the finite values, in bins of equal width.
 * Adds nothing if a sample has no finite value or if all are equal. */
dpa_status dpa__section_histogram(dpa_report *report, const char *key, const dpa__sample *samples,
                                  size_t count, dpa_error *err);

#endif
