/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The privacy–utility landscape: what each training strategy costs in ε and gains in utility, and
 * which strategies no other beats (epsilon-star, section 4.2). */
#ifndef DPA_ESTIMATE_LANDSCAPE_H
#define DPA_ESTIMATE_LANDSCAPE_H

#include <stddef.h>

#include "base/data.h"
#include "dpaudit/status.h"

/* `error` is the standard error of the mean. It uses the strategy's own runs and, if they are few,
 * also the scatter of the runs of all strategies; NaN if no strategy has two runs. */
typedef struct dpa_spread {
    double mean, lowest, highest, error;
} dpa_spread;

/* The runs of one strategy, averaged. */
typedef struct dpa_landscape_point {
    const char *strategy, *group; /* owned by the landscape */
    size_t runs;
    dpa_spread utility, epsilon;
    int on_frontier;
    double frontier_share; /* how often it is on the frontier if all means vary within their errors;
                              NaN without errors */
} dpa_landscape_point;

typedef struct dpa_landscape {
    dpa_landscape_point *points; /* by strategy, then group */
    size_t count;
    size_t *frontier; /* indices of points, by rising ε */
    size_t frontier_count;
    size_t rows;
    char sha256[DPA_SHA256_SIZE];
    dpa_table *table; /* owns the names */
} dpa_landscape;

/* Reads a CSV with the columns strategy, utility (more is better), epsilon (less is better) and
 * optionally group, for comparing kinds of strategies. Rows with the same strategy and group are
 * averaged. Free *out with dpa__landscape_free. */
dpa_status dpa__landscape_read(const char *path, dpa_landscape *out, dpa_error *err) DPA_MUST_USE;
void dpa__landscape_free(dpa_landscape *landscape);

/* The Pareto frontier: the part of the convex hull that faces lower ε and higher utility. on[i] is
 * 1 unless some convex combination of other points is at least as good as point i in both numbers
 * and better in one. Every number must be finite. */
dpa_status dpa__pareto_frontier(const double *utility, const double *epsilon, size_t count, int *on,
                                dpa_error *err) DPA_MUST_USE;

/* The Gaussian kernel density of x[count] at the places at[points]; bandwidth by Scott's rule,
 * n^(−1/5)·deviation (n−1 in the denominator). DPA_BAD_INPUT for fewer than two distinct values. */
dpa_status dpa__kernel_density(const double *x, size_t count, const double *at, size_t points,
                               double *density, dpa_error *err) DPA_MUST_USE;

#endif
