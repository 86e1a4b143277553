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
#ifndef DPA_TRADEOFF_TRADEOFF_H
#define DPA_TRADEOFF_TRADEOFF_H

#include <stddef.h>

#include "dpaudit/status.h"
#include "dpaudit/tradeoff.h"

/* dpa_curve_points from a CSV with header `fpr,fnr`. */
dpa_status dpa__curve_read(const char *path, dpa_curve **out, dpa_error *err) DPA_MUST_USE;
/* t·f(α) + (1−t)(1−α), t in [0,1]: the curve when only a share t of the runs is exposed. The new
 * curve keeps its own reference: `curve` may be freed. */
dpa_status dpa__curve_diluted(const dpa_curve *curve, double t, dpa_curve **out,
                              dpa_error *err) DPA_MUST_USE;

double dpa__curve_tpr(const dpa_curve *curve, double fpr);

double dpa__curve_fpr_at_tpr(const dpa_curve *curve, double tpr);
/* log f(e^log_fpr): for rates below the range of double. */
double dpa__curve_log_fnr(const dpa_curve *curve, double log_fpr);

double dpa__curve_log_delta(const dpa_curve *curve, double epsilon);
/* 1 when f = f⁻¹. */
int dpa__curve_is_symmetric(const dpa_curve *curve);

/* The Gaussian curve without making a dpa_curve: log δ at ε, and ε at δ. Accurate over the whole
 * range of double (ε = 800 and δ = 1e-300 are ordinary arguments). NaN outside the domain. */
double dpa__gaussian_log_delta(double mu, double epsilon);

/* ε at δ between N(mu1,s1²) and N(mu2,s2²), the larger of both directions (one-shot-federated,
 * Appendix A). dpa__two_gaussians_directed gives only the direction ε(first ‖ second). */
DPA_API double dpa__two_gaussians_epsilon(double mu1, double s1, double mu2, double s2,
                                          double delta);
DPA_API double dpa__two_gaussians_directed(double mu1, double s1, double mu2, double s2,
                                           double delta);

#endif
