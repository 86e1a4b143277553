/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that survives failed allocation: sizes are checked for overflow, failure is a status.
 * Tests fail the n-th allocation by wrapping malloc, calloc and realloc at link time; nothing here
 * knows about it. */
#ifndef DPA_BASE_MEMORY_H
#define DPA_BASE_MEMORY_H

#include <stddef.h>

#include "dpaudit/status.h"

/* count × size bytes, zeroed (or not). count = 0 gives a pointer that can be freed. NULL and an
 * error on failure. */
DPA_API void *dpa__calloc(size_t count, size_t size, dpa_error *err);
DPA_API void *dpa__malloc(size_t count, size_t size, dpa_error *err);
/* Grows a block; on failure the old block stays as it was. */
DPA_API void *dpa__realloc(void *block, size_t count, size_t size, dpa_error *err);
/* The block with room for more than `count` elements, of which it has *room: as it is, or doubled.
 * On failure as dpa__realloc. */
DPA_API void *dpa__grown(void *block, size_t count, size_t *room, size_t size, dpa_error *err);
DPA_API char *dpa__strdup(const char *text, dpa_error *err);

#define DPA_NEW(type, err) ((type *)dpa__calloc(1, sizeof(type), (err)))
#define DPA_NEW_ARRAY(type, count, err) ((type *)dpa__malloc((count), sizeof(type), (err)))

#endif
