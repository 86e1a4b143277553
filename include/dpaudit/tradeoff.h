/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trade-off curves: f(fpr) is the smallest false negative rate that any attack can reach.
 *
 * A curve is immutable once made and may be shared between threads. All answers are computed in the
 * log domain where a tail is small; an answer that is infinite is INFINITY, never NaN (NaN only for
 * an argument outside its domain).
 *
 * A curve f describes the test of one ordered pair: non-member (null) against member. Where f is
 * flat or vertical, an inverse is the smallest rate that will do (the infimum). A family whose
 * parameter is infinite gives no privacy: f = 0, also at α = 0. */
#ifndef DPAUDIT_TRADEOFF_H
#define DPAUDIT_TRADEOFF_H

#include <stddef.h>

#include "dpaudit/export.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

typedef struct dpa_curve dpa_curve;

/* Each of the four makes a curve in *out, to be freed with dpa_curve_free. They return
 * DPA_BAD_ARGUMENT if a number is out of its range, or DPA_NO_MEMORY. */

/* The curve of (ε,δ)-DP: max(0, 1−δ−e^ε α, e^−ε(1−δ−α)). ε in [0, ∞], δ in [0,1]. */
DPA_API dpa_status dpa_curve_dp(double epsilon, double delta, dpa_curve **out,
                                dpa_error *err) DPA_MUST_USE;
/* The curve of N(0,1) against N(μ,1). μ in [0, ∞]. */
DPA_API dpa_status dpa_curve_gaussian(double mu, dpa_curve **out, dpa_error *err) DPA_MUST_USE;
/* The curve of Laplace noise of scale 1/ε₀ on a statistic of sensitivity 1. */
DPA_API dpa_status dpa_curve_laplace(double epsilon0, dpa_curve **out, dpa_error *err) DPA_MUST_USE;
/* The lower convex hull of the points (fpr[i], fnr[i]) and of (0,1), (1,0): the largest trade-off
 * curve that no point lies below. Points may come in any order; they are copied. */
DPA_API dpa_status dpa_curve_points(const double *fpr, const double *fnr, size_t count,
                                    dpa_curve **out, dpa_error *err) DPA_MUST_USE;
/* Frees the curve; NULL is allowed. */
DPA_API void dpa_curve_free(dpa_curve *curve);

/* Returns f(α) at α = fpr in [0,1]. */
DPA_API double dpa_curve_fnr(const dpa_curve *curve, double fpr);
/* Returns the inverse: the smallest α with f(α) ≤ fnr. A closed form for dp, gaussian and laplace;
 * a search for curves of points. */
DPA_API double dpa_curve_fpr(const dpa_curve *curve, double fnr);
/* Returns δ(ε), the supremum over α of 1 − f(α) − e^ε α, taken for f and for its inverse, whichever
 * is larger. */
DPA_API double dpa_curve_delta(const dpa_curve *curve, double epsilon);
/* Returns ε(δ), the smallest ε ≥ 0 with δ(ε) ≤ δ. */
DPA_API double dpa_curve_epsilon(const dpa_curve *curve, double delta);

/* Returns ε at δ of the Gaussian curve, without making a dpa_curve. Accurate over the whole range
 * of double (δ = 1e-300 is an ordinary argument). NaN outside the domain. */
DPA_API double dpa_gaussian_epsilon(double mu, double delta);
/* Returns the μ at which the Gaussian curve has this ε at this δ. */
DPA_API double dpa_gaussian_mu(double epsilon, double delta);

DPA_C_END

#endif
