/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The largest singular value of a few canaries: the square root of the largest eigenvalue of
 * their Gram matrix, by Jacobi's rotations. Products are summed in float32 within a chunk and in
 * double between chunks; the error of about 1e-7 is added.
 *
 * If the products would be too much work, on the sphere: a d × k matrix of normals has no
 * singular value above √d + √k + t, except with probability exp(−t²/2) (Davidson and Szarek
 * 2001). Its columns are the canaries times norms of at least √d − t, except with probability
 * k·exp(−t²/2). */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/simd.h"
#include "base/threads.h"
#include "evidence/canary.h"

enum { MOST_CANARIES = 512, SWEEPS = 60 };
static const double MOST_PRODUCTS = 2e10, FAILURE = 1e-9, ROUNDING = 1e-6;

typedef struct job {
    dpa_canaries *canaries;
    const size_t *which;
    size_t count, parts;
    float *numbers; /* [parts × count × DPA__CHUNK] */
    double *gram;   /* [parts × count × count], upper triangle */
} job;

DPA_CLONES static double product(const float *x, const float *y) {
    float lane[DPA_LANES] = {0};
    for (size_t at = 0; at < DPA__CHUNK; at += DPA_LANES)
        for (size_t l = 0; l < DPA_LANES; ++l) lane[l] += x[at + l] * y[at + l];
    double sum = 0.0;
    for (size_t l = 0; l < DPA_LANES; ++l) sum += (double)lane[l];
    return sum;
}

/* A part takes every parts-th chunk. */
static int do_part(void *user, size_t part) {
    const job *j = user;
    const size_t dim = j->canaries->opts.dim, k = j->count;
    float *z = j->numbers + part * k * DPA__CHUNK;
    double *gram = j->gram + part * k * k;
    for (size_t first = part * DPA__CHUNK; first < dim; first += j->parts * DPA__CHUNK) {
        const size_t size = dim - first < DPA__CHUNK ? dim - first : DPA__CHUNK;
        for (size_t i = 0; i < k; ++i) {
            float *row = z + i * DPA__CHUNK;
            dpa__canary_numbers(j->canaries, j->which[i], first, size, row);
            for (size_t at = size; at < DPA__CHUNK; ++at) row[at] = 0.0F;
        }
        for (size_t a = 0; a < k; ++a)
            for (size_t b = a; b < k; ++b)
                gram[a * k + b] += product(z + a * DPA__CHUNK, z + b * DPA__CHUNK);
    }
    return 0;
}

/* One rotation that makes a[p][q] zero (symmetric, whole matrix). */
static void rotate(double *a, size_t k, size_t p, size_t q) {
    const double angle = 0.5 * atan2(2.0 * a[p * k + q], a[p * k + p] - a[q * k + q]);
    const double c = cos(angle), s = sin(angle);
    for (size_t i = 0; i < k; ++i) {
        const double x = a[i * k + p], y = a[i * k + q];
        a[i * k + p] = c * x + s * y;
        a[i * k + q] = c * y - s * x;
    }
    for (size_t i = 0; i < k; ++i) {
        const double x = a[p * k + i], y = a[q * k + i];
        a[p * k + i] = c * x + s * y;
        a[q * k + i] = c * y - s * x;
    }
}

/* An upper bound on the largest eigenvalue, whenever it stops: Gershgorin on the remaining matrix.
 */
static double largest_eigenvalue(double *a, size_t k) {
    double bound = HUGE_VAL;
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        double most = 0.0, outside = 0.0;
        for (size_t i = 0; i < k; ++i) {
            double radius = 0.0;
            for (size_t l = 0; l < k; ++l) radius += l != i ? fabs(a[i * k + l]) : 0.0;
            most = fmax(most, a[i * k + i] + radius);
            outside = fmax(outside, radius);
        }
        bound = fmin(bound, most);
        if (outside < 1e-9) break;
        for (size_t p = 0; p < k; ++p)
            for (size_t q = p + 1; q < k; ++q)
                if (a[p * k + q] != 0.0) rotate(a, k, p, q);
    }
    return bound;
}

static double from_gram(const job *j) {
    const size_t k = j->count;
    double *gram = j->gram;
    for (size_t part = 1; part < j->parts; ++part)
        for (size_t i = 0; i < k * k; ++i) gram[i] += j->gram[part * k * k + i];
    for (size_t a = 0; a < k; ++a)
        for (size_t b = a + 1; b < k; ++b) {
            gram[a * k + b] /= sqrt(gram[a * k + a] * gram[b * k + b]);
            gram[b * k + a] = gram[a * k + b];
        }
    for (size_t a = 0; a < k; ++a) gram[a * k + a] = 1.0;
    return sqrt(largest_eigenvalue(gram, k)) + ROUNDING;
}

static double from_law(const dpa_canaries *canaries, size_t count) {
    if (canaries->opts.direction != DPA_DIRECTION_SPHERE) return (double)INFINITY;
    const double d = sqrt((double)canaries->opts.dim), k = (double)count;
    const double t = sqrt(2.0 * log((k + 1.0) / FAILURE));
    return d > 2.0 * t ? (d + sqrt(k) + t) / (d - t) : (double)INFINITY;
}

static dpa_status by_products(job *j, double *out, dpa_error *err) {
    const size_t k = j->count;
    j->numbers = dpa__malloc(j->parts * k * DPA__CHUNK, sizeof *j->numbers, err);
    j->gram = j->numbers != NULL ? dpa__calloc(j->parts * k * k, sizeof *j->gram, err) : NULL;
    dpa_status status = j->gram != NULL ? DPA_OK : DPA_NO_MEMORY;
    if (status == DPA_OK)
        status = dpa__parallel(j->canaries->opts.threads, j->parts, do_part, j, err);
    if (status == DPA_OK) *out = from_gram(j);
    free(j->numbers);
    free(j->gram);
    return status;
}

dpa_status dpa__canaries_spread(dpa_canaries *canaries, const size_t *which, size_t count,
                                double *out, dpa_error *err) {
    *out = 1.0;
    if (canaries->opts.direction == DPA_DIRECTION_HADAMARD || count < 2) return DPA_OK;
    const double k = (double)count;
    if (count > MOST_CANARIES || k * k * (double)canaries->opts.dim > MOST_PRODUCTS) {
        *out = from_law(canaries, count);
        return DPA_OK;
    }
    const size_t chunks = (canaries->opts.dim + DPA__CHUNK - 1) / DPA__CHUNK;
    job j = {.canaries = canaries, .which = which, .count = count};
    j.parts = chunks < 8 ? chunks : 8; /* not the threads: the sums must not depend on them */
    return by_products(&j, out, err);
}
