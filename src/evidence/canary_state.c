/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a canary handle as a file. Little-endian:
 *   0  "DPACANRY"   8  version (u32): 3   12  direction (u32): 0 sphere, 1 signs, 2 hadamard
 *   16 seed   24 dim   32 observed   40 unobserved   48 rounds   56 first   (u64 each)
 *   64 spread over the known rounds (f64)
 *   72 for each canary, observed and then unobserved: largest cosine (f64), sum over its own rounds
 *      (f64), their number (u64)
 *   then CRC-32 (u32) of all bytes before it.
 * Versions 1 (sphere) and 2 (signs) are read too: they have no known rounds, and the largest
 * cosines alone from byte 64 on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/simd.h"
#include "base/stream.h"
#include "base/write.h"
#include "evidence/canary.h"

enum { SPHERE_VERSION = 1, SIGNS_VERSION = 2, VERSION = 3, HEADER = 64, CHECKSUM = 4 };
enum { SPREAD = 8, EACH = 24 }; /* bytes of version 3 */
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

static void put_double(unsigned char *at, double value) {
    put(at, dpa__bits_of(value), 8);
}

static double get_double(const unsigned char *at) {
    return dpa__of_bits(get(at, 8));
}

dpa_status dpa__canaries_encode(const dpa_canaries *canaries, unsigned char **out, size_t *size,
                                dpa_error *err) {
    const size_t count = canaries->count, body = HEADER + SPREAD + EACH * count;
    unsigned char *bytes = dpa__calloc(body + CHECKSUM, 1, err);
    if (bytes == NULL) return DPA_NO_MEMORY;
    memcpy(bytes, magic, sizeof magic);
    put(bytes + 8, VERSION, 4);
    put(bytes + 12, (uint64_t)canaries->opts.direction, 4);
    put(bytes + 16, canaries->opts.seed, 8);
    put(bytes + 24, canaries->opts.dim, 8);
    put(bytes + 32, canaries->opts.observed, 8);
    put(bytes + 40, canaries->opts.unobserved, 8);
    put(bytes + 48, canaries->rounds, 8);
    put(bytes + 56, canaries->opts.first, 8);
    put_double(bytes + HEADER, canaries->spread);
    for (size_t i = 0; i < count; ++i) {
        unsigned char *at = bytes + HEADER + SPREAD + EACH * i;
        put_double(at, canaries->largest[i]);
        put_double(at + 8, canaries->own[i]);
        put(at + 16, canaries->times[i], 8);
    }
    put(bytes + body, checksum(bytes, body), CHECKSUM);
    *out = bytes;
    *size = body + CHECKSUM;
    return DPA_OK;
}

static int is_old(const unsigned char *bytes) {
    return get(bytes + 8, 4) != VERSION;
}

static size_t first_canary(const unsigned char *bytes) {
    return is_old(bytes) ? HEADER : HEADER + SPREAD;
}

static size_t each_canary(const unsigned char *bytes) {
    return is_old(bytes) ? 8 : EACH;
}

static dpa_status check_header(const char *name, const unsigned char *bytes, size_t size,
                               dpa_error *err) {
    if (size < HEADER + CHECKSUM || memcmp(bytes, magic, sizeof magic) != 0)
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, 0, "not the state of canaries");
    const uint64_t version = get(bytes + 8, 4);
    if (version < SPHERE_VERSION || version > VERSION)
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, 8,
                                "version %u; this program reads 1 to %d", (unsigned)version,
                                VERSION);
    if (get(bytes + size - CHECKSUM, CHECKSUM) != checksum(bytes, size - CHECKSUM))
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, size - CHECKSUM,
                                "checksum does not match: the file is damaged or cut short");
    const uint64_t observed = get(bytes + 32, 8), unobserved = get(bytes + 40, 8);
    const size_t head = first_canary(bytes) + CHECKSUM, each = each_canary(bytes);
    const uint64_t stored = size < head ? 0 : (size - head) / each;
    if (size < head || (size - head) % each != 0 || observed > stored ||
        unobserved != stored - observed)
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, 32,
                                "%llu + %llu canaries, but numbers for %llu",
                                (unsigned long long)observed, (unsigned long long)unobserved,
                                (unsigned long long)stored);
    return DPA_OK;
}

static dpa_status read_own(const char *name, const unsigned char *bytes, size_t offset,
                           dpa_canaries *canaries, size_t i, dpa_error *err) {
    canaries->own[i] = get_double(bytes + offset);
    canaries->times[i] = get(bytes + offset + 8, 8);
    if (isfinite(canaries->own[i]) && (canaries->times[i] > 0 || canaries->own[i] == 0.0))
        return DPA_OK;
    return dpa__fail_offset(err, DPA_BAD_INPUT, name, offset, "%g is not a sum over %llu rounds",
                            canaries->own[i], (unsigned long long)canaries->times[i]);
}

static dpa_status read_canaries(const char *name, const unsigned char *bytes,
                                dpa_canaries *canaries, dpa_error *err) {
    const size_t head = first_canary(bytes), each = each_canary(bytes);
    canaries->rounds = get(bytes + 48, 8);
    if (!is_old(bytes)) canaries->spread = get_double(bytes + HEADER);
    if (!(canaries->spread >= 1.0))
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, HEADER, "%g is not a spread",
                                canaries->spread);
    for (size_t i = 0; i < canaries->count; ++i) {
        const size_t offset = head + each * i;
        const double x = get_double(bytes + offset);
        const int good = canaries->rounds == 0 ? (isinf(x) && x < 0) : fabs(x) <= 1.0 + 1e-6;
        if (!good)
            return dpa__fail_offset(err, DPA_BAD_INPUT, name, offset,
                                    "%g is not a largest cosine after %llu rounds", x,
                                    (unsigned long long)canaries->rounds);
        canaries->largest[i] = x;
        if (!is_old(bytes)) DPA_TRY(read_own(name, bytes, offset + 8, canaries, i, err));
    }
    return DPA_OK;
}

dpa_status dpa__canaries_decode(const char *name, const unsigned char *bytes, size_t size,
                                const dpa_canaries_opts *opts, dpa_canaries **out, dpa_error *err) {
    DPA_TRY(check_header(name, bytes, size, err));
    dpa_canaries_opts all;
    dpa__canaries_opts_init(&all);
    if (opts != NULL) all = *opts;
    const uint64_t version = get(bytes + 8, 4), direction = get(bytes + 12, 4);
    if (!is_old(bytes) && direction > DPA_DIRECTION_HADAMARD)
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, 12, "direction %u is not known",
                                (unsigned)direction);
    all.direction = !is_old(bytes)             ? (dpa_direction)direction
                    : version == SIGNS_VERSION ? DPA_DIRECTION_SIGNS
                                               : DPA_DIRECTION_SPHERE;
    all.seed = get(bytes + 16, 8);
    all.first = get(bytes + 56, 8);
    all.dim = (size_t)get(bytes + 24, 8);
    all.observed = (size_t)get(bytes + 32, 8);
    all.unobserved = (size_t)get(bytes + 40, 8);
    dpa_canaries *canaries = NULL;
    DPA_TRY(dpa__canaries_new(&all, &canaries, err));
    const dpa_status status = read_canaries(name, bytes, canaries, err);
    if (status == DPA_OK)
        *out = canaries;
    else
        dpa__canaries_free(canaries);
    return status;
}

dpa_status dpa__canaries_save(const dpa_canaries *canaries, const char *path, dpa_error *err) {
    unsigned char *bytes = NULL;
    size_t size = 0;
    DPA_TRY(dpa__canaries_encode(canaries, &bytes, &size, err));
    const dpa_status status = dpa__file_write(path, bytes, size, err);
    free(bytes);
    return status;
}

dpa_status dpa__canaries_load(const char *path, const dpa_canaries_opts *opts, dpa_canaries **out,
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
