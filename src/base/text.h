/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text: growing, printed, UTF-8.
 *
 * A dpa__text grows. After a failed allocation it stays valid and remembers the failure, so callers
 * append freely and check once at the end. */
#ifndef DPA_BASE_TEXT_H
#define DPA_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>

#include "dpaudit/status.h"

typedef struct dpa__text {
    char *data; /* NUL-terminated once anything was appended */
    size_t length, capacity;
    int failed;
} dpa__text;

DPA_API void dpa__text_add(dpa__text *text, const char *string);
DPA_API void dpa__text_add_bytes(dpa__text *text, const char *bytes, size_t count);
DPA_API void dpa__text_printf(dpa__text *text, const char *format, ...) DPA_PRINTF(2, 3);
/* The text as a string for the caller to free; the text is empty afterwards. */
DPA_API dpa_status dpa__text_take(dpa__text *text, char **out, dpa_error *err);
DPA_API void dpa__text_free(dpa__text *text);

/* Like snprintf, but always with a decimal point, whatever the locale, because programs may read
 * the output. */
DPA_API int dpa__print(char *out, size_t size, const char *format, ...) DPA_PRINTF(3, 4);
int dpa__vprint(char *out, size_t size, const char *format, va_list args) DPA_PRINTF(3, 0);

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
