/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files on cosines share. */
#ifndef DPA_ESTIMATE_COSINE_H
#define DPA_ESTIMATE_COSINE_H

#include <stddef.h>

#include "estimate/cosines.h"

/* What a method of the registry works on. */
enum { DPA__COSINES_FINAL = 1, DPA__COSINES_ROUNDS = 2 };

/* Hadamard canaries treated as random signs, which each of them is by itself; others unchanged. */
dpa_cosines dpa__cosines_as_signs(const dpa_cosines *cosines);

/* A sorted copy; NULL if memory ran out. */
double *dpa__cosine_sorted(const double *x, size_t count, dpa_error *err);
void dpa__cosine_sort(double *x, size_t count);

/* The threshold that `split` learns from one half of the canaries (ascending) for the other half,
 * when a cosine is normal, in units of its deviation. limit[k] is the Jeffreys limit at p after k
 * of `count` were missed. */
double dpa__cosine_learn(double *sorted, size_t count, double delta, double p, const double *limit);

/* With more canaries the law of the scan takes more than seconds. */
enum { DPA__COSINE_SCAN_MOST = 200000 };
/* Upper limits of the FNR at all thresholds at once, by the scan: limit[missed] after that many of
 * `count` were missed, together wrong with probability p at most; limit has count + 1 elements. */
dpa_status dpa__cosine_scan_limits(size_t count, double p, double *limit,
                                   dpa_error *err) DPA_MUST_USE;

/* The bound from those limits, with the exact null: the best over all thresholds. */
dpa_status dpa__cosines_scan(const dpa_cosines *cosines, double delta, double confidence,
                             dpa_cosine_bound *out, dpa_error *err) DPA_MUST_USE;

/* An upper bound on log Pr[τ ≥ t] for a direction of random signs and any fixed vector: the
 * smallest of log ½ (for t > 0), Hoeffding's −t²·dim/2, and a normal tail times 3.178 (Bentkus and
 * Dzindzalieta 2015). */
double dpa__cosine_signs_log_upper(double t, size_t dim);

/* The largest distance between the distribution function of that cosine and the one of N(0, 1/dim),
 * which the estimators below use instead. */
double dpa__cosine_null_distance(size_t dim);

/* dpa__cosines_mean, corrected for everything else that lengthens the model: all other canaries of
 * the run, and the clients. If all canaries contribute equally, ‖θ‖² = a²·(k + g + d/μ²), where a
 * is the contribution of one canary, k = `canaries` their number, and g = `clients` the squared
 * length of the clients' part (all but canaries and noise) in units of a². Hence 1/μ² = 1/μ̂² − (k +
 * g)/d. g = 0 does not correct for the clients. An estimate; the interval is that of `mean`,
 * corrected in the same way. All NaN if less than a twentieth of the squared length is left, as the
 * correction would then be mostly noise. */
dpa_status dpa__cosines_corrected(const dpa_cosine_fit *fit, size_t dim, double canaries,
                                  double clients, double delta, double confidence,
                                  dpa_cosine_estimate *out, dpa_error *err) DPA_MUST_USE;

/* The share of the model's squared length that such canaries and clients make up, by the mean
 * cosine. */
double dpa__cosines_crowd(const dpa_cosine_fit *fit, double canaries, double clients);

/* For all iterates (Algorithm 3): the largest cosines over the rounds of unobserved and of observed
 * canaries, both fitted. The interval is the range of ε over a large-sample rectangle of
 * standardised mean and log deviation, with half of the error for each. */
dpa_status dpa__cosines_all_iterates(const dpa_cosine_fit *unobserved,
                                     const dpa_cosine_fit *observed, double delta,
                                     double confidence, dpa_cosine_estimate *out,
                                     dpa_error *err) DPA_MUST_USE;

/* A lower bound on ε from the attack "cosine ≥ threshold": the Jeffreys limit on the FNR at 1 −
 * confidence with the exact FPR, or, if the null is a sample, Jeffreys limits on both with half of
 * the error each. The canaries are treated as independent. select: "fixed:T" uses that threshold;
 * "split" chooses it on one random half and bounds on the other; "simultaneous" uses limits that
 * hold at every threshold at once (Berk–Jones, no prior) and takes the best; "max" takes the best
 * on all data, as the papers do, and is optimistic. */
dpa_status dpa__cosines_lower(const dpa_cosines *cosines, const char *select, double delta,
                              double confidence, uint64_t seed, dpa_cosine_bound *out,
                              dpa_error *err) DPA_MUST_USE;

/* An interval for ε of a whole training whose rounds are Gaussian mechanisms with noise multiplier
 * `sigma`: `times` rounds composed or, if q is given, all Poisson-subsampled ones. Infinite for
 * sigma = 0. */
dpa_status dpa__participation_epsilon(const dpa_participation_rule *rule, double sigma,
                                      double delta, dpa_interval *out, dpa_error *err) DPA_MUST_USE;

/* The largest μ of one round that (ε,δ) allows under the rule of `known`; INFINITY: any. */
dpa_status dpa__known_rounds_claim(const dpa_known_rounds *known, double epsilon, double delta,
                                   double *mu, dpa_error *err) DPA_MUST_USE;

/* Runs request->method ("": all that apply) and appends to `results`: "mean", "mean-and-deviation",
 * "jeffreys" and "scan" without `unobserved`; "all-iterates", "jeffreys" and "scan" with it. Adds a
 * lint for anything odd. */
dpa_status dpa__cosines_results(const dpa_cosines *cosines, const dpa_request *request,
                                dpa_results *results, dpa_lints *lints,
                                dpa_error *err) DPA_MUST_USE;

#endif
