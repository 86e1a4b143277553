/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model from one or several files, as one vector. */
#include "evidence/weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/simd.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "elements are taken as they lie in little-endian files"
#endif

size_t dpa__element_size(dpa__element element) {
    static const size_t size[] = {8, 4, 2, 2};
    return size[element];
}

dpa_vector dpa__weights_vector(const dpa_weights *model) {
    return (dpa_vector){model->f32, model->f64, model->dim};
}

void dpa__weights_free(dpa_weights *model) {
    if (model == NULL) return;
    free(model->f32);
    free(model->f64);
    *model = (dpa_weights){0};
}

static float narrow_element(dpa__element element, const unsigned char *at) {
    float x;
    uint16_t half;
    if (element == DPA__ELEMENT_F32) {
        memcpy(&x, at, sizeof x);
        return x;
    }
    memcpy(&half, at, sizeof half);
    if (element == DPA__ELEMENT_F16) return (float)dpa__half_to_double(half);
    return dpa__of_float_bits((uint32_t)half << 16); /* bfloat16 is the upper half of a float32 */
}

static double wide_element(dpa__element element, const unsigned char *at) {
    double x;
    if (element != DPA__ELEMENT_F64) return (double)narrow_element(element, at);
    memcpy(&x, at, sizeof x);
    return x;
}

/* Makes room for `count` more numbers; converts the model to float64 if `wide`. */
static dpa_status make_room(dpa_weights *model, size_t count, int wide, dpa_error *err) {
    if (count > SIZE_MAX - model->dim)
        return dpa__fail(err, DPA_NO_MEMORY, "no memory for %zu more elements", count);
    const size_t total = model->dim + count;
    if (!wide) {
        float *grown = dpa__realloc(model->f32, total, sizeof *grown, err);
        if (grown == NULL) return DPA_NO_MEMORY;
        model->f32 = grown;
        return DPA_OK;
    }
    double *grown = dpa__realloc(model->f64, total, sizeof *grown, err);
    if (grown == NULL) return DPA_NO_MEMORY;
    model->f64 = grown;
    if (model->f32 != NULL)
        for (size_t i = 0; i < model->dim; ++i) grown[i] = (double)model->f32[i];
    free(model->f32);
    model->f32 = NULL;
    return DPA_OK;
}

dpa_status dpa__weights_add(dpa_weights *model, dpa__element element, const unsigned char *bytes,
                            size_t count, dpa_error *err) {
    const size_t size = dpa__element_size(element);
    const int wide = model->f64 != NULL || element == DPA__ELEMENT_F64;
    DPA_TRY(make_room(model, count, wide, err));
    for (size_t i = 0; i < count; ++i)
        if (wide)
            model->f64[model->dim + i] = wide_element(element, bytes + i * size);
        else
            model->f32[model->dim + i] = narrow_element(element, bytes + i * size);
    model->dim += count;
    return DPA_OK;
}

/* If possible the array's block becomes the model without copying. */
static dpa_status add_array(dpa_weights *model, dpa_array *array, dpa_error *err) {
    const int narrow = array->dtype == DPA_F32, half = array->dtype == DPA_F16;
    if (!narrow && !half) DPA_TRY(dpa__array_to_double(array, err));
    if (model->dim == 0 && !half) {
        dpa__weights_free(model);
        if (narrow)
            model->f32 = array->data;
        else
            model->f64 = array->data;
        model->dim = array->count;
        array->data = NULL;
        return DPA_OK;
    }
    return dpa__weights_add(model,
                            narrow ? DPA__ELEMENT_F32
                            : half ? DPA__ELEMENT_F16
                                   : DPA__ELEMENT_F64,
                            array->data, array->count, err);
}

static int ends_in(const char *text, const char *end) {
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static dpa_status read_raw(dpa__stream *stream, dpa__element element, dpa_weights *model,
                           char *sha256, dpa_error *err) {
    const size_t size = dpa__element_size(element);
    char *bytes = NULL;
    size_t count = 0;
    DPA_TRY(dpa__stream_read_all(stream, &bytes, &count, err));
    dpa_status status = dpa__stream_finish(stream, "the file", sha256, err);
    if (status == DPA_OK && count % size != 0)
        status =
            dpa__fail_offset(err, DPA_BAD_INPUT, dpa__stream_name(stream), count,
                             "%zu bytes are not a whole number of %zu-byte floats", count, size);
    if (status == DPA_OK)
        status = dpa__weights_add(model, element, (unsigned char *)bytes, count / size, err);
    free(bytes);
    return status;
}

static dpa_status read_any(dpa__stream *stream, dpa_weights *model, char *sha256, dpa_error *err) {
    const char *name = dpa__stream_name(stream);
    size_t count;
    if (ends_in(name, ".f32")) return read_raw(stream, DPA__ELEMENT_F32, model, sha256, err);
    if (ends_in(name, ".f64")) return read_raw(stream, DPA__ELEMENT_F64, model, sha256, err);
    DPA_TRY(dpa__stream_need(stream, 9, err));
    const unsigned char *bytes = dpa__stream_window(stream, &count);
    if (dpa__safetensors_matches(bytes, count))
        return dpa__safetensors_read(stream, model, sha256, err);
    dpa_array array;
    DPA_TRY(dpa__array_from_stream(stream, NULL, &array, err));
    memcpy(sha256, array.sha256, DPA_SHA256_SIZE);
    const dpa_status status = add_array(model, &array, err);
    dpa__array_free(&array);
    return status;
}

dpa_status dpa__weights_from_stream(dpa__stream *stream, dpa_weights *model,
                                    char sha256[DPA_SHA256_SIZE], dpa_error *err) {
    const size_t before = model->dim;
    const dpa_status status = read_any(stream, model, sha256, err);
    if (status != DPA_OK) model->dim = before;
    return status;
}

dpa_status dpa__weights_append(dpa_weights *model, const char *path, char sha256[DPA_SHA256_SIZE],
                               dpa_error *err) {
    dpa__stream *stream = NULL;
    char hash[DPA_SHA256_SIZE] = "";
    DPA_TRY(dpa__stream_open(path, &stream, err));
    const dpa_status status = dpa__weights_from_stream(stream, model, hash, err);
    dpa__stream_close(stream);
    if (status == DPA_OK && sha256 != NULL) memcpy(sha256, hash, sizeof hash);
    return status;
}
