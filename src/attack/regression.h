/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regression on standardised features: the design matrix, normal equations, and the two fits of the
 * quantile attack. The sequence of operations is fixed, so any number of threads gives the same
 * bits. */
#ifndef DPA_ATTACK_REGRESSION_H
#define DPA_ATTACK_REGRESSION_H

#include "evidence/signals.h"

/* ── the design matrix ── */

/* Row-major; column 0 is 1, the others are standardised over the population. */
typedef struct dpa__design {
    size_t rows, columns;
    double *x; /* [rows × columns] */
} dpa__design;

/* Both designs, standardised by the population's means and deviations. A feature that does not vary
 * over the population is 0 in both. A feature that is not finite gives DPA_BAD_INPUT with point and
 * feature. */
dpa_status dpa__designs_new(const dpa_features *population, const dpa_features *points, int squares,
                            dpa__design *out_population, dpa__design *out_points, dpa_error *err);
void dpa__design_free(dpa__design *design);

double dpa__row_times(const dpa__design *design, size_t row, const double *b);
/* X·b into out [rows]. */
void dpa__design_times(const dpa__design *design, const double *b, double *out);
/* X'·a into out [columns]. */
void dpa__design_transposed(const dpa__design *design, const double *a, double *out);

/* ── normal equations ── */

/* A symmetric matrix, or its upper factor. */
typedef struct dpa__gram {
    size_t n;
    double *g; /* [n × n], upper triangle; followed by the original diagonal [n] */
} dpa__gram;

DPA_API dpa_status dpa__gram_new(size_t n, dpa__gram *out, dpa_error *err);
DPA_API void dpa__gram_free(dpa__gram *gram);
/* X'·diag(weight)·X + diag(0, ridge, ridge, …), then its Cholesky factor in place. A column that
 * depends on those before it gets the solution 0. */
dpa_status dpa__gram_factor(dpa__gram *gram, const dpa__design *design, const double *weight,
                            double ridge, unsigned threads, dpa_error *err);
/* Replaces gram->g by its factor. */
DPA_API void dpa__gram_cholesky(dpa__gram *gram);
/* Replaces b[n] by the solution. */
DPA_API void dpa__gram_solve(const dpa__gram *gram, double *b);

/* ── fits: y [rows], ridge as in dpa_quantile_opts ── */

/* The certificate of a fit: how far from the optimum it can be. */
typedef struct dpa__fit_quality {
    int rounds;
    double gap; /* per row: pinball loss minus its lower bound; or the normal fit's decrement */
} dpa__fit_quality;

/* Weights b [columns] of the quantile `level`. */
dpa_status dpa__pinball_fit(const dpa__design *design, const double *y, double level, double ridge,
                            unsigned threads, double *b, dpa__fit_quality *quality, dpa_error *err);
/* Weights of mean and log-scale, b and g [columns]. */
dpa_status dpa__scaled_normal_fit(const dpa__design *design, const double *y, double ridge,
                                  unsigned threads, double *b, double *g, dpa__fit_quality *quality,
                                  dpa_error *err);

#endif
