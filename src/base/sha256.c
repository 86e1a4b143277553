/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/sha256.h"

#include <nettle/base16.h>

void dpa__sha256_init(dpa__sha256 *sha) {
    sha256_init(sha);
}

void dpa__sha256_add(dpa__sha256 *sha, const void *bytes, size_t count) {
    if (count > 0) sha256_update(sha, count, bytes); /* `bytes` may be NULL if count is 0 */
}

void dpa__sha256_hex(dpa__sha256 *sha, char hex[65]) {
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_digest(sha, sizeof digest, digest);
    base16_encode_update(hex, sizeof digest, digest);
    hex[BASE16_ENCODE_LENGTH(SHA256_DIGEST_SIZE)] = '\0';
}

void dpa__sha256_of(const void *bytes, size_t count, char hex[65]) {
    dpa__sha256 sha;
    dpa__sha256_init(&sha);
    dpa__sha256_add(&sha, bytes, count);
    dpa__sha256_hex(&sha, hex);
}
