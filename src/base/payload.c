/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The elements of a binary array, from the file's order to native C order. Native C order costs
 * nothing beyond reading; byte swapping is in place; Fortran order with two or more dimensions
 * longer than 1 needs a second block meanwhile. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"

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
    if (size == 2)
        for (size_t i = 0; i < count; ++i, p += 2) {
            uint16_t x;
            memcpy(&x, p, 2);
            x = __builtin_bswap16(x);
            memcpy(p, &x, 2);
        }
    else if (size == 4)
        for (size_t i = 0; i < count; ++i, p += 4) {
            uint32_t x;
            memcpy(&x, p, 4);
            x = __builtin_bswap32(x);
            memcpy(p, &x, 4);
        }
    else if (size == 8)
        for (size_t i = 0; i < count; ++i, p += 8) {
            uint64_t x;
            memcpy(&x, p, 8);
            x = __builtin_bswap64(x);
            memcpy(p, &x, 8);
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
