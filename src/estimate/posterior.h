/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The joint posterior of an attack's two error rates, and what it implies for a family's parameter.
 */
#ifndef DPA_ESTIMATE_POSTERIOR_H
#define DPA_ESTIMATE_POSTERIOR_H

#include "dpaudit/evidence.h"
#include "estimate/model.h"

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
 * failure. */
enum { DPA__GAUSS = 10 };
typedef struct dpa__gauss {
    double node[DPA__GAUSS], weight[DPA__GAUSS];
} dpa__gauss;
void dpa__posterior_quick(const dpa__posterior *posterior, const dpa__model *model, double t,
                          const dpa__gauss *gauss, double *mass, double *density);
/* F⁻¹(p) and its error; 0 if the atom at t = 0 already contains p. */
dpa_status dpa__posterior_quantile(const dpa__posterior *posterior, const dpa__model *model,
                                   double p, double *t, double *error, dpa_error *err);

#endif
