/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The threshold whose bound is largest. */
#ifndef DPA_ESTIMATE_BEST_THRESHOLD_H
#define DPA_ESTIMATE_BEST_THRESHOLD_H

#include "estimate/registry.h"
#include "estimate/roc.h"

typedef struct dpa__objective {
    const dpa__entry *entry;
    const dpa__model *model;
    double p;                    /* error of a lower bound by joint posterior or ratio */
    double level_fnr, level_fpr; /* errors of the two upper limits (cp, jeffreys) */
    /* 2: the lower end of a two-sided interval of error `error`, which may be the opposite attack's
     * and, of `dp`, minds rates of zero (rates.c). Corners are not enough then: all thresholds. */
    int sides;
    double error;
} dpa__objective;

/* The objective of a request: the lower end of its bound or interval. */
dpa__objective dpa__objective_of(const dpa__entry *entry, const dpa__model *model,
                                 const dpa_request *request);
/* The index of the best corner and its t. `roc` has at least one corner. */
dpa_status dpa__best_corner(const dpa__objective *objective, const dpa__roc *roc, size_t *index,
                            double *t, dpa_error *err);

#endif
