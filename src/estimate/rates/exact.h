/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exact unconditional test from a confusion matrix (methods.md, section 14; proof in
 * docs/methods/exact.md). */
#ifndef DPA_ESTIMATE_EXACT_H
#define DPA_ESTIMATE_EXACT_H

#include "estimate/registry.h"

/* The largest class size. */
enum { DPA__EXACT_MOST = 1000000 };

int dpa__exact_applies(const dpa_counts *counts);

/* The function for the registry. */
dpa_status dpa__from_exact(const dpa__entry *entry, const dpa_counts *counts,
                           const dpa__model *model, const dpa_request *request, dpa_result *result,
                           dpa_error *err);

/* The p-value of "the trade-off is at least `curve`" from counts, rounded up. The request's
 * confidence sets the share of the error that the region of the nuisance rate gets; the p-value is
 * at least that share (0.001 at 95%). */
dpa_status dpa__exact_p_value(const dpa_counts *counts, const dpa_curve *curve,
                              const dpa_request *request, double *p, dpa_error *err);
dpa_status dpa__exact_p_value_dp(const dpa_counts *counts, double epsilon, double delta,
                                 const dpa_request *request, double *p, dpa_error *err);

/* ── parts ─────────────────────────────────────────────────────────────────────────────────── */

/* One side of a null hypothesis {(FNR,FPR) : FNR ≥ edge(FPR)}; the edge falls. Turned: both rates
 * are counted from 1, which turns "at least as private" into "at most". */
typedef struct dpa__edge {
    const dpa_curve *curve;
    int is_turned;
    /* (ε,δ): straight pieces between the corners; else `pieces` is 0. */
    size_t pieces;
    double corner[4], level[4]; /* FPR, FNR of the corners */
} dpa__edge;
dpa__edge dpa__edge_of(const dpa_curve *curve, int is_turned);
dpa__edge dpa__edge_dp(const dpa_curve *curve, double epsilon, double delta, int is_turned);
double dpa__edge_fnr(const dpa__edge *edge, double fpr);

/* Sizes and an outcome: a false negatives of n1, b false positives of n0 (or their complements). */
typedef struct dpa__outcome {
    double n1, n0, a, b;
} dpa__outcome;
/* The log likelihood ratio against the edge: 0 if the outcome satisfies the hypothesis; it falls
 * with a and with b. */
double dpa__edge_ratio(const dpa__edge *edge, const dpa__outcome *o);

/* The supremum over the edge, within the box of rates that the outcome allows at error `share`, of
 * the probability of a ratio ≥ `value` in the order of `order`; plus `share`. Rounded up, to 0.1%.
 * With `enough` > 0 it is only decided whether it is at most `enough`: *p is then `enough`, or
 * above it. */
dpa_status dpa__exact_supremum(const dpa__edge *order, const dpa__edge *null,
                               const dpa__outcome *observed, double value, double share,
                               double enough, double *p, dpa_error *err);

#endif
