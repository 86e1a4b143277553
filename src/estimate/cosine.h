/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files on cosines share. */
#ifndef DPA_ESTIMATE_COSINE_H
#define DPA_ESTIMATE_COSINE_H

#include <stddef.h>

#include "dpaudit/cosines.h"

/* Ascending, in a new block; NULL when memory is out. */
double *dpa__cosine_sorted(const double *x, size_t count, dpa_error *err);
void dpa__cosine_sort(double *x, size_t count);

#endif
