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

/* Fits the lower end of the cells in windows from half of the losses downwards. *line is that of
 * the widest window whose residuals are not rejected at 5% (if all are, the least rejected one).
 * DPA_BAD_INPUT if too few thresholds have losses of both sides. */
dpa_status dpa__line_fit(const dpa__cells *cells, dpa__line *line, dpa_error *err);
/* The p-value of the residuals in the line's window, with variances from the line's own rates.
 * Observed rates would treat a stretch without a loss of one side as exact, and reject straight
 * curves. */
double dpa__line_p_value(const dpa__cells *cells, const dpa__line *line);

enum { DPA__POINTS = 14 };

/* What is known of the curve if it need not be straight: a line plus a walk whose slope wanders,
 * given the observed rates (kriging with a linear drift). */
typedef struct dpa__band {
    size_t count;
    double origin, wander; /* the walk starts at z = origin; its slope's deviation per unit of z */
    double edge;           /* from here inwards both sides have at least ten losses beyond */
    double z[DPA__POINTS]; /* thresholds */
    double root[DPA__POINTS][DPA__POINTS]; /* L·Lᵀ = V */
    /* L⁻¹ times 1, times z, times the residuals */
    double of_one[DPA__POINTS], of_z[DPA__POINTS], of_rest[DPA__POINTS];
    double intercept, slope, covariance[3];
} dpa__band;

/* The rates whose variances define the weights. Observed rates that are too high by chance weigh
 * more than those that are too low, which makes ε a little too small: acceptable for a lower end
 * only. */
typedef enum dpa__weights { DPA__OBSERVED, DPA__EXPECTED } dpa__weights;

/* The band in the window of the line; 0 if there are too few thresholds or they are too close. */
int dpa__band_fit(const dpa__cells *cells, const dpa__line *line, dpa__weights weights,
                  dpa__band *out);
/* The curve's height at z ≤ origin, and its standard deviation. */
double dpa__band_at(const dpa__band *band, double z, double *deviation);

#endif
