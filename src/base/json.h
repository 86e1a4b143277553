/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON files, on jansson: RFC 8259, UTF-8, no key twice in an object, nesting limited. */
#ifndef DPA_BASE_JSON_H
#define DPA_BASE_JSON_H

#include <jansson.h>

#include "base/stream.h"

/* Deeper nesting than this is an error, not a stack overflow in who walks the tree. */
enum { DPA__JSON_DEPTH = 64 };

/* The object or array of a file ("-": standard input) for the caller to json_decref. `sha256` may
 * be NULL. */
dpa_status dpa__json_read(const char *path, json_t **out, char sha256[DPA_SHA256_SIZE],
                          dpa_error *err);
dpa_status dpa__json_from_stream(dpa__stream *stream, json_t **out, char sha256[DPA_SHA256_SIZE],
                                 dpa_error *err);

#endif
