/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a page carries with it, embedded at build time: the style sheet, and the script that draws
 * charts. */
#ifndef DPA_REPORT_ASSETS_H
#define DPA_REPORT_ASSETS_H

#include <stddef.h>

const char *dpa__report_style(void);
/* The script's text and length; length 0 when the library was built without npm. */
const char *dpa__report_script(size_t *length);
/* What a Content-Security-Policy calls it: "sha256-…". */
const char *dpa__report_script_hash(void);

#endif
