/* SPDX-License-Identifier: GPL-3.0-or-later */
/* IDX files (MNIST's format): two zero bytes, a type byte, the number of dimensions, each size as a
 * big-endian 32-bit number, then the elements, big-endian. */
#include "base/array.h"
#include "base/error.h"

enum { PREFIX = 4 };

static const struct {
    unsigned char code;
    dpa_dtype dtype;
} codes[] = {{0x08, DPA_U8},  {0x09, DPA_I8},  {0x0b, DPA_I16},
             {0x0c, DPA_I32}, {0x0d, DPA_F32}, {0x0e, DPA_F64}};

static int find_dtype(unsigned char code, dpa_dtype *out) {
    size_t i = 0;
    while (i < sizeof codes / sizeof codes[0] && codes[i].code != code) ++i;
    if (i == sizeof codes / sizeof codes[0]) return 0;
    *out = codes[i].dtype;
    return 1;
}

/* No text file starts with a zero byte, so every file that does is treated as IDX, if perhaps a
 * damaged one. */
int dpa__idx_matches(const unsigned char *bytes, size_t count) {
    return count >= 2 && bytes[0] == 0 && bytes[1] == 0;
}

dpa_status dpa__idx_read(dpa__stream *stream, dpa_array *out, dpa_error *err) {
    const char *const name = dpa__stream_name(stream);
    size_t count;
    DPA_TRY(dpa__stream_need(stream, PREFIX + 4 * DPA_MAX_DIMS, err));
    const unsigned char *b = dpa__stream_window(stream, &count);
    if (count < PREFIX)
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, count, "the file ends in an IDX header");
    if (!find_dtype(b[2], &out->dtype))
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, 2,
                                "found IDX type 0x%02x; 08, 09, 0b, 0c, 0d or 0e is right", b[2]);
    if (b[3] < 1 || b[3] > DPA_MAX_DIMS)
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, 3,
                                "found %d IDX dimensions; 1 to %d are right", b[3], DPA_MAX_DIMS);
    out->ndim = b[3];
    if (count < PREFIX + 4 * (size_t)out->ndim)
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, count, "the file ends in an IDX header");
    for (unsigned i = 0; i < out->ndim; ++i) {
        const unsigned char *p = b + PREFIX + 4 * i;
        out->shape[i] = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
    }
    dpa__stream_skip(stream, PREFIX + 4 * (size_t)out->ndim);
    const dpa__layout layout = {.swapped = DPA__IS_LITTLE_ENDIAN};
    return dpa__array_fill(stream, layout, out, err);
}
