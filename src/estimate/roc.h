/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The corners of an ROC staircase: the only thresholds that can be best, since every bound falls
 * when either error count grows. */
#ifndef DPA_ESTIMATE_ROC_H
#define DPA_ESTIMATE_ROC_H

#include "evidence/evidence.h"

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

#endif
