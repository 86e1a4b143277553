/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Features of points: a matrix from NPY or NPZ, or the numeric columns of a table. */
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "evidence/signals.h"

void dpa__features_free(dpa_features *features) {
    if (features == NULL) return;
    free(features->value);
    *features = (dpa_features){0};
}

static dpa_status from_array(const char *path, dpa_array *array, dpa_features *out,
                             dpa_error *err) {
    if (array->ndim < 1 || array->ndim > 2 || array->count == 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "features must be points × features, and not empty");
    DPA_TRY(dpa__array_to_double(array, err));
    *out = (dpa_features){array->shape[0], array->ndim == 2 ? array->shape[1] : 1, array->data};
    array->data = NULL; /* the features own the block now */
    return DPA_OK;
}

static dpa_status from_table(const char *path, const dpa_table *table, dpa_features *out,
                             dpa_error *err) {
    const size_t rows = table->rows, columns = table->columns;
    for (size_t c = 0; c < columns; ++c)
        if (table->column[c].kind != DPA_COLUMN_NUMBER)
            return dpa__fail_line(err, DPA_BAD_INPUT, path, table->column[c].text_line, 0,
                                  "column %s holds text; a feature is a number: give each word a "
                                  "column of 0 and 1",
                                  table->column[c].name);
    if (rows == 0) return dpa__fail_file(err, DPA_BAD_INPUT, path, "features of no points");
    double *value = dpa__malloc(rows, columns * sizeof(double), err);
    if (value == NULL) return DPA_NO_MEMORY;
    for (size_t c = 0; c < columns; ++c) {
        const double *number = table->column[c].numbers;
        for (size_t r = 0; r < rows; ++r) value[r * columns + c] = number[r];
    }
    *out = (dpa_features){rows, columns, value};
    return DPA_OK;
}

static dpa_status read_array(dpa__stream *stream, const char *member, dpa_features *out,
                             dpa_error *err) {
    dpa_array array;
    DPA_TRY(dpa__array_from_stream(stream, member, &array, err));
    const dpa_status status = from_array(dpa__stream_name(stream), &array, out, err);
    dpa__array_free(&array);
    return status;
}

static dpa_status read_table(dpa__stream *stream, dpa_features *out, dpa_error *err) {
    dpa_table *table;
    DPA_TRY(dpa__table_from_stream(stream, NULL, &table, err));
    const dpa_status status = from_table(dpa__stream_name(stream), table, out, err);
    dpa__table_free(table);
    return status;
}

/* Text is read as a table: numbers without a header would be taken for a table with odd column
 * names. */
static dpa_status read_any(const char *path, const char *member, dpa_features *out,
                           dpa_error *err) {
    dpa__stream *stream;
    size_t count = 0;
    DPA_TRY(dpa__stream_open(path, &stream, err));
    dpa_status status = dpa__stream_need(stream, 8, err);
    const unsigned char *bytes = dpa__stream_window(stream, &count);
    if (status == DPA_OK && (dpa__npy_matches(bytes, count) || dpa__npz_matches(bytes, count)))
        status = read_array(stream, member, out, err);
    else if (status == DPA_OK)
        status = read_table(stream, out, err);
    dpa__stream_close(stream);
    return status;
}

dpa_status dpa__features_read(const char *path, const char *member, dpa_features *out,
                              dpa_error *err) {
    *out = (dpa_features){0};
    DPA_TRY(read_any(path, member, out, err));
    const size_t count = out->points * out->count;
    for (size_t i = 0; i < count; ++i)
        if (!isfinite(out->value[i])) {
            const dpa_status status = dpa__fail_file(
                err, DPA_BAD_INPUT, path, "point %zu, feature %zu: %g; it must be a finite number",
                i / out->count, i % out->count, out->value[i]);
            dpa__features_free(out);
            return status;
        }
    return DPA_OK;
}
