/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Piecewise linear curves, for use inside this folder. */
#ifndef DPA_TRADEOFF_POINTS_H
#define DPA_TRADEOFF_POINTS_H

#include <stddef.h>

#include "base/data.h"
#include "tradeoff/curve.h"

/* Vertices 0 … count−1 from (0, f(0)) to the first α with f(α) = 0. Segment i joins vertices i and
 * i+1. Each rate is kept together with its complement (fpr and tnr = 1 − fpr, fnr and tpr = 1 −
 * fnr), and so are the lengths of the segments, so that no small number is ever computed by
 * subtracting from one. */
typedef struct dpa__points {
    dpa_curve base;
    size_t count;
    double *fpr, *tnr, *tpr, *fnr;
    double *dx, *dy; /* lengths of segments in fpr and in fnr; positive */
} dpa__points;

/* Room for `count` vertices, all in one block; the caller fills them in. */
dpa__points *dpa__points_new(size_t count, dpa_error *err);
/* Call once the vertices are filled in: finds out whether the curve is symmetric. */
void dpa__points_seal(dpa__points *points);
/* The curve as points, or NULL if it belongs to another family. */
const dpa__points *dpa__points_of(const dpa_curve *curve);
/* dpa__curve_read from a table that has been read already; `path` is for errors. */
dpa_status dpa__curve_from_table(const dpa_table *table, const char *path, dpa_curve **out,
                                 dpa_error *err);

#endif
