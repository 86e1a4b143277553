/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files on cosines share. */
#ifndef DPA_ESTIMATE_COSINE_H
#define DPA_ESTIMATE_COSINE_H

#include <stddef.h>

#include "dpaudit/cosines.h"

/* Hadamard canaries treated as random signs, which each of them is by itself; others unchanged. */
dpa_cosines dpa__cosines_as_signs(const dpa_cosines *cosines);

/* A sorted copy; NULL if memory ran out. */
double *dpa__cosine_sorted(const double *x, size_t count, dpa_error *err);
void dpa__cosine_sort(double *x, size_t count);

/* The threshold that `split` learns from one half of the canaries (ascending) for the other half,
 * with the exact null. limit[k] is the Jeffreys limit at p after k of `count` were missed. */
double dpa__cosine_learn(double *sorted, size_t count, size_t dim, double delta, double p,
                         const double *limit);

#endif
