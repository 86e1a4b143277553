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

#include "dpaudit/status.h"

DPA_C_BEGIN

typedef struct dpa_curve dpa_curve;

/* (ε,δ)-DP: max(0, 1−δ−e^ε α, e^−ε(1−δ−α)). ε in [0, ∞], δ in [0,1]. */
DPA_API dpa_status dpa_curve_dp(double epsilon, double delta, dpa_curve **out,
                                dpa_error *err) DPA_MUST_USE;
/* N(0,1) against N(μ,1). μ in [0, ∞]. */
DPA_API dpa_status dpa_curve_gaussian(double mu, dpa_curve **out, dpa_error *err) DPA_MUST_USE;
/* Laplace noise of scale 1/ε₀ on a statistic of sensitivity 1. */
DPA_API dpa_status dpa_curve_laplace(double epsilon0, dpa_curve **out, dpa_error *err) DPA_MUST_USE;
/* One step of the Poisson-subsampled Gaussian mechanism, add/remove, both directions combined
 * (closed form; for many steps see dpa_account_curve). q in [0,1], σ in (0, ∞). */
DPA_API dpa_status dpa_curve_subsampled_gaussian(double q, double sigma, dpa_curve **out,
                                                 dpa_error *err) DPA_MUST_USE;
/* The lower convex hull of the given points and of (0,1), (1,0): the largest trade-off curve that
 * no point lies below. Points may come in any order. */
DPA_API dpa_status dpa_curve_points(const double *fpr, const double *fnr, size_t count,
                                    dpa_curve **out, dpa_error *err) DPA_MUST_USE;
/* The test between two discrete distributions: cell i has probability member[i] for a member and
 * nonmember[i] for a non-member; each sums to 1 (to 1e-9). Accurate at both ends, where 1 − fnr
 * would lose what is small. Cells may come in any order; a cell with one mass zero decides the
 * test. */
DPA_API dpa_status dpa_curve_masses(const double *member, const double *nonmember, size_t count,
                                    dpa_curve **out, dpa_error *err) DPA_MUST_USE;
/* dpa_curve_points from a CSV with header `fpr,fnr`. */
DPA_API dpa_status dpa_curve_read(const char *path, dpa_curve **out, dpa_error *err) DPA_MUST_USE;
/* t·f(α) + (1−t)(1−α), t in [0,1]: the curve when only a share t of the runs is exposed. The new
 * curve keeps its own reference: `curve` may be freed. */
DPA_API dpa_status dpa_curve_diluted(const dpa_curve *curve, double t, dpa_curve **out,
                                     dpa_error *err) DPA_MUST_USE;
/* NULL is allowed. */
DPA_API void dpa_curve_free(dpa_curve *curve);

/* f(α), and 1−f(α) computed without cancellation. */
DPA_API double dpa_curve_fnr(const dpa_curve *curve, double fpr);
DPA_API double dpa_curve_tpr(const dpa_curve *curve, double fpr);
/* The inverse: the smallest α with f(α) ≤ fnr, and the smallest α with 1−f(α) ≥ tpr (accurate for
 * small tpr). Cost: a closed form for dp, gaussian and laplace; a binary search for curves of
 * points; a root search for diluted and subsampled curves that have no closed inverse. */
DPA_API double dpa_curve_fpr(const dpa_curve *curve, double fnr);
DPA_API double dpa_curve_fpr_at_tpr(const dpa_curve *curve, double tpr);
/* log f(e^log_fpr): for rates below the range of double. */
DPA_API double dpa_curve_log_fnr(const dpa_curve *curve, double log_fpr);
/* The DP guarantee of the curve: δ(ε), its logarithm, and ε(δ). δ(ε) is the supremum over α of 1 −
 * f(α) − e^ε α, taken for f and for its inverse, whichever is larger. ε(δ) is the smallest ε ≥ 0
 * with δ(ε) ≤ δ. */
DPA_API double dpa_curve_delta(const dpa_curve *curve, double epsilon);
DPA_API double dpa_curve_log_delta(const dpa_curve *curve, double epsilon);
DPA_API double dpa_curve_epsilon(const dpa_curve *curve, double delta);
/* 1 when f = f⁻¹. */
DPA_API int dpa_curve_is_symmetric(const dpa_curve *curve);

/* The Gaussian curve without making a dpa_curve: log δ at ε, and ε at δ. Accurate over the whole
 * range of double (ε = 800 and δ = 1e-300 are ordinary arguments). NaN outside the domain. */
DPA_API double dpa_gaussian_log_delta(double mu, double epsilon);
DPA_API double dpa_gaussian_epsilon(double mu, double delta);
/* The μ at which the Gaussian curve has this ε at this δ. */
DPA_API double dpa_gaussian_mu(double epsilon, double delta);
/* ε at δ between N(mu1,s1²) and N(mu2,s2²), the larger of both directions (one-shot-federated,
 * Appendix A). dpa_two_gaussians_directed gives only the direction ε(first ‖ second). */
DPA_API double dpa_two_gaussians_epsilon(double mu1, double s1, double mu2, double s2,
                                         double delta);
DPA_API double dpa_two_gaussians_directed(double mu1, double s1, double mu2, double s2,
                                          double delta);

DPA_C_END

#endif
