/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a canary handle as a file. Little-endian:
 *   0  "DPACANRY"   8  version (u32): 1 sphere, 2 signs   12  zero (u32)
 *   16 seed   24 dim   32 observed   40 unobserved   48 rounds   56 first   (u64 each)
 *   64 largest cosines (f64 each, observed + unobserved of them)
 *   then CRC-32 (u32) of all bytes before it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/stream.h"
#include "base/write.h"
#include "evidence/canary.h"

enum { SPHERE_VERSION = 1, SIGNS_VERSION = 2, HEADER = 64, CHECKSUM = 4 };
static const char magic[8] = {'D', 'P', 'A', 'C', 'A', 'N', 'R', 'Y'};

static void put(unsigned char *at, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) at[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get(const unsigned char *at, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = bytes; i-- > 0;) value = value << 8 | at[i];
    return value;
}

static uint32_t checksum(const unsigned char *bytes, size_t size) {
    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), bytes, size);
}

dpa_status dpa__canaries_encode(const dpa_canaries *canaries, unsigned char **out, size_t *size,
                                dpa_error *err) {
    const size_t count = canaries->count, body = HEADER + 8 * count;
    unsigned char *bytes = dpa__calloc(count + (HEADER + CHECKSUM + 7) / 8, 8, err);
    if (bytes == NULL) return DPA_NO_MEMORY;
    memcpy(bytes, magic, sizeof magic);
    const int has_signs = canaries->opts.direction == DPA_DIRECTION_SIGNS;
    put(bytes + 8, has_signs ? SIGNS_VERSION : SPHERE_VERSION, 4);
    put(bytes + 16, canaries->opts.seed, 8);
    put(bytes + 24, canaries->opts.dim, 8);
    put(bytes + 32, canaries->opts.observed, 8);
    put(bytes + 40, canaries->opts.unobserved, 8);
    put(bytes + 48, canaries->rounds, 8);
    put(bytes + 56, canaries->opts.first, 8);
    for (size_t i = 0; i < count; ++i) {
        uint64_t bits;
        memcpy(&bits, &canaries->largest[i], sizeof bits);
        put(bytes + HEADER + 8 * i, bits, 8);
    }
    put(bytes + body, checksum(bytes, body), CHECKSUM);
    *out = bytes;
    *size = body + CHECKSUM;
    return DPA_OK;
}

static dpa_status check_header(const char *name, const unsigned char *bytes, size_t size,
                               dpa_error *err) {
    if (size < HEADER + CHECKSUM || memcmp(bytes, magic, sizeof magic) != 0)
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, 0, "not the state of canaries");
    if (get(bytes + 8, 4) != SPHERE_VERSION && get(bytes + 8, 4) != SIGNS_VERSION)
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, 8,
                                "version %u; this program reads %d, %d",
                                (unsigned)get(bytes + 8, 4), SPHERE_VERSION, SIGNS_VERSION);
    if (get(bytes + size - CHECKSUM, CHECKSUM) != checksum(bytes, size - CHECKSUM))
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, size - CHECKSUM,
                                "checksum does not match: the file is damaged or cut short");
    const uint64_t observed = get(bytes + 32, 8), unobserved = get(bytes + 40, 8);
    const uint64_t stored = (size - HEADER - CHECKSUM) / 8;
    if ((size - HEADER - CHECKSUM) % 8 != 0 || observed > stored || unobserved != stored - observed)
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, 32,
                                "%llu + %llu canaries, but cosines for %llu",
                                (unsigned long long)observed, (unsigned long long)unobserved,
                                (unsigned long long)stored);
    return DPA_OK;
}

static dpa_status read_cosines(const char *name, const unsigned char *bytes, dpa_canaries *canaries,
                               dpa_error *err) {
    canaries->rounds = get(bytes + 48, 8);
    for (size_t i = 0; i < canaries->count; ++i) {
        const uint64_t bits = get(bytes + HEADER + 8 * i, 8);
        double x;
        memcpy(&x, &bits, sizeof x);
        const int good = canaries->rounds == 0 ? (isinf(x) && x < 0) : fabs(x) <= 1.0 + 1e-9;
        if (!good)
            return dpa__fail_offset(err, DPA_BAD_INPUT, name, HEADER + 8 * i,
                                    "%g is not a largest cosine after %llu rounds", x,
                                    (unsigned long long)canaries->rounds);
        canaries->largest[i] = x;
    }
    return DPA_OK;
}

dpa_status dpa__canaries_decode(const char *name, const unsigned char *bytes, size_t size,
                                const dpa_canaries_opts *opts, dpa_canaries **out, dpa_error *err) {
    DPA_TRY(check_header(name, bytes, size, err));
    dpa_canaries_opts all;
    dpa_canaries_opts_init(&all);
    if (opts != NULL) all = *opts;
    all.direction = get(bytes + 8, 4) == SIGNS_VERSION ? DPA_DIRECTION_SIGNS : DPA_DIRECTION_SPHERE;
    all.seed = get(bytes + 16, 8);
    all.first = get(bytes + 56, 8);
    all.dim = (size_t)get(bytes + 24, 8);
    all.observed = (size_t)get(bytes + 32, 8);
    all.unobserved = (size_t)get(bytes + 40, 8);
    dpa_canaries *canaries = NULL;
    DPA_TRY(dpa_canaries_new(&all, &canaries, err));
    const dpa_status status = read_cosines(name, bytes, canaries, err);
    if (status == DPA_OK)
        *out = canaries;
    else
        dpa_canaries_free(canaries);
    return status;
}

dpa_status dpa_canaries_save(const dpa_canaries *canaries, const char *path, dpa_error *err) {
    unsigned char *bytes = NULL;
    size_t size = 0;
    DPA_TRY(dpa__canaries_encode(canaries, &bytes, &size, err));
    const dpa_status status = dpa_file_write(path, bytes, size, err);
    free(bytes);
    return status;
}

dpa_status dpa_canaries_load(const char *path, const dpa_canaries_opts *opts, dpa_canaries **out,
                             dpa_error *err) {
    dpa__stream *stream = NULL;
    char *bytes = NULL;
    size_t size = 0;
    DPA_TRY(dpa__stream_open(path, &stream, err));
    dpa_status status = dpa__stream_read_all(stream, &bytes, &size, err);
    if (status == DPA_OK)
        status = dpa__canaries_decode(dpa__stream_name(stream), (const unsigned char *)bytes, size,
                                      opts, out, err);
    free(bytes);
    dpa__stream_close(stream);
    return status;
}
