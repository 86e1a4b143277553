/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files on cosines share. */
#ifndef DPA_ESTIMATE_COSINE_H
#define DPA_ESTIMATE_COSINE_H

#include <stddef.h>

#include "dpaudit/cosines.h"

/* Hadamard canaries as the random signs that each of them is; others as they are. */
dpa_cosines dpa__cosines_as_signs(const dpa_cosines *cosines);

/* Ascending, in a new block; NULL when memory is out. */
double *dpa__cosine_sorted(const double *x, size_t count, dpa_error *err);
void dpa__cosine_sort(double *x, size_t count);

/* The threshold that `split` learns from half of the canaries, ascending, for the other half; the
 * null is exact. `limit` has the Jeffreys limits at p of 0 … count missed. */
double dpa__cosine_learn(double *sorted, size_t count, size_t dim, double delta, double p,
                         const double *limit);

#endif
