/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rates of thresholds at one end of the losses as a straight line on normal axes:
 * Φ⁻¹(TPR) = intercept + slope·Φ⁻¹(FPR). */
#ifndef DPA_ESTIMATE_LOSS_LINE_H
#define DPA_ESTIMATE_LOSS_LINE_H

#include "estimate/loss_cells.h"

typedef struct dpa__line {
    double share; /* the window: thresholds with at most this share of the pooled losses */
    double intercept, slope;
    double covariance[3]; /* of intercept; of both; of slope */
    double chi_square;    /* of the residuals */
    size_t points;        /* thresholds used; freedom is two less */
} dpa__line;

enum { DPA__WINDOWS = 8 };

/* Fits the lower end of the cells in windows from half of the losses downwards: all that were
 * tried go to `line`, *chosen is the widest whose residuals are not rejected at 5% (the least
 * rejected if all are). DPA_BAD_INPUT when too few thresholds have losses of both sides. */
dpa_status dpa__line_fit(const dpa__cells *cells, dpa__line line[DPA__WINDOWS], size_t *tried,
                         size_t *chosen, dpa_error *err);
/* The p-value of the residuals. */
double dpa__line_p_value(const dpa__line *line);

#endif
