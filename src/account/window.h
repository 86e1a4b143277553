/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tilted one-step pmfs in linear scale, and the window that holds the sum of their losses. */
#ifndef DPA_ACCOUNT_WINDOW_H
#define DPA_ACCOUNT_WINDOW_H

#include "account/pld.h"

/* mass[i] = e^(log_mass + θ·loss − log_scale); the masses sum to about 1. */
typedef struct dpa__tilted {
    double h, origin;
    ptrdiff_t first;
    size_t count;
    double *mass;
    double steps, log_scale;
    double mean, variance; /* of one step */
    double error;          /* relative error of a mass: that of the exponential */
} dpa__tilted;

dpa_status dpa__tilt(const dpa__pmf *pmf, double theta, dpa__tilted *out, dpa_error *err);
void dpa__tilted_free(dpa__tilted *tilted);

/* The tilted sum falls below `lower` with at most e^log_below of mass and above `upper` with at
 * most e^log_above (Chernoff bounds of these very pmfs, so they are proven and not estimated):
 * log_tail, or −INFINITY where the window reaches as far as the sum can. */
typedef struct dpa__range {
    double lower, upper, log_below, log_above;
} dpa__range;
dpa__range dpa__window(const dpa__tilted *tilted, size_t count, double log_tail);

#endif
