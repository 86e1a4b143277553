/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distinct texts and a number for each: the dictionary of a text column. */
#ifndef DPA_BASE_DICTIONARY_H
#define DPA_BASE_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

typedef struct dpa__levels {
    dpa__text arena; /* the texts, each with its NUL */
    size_t *start;   /* of each text in the arena */
    uint32_t *hash;
    uint32_t count, capacity;
    uint32_t *slot; /* open addressing: code + 1, 0 is free */
    size_t slots;   /* a power of two */
} dpa__levels;

/* The code of a text, which is added if it is new. */
DPA_API dpa_status dpa__levels_code(dpa__levels *levels, const char *text, size_t length,
                                    uint32_t *code, dpa_error *err);
DPA_API const char *dpa__levels_text(const dpa__levels *levels, size_t code);
/* Renumbers the texts in byte order and changes codes[0 .. rows) to match. Frees what only adding
 * needs, so no text can be added afterwards. */
dpa_status dpa__levels_sort(dpa__levels *levels, uint32_t *codes, size_t rows, dpa_error *err);
DPA_API void dpa__levels_free(dpa__levels *levels);

#endif
