/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hash table with linear probing over an arena of texts. */
#include "base/dictionary.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { FIRST_CAPACITY = 16 };

/* FNV-1a, 64 bits, folded. */
static uint32_t hash_of(const char *text, size_t length) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; ++i) h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(h ^ h >> 32);
}

const char *dpa__levels_text(const dpa__levels *l, size_t code) {
    return l->arena.data + l->start[code];
}

void dpa__levels_free(dpa__levels *l) {
    dpa__text_free(&l->arena);
    free(l->start);
    free(l->hash);
    free(l->slot);
    *l = (dpa__levels){0};
}

static int is_text(const dpa__levels *l, uint32_t code, const char *text, size_t length) {
    const char *have = dpa__levels_text(l, code);
    return strncmp(have, text, length) == 0 && have[length] == '\0';
}

/* The slot of the text, or the free slot where it would go. */
static size_t find_slot(const dpa__levels *l, const char *text, size_t length, uint32_t hash) {
    size_t i = hash & (l->slots - 1);
    for (; l->slot[i] != 0; i = (i + 1) & (l->slots - 1)) {
        const uint32_t code = l->slot[i] - 1;
        if (l->hash[code] == hash && is_text(l, code, text, length)) break;
    }
    return i;
}

/* At most half of the slots are used. */
static dpa_status grow_slots(dpa__levels *l, size_t slots, dpa_error *err) {
    uint32_t *slot = dpa__calloc(slots, sizeof *slot, err);
    if (slot == NULL) return DPA_NO_MEMORY;
    for (uint32_t code = 0; code < l->count; ++code) {
        size_t i = l->hash[code] & (slots - 1);
        while (slot[i] != 0) i = (i + 1) & (slots - 1);
        slot[i] = code + 1;
    }
    free(l->slot);
    l->slot = slot;
    l->slots = slots;
    return DPA_OK;
}

static dpa_status grow_codes(dpa__levels *l, dpa_error *err) {
    if (l->capacity > UINT32_MAX / 4)
        return dpa__fail(err, DPA_BAD_INPUT, "a column has more than 2^30 distinct texts");
    const uint32_t capacity = l->capacity > 0 ? 2 * l->capacity : FIRST_CAPACITY;
    size_t *start = dpa__realloc(l->start, capacity, sizeof *start, err);
    if (start == NULL) return DPA_NO_MEMORY;
    l->start = start;
    uint32_t *hash = dpa__realloc(l->hash, capacity, sizeof *hash, err);
    if (hash == NULL) return DPA_NO_MEMORY;
    l->hash = hash;
    DPA_TRY(grow_slots(l, 2 * (size_t)capacity, err));
    l->capacity = capacity;
    return DPA_OK;
}

dpa_status dpa__levels_code(dpa__levels *l, const char *text, size_t length, uint32_t *code,
                            dpa_error *err) {
    const uint32_t hash = hash_of(text, length);
    if (l->count == l->capacity) DPA_TRY(grow_codes(l, err));
    const size_t i = find_slot(l, text, length, hash);
    if (l->slot[i] != 0) {
        *code = l->slot[i] - 1;
        return DPA_OK;
    }
    l->start[l->count] = l->arena.length;
    l->hash[l->count] = hash;
    dpa__text_add_bytes(&l->arena, text, length);
    dpa__text_add_bytes(&l->arena, "", 1);
    if (l->arena.failed) return dpa__fail(err, DPA_NO_MEMORY, "no memory for a text");
    *code = l->count++;
    l->slot[i] = *code + 1;
    return DPA_OK;
}

typedef struct named {
    const char *text;
    uint32_t code;
} named;

static int by_text(const void *a, const void *b) {
    return strcmp(((const named *)a)->text, ((const named *)b)->text);
}

dpa_status dpa__levels_sort(dpa__levels *l, uint32_t *codes, size_t rows, dpa_error *err) {
    named *sorted = DPA_NEW_ARRAY(named, l->count, err);
    if (sorted == NULL) return DPA_NO_MEMORY;
    for (uint32_t i = 0; i < l->count; ++i) sorted[i] = (named){dpa__levels_text(l, i), i};
    qsort(sorted, l->count, sizeof *sorted, by_text);
    uint32_t *const rank = l->hash; /* the hashes are no longer needed */
    for (uint32_t i = 0; i < l->count; ++i) {
        rank[sorted[i].code] = i;
        l->start[i] = (size_t)(sorted[i].text - l->arena.data);
    }
    for (size_t i = 0; i < rows; ++i) codes[i] = rank[codes[i]];
    free(sorted);
    free(l->hash);
    free(l->slot);
    l->hash = NULL;
    l->slot = NULL;
    return DPA_OK;
}
