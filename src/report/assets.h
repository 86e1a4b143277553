/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of web/ that are embedded at build time: the style sheet and the chart script that every
 * page carries, and what the charts look like. */
#ifndef DPA_REPORT_ASSETS_H
#define DPA_REPORT_ASSETS_H

#include <stddef.h>

const char *dpa__report_style(void);
/* The text of charts.json: {shared: parts by name, charts: {id: {title, place, alternative: {list:
 * sentence}, spec}}}. In a specification, "@name" is a shared part; each layer names its data. A
 * layer whose list is empty is left out, and so is a chart whose list "main" is empty. The colours
 * work in both themes: each has a contrast of at least 3 on white and on the dark page. */
const char *dpa__report_chart_plans(void);
/* The script's text and length; length 0 if the library was built without npm. */
const char *dpa__report_script(size_t *length);
/* The script's hash as a Content-Security-Policy needs it: "sha256-…". */
const char *dpa__report_script_hash(void);

#endif
