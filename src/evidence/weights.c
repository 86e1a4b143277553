/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model from one or several files, as one vector. */
#include "evidence/weights.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/keys.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/simd.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "elements are taken as they lie in little-endian files"
#endif

typedef enum number_type { F64, F32, F16, BF16 } number_type;

static size_t size_of(number_type element) {
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

static float narrow_element(number_type element, const unsigned char *at) {
    float x;
    uint16_t half;
    if (element == F32) {
        memcpy(&x, at, sizeof x);
        return x;
    }
    memcpy(&half, at, sizeof half);
    if (element == F16) return (float)dpa__half_to_double(half);
    return dpa__of_float_bits((uint32_t)half << 16); /* bfloat16 is the upper half of a float32 */
}

static double wide_element(number_type element, const unsigned char *at) {
    double x;
    if (element != F64) return (double)narrow_element(element, at);
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

static dpa_status add_elements(dpa_weights *model, number_type element, const unsigned char *bytes,
                               size_t count, dpa_error *err) {
    const size_t size = size_of(element);
    const int wide = model->f64 != NULL || element == F64;
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
    return add_elements(model, narrow ? F32 : half ? F16 : F64, array->data, array->count, err);
}

/* ── safetensors ─────────────────────────────────────────────────────────────────────────
 *
 * The length of a JSON header (8 bytes, little-endian), the header, the tensors' bytes. The header
 * maps names to {"dtype", "shape", "data_offsets": [begin, end]}, offsets counted from the end of
 * the header; "__metadata__" is no tensor. The tensors must fill the data without gap or overlap.
 * They are appended in the order in which they lie. */

enum { LENGTH_SIZE = 8, MOST_HEADER = 100 << 20 };

typedef struct tensor {
    const char *name;
    number_type element;
    uint64_t begin, end;
} tensor;

typedef struct contents {
    const char *file;
    tensor *tensors;
    size_t count;
} contents;

static uint64_t little_endian(const unsigned char *at) {
    uint64_t value = 0;
    for (unsigned i = LENGTH_SIZE; i-- > 0;) value = value << 8 | at[i];
    return value;
}

static int is_safetensors(const unsigned char *bytes, size_t count) {
    return count > LENGTH_SIZE && bytes[LENGTH_SIZE] == '{' && little_endian(bytes) <= MOST_HEADER;
}

static dpa_status fail_tensor(const contents *c, const char *name, const char *what,
                              dpa_error *err) {
    return dpa__fail_offset(err, DPA_BAD_INPUT, c->file, LENGTH_SIZE, "tensor '%.100s': %s", name,
                            what);
}

/* The bytes that the shape needs; −1 if the shape is invalid. */
static int64_t shape_bytes(const json_t *shape, size_t size) {
    int64_t bytes = (int64_t)size;
    size_t i;
    const json_t *extent;
    if (!json_is_array(shape)) return -1;
    json_array_foreach(shape, i, extent) {
        const json_int_t n = json_integer_value(extent);
        if (!json_is_integer(extent) || n < 0) return -1;
        if (__builtin_mul_overflow(bytes, (int64_t)n, &bytes)) return -1;
    }
    return bytes;
}

static dpa_status read_tensor(const contents *c, const char *name, const json_t *value, tensor *out,
                              dpa_error *err) {
    const json_t *offsets = json_object_get(value, "data_offsets");
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    const char *dtype = json_string_value(json_object_get(value, "dtype"));
    const int element = dpa__word_place(dtype, "F64|F32|F16|BF16"); /* as in number_type */
    if (element < 0)
        return dpa__fail_offset(err, DPA_BAD_INPUT, c->file, LENGTH_SIZE,
                                "tensor '%.100s': dtype '%.20s'; a model has F64, F32, F16 or BF16",
                                name, dtype != NULL ? dtype : "");
    out->name = name;
    out->element = (number_type)element;
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
        json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin))
        return fail_tensor(c, name, "data_offsets are not [begin, end]", err);
    out->begin = (uint64_t)json_integer_value(begin);
    out->end = (uint64_t)json_integer_value(end);
    const int64_t bytes = shape_bytes(json_object_get(value, "shape"), size_of(out->element));
    if (bytes < 0 || (uint64_t)bytes != out->end - out->begin)
        return fail_tensor(c, name, "shape and data_offsets do not agree", err);
    return DPA_OK;
}

static int by_place(const void *a, const void *b) {
    const tensor *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

static dpa_status read_contents(contents *c, json_t *header, dpa_error *err) {
    const char *name;
    json_t *value;
    if (!json_is_object(header))
        return dpa__fail_offset(err, DPA_BAD_INPUT, c->file, LENGTH_SIZE,
                                "the header is not a JSON object");
    c->tensors = dpa__calloc(json_object_size(header), sizeof *c->tensors, err);
    if (c->tensors == NULL) return DPA_NO_MEMORY;
    json_object_foreach(header, name, value) {
        if (strcmp(name, "__metadata__") == 0) continue;
        DPA_TRY(read_tensor(c, name, value, &c->tensors[c->count], err));
        ++c->count;
    }
    qsort(c->tensors, c->count, sizeof *c->tensors, by_place);
    uint64_t place = 0;
    for (size_t i = 0; i < c->count; place = c->tensors[i++].end)
        if (c->tensors[i].begin != place)
            return fail_tensor(c, c->tensors[i].name, "leaves a gap or overlaps the one before",
                               err);
    return DPA_OK;
}

/* Reads tensor by tensor, so that memory holds at most one besides the model. */
static dpa_status read_data(dpa__stream *stream, const contents *c, dpa_weights *model,
                            char *sha256, dpa_error *err) {
    for (size_t i = 0; i < c->count; ++i) {
        const tensor *t = &c->tensors[i];
        const size_t size = (size_t)(t->end - t->begin);
        void *bytes = NULL;
        DPA_TRY(dpa__stream_read(stream, size, &bytes, err));
        const dpa_status status =
            add_elements(model, t->element, bytes, size / size_of(t->element), err);
        free(bytes);
        if (status != DPA_OK) return status;
    }
    return dpa__stream_finish(stream, "the last tensor", sha256, err);
}

static dpa_status parse_header(dpa__stream *stream, json_t **out, dpa_error *err) {
    size_t have;
    const size_t length = (size_t)little_endian(dpa__stream_window(stream, &have));
    void *text = NULL;
    dpa__stream_skip(stream, LENGTH_SIZE);
    DPA_TRY(dpa__stream_read(stream, length, &text, err));
    const dpa_status status = dpa__json_parse(dpa__stream_name(stream), text, length, out, err);
    free(text);
    return status;
}

static dpa_status read_safetensors(dpa__stream *stream, dpa_weights *model,
                                   char sha256[DPA_SHA256_SIZE], dpa_error *err) {
    json_t *header = NULL;
    contents c = {.file = dpa__stream_name(stream)};
    DPA_TRY(parse_header(stream, &header, err));
    dpa_status status = read_contents(&c, header, err);
    if (status == DPA_OK) status = read_data(stream, &c, model, sha256, err);
    free(c.tensors);
    json_decref(header);
    return status;
}

/* ── files ───────────────────────────────────────────────────────────────────────────── */

static int ends_in(const char *text, const char *end) {
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static dpa_status read_raw(dpa__stream *stream, number_type element, dpa_weights *model,
                           char *sha256, dpa_error *err) {
    const size_t size = size_of(element);
    char *bytes = NULL;
    size_t count = 0;
    DPA_TRY(dpa__stream_read_all(stream, &bytes, &count, err));
    dpa_status status = dpa__stream_finish(stream, "the file", sha256, err);
    if (status == DPA_OK && count % size != 0)
        status =
            dpa__fail_offset(err, DPA_BAD_INPUT, dpa__stream_name(stream), count,
                             "%zu bytes are not a whole number of %zu-byte floats", count, size);
    if (status == DPA_OK)
        status = add_elements(model, element, (unsigned char *)bytes, count / size, err);
    free(bytes);
    return status;
}

static dpa_status read_any(dpa__stream *stream, dpa_weights *model, char *sha256, dpa_error *err) {
    const char *name = dpa__stream_name(stream);
    size_t count;
    if (ends_in(name, ".f32")) return read_raw(stream, F32, model, sha256, err);
    if (ends_in(name, ".f64")) return read_raw(stream, F64, model, sha256, err);
    DPA_TRY(dpa__stream_need(stream, 9, err));
    const unsigned char *bytes = dpa__stream_window(stream, &count);
    if (is_safetensors(bytes, count)) return read_safetensors(stream, model, sha256, err);
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
