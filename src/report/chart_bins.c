/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A stored histogram as rows for bars and for an outline. */
#include <math.h>

#include "report/charts.h"

static double value_at(const json_t *array, size_t index) {
    const json_t *value = json_array_get(array, index);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static double sum_of(const json_t *array) {
    double sum = 0;
    for (size_t i = 0; i < json_array_size(array); ++i) sum += value_at(array, i);
    return sum;
}

void dpa__chart_bins(dpa__chart_data *data, const json_t *histogram, const char *key,
                     const char *name) {
    const json_t *edges = json_object_get(histogram, "edges");
    const json_t *counts = json_object_get(histogram, key);
    const double total = sum_of(counts);
    const size_t bins = json_array_size(counts);
    if (!(total > 0) || json_array_size(edges) != bins + 1) return;
    for (size_t i = 0; i < bins; ++i) {
        const double from = value_at(edges, i), to = value_at(edges, i + 1);
        const double count = value_at(counts, i), share = count / total;
        const double density = share / (to - from);
        dpa__chart_row(data, "main", "$class from to share density count", name, from, to, share,
                       density, count);
        dpa__chart_row(data, "outline", "$class x share density", name, from, share, density);
    }
    dpa__chart_row(data, "outline", "$class x share density", name, value_at(edges, bins), 0.0,
                   0.0);
}
