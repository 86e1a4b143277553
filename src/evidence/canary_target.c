/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vector that canaries are compared with, a model or its change, chunk by chunk as doubles. */
#include "evidence/canary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evidence/canary_kernel.h"

enum { MOST_SHIFT = 1000 }; /* powers of two that neither overflow nor lose bits */

static double element(const dpa_vector *vector, size_t i) {
    return vector->f32 != NULL ? (double)vector->f32[i] : vector->f64[i];
}

static void load_vector(const dpa_vector *vector, size_t first, size_t size, double *out) {
    if (vector->f32 != NULL)
        for (size_t i = 0; i < size; ++i) out[i] = (double)vector->f32[first + i];
    else
        memcpy(out, vector->f64 + first, size * sizeof *out);
}

/* model − initial, not scaled. */
static void load_difference(const dpa__target *d, size_t first, size_t size, double *out) {
    load_vector(d->model, first, size, out);
    if (d->initial == NULL) return;
    double start[DPA__CHUNK];
    load_vector(d->initial, first, size, start);
    for (size_t i = 0; i < size; ++i) out[i] -= start[i];
}

void dpa__target_load(const dpa__target *d, size_t first, size_t size, double *out) {
    load_difference(d, first, size, out);
    for (size_t i = 0; i < size; ++i) out[i] = dpa__canary_round(d->scale * out[i]);
}

static size_t chunk_size(size_t dim, size_t first) {
    return dim - first < DPA__CHUNK ? dim - first : DPA__CHUNK;
}

static dpa_status check_vector(const dpa_vector *vector, size_t dim, const char *what,
                               dpa_error *err) {
    if ((vector->f32 == NULL) == (vector->f64 == NULL))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: give float32 or float64 elements", what);
    if (vector->dim != dim)
        return dpa__fail(err, DPA_BAD_INPUT, "%s: has %zu elements, the canaries have %zu", what,
                         vector->dim, dim);
    return DPA_OK;
}

/* The largest absolute element; fails if one is not finite. */
static dpa_status find_largest(const dpa__target *d, size_t dim, double *largest, dpa_error *err) {
    double chunk[DPA__CHUNK];
    *largest = 0.0;
    for (size_t first = 0; first < dim; first += DPA__CHUNK) {
        const size_t size = chunk_size(dim, first);
        load_difference(d, first, size, chunk);
        for (size_t i = 0; i < size; ++i) {
            const double x = fabs(chunk[i]);
            if (!isfinite(x))
                return dpa__fail(err, DPA_BAD_INPUT, "model: element %zu is %g%s", first + i,
                                 element(d->model, first + i),
                                 d->initial != NULL ? " (or its change is not finite)" : "");
            if (x > *largest) *largest = x;
        }
    }
    return DPA_OK;
}

dpa_status dpa__target_init(dpa__target *d, const dpa_vector *model, const dpa_vector *initial,
                            size_t dim, int may_be_zero, dpa_error *err) {
    DPA_TRY(check_vector(model, dim, "model", err));
    if (initial != NULL) DPA_TRY(check_vector(initial, dim, "initial model", err));
    *d = (dpa__target){model, initial, 1.0, 0.0};
    double largest;
    DPA_TRY(find_largest(d, dim, &largest, err));
    if (largest == 0.0 && may_be_zero) return DPA_OK;
    if (largest == 0.0)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "model%s: all elements are 0, so there is no direction to compare with",
                         initial != NULL ? " minus initial" : "");
    const int exponent = ilogb(largest);
    d->scale = ldexp(1.0, exponent > MOST_SHIFT    ? -MOST_SHIFT
                          : exponent < -MOST_SHIFT ? MOST_SHIFT
                                                   : -exponent);
    double total = 0.0, chunk[DPA__CHUNK];
    for (size_t first = 0; first < dim; first += DPA__CHUNK) {
        const size_t size = chunk_size(dim, first);
        double sum = 0.0;
        dpa__target_load(d, first, size, chunk);
        for (size_t i = 0; i < size; ++i) sum += chunk[i] * chunk[i];
        total += sum;
    }
    d->norm = sqrt(total);
    return DPA_OK;
}
