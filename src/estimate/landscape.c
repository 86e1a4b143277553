/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The frontier of the landscape and the densities beside it.
 *
 * A point is on the frontier when no mixture of two others is at least as good in both coordinates
 * and better in one: these are the points on the upper hull of utility over ε, from the point of
 * least ε to the point of highest utility (epsilon-star, section 4.2). Points in line with two
 * vertices, and copies of a vertex, are on it too. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/landscape.h"
#include "math/dist.h"
#include "math/logspace.h"

typedef struct place {
    double epsilon, utility;
    size_t index;
} place;

/* Rising ε; the best utility first where ε ties. */
static int compare(const void *left, const void *right) {
    const place *a = left, *b = right;
    if (a->epsilon != b->epsilon) return a->epsilon < b->epsilon ? -1 : 1;
    if (a->utility != b->utility) return a->utility > b->utility ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Is b strictly below the line from a to c? */
static int is_below(const place *a, const place *b, const place *c) {
    return (b->utility - a->utility) * (c->epsilon - a->epsilon) <
           (c->utility - a->utility) * (b->epsilon - a->epsilon);
}

/* Leaves the vertices (and points in line with them) at the front of `p`; returns their number.
 * Points that gain nothing over a cheaper one are never added. */
static size_t hull(place *p, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
        if (kept > 0 && p[i].utility <= p[kept - 1].utility) continue;
        while (kept >= 2 && is_below(&p[kept - 2], &p[kept - 1], &p[i])) --kept;
        p[kept++] = p[i];
    }
    return kept;
}

dpa_status dpa__pareto_frontier(const double *utility, const double *epsilon, size_t count, int *on,
                                dpa_error *err) {
    place *p = DPA_NEW_ARRAY(place, count, err);
    if (p == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < count; ++i) {
        if (!isfinite(utility[i]) || !isfinite(epsilon[i])) {
            free(p);
            return dpa__fail(err, DPA_BAD_INPUT,
                             "point %zu: utility %g, epsilon %g; finite numbers are right", i + 1,
                             utility[i], epsilon[i]);
        }
        p[i] = (place){epsilon[i], utility[i], i};
    }
    qsort(p, count, sizeof *p, compare);
    const size_t kept = hull(p, count);
    for (size_t i = 0; i < count; ++i) {
        on[i] = 0;
        for (size_t j = 0; j < kept; ++j)
            on[i] |= p[j].epsilon == epsilon[i] && p[j].utility == utility[i];
    }
    free(p);
    return DPA_OK;
}

dpa_status dpa__kernel_density(const double *x, size_t count, const double *at, size_t points,
                               double *density, dpa_error *err) {
    dpa__sum sum = {0, 0}, square = {0, 0};
    const double n = (double)count;
    for (size_t i = 0; i < count; ++i) dpa__sum_add(&sum, x[i]);
    for (size_t i = 0; i < count; ++i) {
        const double d = x[i] - dpa__sum_get(&sum) / n;
        dpa__sum_add(&square, d * d);
    }
    const double deviation = count > 1 ? sqrt(dpa__sum_get(&square) / (n - 1.0)) : 0.0;
    if (!(deviation > 0.0) || !isfinite(deviation))
        return dpa__fail(err, DPA_BAD_INPUT, "a density needs two different finite values");
    const double width = deviation * pow(n, -0.2);
    for (size_t j = 0; j < points; ++j) {
        double total = 0.0;
        for (size_t i = 0; i < count; ++i) total += exp(dpa__norm_log_pdf((at[j] - x[i]) / width));
        density[j] = total / (n * width);
    }
    return DPA_OK;
}
