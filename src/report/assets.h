/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The script that draws a report's charts, embedded at build time. */
#ifndef DPA_REPORT_ASSETS_H
#define DPA_REPORT_ASSETS_H

#include <stddef.h>

/* Its text (not NUL-terminated) and length; length 0 when the library was built without npm. */
const char *dpa__report_script(size_t *length);
/* What a Content-Security-Policy calls it: "sha256-…". */
const char *dpa__report_script_hash(void);

#endif
