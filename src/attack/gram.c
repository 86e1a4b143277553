/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Normal equations: X'·W·X by bands of rows, four rows of X at a time, and its Cholesky factor.
 * Every element is summed over the rows of X in one fixed order, so threads do not change a bit.
 *
 * If a column depends on earlier ones (collinear features, more features than points), only
 * rounding error is left of its pivot. Such a pivot is replaced by one so large that the
 * column's solution is 0, as interior point codes for linear programs do. */
#include <math.h>
#include <stdlib.h>

#include "attack/regression.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/simd.h"
#include "base/threads.h"

enum { BAND = 16, WORTH_A_THREAD = 1 << 22 };
static const double no_pivot = 1e-13, blocked = 1e128;

dpa_status dpa__gram_new(size_t n, dpa__gram *out, dpa_error *err) {
    *out = (dpa__gram){n, NULL};
    if (n > SIZE_MAX / sizeof(double))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "features: %zu are too many", n);
    out->g = dpa__malloc(n + 1, n * sizeof(double), err);
    return out->g != NULL ? DPA_OK : DPA_NO_MEMORY;
}

void dpa__gram_free(dpa__gram *gram) {
    free(gram->g);
    *gram = (dpa__gram){0};
}

/* to += Σ factor[k]·x[k], all [count]. */
DPA_CLONES static void add_four(const double *const x[4], const double factor[4], size_t count,
                                double *restrict to) {
    const double *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    const double fa = factor[0], fb = factor[1], fc = factor[2], fd = factor[3];
    for (size_t i = 0; i < count; ++i) to[i] += (fa * a[i] + fb * b[i]) + (fc * c[i] + fd * d[i]);
}

DPA_CLONES static void add_one(const double *x, double factor, size_t count, double *restrict to) {
    for (size_t i = 0; i < count; ++i) to[i] += factor * x[i];
}

typedef struct job {
    const dpa__design *design;
    const double *weight;
    double *g;
} job;

/* Rows [first, first + BAND) of the matrix, from the diagonal on. */
static int do_band(void *user, size_t task) {
    const job *j = user;
    const dpa__design *d = j->design;
    const size_t p = d->columns, first = task * BAND, last = first + BAND < p ? first + BAND : p;
    for (size_t r = first; r < last; ++r)
        for (size_t c = r; c < p; ++c) j->g[r * p + c] = 0.0;
    size_t i = 0;
    for (; i + 4 <= d->rows; i += 4)
        for (size_t r = first; r < last; ++r) {
            const double *x[4];
            double factor[4];
            for (size_t k = 0; k < 4; ++k) {
                x[k] = d->x + (i + k) * p + r;
                factor[k] = j->weight[i + k] * x[k][0];
            }
            add_four(x, factor, p - r, j->g + r * p + r);
        }
    for (; i < d->rows; ++i)
        for (size_t r = first; r < last; ++r) {
            const double *x = d->x + i * p + r;
            add_one(x, j->weight[i] * x[0], p - r, j->g + r * p + r);
        }
    return 0;
}

/* Computes the upper factor in place: row k is final once the rows below have been reduced by it.
 */
void dpa__gram_cholesky(dpa__gram *gram) {
    const size_t n = gram->n;
    double *g = gram->g, *diagonal = g + n * n;
    for (size_t k = 0; k < n; ++k) diagonal[k] = g[k * n + k];
    for (size_t k = 0; k < n; ++k) {
        double *row = g + k * n;
        if (!(row[k] > no_pivot * diagonal[k])) row[k] = blocked;
        const double root = sqrt(row[k]);
        row[k] = root;
        for (size_t c = k + 1; c < n; ++c) row[c] /= root;
        for (size_t r = k + 1; r < n; ++r)
            if (row[r] != 0.0) add_one(row + r, -row[r], n - r, g + r * n + r);
    }
}

dpa_status dpa__gram_factor(dpa__gram *gram, const dpa__design *design, const double *weight,
                            double ridge, unsigned threads, dpa_error *err) {
    const size_t n = gram->n;
    job j = {design, weight, gram->g};
    const double work = (double)design->rows * (double)design->columns * (double)design->columns;
    threads = dpa__threads_worth(threads, work, (double)WORTH_A_THREAD);
    DPA_TRY(dpa__parallel(threads, (n + BAND - 1) / BAND, do_band, &j, err));
    for (size_t k = 1; k < n; ++k) gram->g[k * n + k] += ridge;
    dpa__gram_cholesky(gram);
    return DPA_OK;
}

void dpa__gram_solve(const dpa__gram *gram, double *b) {
    const size_t n = gram->n;
    const double *g = gram->g;
    for (size_t k = 0; k < n; ++k) {
        b[k] /= g[k * n + k];
        add_one(g + k * n + k + 1, -b[k], n - k - 1, b + k + 1);
    }
    for (size_t k = n; k-- > 0;) {
        double sum = b[k];
        for (size_t c = k + 1; c < n; ++c) sum -= g[k * n + c] * b[c];
        b[k] = sum / g[k * n + k];
    }
}
