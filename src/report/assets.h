/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The style sheet and the chart script that every page carries, embedded at build time. */
#ifndef DPA_REPORT_ASSETS_H
#define DPA_REPORT_ASSETS_H

#include <stddef.h>

const char *dpa__report_style(void);
/* The script's text and length; length 0 if the library was built without npm. */
const char *dpa__report_script(size_t *length);
/* The script's hash as a Content-Security-Policy needs it: "sha256-…". */
const char *dpa__report_script_hash(void);

#endif
