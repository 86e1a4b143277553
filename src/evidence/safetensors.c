/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Safetensors: the length of a JSON header (8 bytes, little-endian), the header, the tensors'
 * bytes. The header maps names to {"dtype", "shape", "data_offsets": [begin, end]}, offsets counted
 * from the end of the header; "__metadata__" is no tensor. The tensors must fill the data without
 * gap or overlap. They are appended in the order in which they lie. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "evidence/weights.h"

enum { LENGTH_SIZE = 8, MOST_HEADER = 100 << 20 };

typedef struct tensor {
    const char *name;
    dpa__element element;
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

int dpa__safetensors_matches(const unsigned char *bytes, size_t count) {
    return count > LENGTH_SIZE && bytes[LENGTH_SIZE] == '{' && little_endian(bytes) <= MOST_HEADER;
}

static dpa_status fail_tensor(const contents *c, const char *name, const char *what,
                              dpa_error *err) {
    return dpa__fail_offset(err, DPA_BAD_INPUT, c->file, LENGTH_SIZE, "tensor '%.100s': %s", name,
                            what);
}

static dpa_status element_type(const contents *c, const char *name, const char *dtype,
                               dpa__element *out, dpa_error *err) {
    static const char *const names[] = {"F64", "F32", "F16", "BF16"};
    for (unsigned i = 0; i < 4; ++i)
        if (dtype != NULL && strcmp(dtype, names[i]) == 0) {
            *out = (dpa__element)i;
            return DPA_OK;
        }
    return dpa__fail_offset(err, DPA_BAD_INPUT, c->file, LENGTH_SIZE,
                            "tensor '%.100s': dtype '%.20s'; a model has F64, F32, F16 or BF16",
                            name, dtype != NULL ? dtype : "");
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
    out->name = name;
    DPA_TRY(element_type(c, name, json_string_value(json_object_get(value, "dtype")), &out->element,
                         err));
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
        json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin))
        return fail_tensor(c, name, "data_offsets are not [begin, end]", err);
    out->begin = (uint64_t)json_integer_value(begin);
    out->end = (uint64_t)json_integer_value(end);
    const int64_t bytes =
        shape_bytes(json_object_get(value, "shape"), dpa__element_size(out->element));
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
            dpa__weights_add(model, t->element, bytes, size / dpa__element_size(t->element), err);
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

dpa_status dpa__safetensors_read(dpa__stream *stream, dpa_weights *model,
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
