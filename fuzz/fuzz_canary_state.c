/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as the state of canaries: a handle or a clean error. The checksum of the input is put
 * right first, so that the fuzzer gets past it. What was read must be written back unchanged; of an
 * older version, what was written must be read and written back unchanged. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "evidence/canary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_bytes(const unsigned char *bytes, size_t size) {
    dpa_canaries *canaries = NULL;
    dpa_error err;
    if (dpa__canaries_decode("input", bytes, size, NULL, &canaries, &err) != DPA_OK) return;
    unsigned char *again = NULL;
    size_t length = 0;
    if (dpa__canaries_encode(canaries, &again, &length, &err) == DPA_OK) {
        if (bytes[8] != again[8])
            try_bytes(again, length);
        else if (length != size || memcmp(again, bytes, size - 4) != 0)
            abort();
    }
    free(again);
    dpa__canaries_free(canaries);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try_bytes(data, size);
    if (size < 4) return 0;
    unsigned char *copy = malloc(size);
    if (copy == NULL) return 0;
    memcpy(copy, data, size);
    const uint32_t sum = (uint32_t)crc32_z(crc32_z(0, NULL, 0), copy, size - 4);
    for (unsigned i = 0; i < 4; ++i) copy[size - 4 + i] = (unsigned char)(sum >> 8 * i);
    try_bytes(copy, size);
    free(copy);
    return 0;
}
