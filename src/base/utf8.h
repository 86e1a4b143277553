/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is it text? */
#ifndef DPA_BASE_UTF8_H
#define DPA_BASE_UTF8_H

#include <stddef.h>

#include "dpaudit/status.h"

/* The length of the start of `text` that is UTF-8 without NUL bytes; `count` when all of it is. */
size_t dpa__utf8_span(const char *text, size_t count);
/* Fails at the first byte that is no text, with its line and column. */
dpa_status dpa__utf8_check(const char *name, const char *text, size_t count, dpa_error *err);
/* Control characters become '?', for a terminal would obey them, line ends and tabs blanks; those
 * in `kept` stay. */
void dpa__utf8_tame(char *text, const char *kept);
/* 3 if the text starts with a byte-order mark, else 0. */
size_t dpa__utf8_mark(const char *text, size_t count);

#endif
