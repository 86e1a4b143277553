/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Binning, shared by scores and cosines. */
#include "report/model/model.h"

#include <math.h>

#include "base/error.h"

enum { BINS = 40 };

static int range_of(const dpa__sample *sample, double *low, double *high) {
    int any = 0;
    for (size_t i = 0; i < sample->count; ++i) {
        const double value = sample->values[i];
        if (!isfinite(value)) continue;
        any = 1;
        if (value < *low) *low = value;
        if (value > *high) *high = value;
    }
    return any;
}

static dpa_status put_bins(json_t *section, const dpa__sample *sample, double low, double width,
                           dpa_error *err) {
    double bin[BINS] = {0};
    json_t *array = json_array();
    DPA_TRY(dpa__json_set(section, sample->name, array, err));
    for (size_t i = 0; i < sample->count; ++i) {
        if (!isfinite(sample->values[i])) continue;
        const double place = (sample->values[i] - low) / width;
        bin[place < BINS - 1 ? (size_t)place : BINS - 1] += 1;
    }
    for (size_t b = 0; b < BINS; ++b)
        DPA_TRY(dpa__json_append(array, dpa__json_number(bin[b]), err));
    return DPA_OK;
}

dpa_status dpa__section_histogram(dpa_report *report, const char *key, const dpa__sample *samples,
                                  size_t count, dpa_error *err) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < count; ++i)
        if (!range_of(&samples[i], &low, &high)) return DPA_OK;
    const double width = high / BINS - low / BINS; /* high − low may overflow */
    if (!(width > 0.0)) return DPA_OK;
    json_t *section = json_object(), *edges = json_array();
    DPA_TRY(dpa__json_set(report->sections, key, section, err));
    DPA_TRY(dpa__json_set(section, "edges", edges, err));
    for (int b = 0; b <= BINS; ++b)
        DPA_TRY(dpa__json_append(edges, dpa__json_number(low + b * width), err));
    for (size_t i = 0; i < count; ++i) DPA_TRY(put_bins(section, &samples[i], low, width, err));
    return DPA_OK;
}
