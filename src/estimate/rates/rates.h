/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intervals for single rates, and what a rectangle of two of them implies for a family. */
#ifndef DPA_ESTIMATE_RATES_H
#define DPA_ESTIMATE_RATES_H

#include "estimate/model.h"
#include "evidence/evidence.h"

typedef enum dpa__limit { DPA__CLOPPER_PEARSON, DPA__JEFFREYS } dpa__limit;

double dpa__rate_upper(dpa__limit limit, uint64_t k, uint64_t n, double p);
double dpa__rate_lower(dpa__limit limit, uint64_t k, uint64_t n, double p);
/* 1 if the upper limit is at least `rate`; costs one distribution function instead of a quantile.
 */
int dpa__rate_upper_reaches(dpa__limit limit, uint64_t k, uint64_t n, double p, double rate);

/* Both rates' limits: one-sided ones with errors p_fnr and p_fpr and lower ends 0, or two-sided. */
typedef struct dpa__rectangle {
    double fnr[2], fpr[2];
} dpa__rectangle;
dpa__rectangle dpa__rectangle_of(const dpa_counts *counts, dpa__limit limit, double p, int sides);

/* The least leaky and the leakiest member that the rectangle allows, rounded down and up. */
dpa_status dpa__rectangle_lower(const dpa__model *model, const dpa__rectangle *r, double *t,
                                dpa_error *err);
dpa_status dpa__rectangle_upper(const dpa__model *model, const dpa__rectangle *r, double *t,
                                dpa_error *err);

#endif
