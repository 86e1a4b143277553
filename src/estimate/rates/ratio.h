/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Large-sample intervals for a ratio of two rates. */
#ifndef DPA_ESTIMATE_RATIO_H
#define DPA_ESTIMATE_RATIO_H

#include "evidence/evidence.h"

typedef enum dpa__ratio {
    DPA__KATZ_LOG,
    DPA__ADJUSTED_LOG,
    DPA__BAILEY,
    DPA__INVERSE_SINH
} dpa__ratio;

/* Limits of log((a/m)/(b/n)), each with error p; NaN if the method has none (a zero count). */
typedef struct dpa__log_ratio {
    double lower, upper;
} dpa__log_ratio;
dpa__log_ratio dpa__ratio_limits(dpa__ratio method, double a, double m, double b, double n,
                                 double p);

/* Limits of ε at δ = 0 from the counts, with total error p; returns 0 if the method has none. */
int dpa__ratio_epsilon(dpa__ratio method, const dpa_counts *counts, double p, int sides,
                       double *lower, double *upper);

#endif
