/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads data sets from files: chooses the reader, and contains the reader of arrays. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data.h"
#include "base/error.h"
#include "base/memory.h"
#include "train/dataset.h"

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
        dpa__dataset_arrays, dpa__dataset_table, dpa__dataset_words, dpa__dataset_cifar,
        dpa__dataset_fann};
    if ((size_t)opts->format >= sizeof readers / sizeof readers[0])
        return dpa__fail(err, DPA_BAD_ARGUMENT, "no such format (%d)", (int)opts->format);
    if (opts->path == NULL) return dpa__fail(err, DPA_BAD_ARGUMENT, "no file to read");
    dpa_dataset *data = NULL;
    DPA_TRY(readers[opts->format](opts, like, &data, err));
    dpa_status status = dpa__dataset_check(data, err);
    if (status != DPA_OK && err != NULL && err->place[0] == '\0')
        (void)snprintf(err->place, sizeof err->place, "%.400s", opts->path);
    if (status == DPA_OK && like != NULL) status = check_like(data, like, opts->path, err);
    if (status != DPA_OK) {
        dpa_dataset_free(data);
        return status;
    }
    *out = data;
    return DPA_OK;
}

const char *dpa_dataset_schema(const dpa_dataset *data) {
    return data->schema != NULL ? data->schema : "";
}

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

static dpa_status label_error(const char *path, size_t row, double label, dpa_error *err) {
    return dpa__fail_file(err, DPA_BAD_INPUT, path,
                          "label %zu is %g: expected a whole number from 0 to 999999", row, label);
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
            return label_error(path, r, label, err);
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

dpa_status dpa__dataset_arrays(const dpa_dataset_opts *opts, const dpa_dataset *like,
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
