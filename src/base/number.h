/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text to double, correctly rounded, whatever the locale; and half precision to double. */
#ifndef DPA_BASE_NUMBER_H
#define DPA_BASE_NUMBER_H

#include <locale.h>
#include <stdint.h>

#include "dpaudit/export.h"

typedef enum dpa__number {
    DPA__NUMBER_OK,
    DPA__NUMBER_NONE,  /* no number starts here */
    DPA__NUMBER_LARGE, /* too large for a double */
    DPA__NUMBER_LONG   /* more characters than any number needs (1000) */
} dpa__number;

/* Parses the longest number at *at (sign, digits, point, exponent; inf, infinity, nan in any case)
 * and moves *at behind it. A number too small for a double becomes 0. */
DPA_API dpa__number dpa__number_parse(const char **at, const char *end, double *out);

double dpa__half_to_double(uint16_t half);

/* Copies the first characters of [at, end), up to a line end, in printable form: for error texts.
 */
enum { DPA__EXCERPT_SIZE = 40 };
DPA_API const char *dpa__excerpt(char out[DPA__EXCERPT_SIZE], const char *at, const char *end);

/* Between the two calls the thread's numbers have a decimal point, whatever locale the program has
 * set. Nothing is allocated (glibc). */
typedef struct dpa__plain {
    locale_t own, before;
} dpa__plain;

static inline dpa__plain dpa__plain_begin(void) {
    dpa__plain plain = {.own = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    plain.before = uselocale(plain.own);
    return plain;
}

static inline void dpa__plain_end(dpa__plain plain) {
    (void)uselocale(plain.before);
    freelocale(plain.own);
}

#endif
