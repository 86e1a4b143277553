/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rough minimum of a function of a positive scale, for uses where any point near it is good
 * enough. */
#ifndef DPA_ACCOUNT_ROUGH_MINIMUM_H
#define DPA_ACCOUNT_ROUGH_MINIMUM_H

#include "math/quad.h"

/* Walks from `start` by shrinking factors; returns the place and the value there. NaN and +INFINITY
 * count as too high. */
double dpa__descend(dpa__fn fn, void *user, double start, double *value);

#endif
