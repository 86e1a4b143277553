/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON files, on jansson: RFC 8259, UTF-8, no key twice in an object, nesting limited. */
#ifndef DPA_BASE_JSON_H
#define DPA_BASE_JSON_H

#include <jansson.h>

#include "base/stream.h"
#include "base/text.h"

/* Deeper nesting is an error; it could overflow the stack of code that walks the tree. */
enum { DPA__JSON_DEPTH = 64 };

/* The object or array of a file ("-": standard input) for the caller to json_decref. `sha256` may
 * be NULL. */
DPA_API dpa_status dpa__json_read(const char *path, json_t **out, char sha256[DPA_SHA256_SIZE],
                                  dpa_error *err);
dpa_status dpa__json_from_stream(dpa__stream *stream, json_t **out, char sha256[DPA_SHA256_SIZE],
                                 dpa_error *err);

/* The same from memory; `name` is for errors. */
DPA_API dpa_status dpa__json_parse(const char *name, const char *text, size_t count, json_t **out,
                                   dpa_error *err);

/* json_loadb, but no value is wrong for want of memory: NULL then, with an empty error->text, also
 * where jansson would not notice. `error` may be NULL. */
json_t *dpa__json_load(const char *text, size_t count, size_t flags, json_error_t *error);

/* Takes over `value`; NULL, a failed allocation on the way, gives DPA_NO_MEMORY. */
DPA_API dpa_status dpa__json_set(json_t *object, const char *key, json_t *value, dpa_error *err);
dpa_status dpa__json_append(json_t *array, json_t *value, dpa_error *err);
/* Sets a number under a key, written as dpa__json_number does. */
DPA_API dpa_status dpa__json_put(json_t *object, const char *key, double value, dpa_error *err);
/* The same for several keys at once: each a text or, where that is NULL, a number. */
typedef struct dpa__json_field {
    const char *key;
    double number;
    const char *text;
} dpa__json_field;
dpa_status dpa__json_fill(json_t *object, dpa_error *err, const dpa__json_field *fields);
#define DPA__JSON_FILL(object, err, ...)                                                           \
    dpa__json_fill(object, err, (const dpa__json_field[]){__VA_ARGS__, {0}})
/* Appends an object with these keys to an array. */
dpa_status dpa__json_add(json_t *array, dpa_error *err, const dpa__json_field *fields);
#define DPA__JSON_ADD(array, err, ...)                                                             \
    dpa__json_add(array, err, (const dpa__json_field[]){__VA_ARGS__, {0}})
/* A JSON number; null for NaN and infinities. */
DPA_API json_t *dpa__json_number(double value);
/* A JSON string from any bytes: those that are not UTF-8 become '?'. */
DPA_API json_t *dpa__json_text(const char *text);
/* A copy of an object, whose members are shared. NULL: no memory (json_copy drops members then). */
json_t *dpa__json_copy(const json_t *object);
/* JSON text with the shortest digits that read back as the same double. indent < 0: on one line. */
DPA_API void dpa__json_write(dpa__text *out, const json_t *value, int indent);
/* The shortest %g text that gives the same double back. */
DPA_API void dpa__number_text(double value, char *out, size_t size);

#endif
