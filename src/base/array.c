/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The element types of arrays, and choosing the reader for a file by its first bytes. */
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [DPA_BOOL] = {"bool", 1},   [DPA_I8] = {"int8", 1},     [DPA_U8] = {"uint8", 1},
    [DPA_I16] = {"int16", 2},   [DPA_U16] = {"uint16", 2},  [DPA_I32] = {"int32", 4},
    [DPA_U32] = {"uint32", 4},  [DPA_I64] = {"int64", 8},   [DPA_U64] = {"uint64", 8},
    [DPA_F16] = {"float16", 2}, [DPA_F32] = {"float32", 4}, [DPA_F64] = {"float64", 8},
};

size_t dpa__dtype_size(dpa_dtype dtype) {
    return (unsigned)dtype <= DPA_F64 ? dtypes[dtype].size : 0;
}

const char *dpa__dtype_name(dpa_dtype dtype) {
    return (unsigned)dtype <= DPA_F64 ? dtypes[dtype].name : "unknown";
}

void dpa__array_free(dpa_array *array) {
    if (array == NULL) return;
    free(array->data);
    *array = (dpa_array){0};
}

static dpa_status read_by_magic(dpa__stream *stream, const char *member, dpa_array *out,
                                dpa_error *err) {
    size_t count;
    DPA_TRY(dpa__stream_need(stream, 8, err));
    const unsigned char *bytes = dpa__stream_window(stream, &count);
    if (dpa__npz_matches(bytes, count)) return dpa__npz_read(stream, member, out, err);
    if (member != NULL)
        return dpa__fail_file(err, DPA_BAD_INPUT, dpa__stream_name(stream),
                              "array '%.100s' was asked for, but this is not an NPZ file", member);
    if (dpa__npy_matches(bytes, count)) return dpa__npy_read(stream, out, err);
    if (dpa__idx_matches(bytes, count)) return dpa__idx_read(stream, out, err);
    return dpa__numbers_read(stream, out, err);
}

dpa_status dpa__array_from_stream(dpa__stream *stream, const char *member, dpa_array *out,
                                  dpa_error *err) {
    *out = (dpa_array){0};
    const dpa_status status = read_by_magic(stream, member, out, err);
    if (status != DPA_OK) dpa__array_free(out);
    return status;
}

dpa_status dpa__array_read(const char *path, const char *member, dpa_array *out, dpa_error *err) {
    dpa__stream *stream;
    *out = (dpa_array){0};
    DPA_TRY(dpa__stream_open(path, &stream, err));
    const dpa_status status = dpa__array_from_stream(stream, member, out, err);
    dpa__stream_close(stream);
    return status;
}

/* The narrow elements sit at the front of a block that has room for doubles. Going from the last to
 * the first, no double overwrites an element that has not been read yet. */
#define WIDEN(type, convert)                                                                       \
    for (size_t i = count; i-- > 0;) {                                                             \
        type x;                                                                                    \
        memcpy(&x, block + i * sizeof x, sizeof x);                                                \
        const double y = convert(x);                                                               \
        memcpy(block + i * sizeof y, &y, sizeof y);                                                \
    }                                                                                              \
    break

static void widen(unsigned char *block, size_t count, dpa_dtype dtype) {
    switch (dtype) {
    case DPA_BOOL:
    case DPA_U8:
        WIDEN(uint8_t, (double));
    case DPA_I8:
        WIDEN(int8_t, (double));
    case DPA_I16:
        WIDEN(int16_t, (double));
    case DPA_U16:
        WIDEN(uint16_t, (double));
    case DPA_I32:
        WIDEN(int32_t, (double));
    case DPA_U32:
        WIDEN(uint32_t, (double));
    case DPA_I64:
        WIDEN(int64_t, (double));
    case DPA_U64:
        WIDEN(uint64_t, (double));
    case DPA_F16:
        WIDEN(uint16_t, dpa__half_to_double);
    case DPA_F32:
        WIDEN(float, (double));
    case DPA_F64:
        break;
    }
}

dpa_status dpa__array_to_double(dpa_array *array, dpa_error *err) {
    if (array->dtype == DPA_F64) return DPA_OK;
    void *grown = dpa__realloc(array->data, array->count, sizeof(double), err);
    if (grown == NULL) return DPA_NO_MEMORY;
    array->data = grown;
    widen(grown, array->count, array->dtype);
    array->dtype = DPA_F64;
    return DPA_OK;
}
