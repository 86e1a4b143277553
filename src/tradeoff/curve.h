/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a family of curves provides. A family's own struct starts with a dpa_curve. Curves are
 * reference-counted, so that a curve made from another one copies nothing. */
#ifndef DPA_TRADEOFF_CURVE_H
#define DPA_TRADEOFF_CURVE_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/data.h"
#include "tradeoff/tradeoff.h"

/* Which of the two distributions comes first in δ(ε). Forward: sup over α of 1 − f(α) − e^ε α;
 * backward: the same of the inverse of f, sup of 1 − α − e^ε f(α). */
typedef enum dpa__way { DPA__FORWARD, DPA__BACKWARD } dpa__way;

/* Arguments have been checked: rates and δ in [0,1], log_fpr ≤ 0, ε ≥ 0 (may be infinite). For a
 * symmetric family only FORWARD is asked, and `fpr` may be NULL, as it equals `fnr`. */
typedef struct dpa__curve_kind {
    double (*fnr)(const dpa_curve *curve, double fpr);
    double (*tpr)(const dpa_curve *curve, double fpr);
    double (*fpr)(const dpa_curve *curve, double fnr);
    double (*fpr_at_tpr)(const dpa_curve *curve, double tpr);
    double (*log_fnr)(const dpa_curve *curve, double log_fpr);
    /* May be NULL: exp(log_delta) is used then. Needed for curves with f(0) < 1: there ε(δ) jumps
     * to infinity below δ = 1 − f(0), so that number must not be rounded. */
    double (*delta)(const dpa_curve *curve, double epsilon, dpa__way side);
    double (*log_delta)(const dpa_curve *curve, double epsilon, dpa__way side);
    double (*epsilon)(const dpa_curve *curve, double delta, dpa__way side);
    void (*release)(dpa_curve *curve); /* frees what the curve owns, not the curve; may be NULL */
} dpa__curve_kind;

struct dpa_curve {
    const dpa__curve_kind *kind;
    atomic_size_t references;
    int symmetric;
};

/* Allocates `size` bytes that start with a dpa_curve; all else is zero. */
void *dpa__curve_new(size_t size, const dpa__curve_kind *kind, int symmetric, dpa_error *err);
/* Adds a reference and returns the same curve. */
dpa_curve *dpa__curve_share(const dpa_curve *curve);

/* f = 0, no privacy at all: the limit of every family when its parameter is infinite. */
dpa_status dpa__curve_none(dpa_curve **out, dpa_error *err);

/* ── piecewise linear curves ───────────────────────────────────────────────────────────────── */

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
