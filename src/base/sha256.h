/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SHA-256 (FIPS 180-4), fed piece by piece: names the exact bytes that a result rests on. */
#ifndef DPA_BASE_SHA256_H
#define DPA_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct dpa__sha256 {
    uint32_t hash[8];
    uint64_t length; /* bytes so far */
    unsigned char block[64];
    int hardware; /* the processor has instructions for it */
} dpa__sha256;

void dpa__sha256_init(dpa__sha256 *sha);
void dpa__sha256_add(dpa__sha256 *sha, const void *bytes, size_t count);
/* Lower-case hex with its NUL; the state is used up. */
void dpa__sha256_hex(dpa__sha256 *sha, char hex[65]);

/* Of bytes that are all there. */
void dpa__sha256_of(const void *bytes, size_t count, char hex[65]);

#endif
