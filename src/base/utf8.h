/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is it UTF-8 text? */
#ifndef DPA_BASE_UTF8_H
#define DPA_BASE_UTF8_H

#include <stddef.h>

#include "dpaudit/status.h"

/* How many bytes at the start of `text` are UTF-8 without NUL bytes; `count` if all are. */
size_t dpa__utf8_span(const char *text, size_t count);
/* Fails at the first byte that is not text, with its line and column. */
dpa_status dpa__utf8_check(const char *name, const char *text, size_t count, dpa_error *err);
/* Makes text safe for a terminal, which would obey control characters: they become '?', line ends
 * and tabs become blanks. Characters in `kept` stay. */
void dpa__utf8_tame(char *text, const char *kept);
/* 3 if the text starts with a byte-order mark, else 0. */
size_t dpa__utf8_mark(const char *text, size_t count);

#endif
