/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data sets in memory: single-precision rows and integer labels. */
#include "train/dataset.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

dpa_status dpa__dataset_alloc(size_t rows, dpa_shape shape, size_t classes, dpa_dataset **out,
                              dpa_error *err) {
    const size_t limit = INT_MAX / 4;
    if (shape.height == 0 || shape.width == 0 || shape.channels == 0 || shape.height > limit ||
        shape.width > limit / shape.height || shape.channels > limit / (shape.height * shape.width))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "rows of %zu × %zu × %zu numbers", shape.height,
                         shape.width, shape.channels);
    if (classes < 2 || classes > 1000000)
        return dpa__fail(err, DPA_BAD_INPUT, "%zu classes: expected 2 to 1000000", classes);
    dpa_dataset *data = DPA_NEW(dpa_dataset, err);
    if (data == NULL) return DPA_NO_MEMORY;
    data->rows = rows;
    data->shape = shape;
    data->features = shape.height * shape.width * shape.channels;
    data->classes = classes;
    data->x = dpa__calloc(rows, data->features * sizeof(float), err);
    data->label = dpa__calloc(rows, sizeof(int32_t), err);
    if (data->x == NULL || data->label == NULL) {
        dpa_dataset_free(data);
        return DPA_NO_MEMORY;
    }
    *out = data;
    return DPA_OK;
}

static dpa_status check_row(const dpa_dataset *data, size_t row, dpa_error *err) {
    const float *x = data->x + row * data->features;
    for (size_t i = 0; i < data->features; ++i)
        if (!isfinite(x[i]))
            return dpa__fail(err, DPA_BAD_INPUT, "row %zu, feature %zu: %g is not a finite number",
                             row, i, (double)x[i]);
    const int32_t label = data->label[row];
    if (label < 0 || (size_t)label >= data->classes)
        return dpa__fail(err, DPA_BAD_INPUT, "row %zu: label %d, expected 0 to %zu", row,
                         (int)label, data->classes - 1);
    return DPA_OK;
}

dpa_status dpa__dataset_check(const dpa_dataset *data, dpa_error *err) {
    for (size_t row = 0; row < data->rows; ++row) DPA_TRY(check_row(data, row, err));
    return DPA_OK;
}

dpa_status dpa_dataset_new(const float *x, const int32_t *label, size_t rows, dpa_shape shape,
                           size_t classes, dpa_dataset **out, dpa_error *err) {
    dpa_dataset *data;
    DPA_TRY(dpa__dataset_alloc(rows, shape, classes, &data, err));
    memcpy(data->x, x, rows * data->features * sizeof *x);
    memcpy(data->label, label, rows * sizeof *label);
    const dpa_status status = dpa__dataset_check(data, err);
    if (status == DPA_OK)
        *out = data;
    else
        dpa_dataset_free(data);
    return status;
}

void dpa_dataset_free(dpa_dataset *data) {
    if (data == NULL) return;
    free(data->x);
    free(data->label);
    free(data->schema);
    dpa__encoder_free(data->encoder);
    free(data);
}

size_t dpa_dataset_rows(const dpa_dataset *data) {
    return data->rows;
}

size_t dpa_dataset_features(const dpa_dataset *data) {
    return data->features;
}

size_t dpa_dataset_classes(const dpa_dataset *data) {
    return data->classes;
}

dpa_shape dpa_dataset_shape(const dpa_dataset *data) {
    return data->shape;
}

const float *dpa_dataset_row(const dpa_dataset *data, size_t row) {
    return row < data->rows ? data->x + row * data->features : NULL;
}

int32_t dpa_dataset_label(const dpa_dataset *data, size_t row) {
    return row < data->rows ? data->label[row] : -1;
}

dpa_status dpa_dataset_set_row(dpa_dataset *data, size_t row, const float *x, int32_t label,
                               dpa_error *err) {
    if (row >= data->rows)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "row %zu of a data set with %zu", row, data->rows);
    if (label < 0 || (size_t)label >= data->classes)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "label %d, expected 0 to %zu", (int)label,
                         data->classes - 1);
    for (size_t i = 0; x != NULL && i < data->features; ++i)
        if (!isfinite(x[i]))
            return dpa__fail(err, DPA_BAD_ARGUMENT, "feature %zu: %g is not a finite number", i,
                             (double)x[i]);
    if (x != NULL) memcpy(data->x + row * data->features, x, data->features * sizeof *x);
    data->label[row] = label;
    return DPA_OK;
}

/* ---- Standardising ----
 *
 * Mean and deviation come from some rows and are applied to all; features that are only 0 or 1 stay
 * as they are. */

typedef struct column_stats {
    double mean, scale;
} column_stats;

static column_stats stats_of(const dpa_dataset *data, const size_t *rows, size_t count,
                             size_t feature) {
    double sum = 0.0, squares = 0.0;
    int is_binary = 1;
    for (size_t i = 0; i < count; ++i) {
        const size_t row = rows != NULL ? rows[i] : i;
        const double v = (double)data->x[row * data->features + feature];
        sum += v;
        if (v != 0.0 && v != 1.0) is_binary = 0;
    }
    const double mean = sum / (double)count;
    for (size_t i = 0; i < count; ++i) {
        const size_t row = rows != NULL ? rows[i] : i;
        const double d = (double)data->x[row * data->features + feature] - mean;
        squares += d * d;
    }
    const double deviation = sqrt(squares / (double)count);
    if (is_binary || !(deviation > 0.0)) return (column_stats){0.0, 1.0};
    return (column_stats){mean, 1.0 / deviation};
}

static void apply_stats(dpa_dataset *data, size_t feature, column_stats s) {
    for (size_t r = 0; data != NULL && r < data->rows; ++r) {
        float *v = data->x + r * data->features + feature;
        *v = (float)(((double)*v - s.mean) * s.scale);
    }
}

dpa_status dpa_dataset_standardise(dpa_dataset *fit, const size_t *rows, size_t count,
                                   dpa_dataset *also, dpa_error *err) {
    if (count == 0) return dpa__fail(err, DPA_BAD_ARGUMENT, "no rows to standardise by");
    for (size_t i = 0; i < count; ++i)
        if ((rows != NULL ? rows[i] : i) >= fit->rows)
            return dpa__fail(err, DPA_BAD_ARGUMENT, "row %zu of a data set with %zu",
                             rows != NULL ? rows[i] : i, fit->rows);
    if (also != NULL && also->features != fit->features)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%zu features, expected %zu", also->features,
                         fit->features);
    for (size_t f = 0; f < fit->features; ++f) {
        const column_stats s = stats_of(fit, rows, count, f);
        if (s.mean == 0.0 && s.scale == 1.0) continue;
        apply_stats(fit, f, s);
        apply_stats(also, f, s);
    }
    return DPA_OK;
}
