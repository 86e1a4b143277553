/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scales features to mean 0 and deviation 1. Mean and deviation come from some rows and are applied
 * to all; features that are only 0 or 1 stay as they are. */
#include <math.h>

#include "base/error.h"
#include "train/dataset.h"

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
