/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several stored audits as one trend. */
#ifndef DPA_REPORT_HTML_TREND_H
#define DPA_REPORT_HTML_TREND_H

#include "report/html.h"

/* The file name without folder and extension: "audits/epoch-05.json" becomes epoch-05. */
void dpa__html_stem(const char *path, char *out, size_t size);
/* {"trend": [{audit, verdict, epsilon, claim, detects, delta, time, number}]} of the results that
 * show a bound, named after their files; NULL if memory ran out. */
json_t *dpa__trend(json_t *const *results, const char *const *paths, size_t count);
/* The section of the trend: part->result is what dpa__trend returned, with at least two rows. */
void dpa__html_trend(dpa__text *out, const dpa__html_part *part);

#endif
