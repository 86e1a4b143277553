/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SHA-256 by nettle, fed piece by piece; reports use it to name the exact bytes of their inputs. */
#ifndef DPA_BASE_SHA256_H
#define DPA_BASE_SHA256_H

#include <nettle/sha2.h>
#include <stddef.h>

#include "dpaudit/export.h"

typedef struct sha256_ctx dpa__sha256;

DPA_API void dpa__sha256_init(dpa__sha256 *sha);
DPA_API void dpa__sha256_add(dpa__sha256 *sha, const void *bytes, size_t count);
/* Writes lower-case hex with a NUL; the state cannot be used afterwards. */
DPA_API void dpa__sha256_hex(dpa__sha256 *sha, char hex[65]);

/* The hash of one block of bytes. */
DPA_API void dpa__sha256_of(const void *bytes, size_t count, char hex[65]);

#endif
