/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Standardises features to mean 0 and deviation 1 over the population, and their squares if wanted.
 * A feature that does not vary there carries no information and becomes 0. */
#include <math.h>
#include <stdlib.h>

#include "attack/regression.h"
#include "base/error.h"
#include "base/memory.h"

/* A deviation below this share of the largest value is rounding error. */
static const double no_deviation = 1e-13;

void dpa__design_free(dpa__design *design) {
    free(design->x);
    *design = (dpa__design){0};
}

static dpa_status design_new(size_t rows, size_t columns, dpa__design *out, dpa_error *err) {
    *out = (dpa__design){rows, columns, NULL};
    if (columns > SIZE_MAX / sizeof(double))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "features: %zu are too many", columns);
    out->x = dpa__malloc(rows, columns * sizeof(double), err);
    return out->x != NULL ? DPA_OK : DPA_NO_MEMORY;
}

static dpa_status copy(const dpa_features *from, const char *of, int squares, dpa__design *to,
                       dpa_error *err) {
    DPA_TRY(design_new(from->points, 1 + from->count * (squares ? 2 : 1), to, err));
    for (size_t i = 0; i < from->points; ++i) {
        to->x[i * to->columns] = 1.0;
        for (size_t f = 0; f < from->count; ++f) {
            const double value = from->value[i * from->count + f];
            if (!isfinite(value))
                return dpa__fail(err, DPA_BAD_INPUT,
                                 "%s %zu, feature %zu: %g; a feature must be a finite number", of,
                                 i, f, value);
            to->x[i * to->columns + 1 + f] = value;
        }
    }
    return DPA_OK;
}

/* How a column is standardised: (x/unit − mean)/deviation; deviation 0: it becomes 0. The unit
 * keeps squares of large numbers finite. */
typedef struct standard {
    double unit, mean, deviation;
} standard;

static standard measure(const dpa__design *d, size_t column) {
    const double *x = d->x + column, n = (double)d->rows;
    standard s = {0.0, 0.0, 0.0};
    double square = 0.0;
    for (size_t i = 0; i < d->rows; ++i) s.unit = fmax(s.unit, fabs(x[i * d->columns]));
    if (s.unit == 0.0) return s;
    for (size_t i = 0; i < d->rows; ++i) s.mean += x[i * d->columns] / s.unit / n;
    for (size_t i = 0; i < d->rows; ++i) {
        const double away = x[i * d->columns] / s.unit - s.mean;
        square += away * away / n;
    }
    s.deviation = sqrt(square) > no_deviation ? sqrt(square) : 0.0;
    return s;
}

static void apply(standard s, size_t column, dpa__design *d) {
    for (size_t i = 0; i < d->rows; ++i) {
        double *x = &d->x[i * d->columns + column];
        *x = s.deviation > 0.0 ? (*x / s.unit - s.mean) / s.deviation : 0.0;
    }
}

static void square(size_t column, size_t to, dpa__design *d) {
    for (size_t i = 0; i < d->rows; ++i) {
        const double x = d->x[i * d->columns + column];
        d->x[i * d->columns + to] = x * x;
    }
}

static void standardise(dpa__design *population, dpa__design *points, size_t column) {
    const standard s = measure(population, column);
    apply(s, column, population);
    apply(s, column, points);
}

dpa_status dpa__designs_new(const dpa_features *population, const dpa_features *points, int squares,
                            dpa__design *out_population, dpa__design *out_points, dpa_error *err) {
    *out_points = (dpa__design){0};
    dpa_status status = copy(population, "population point", squares, out_population, err);
    if (status == DPA_OK) status = copy(points, "point", squares, out_points, err);
    if (status != DPA_OK) {
        dpa__design_free(out_population);
        dpa__design_free(out_points);
        return status;
    }
    for (size_t f = 1; f <= population->count; ++f) {
        standardise(out_population, out_points, f);
        if (!squares) continue;
        const size_t to = f + population->count;
        square(f, to, out_population);
        square(f, to, out_points);
        standardise(out_population, out_points, to);
    }
    return DPA_OK;
}

double dpa__row_times(const dpa__design *design, size_t row, const double *b) {
    const double *x = design->x + row * design->columns;
    double sum = 0.0;
    for (size_t c = 0; c < design->columns; ++c) sum += x[c] * b[c];
    return sum;
}

void dpa__design_times(const dpa__design *design, const double *b, double *out) {
    for (size_t i = 0; i < design->rows; ++i) out[i] = dpa__row_times(design, i, b);
}

void dpa__design_transposed(const dpa__design *design, const double *a, double *out) {
    for (size_t c = 0; c < design->columns; ++c) out[c] = 0.0;
    for (size_t i = 0; i < design->rows; ++i) {
        const double *x = design->x + i * design->columns;
        for (size_t c = 0; c < design->columns; ++c) out[c] += a[i] * x[c];
    }
}
