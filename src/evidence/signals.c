/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals and membership from NPY files, or from the NPZ that a game left as evidence; features of
 * points from NPY or NPZ, or from the numeric columns of a table. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "evidence/signals.h"

static dpa_status check_finite(const char *path, const dpa_signals *signals, dpa_error *err) {
    const size_t count = signals->models * signals->points * signals->augmentations;
    for (size_t i = 0; i < count; ++i) {
        const size_t point = i / signals->augmentations;
        if (!isfinite(signals->signal[i]))
            return dpa__fail_file(err, DPA_BAD_INPUT, path,
                                  "model %zu, point %zu: %g; a signal must be a finite number",
                                  point / signals->points, point % signals->points,
                                  signals->signal[i]);
    }
    return DPA_OK;
}

/* A one-dimensional array is one model's. */
static void as_matrix(dpa_array *array) {
    if (array->ndim != 1) return;
    array->ndim = 2;
    array->shape[1] = array->shape[0];
    array->shape[0] = 1;
}

static dpa_status take_bits(const char *path, dpa_array *array, dpa_signals *out, dpa_error *err) {
    as_matrix(array);
    if (array->ndim != 2 || array->shape[0] != out->models || array->shape[1] != out->points)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "membership must be a matrix like the signals, %zu models × %zu "
                              "points",
                              out->models, out->points);
    const double *value = array->data;
    out->member = DPA_NEW_ARRAY(uint8_t, array->count, err);
    if (out->member == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < array->count; ++i) {
        if (value[i] != 0.0 && value[i] != 1.0)
            return dpa__fail_file(err, DPA_BAD_INPUT, path,
                                  "model %zu, point %zu: %g; membership is 0 or 1", i / out->points,
                                  i % out->points, value[i]);
        out->member[i] = (uint8_t)value[i];
    }
    return DPA_OK;
}

/* The first of the names that the NPZ has; NULL if it has none or is no NPZ. */
static const char *name_in(const char *path, const char *const *names) {
    while (*names != NULL && !dpa__npz_has(path, *names)) ++names;
    return *names;
}

static dpa_status read_members(const char *path, dpa_signals *out, dpa_error *err) {
    static const char *const names[] = {"shadow_members", "members", NULL};
    dpa_array array;
    DPA_TRY(dpa__doubles_read(path, name_in(path, names), &array, err));
    const dpa_status status = take_bits(path, &array, out, err);
    dpa__array_free(&array);
    return status;
}

dpa_status dpa__signals_read(const char *path, const char *members_path, dpa_signal_kind kind,
                             dpa_signals *out, dpa_error *err) {
    static const char *const of_members[] = {"shadow_signals", "signals", NULL};
    static const char *const of_population[] = {"population_signals", "signals", NULL};
    const char *name = name_in(path, members_path != NULL ? of_members : of_population);
    dpa_array array;
    *out = (dpa_signals){.kind = kind};
    DPA_TRY(dpa__doubles_read(path, name, &array, err));
    as_matrix(&array);
    out->models = array.shape[0];
    out->points = array.shape[1];
    out->augmentations = array.ndim == 3 ? array.shape[2] : 1;
    out->signal = array.data; /* the signals own the block now */
    dpa_status status = (array.ndim != 2 && array.ndim != 3) || array.count == 0
                            ? dpa__fail_file(err, DPA_BAD_INPUT, path,
                                             "signals must be models × points, or models × points "
                                             "× augmentations, and not empty")
                            : check_finite(path, out, err);
    if (status == DPA_OK && members_path != NULL) status = read_members(members_path, out, err);
    if (status != DPA_OK) dpa__signals_free(out);
    return status;
}

void dpa__signals_free(dpa_signals *signals) {
    if (signals == NULL) return;
    free(signals->signal);
    free(signals->member);
    *signals = (dpa_signals){0};
}

/* ── features ────────────────────────────────────────────────────────────────────────── */

void dpa__features_free(dpa_features *features) {
    if (features == NULL) return;
    free(features->value);
    *features = (dpa_features){0};
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
    const dpa_status status =
        array.ndim < 1 || array.ndim > 2 || array.count == 0
            ? dpa__fail_file(err, DPA_BAD_INPUT, dpa__stream_name(stream),
                             "features must be points × features, and not empty")
            : dpa__array_to_double(&array, err);
    if (status == DPA_OK) {
        *out = (dpa_features){array.shape[0], array.ndim == 2 ? array.shape[1] : 1, array.data};
        array.data = NULL; /* the features own the block now */
    }
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
