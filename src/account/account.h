/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a claim means: the privacy loss of a composed mechanism, as intervals that contain the
 * truth. */
#ifndef DPA_ACCOUNT_ACCOUNT_H
#define DPA_ACCOUNT_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/account.h"
#include "dpaudit/status.h"
#include "tradeoff/tradeoff.h"

/* The same for `count` questions, in any order; faster than asking one by one, since one
 * composition answers all neighbouring ones. */
dpa_status dpa__account_epsilons(const dpa_account *account, const double *deltas, size_t count,
                                 dpa_interval *out, dpa_error *err) DPA_MUST_USE;
dpa_status dpa__account_deltas(const dpa_account *account, const double *epsilons, size_t count,
                               dpa_interval *out, dpa_error *err) DPA_MUST_USE;

/* Whether an event of the ledger stands for a theorem's upper bound: the ε of its phases is then at
 * least that of the mechanism. */
int dpa__ledger_is_limit(const dpa_ledger *ledger);

/* The μ of the Gaussian mechanism that has the same ε at δ. */
dpa_status dpa__account_mu(const dpa_account *account, double delta, dpa_interval *out,
                           dpa_error *err) DPA_MUST_USE;

/* Other accountants, as cross-checks. Rényi: an upper bound, looser than dpa_account_epsilon.
 * Central limit (GDP): an approximation that can be too small. NaN if the method does not cover one
 * of the phases. */
double dpa__account_rdp_epsilon(const dpa_phase *phases, size_t count, double delta);
/* The Rényi divergence of this order (above 1) of all phases together, add/remove; NaN where it is
 * not known. */
double dpa__account_rdp(const dpa_phase *phases, size_t count, double order);
/* Upper bounds on ε at δ for a mechanism of which only Rényi divergences at some orders (above 1)
 * are known, or only that it is ρ-zCDP. */
double dpa__rdp_epsilon(const double *orders, const double *rdp, size_t count, double delta);
double dpa__zcdp_epsilon(double rho, double delta);
/* ε at δ by the central limit (GDP). */
double dpa__account_gdp_epsilon(const dpa_phase *phases, size_t count, double delta);

/* The same, and whether a better value may have been missed. `unjudged` is a value beyond `value`,
 * on its leaky side, whose interval for ε (unjudged_epsilon) still contains the target at the
 * finest grid allowed: it may meet the target too. NaN if there is none. */
typedef struct dpa_calibration {
    double value;
    dpa_interval epsilon;
    double unjudged;
    dpa_interval unjudged_epsilon;
} dpa_calibration;
dpa_status dpa__calibrate_whole(const dpa_phase *phases, size_t count, dpa_calibrate_what what,
                                double epsilon, double delta, const dpa_account_opts *opts,
                                dpa_calibration *out, dpa_error *err) DPA_MUST_USE;

/* A family: trade-off curves ordered by one number t ≥ 0, leakier as t grows, t=0 perfectly
 * private.
 *
 * - dp: t = ε (δ fixed when the family is made)
 * - gaussian: t = μ
 * - laplace: t = ε₀
 * - subsampled-gaussian:q=0.01,steps=1000: t = 1/σ
 * - points:FILE: t in [0,1], the file's curve diluted (dpa__curve_diluted); t=1 is the file's own
 * - pair:FILE,q=0.01,steps=1000 and ledger:FILE: the same for the curve of a dominating pair, of a
 *   ledger of events */
typedef struct dpa_family dpa_family;

/* `spec` is one of the above, e.g. "gaussian". `delta` in [0,1) is the δ of dp; for families that
 * are composed it is where their curves are most accurate. The caller frees *out. */
dpa_status dpa__family_parse(const char *spec, double delta, dpa_family **out,
                             dpa_error *err) DPA_MUST_USE;
void dpa__family_free(dpa_family *family);
/* 1 for dp, the family that contains every mechanism: a bound in it assumes nothing. */
int dpa__family_is_universal(const char *spec);
/* 1 if t is 1/σ of Gaussian noise (gaussian, subsampled-gaussian). */
int dpa__family_is_noise(const dpa_family *family);
const char *dpa__family_spec(const dpa_family *family);      /* as it was given */
const char *dpa__family_name(const dpa_family *family);      /* "gaussian" */
const char *dpa__family_parameter(const dpa_family *family); /* "mu", "sigma", … */
double dpa__family_value(const dpa_family *family,
                         double t); /* the named parameter at t: σ = 1/t */
double dpa__family_t(const dpa_family *family, double value); /* and back */
double dpa__family_max(const dpa_family *family);             /* INFINITY; 1 for points … */
/* 1 if t is at the end of a family whose leakiest member still hides something (points, pair,
 * ledger; DP-SGD with q < 1). A search that ends there has rejected every member and found no
 * bound. */
int dpa__family_is_spent(const dpa_family *family, double t);
/* The curve of the member at t, for the caller to free. Where the member is known only as an
 * interval, the curve is nowhere above it, so that whoever refutes the curve refutes the member. */
dpa_status dpa__family_curve(const dpa_family *family, double t, dpa_curve **out,
                             dpa_error *err) DPA_MUST_USE;
/* ε at δ of the member at t. */
dpa_status dpa__family_epsilon(const dpa_family *family, double t, double delta, dpa_interval *out,
                               dpa_error *err) DPA_MUST_USE;
/* The t of a claim: the most private member whose ε at δ is certainly no less, to 1e-9; the
 * leakiest one if all are below. */
dpa_status dpa__family_claim(const dpa_family *family, double epsilon, double delta, double *t,
                             dpa_error *err) DPA_MUST_USE;

#endif
