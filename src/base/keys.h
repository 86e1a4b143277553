/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Structs that are filled by the names of their fields: a table says what each key takes and where
 * it goes. */
#ifndef DPA_BASE_KEYS_H
#define DPA_BASE_KEYS_H

#include <stddef.h>

#include "dpaudit/status.h"

typedef enum dpa__key_type {
    DPA__KEY_NUMBER, /* a double; not NaN, which means "not given" in the structs */
    DPA__KEY_COUNT,  /* an unsigned number of 4 or 8 bytes */
    DPA__KEY_FLAG,   /* an int, 0 or 1 */
    DPA__KEY_WORD,   /* an enum, by the words of its values */
    DPA__KEY_TEXT,   /* an array of characters */
    DPA__KEY_NAME    /* a pointer to characters that the caller keeps */
} dpa__key_type;

typedef struct dpa__key {
    const char *name;
    dpa__key_type type;
    size_t offset, size;
    const char *words; /* of DPA__KEY_WORD: "logit|loss", in the order of the enum */
    unsigned most;     /* of DPA__KEY_COUNT: the largest; 0: what fits */
} dpa__key;

/* A row for `member` of `type`; the second form takes the words, or ".most = N". */
#define DPA__KEY(kind, name, type, member) DPA__KEY_OF(kind, name, type, member, NULL)
#define DPA__KEY_OF(kind, name, type, member, more)                                                \
    { name, DPA__KEY_##kind, offsetof(type, member), sizeof(((type *)0)->member), more }

/* The place of a word in "one|two|three"; −1 if it is not there, or NULL. */
int dpa__word_place(const char *word, const char *words);

/* Sets the field of `object` that a row of the table names; the last row has no name.
 * DPA_BAD_ARGUMENT if no row has this key, or the value is none that it takes. */
dpa_status dpa__keys_set(const dpa__key *keys, void *object, const char *key, const char *value,
                         dpa_error *err) DPA_MUST_USE;

#endif
