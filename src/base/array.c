/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays: their element types, the elements of a binary file in native C order, IDX files, and
 * choosing the reader for a file by its first bytes. */
#include "base/array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/write.h"

const dpa__dtype_row dpa__dtypes[] = {
    [DPA_BOOL] = {"bool", 1, "b1", 0},      [DPA_I8] = {"int8", 1, "i1", 0x09},
    [DPA_U8] = {"uint8", 1, "u1", 0x08},    [DPA_I16] = {"int16", 2, "i2", 0x0b},
    [DPA_U16] = {"uint16", 2, "u2", 0},     [DPA_I32] = {"int32", 4, "i4", 0x0c},
    [DPA_U32] = {"uint32", 4, "u4", 0},     [DPA_I64] = {"int64", 8, "i8", 0},
    [DPA_U64] = {"uint64", 8, "u8", 0},     [DPA_F16] = {"float16", 2, "f2", 0},
    [DPA_F32] = {"float32", 4, "f4", 0x0d}, [DPA_F64] = {"float64", 8, "f8", 0x0e},
};

size_t dpa__dtype_size(dpa_dtype dtype) {
    return (unsigned)dtype <= DPA_F64 ? dpa__dtypes[dtype].size : 0;
}

const char *dpa__dtype_name(dpa_dtype dtype) {
    return (unsigned)dtype <= DPA_F64 ? dpa__dtypes[dtype].name : "unknown";
}

void dpa__array_free(dpa_array *array) {
    if (array == NULL) return;
    free(array->data);
    *array = (dpa_array){0};
}

/* ---- elements ----
 *
 * Native C order costs nothing beyond reading; byte swapping is in place; Fortran order with two or
 * more dimensions longer than 1 needs a second block meanwhile. */

static dpa_status count_elements(const dpa__stream *stream, dpa_array *array, dpa_error *err) {
    const size_t most = (size_t)PTRDIFF_MAX / sizeof(double) - 1; /* they may become doubles */
    size_t count = 1;
    for (unsigned i = 0; i < array->ndim; ++i) {
        if (array->shape[i] == 0) {
            array->count = 0;
            return DPA_OK;
        }
        if (array->shape[i] > most / count)
            return dpa__fail_offset(err, DPA_BAD_INPUT, dpa__stream_name(stream), 0,
                                    "the shape multiplies to more elements than memory can hold");
        count *= array->shape[i];
    }
    array->count = count;
    return DPA_OK;
}

static void swap_bytes(unsigned char *p, size_t count, size_t size) {
    for (const unsigned char *end = p + count * size; p < end; p += size)
        for (size_t i = 0; i < size / 2; ++i) {
            const unsigned char byte = p[i];
            p[i] = p[size - 1 - i];
            p[size - 1 - i] = byte;
        }
}

/* Copies element by element in C order, walking the source by its Fortran strides. */
static void turn(unsigned char *to, const unsigned char *from, const dpa_array *array) {
    const size_t size = dpa__dtype_size(array->dtype);
    size_t stride[DPA_MAX_DIMS], index[DPA_MAX_DIMS] = {0}, at = 0, step = size;
    for (unsigned i = 0; i < array->ndim; ++i) {
        stride[i] = step;
        step *= array->shape[i];
    }
    for (size_t n = 0; n < array->count; ++n, to += size) {
        memcpy(to, from + at, size);
        for (unsigned i = array->ndim; i-- > 0;) {
            at += stride[i];
            if (++index[i] < array->shape[i]) break;
            at -= stride[i] * array->shape[i];
            index[i] = 0;
        }
    }
}

static dpa_status to_c_order(dpa_array *array, dpa_error *err) {
    unsigned real = 0;
    for (unsigned i = 0; i < array->ndim; ++i) real += array->shape[i] > 1;
    if (real < 2 || array->count == 0) return DPA_OK;
    unsigned char *turned = dpa__malloc(array->count, dpa__dtype_size(array->dtype), err);
    if (turned == NULL) return DPA_NO_MEMORY;
    turn(turned, array->data, array);
    free(array->data);
    array->data = turned;
    return DPA_OK;
}

static dpa_status check_bools(const dpa__stream *stream, uint64_t start, const dpa_array *array,
                              dpa_error *err) {
    const unsigned char *p = array->data;
    for (size_t i = 0; i < array->count; ++i)
        if (p[i] > 1)
            return dpa__fail_offset(err, DPA_BAD_INPUT, dpa__stream_name(stream), start + i,
                                    "found byte %d as a bool; 0 or 1 is right", p[i]);
    return DPA_OK;
}

dpa_status dpa__array_fill(dpa__stream *stream, dpa__layout layout, dpa_array *array,
                           dpa_error *err) {
    const size_t size = dpa__dtype_size(array->dtype);
    const uint64_t start = dpa__stream_offset(stream);
    DPA_TRY(count_elements(stream, array, err));
    DPA_TRY(dpa__stream_read(stream, array->count * size, &array->data, err));
    DPA_TRY(dpa__stream_finish(stream, "the array", array->sha256, err));
    if (array->dtype == DPA_BOOL) DPA_TRY(check_bools(stream, start, array, err));
    if (layout.swapped) swap_bytes(array->data, array->count, size);
    return layout.fortran ? to_c_order(array, err) : DPA_OK;
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

/* ---- IDX (MNIST's format) ----
 *
 * Two zero bytes, a type byte, the number of dimensions, each size as a big-endian 32-bit number,
 * then the elements, big-endian. */

enum { IDX_PREFIX = 4 };

/* No text file starts with a zero byte, so every file that does is treated as IDX, if perhaps a
 * damaged one. */
int dpa__idx_matches(const unsigned char *bytes, size_t count) {
    return count >= 2 && bytes[0] == 0 && bytes[1] == 0;
}

dpa_status dpa__idx_read(dpa__stream *stream, dpa_array *out, dpa_error *err) {
    const char *const name = dpa__stream_name(stream);
    size_t count;
    DPA_TRY(dpa__stream_need(stream, IDX_PREFIX + 4 * DPA_MAX_DIMS, err));
    const unsigned char *b = dpa__stream_window(stream, &count);
    if (count < IDX_PREFIX)
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, count, "the file ends in an IDX header");
    out->dtype = DPA_F64;
    while (out->dtype > DPA_BOOL && dpa__dtypes[out->dtype].idx != b[2]) --out->dtype;
    if (b[2] == 0 || dpa__dtypes[out->dtype].idx != b[2])
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, 2,
                                "found IDX type 0x%02x; 08, 09, 0b, 0c, 0d or 0e is right", b[2]);
    if (b[3] < 1 || b[3] > DPA_MAX_DIMS)
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, 3,
                                "found %d IDX dimensions; 1 to %d are right", b[3], DPA_MAX_DIMS);
    out->ndim = b[3];
    if (count < IDX_PREFIX + 4 * (size_t)out->ndim)
        return dpa__fail_offset(err, DPA_BAD_INPUT, name, count, "the file ends in an IDX header");
    for (unsigned i = 0; i < out->ndim; ++i) {
        const unsigned char *p = b + IDX_PREFIX + 4 * i;
        out->shape[i] = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
    }
    dpa__stream_skip(stream, IDX_PREFIX + 4 * (size_t)out->ndim);
    const dpa__layout layout = {.swapped = DPA__IS_LITTLE_ENDIAN};
    return dpa__array_fill(stream, layout, out, err);
}

/* ---- files ---- */

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

dpa_status dpa__doubles_read(const char *path, const char *member, dpa_array *out, dpa_error *err) {
    DPA_TRY(dpa__array_read(path, member, out, err));
    const dpa_status status = dpa__array_to_double(out, err);
    if (status != DPA_OK) dpa__array_free(out);
    return status;
}

dpa_status dpa__array_check(const dpa_array *array, dpa_error *err) {
    size_t count = 1;
    int overflow = array->ndim > DPA_MAX_DIMS || dpa__dtype_size(array->dtype) == 0;
    for (unsigned i = 0; i < array->ndim && !overflow; ++i)
        overflow = __builtin_mul_overflow(count, array->shape[i], &count);
    if (!overflow && count == array->count && (array->data != NULL || count == 0)) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "the array to write is not one: its type, shape, count or data is wrong");
}

dpa_status dpa__array_write(const char *path, const dpa_array *array, dpa_error *err) {
    dpa__writer *w = NULL;
    dpa__text header = {0};
    DPA_TRY(dpa__array_check(array, err));
    dpa__npy_header(array, &header);
    dpa_status status = header.failed ? dpa__fail(err, DPA_NO_MEMORY, "no memory for a header")
                                      : dpa__writer_open(path, &w, err);
    if (status == DPA_OK) status = dpa__writer_add(w, header.data, header.length, err);
    if (status == DPA_OK)
        status = dpa__writer_add(w, array->data, array->count * dpa__dtype_size(array->dtype), err);
    dpa__text_free(&header);
    if (status == DPA_OK) return dpa__writer_commit(w, err);
    dpa__writer_abandon(w);
    return status;
}
