/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the threshold with the largest bound. */
#ifndef DPA_ESTIMATE_BEST_THRESHOLD_H
#define DPA_ESTIMATE_BEST_THRESHOLD_H

#include "estimate/registry.h"
#include "estimate/roc.h"

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
