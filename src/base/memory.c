/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checked allocation. */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static void *checked(void *block, size_t count, size_t size, dpa_error *err) {
    if (block == NULL)
        (void)dpa__fail(err, DPA_NO_MEMORY, "no memory for %zu elements of %zu bytes", count, size);
    return block;
}

/* At least 1; 0 if there are too many. */
static size_t bytes_of(size_t count, size_t size) {
    if (size != 0 && count > (size_t)PTRDIFF_MAX / size) return 0;
    return count * size > 0 ? count * size : 1;
}

void *dpa__calloc(size_t count, size_t size, dpa_error *err) {
    const size_t bytes = bytes_of(count, size);
    return checked(bytes > 0 ? calloc(bytes, 1) : NULL, count, size, err);
}

void *dpa__malloc(size_t count, size_t size, dpa_error *err) {
    const size_t bytes = bytes_of(count, size);
    return checked(bytes > 0 ? malloc(bytes) : NULL, count, size, err);
}

void *dpa__realloc(void *block, size_t count, size_t size, dpa_error *err) {
    const size_t bytes = bytes_of(count, size);
    return checked(bytes > 0 ? realloc(block, bytes) : NULL, count, size, err);
}

void *dpa__grown(void *block, size_t count, size_t *room, size_t size, dpa_error *err) {
    if (count < *room) return block;
    const size_t more = *room < 8 ? 8 : 2 * *room;
    void *grown = dpa__realloc(block, more, size, err);
    if (grown != NULL) *room = more;
    return grown;
}

char *dpa__strdup(const char *text, dpa_error *err) {
    const size_t size = strlen(text) + 1;
    char *copy = dpa__malloc(size, 1, err);
    if (copy != NULL) memcpy(copy, text, size);
    return copy;
}
