/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Test inversion over a fixed grid of parameters, walked upwards from 0. */
#ifndef DPA_ESTIMATE_WALK_H
#define DPA_ESTIMATE_WALK_H

#include <stddef.h>

#include "dpaudit/status.h"

/* A grid: every `stride`-th of steps of 0.005 up to 1, then of 0.5%, but not beyond `max`. */
typedef struct dpa__grid {
    size_t stride;
    double max;
} dpa__grid;
double dpa__walk_at(const dpa__grid *grid, size_t i);

/* Tests whether all grid points first … last are rejected. It may answer 0 for several points if it
 * cannot tell, but not for a single point. */
typedef dpa_status (*dpa__walk_test)(void *user, size_t first, size_t last, int *is_rejected,
                                     dpa_error *err);
/* The last rejected point before the first that is not; 0 if the first point is not rejected. The
 * runs tested do not depend on the data: they are halves of halves of a fixed partition of the
 * grid. */
dpa_status dpa__walk_up(dpa__walk_test test, void *user, const dpa__grid *grid, double *t,
                        dpa_error *err);
/* From the top: the first rejected point after the last that is not; INFINITY if none is. */
dpa_status dpa__walk_down(dpa__walk_test test, void *user, const dpa__grid *grid, double *t,
                          dpa_error *err);

/* The p-value of a claim at `claim`, as it is told beside the bound t at error `allowed`. If the
 * grid, or the fewer draws of a walk, leave the claim standing, it is raised above `allowed`, which
 * does no harm to a p-value. A claim that stands never has a p-value that refutes it. */
double dpa__walk_agreed(const dpa__grid *grid, double t, double claim, double p, double allowed);

#endif
