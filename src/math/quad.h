/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quadrature: fixed Gauss–Legendre panels and adaptive Gauss–Kronrod with breakpoints. */
#ifndef DPA_MATH_QUAD_H
#define DPA_MATH_QUAD_H

#include <stddef.h>

#include "dpaudit/status.h"

typedef double (*dpa__fn)(double x, void *user);

typedef struct dpa__quad {
    double value;
    double error; /* estimated absolute error */
    size_t evaluations;
} dpa__quad;

/* Adaptive Gauss–Kronrod (10,21) over the panels between `breaks` (count ≥ 2, ascending; the first
 * may be −INFINITY, the last INFINITY), until the error estimate is below max(absolute,
 * relative·|value|) or halving gains nothing more. DPA_NUMERIC if that is not reached after
 * `max_evaluations` (the best value is in *out all the same) or if the integrand is not finite
 * somewhere. A peak much narrower than its panel is missed: put breakpoints around it. Ends may be
 * singular (log x, x^-0.9) at 0 and at infinity; elsewhere x has too few digits: shift the end to
 * 0. */
dpa_status dpa__integrate(dpa__fn fn, void *user, const double *breaks, size_t count,
                          double absolute, double relative, size_t max_evaluations, dpa__quad *out,
                          dpa_error *err);
/* n-point Gauss–Legendre on [a,b], n ≤ 64; nodes made once per call site by dpa__gauss_legendre. */
void dpa__gauss_legendre(size_t n, double *node, double *weight); /* on [−1,1] */

#endif
