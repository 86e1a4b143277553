/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads data sets from files: arrays, CIFAR-10 binaries, FANN texts (dataset_table.c reads tables),
 * and lists of rows. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/stream.h"
#include "train/dataset.h"

/* ---- Arrays ---- */

/* Converts elements to float: bytes are scaled to [0,1], all others keep their value. Frees the
 * array. */
static dpa_status to_floats(dpa_array *array, float *out, dpa_error *err) {
    if (array->dtype == DPA_U8) {
        const unsigned char *bytes = array->data;
        for (size_t i = 0; i < array->count; ++i) out[i] = (float)bytes[i] / 255.0F;
    } else if (array->dtype == DPA_F32) {
        memcpy(out, array->data, array->count * sizeof *out);
    } else {
        DPA_TRY(dpa__array_to_double(array, err));
        const double *numbers = array->data;
        for (size_t i = 0; i < array->count; ++i) out[i] = (float)numbers[i];
    }
    return DPA_OK;
}

/* Reads labels [rows]; from a matrix (QMNIST) it takes the first column. Stores the largest label
 * in *top. */
static dpa_status to_labels(dpa_array *array, const char *path, size_t rows, int32_t *out,
                            size_t *top, dpa_error *err) {
    if (array->ndim < 1 || array->ndim > 2 || array->shape[0] != rows || array->count < rows)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "%zu labels for %zu rows",
                              array->ndim > 0 ? array->shape[0] : 1, rows);
    DPA_TRY(dpa__array_to_double(array, err));
    const size_t step = array->ndim == 2 ? array->shape[1] : 1;
    *top = 0;
    for (size_t r = 0; r < rows; ++r) {
        const double label = ((const double *)array->data)[r * step];
        if (!(label >= 0.0 && label < 1e6 && label == floor(label)))
            return dpa__fail_file(err, DPA_BAD_INPUT, path,
                                  "label %zu is %g: expected a whole number from 0 to 999999", r,
                                  label);
        out[r] = (int32_t)label;
        if ((size_t)label > *top) *top = (size_t)label;
    }
    return DPA_OK;
}

static dpa_shape shape_of(const dpa_array *x) {
    const size_t *s = x->shape;
    if (x->ndim == 4) return (dpa_shape){s[1], s[2], s[3]};
    if (x->ndim == 3) return (dpa_shape){s[1], s[2], 1};
    return (dpa_shape){1, 1, x->ndim == 2 ? s[1] : 1};
}

static dpa_status combine(const dpa_dataset_opts *opts, const dpa_dataset *like, dpa_array *x,
                          dpa_array *y, dpa_dataset **out, dpa_error *err) {
    if (x->ndim < 2 || x->ndim > 4)
        return dpa__fail_file(
            err, DPA_BAD_INPUT, opts->path,
            "an array of %u dimensions: expected rows × features, rows × height × "
            "width, or rows × height × width × channels",
            x->ndim);
    const size_t rows = x->shape[0];
    const char *where = opts->labels != NULL ? opts->labels : opts->path;
    dpa_dataset *data;
    DPA_TRY(dpa__dataset_alloc(rows, shape_of(x), 2, &data, err));
    size_t top = 1;
    dpa_status status = to_labels(y, where, rows, data->label, &top, err);
    if (status == DPA_OK) status = to_floats(x, data->x, err);
    if (status != DPA_OK) {
        dpa_dataset_free(data);
        return status;
    }
    data->classes = like != NULL ? like->classes : top + 1 > 2 ? top + 1 : 2;
    *out = data;
    return DPA_OK;
}

static dpa_status fail_labels(const char *path, dpa_error *err) {
    if (strcmp(path, "-") != 0 && access(path, R_OK) != 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "%s", strerror(errno));
    return dpa__fail_file(err, DPA_BAD_INPUT, path,
                          "missing labels: name their file, or give an NPZ with x and y");
}

static dpa_status read_arrays(const dpa_dataset_opts *opts, const dpa_dataset *like,
                              dpa_dataset **out, dpa_error *err) {
    const int is_pair = opts->labels != NULL;
    if (!is_pair && !dpa__npz_has(opts->path, "x")) return fail_labels(opts->path, err);
    dpa_array x = {0}, y = {0};
    DPA_TRY(dpa__array_read(opts->path, is_pair ? NULL : "x", &x, err));
    dpa_status status =
        dpa__array_read(is_pair ? opts->labels : opts->path, is_pair ? NULL : "y", &y, err);
    if (status == DPA_OK) {
        status = combine(opts, like, &x, &y, out, err);
        dpa__array_free(&y);
    }
    dpa__array_free(&x);
    return status;
}

/* ---- CIFAR-10: each record is one byte of label and the bytes of an image ---- */

enum { SIDE = 32, COLOURS = 3, PLANE = SIDE * SIDE, RECORD = 1 + COLOURS * PLANE };

/* The file stores one plane per colour; we store the colours of a pixel together. */
static dpa_status from_records(const char *path, const unsigned char *bytes, size_t rows,
                               dpa_dataset **out, dpa_error *err) {
    DPA_TRY(dpa__dataset_alloc(rows, (dpa_shape){SIDE, SIDE, COLOURS}, 10, out, err));
    for (size_t r = 0; r < rows; ++r) {
        const unsigned char *record = bytes + r * RECORD;
        if (record[0] > 9) {
            dpa_dataset_free(*out);
            *out = NULL;
            return dpa__fail_offset(err, DPA_BAD_INPUT, path, r * RECORD,
                                    "label %d, expected 0 to 9", record[0]);
        }
        (*out)->label[r] = record[0];
        float *x = (*out)->x + r * COLOURS * PLANE;
        for (size_t p = 0; p < PLANE; ++p)
            for (size_t c = 0; c < COLOURS; ++c)
                x[p * COLOURS + c] = (float)record[1 + c * PLANE + p] / 255.0F;
    }
    return DPA_OK;
}

static dpa_status read_cifar(const dpa_dataset_opts *opts, const dpa_dataset *like,
                             dpa_dataset **out, dpa_error *err) {
    (void)like;
    char *bytes = NULL;
    size_t size;
    DPA_TRY(dpa__file_read(opts->path, DPA__ANY_SIZE, &bytes, &size, err));
    dpa_status status = DPA_OK;
    if (size == 0 || size % RECORD != 0)
        status = dpa__fail_file(err, DPA_BAD_INPUT, opts->path,
                                "%zu bytes: expected records of %d (label, then 32 × 32 pixels in "
                                "three colours)",
                                size, RECORD);
    if (status == DPA_OK)
        status = from_records(opts->path, (const unsigned char *)bytes, size / RECORD, out, err);
    free(bytes);
    return status;
}

/* ---- FANN: the numbers of rows, inputs and outputs, then the values of each row ---- */

typedef struct text_reader {
    const char *path, *start, *at, *end;
} text_reader;

static void skip_blanks(text_reader *t) {
    t->at += strspn(t->at, " \t\r\n"); /* the text is NUL-terminated, so this stops */
}

static uint64_t line_of(const text_reader *t) {
    uint64_t line = 1;
    for (const char *c = t->start; c < t->at; ++c) line += *c == '\n';
    return line;
}

static dpa_status next_number(text_reader *t, double *out, dpa_error *err) {
    skip_blanks(t);
    const dpa__number result = dpa__number_parse(&t->at, t->end, out);
    if (result == DPA__NUMBER_OK && isfinite(*out)) return DPA_OK;
    char excerpt[DPA__EXCERPT_SIZE];
    return dpa__fail_line(err, DPA_BAD_INPUT, t->path, line_of(t), 0,
                          t->at == t->end ? "the file ends early: expected a number%s"
                                          : "expected a finite number, found \"%s\"",
                          t->at == t->end ? "" : dpa__excerpt(excerpt, t->at, t->end));
}

/* With one output the class is 1 if it is above one half; with several it is the largest. */
static dpa_status read_rows(text_reader *t, size_t outputs, dpa_dataset *data, dpa_error *err) {
    for (size_t r = 0; r < data->rows; ++r) {
        double v = 0.0, best = 0.0;
        for (size_t i = 0; i < data->features; ++i) {
            DPA_TRY(next_number(t, &v, err));
            data->x[r * data->features + i] = (float)v;
        }
        for (size_t k = 0; k < outputs; ++k) {
            DPA_TRY(next_number(t, &v, err));
            if (outputs == 1) data->label[r] = v > 0.5;
            if (outputs > 1 && (k == 0 || v > best)) {
                best = v;
                data->label[r] = (int32_t)k;
            }
        }
    }
    return DPA_OK;
}

static dpa_status parse_fann(text_reader *t, dpa_dataset **out, dpa_error *err) {
    double head[3];
    for (int i = 0; i < 3; ++i) {
        DPA_TRY(next_number(t, &head[i], err));
        /* A number takes at least two characters, so a header cannot demand more memory than the
         * file could fill. */
        if (!(head[i] >= 1.0 && head[i] <= (double)(t->end - t->start) &&
              head[i] == floor(head[i])))
            return dpa__fail_line(err, DPA_BAD_INPUT, t->path, 1, 0,
                                  "expected three whole numbers: rows, inputs, outputs");
    }
    if (head[0] * (head[1] + head[2]) > (double)(t->end - t->start))
        return dpa__fail_line(err, DPA_BAD_INPUT, t->path, 1, 0,
                              "%g rows of %g + %g numbers are more than the file holds", head[0],
                              head[1], head[2]);
    const size_t outputs = (size_t)head[2];
    DPA_TRY(dpa__dataset_alloc((size_t)head[0], (dpa_shape){1, 1, (size_t)head[1]},
                               outputs > 1 ? outputs : 2, out, err));
    dpa_status status = read_rows(t, outputs, *out, err);
    skip_blanks(t);
    if (status == DPA_OK && t->at < t->end)
        status = dpa__fail_line(err, DPA_BAD_INPUT, t->path, line_of(t), 0,
                                "more numbers than the first line says");
    if (status != DPA_OK) {
        dpa_dataset_free(*out);
        *out = NULL;
    }
    return status;
}

static dpa_status read_fann(const dpa_dataset_opts *opts, const dpa_dataset *like,
                            dpa_dataset **out, dpa_error *err) {
    char *bytes = NULL;
    size_t size;
    DPA_TRY(dpa__file_read(opts->path, DPA__ANY_SIZE, &bytes, &size, err));
    text_reader t = {opts->path, bytes, bytes, bytes + size};
    dpa_status status = parse_fann(&t, out, err);
    if (status == DPA_OK && like != NULL && (*out)->classes > like->classes) {
        dpa_dataset_free(*out);
        *out = NULL;
        status = dpa__fail_file(err, DPA_BAD_INPUT, opts->path,
                                "more outputs than in the training part");
    }
    free(bytes);
    return status;
}

/* ---- Any of them ---- */

void dpa_dataset_opts_init(dpa_dataset_opts *opts) {
    *opts = (dpa_dataset_opts){.format = DPA_FORMAT_ARRAYS,
                               .separator = ',',
                               .has_header = 1,
                               .text = "sentence",
                               .vocabulary = 1000};
}

/* The held-out part must have the same features and classes as the training part. */
static dpa_status check_like(const dpa_dataset *data, const dpa_dataset *like, const char *path,
                             dpa_error *err) {
    const dpa_shape a = data->shape, b = like->shape;
    if (a.height != b.height || a.width != b.width || a.channels != b.channels)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "rows of %zu × %zu × %zu numbers, expected %zu × %zu × %zu", a.height,
                              a.width, a.channels, b.height, b.width, b.channels);
    return DPA_OK;
}

dpa_status dpa_dataset_read(const dpa_dataset_opts *opts, const dpa_dataset *like,
                            dpa_dataset **out, dpa_error *err) {
    static dpa_status (*const readers[])(const dpa_dataset_opts *, const dpa_dataset *,
                                         dpa_dataset **, dpa_error *) = {
        read_arrays, dpa__dataset_table, dpa__dataset_words, read_cifar, read_fann};
    if ((size_t)opts->format >= sizeof readers / sizeof readers[0])
        return dpa__fail(err, DPA_BAD_ARGUMENT, "no such format (%d)", (int)opts->format);
    if (opts->path == NULL) return dpa__fail(err, DPA_BAD_ARGUMENT, "no file to read");
    dpa_dataset *data = NULL;
    DPA_TRY(readers[opts->format](opts, like, &data, err));
    dpa_status status = dpa__dataset_check(data, err);
    if (status != DPA_OK && err != NULL && err->place[0] == '\0')
        (void)snprintf(err->place, sizeof err->place, "%.400s", opts->path);
    if (status == DPA_OK && like != NULL) status = check_like(data, like, opts->path, err);
    if (status == DPA_OK)
        *out = data;
    else
        dpa_dataset_free(data);
    return status;
}

const char *dpa_dataset_schema(const dpa_dataset *data) {
    return data->schema != NULL ? data->schema : "";
}

/* ---- Lists of rows: a range, or numbers read from a file ---- */

/* Parses "a..b"; returns 1 if the text is such a range. */
static int parse_range(const char *spec, size_t *first, size_t *last) {
    char *end;
    if (!isdigit((unsigned char)spec[0])) return 0;
    *first = strtoul(spec, &end, 10);
    if (strncmp(end, "..", 2) != 0 || !isdigit((unsigned char)end[2])) return 0;
    *last = strtoul(end + 2, &end, 10);
    return *end == '\0';
}

static dpa_status ids_from_array(dpa_array *array, const char *path, size_t rows, size_t *out,
                                 dpa_error *err) {
    for (size_t i = 0; i < array->count; ++i) {
        const double id = ((const double *)array->data)[i];
        if (!(id >= 0.0 && id < (double)rows && id == floor(id)))
            return dpa__fail_file(err, DPA_BAD_INPUT, path,
                                  "id %zu is %g: expected a whole number from 0 to %zu", i, id,
                                  rows - 1);
        out[i] = (size_t)id;
    }
    return DPA_OK;
}

dpa_status dpa_ids_read(const char *spec, size_t rows, size_t **out, size_t *count,
                        dpa_error *err) {
    size_t first, last;
    if (parse_range(spec, &first, &last)) {
        if (first >= last || last > rows)
            return dpa__fail(err, DPA_BAD_ARGUMENT, "rows %s of a data set with %zu", spec, rows);
        size_t *ids = DPA_NEW_ARRAY(size_t, last - first, err);
        if (ids == NULL) return DPA_NO_MEMORY;
        for (size_t i = first; i < last; ++i) ids[i - first] = i;
        *out = ids;
        *count = last - first;
        return DPA_OK;
    }
    dpa_array array = {0};
    DPA_TRY(dpa__array_read(spec, NULL, &array, err));
    size_t *ids = DPA_NEW_ARRAY(size_t, array.count, err);
    dpa_status status = ids != NULL ? dpa__array_to_double(&array, err) : DPA_NO_MEMORY;
    if (status == DPA_OK) status = ids_from_array(&array, spec, rows, ids, err);
    if (status == DPA_OK) {
        *out = ids;
        *count = array.count;
    } else {
        free(ids);
    }
    dpa__array_free(&array);
    return status;
}
