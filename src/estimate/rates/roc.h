/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The corners of an ROC staircase: the only thresholds that can be best, since every bound falls
 * when either error count grows. */
#ifndef DPA_ESTIMATE_ROC_H
#define DPA_ESTIMATE_ROC_H

#include "estimate/registry.h"

typedef struct dpa__corner {
    uint64_t fn, fp;
    double threshold; /* in: score ≥ threshold */
} dpa__corner;

typedef struct dpa__roc {
    dpa__corner *items; /* fp ascending, fn descending */
    size_t count, capacity;
    uint64_t members, nonmembers;
} dpa__roc;

/* The scores must be prepared. A tie moves both classes at once. */
dpa_status dpa__roc_of(const dpa_scores *scores, dpa__roc *out, dpa_error *err);
/* Every distinct score as a threshold, corner or not. */
dpa_status dpa__roc_all(const dpa_scores *scores, dpa__roc *out, dpa_error *err);
void dpa__roc_free(dpa__roc *roc);
dpa_counts dpa__roc_counts(const dpa__roc *roc, size_t index);

/* ── the corner with the largest bound ─────────────────────────────────────────────────────── */

typedef struct dpa__objective {
    const dpa__entry *entry;
    const dpa__model *model;
    double p;                    /* error of a lower bound by joint posterior or ratio */
    double level_fnr, level_fpr; /* errors of the two upper limits (cp, jeffreys) */
    /* 2: the lower end of a two-sided interval with error `error`. It may be the opposite attack's
     * and, for `dp`, has special rules for rates of zero (rates.c), so all thresholds must be
     * tried, not only corners. */
    int sides;
    double error;
} dpa__objective;

/* The objective of a request: the lower end of its bound or interval. */
dpa__objective dpa__objective_of(const dpa__entry *entry, const dpa__model *model,
                                 const dpa_request *request);
/* Index and t of the best corner. `roc` has at least one corner. */
dpa_status dpa__best_corner(const dpa__objective *objective, const dpa__roc *roc, size_t *index,
                            double *t, dpa_error *err);

#endif
