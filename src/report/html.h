/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A page from results as JSON values. */
#ifndef DPA_REPORT_HTML_H
#define DPA_REPORT_HTML_H

#include <jansson.h>

#include "base/text.h"

/* Text with &, <, >, " and ' made harmless, fit for content and for quoted attributes. */
void dpa__html_escape(dpa__text *out, const char *text);
/* The whole page for one or several results; every string in them may be hostile. */
void dpa__html_page(dpa__text *out, json_t *const *results, size_t count);

#endif
