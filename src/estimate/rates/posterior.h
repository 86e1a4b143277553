/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The joint posterior of an attack's two error rates, and what it implies for a family's parameter.
 */
#ifndef DPA_ESTIMATE_POSTERIOR_H
#define DPA_ESTIMATE_POSTERIOR_H

#include "estimate/model.h"
#include "estimate/scores.h"

/* Independent Beta laws of FNR and FPR under Jeffreys priors. */
typedef struct dpa__rate_law {
    double a, b;
} dpa__rate_law;

typedef struct dpa__posterior {
    dpa__rate_law fnr, fpr;
} dpa__posterior;

dpa__posterior dpa__posterior_of(const dpa_counts *counts);

/* F(t) = Pr[(FNR,FPR) is allowed by the member at t], with the absolute error of the quadrature. */
typedef struct dpa__mass {
    double value, error;
} dpa__mass;
dpa_status dpa__posterior_mass(const dpa__posterior *posterior, const dpa__model *model, double t,
                               dpa__mass *out, dpa_error *err);
/* The same for a member that is already open. */
dpa_status dpa__posterior_mass_in(const dpa__posterior *posterior, const dpa__member *member,
                                  dpa__mass *out, dpa_error *err);
/* A cheap test by a few values of the two laws: 1 if F at the member is certainly above p; 0 if it
 * must be computed. */
int dpa__posterior_surely_holds(const dpa__posterior *posterior, const dpa__member *member,
                                double p);
/* dF/dt to about 1e-8 relative (1e-4 for families without a closed form). */
dpa_status dpa__posterior_density(const dpa__posterior *posterior, const dpa__model *model,
                                  double t, double *out, dpa_error *err);
/* Both at once and quickly, to about 1e-7, for `dp` and `gaussian` only, to get near a root. NaN on
 * failure. `density` may be NULL. */
enum { DPA__GAUSS = 10 };
typedef struct dpa__gauss {
    double node[DPA__GAUSS], weight[DPA__GAUSS];
} dpa__gauss;
void dpa__posterior_quick(const dpa__posterior *posterior, const dpa__model *model, double t,
                          const dpa__gauss *gauss, double *mass, double *density);
/* F⁻¹(p) and its error; 0 if the atom at t = 0 already contains p. */
dpa_status dpa__posterior_quantile(const dpa__posterior *posterior, const dpa__model *model,
                                   double p, double *t, double *error, dpa_error *err);

/* The posterior of ε at the request's δ as a curve. The posterior mass at exactly ε = 0 is not part
 * of the density; it is returned in `atom`. */
typedef struct dpa__posterior_point {
    double epsilon, density, cumulative;
} dpa__posterior_point;
/* Fills `count` points between the 0.001 and 0.999 quantiles (from 0 if the atom reaches beyond the
 * lower one). */
dpa_status dpa__posterior_curve(const dpa_counts *counts, const dpa_request *request,
                                const char *family, dpa__posterior_point *points, size_t count,
                                double *atom, dpa_error *err) DPA_MUST_USE;

/* The mean, and the p-quantile, of the posterior of ε. */
dpa_status dpa__posterior_mean(const dpa_counts *counts, const dpa_request *request,
                               const char *family, double *mean, dpa_error *err) DPA_MUST_USE;
dpa_status dpa__posterior_epsilon(const dpa_counts *counts, const dpa_request *request,
                                  const char *family, double p, double *epsilon,
                                  dpa_error *err) DPA_MUST_USE;

/* A lower bound on the δ that the mechanism has at a fixed ε, by method "cp", "jeffreys" or
 * "bayes". */
dpa_status dpa__delta_at_epsilon(const dpa_counts *counts, const dpa_request *request,
                                 const char *family, const char *method, double epsilon,
                                 double *delta, dpa_error *err) DPA_MUST_USE;

#endif
