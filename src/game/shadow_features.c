/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The features that the quantile attack sees of a point: its inputs, and its label as one column of
 * 0 and 1 for each class (binary labels: one column). */
#include "base/memory.h"
#include "game/shadow.h"

static size_t columns_of(const dpa_dataset *data) {
    const size_t classes = dpa_dataset_classes(data);
    return dpa_dataset_features(data) + (classes > 2 ? classes : 1);
}

static void fill(const dpa_dataset *data, size_t row, double *out) {
    const size_t inputs = dpa_dataset_features(data), count = columns_of(data);
    const size_t label = (size_t)dpa_dataset_label(data, row);
    const float *x = dpa_dataset_row(data, row);
    for (size_t f = 0; f < inputs; ++f) out[f] = (double)x[f];
    for (size_t c = inputs; c < count; ++c) out[c] = 0.0;
    if (count == inputs + 1)
        out[inputs] = (double)label;
    else
        out[inputs + label] = 1.0;
}

dpa_status dpa__shadow_features(const dpa_dataset *data, const size_t *rows, size_t count,
                                dpa_features *out, dpa_error *err) {
    const size_t columns = columns_of(data);
    *out = (dpa_features){count, columns, dpa__malloc(count, columns * sizeof(double), err)};
    if (out->value == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < count; ++i) fill(data, rows[i], out->value + i * columns);
    return DPA_OK;
}
