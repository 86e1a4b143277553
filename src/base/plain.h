/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between begin and end this thread prints and parses numbers as in the C locale, with a decimal
 * point, whatever locale the program has set. Nothing is allocated (glibc). */
#ifndef DPA_BASE_PLAIN_H
#define DPA_BASE_PLAIN_H

#include <locale.h>

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
