/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One-shot estimates from canary cosines (one-shot-federated, Algorithms 1–3).
 *
 * What comes out is an estimate of ε for one attacker, who compares a canary's direction with what
 * was released; it is not a bound on what other attackers can do. The exception is
 * dpa__cosines_lower, a lower bound for the same attacker. */
#ifndef DPA_ESTIMATE_COSINE_H
#define DPA_ESTIMATE_COSINE_H

#include <stddef.h>

#include "account/account.h"
#include "dpaudit/status.h"
#include "estimate/estimate.h"
#include "evidence/canary.h"
#include "evidence/evidence.h"

/* ── the null: a canary that was not there ───────────────────────────────────────────── */

/* log Pr[τ ≥ t] for the cosine τ of a random direction with any fixed one in R^dim: t² has the law
 * Beta(½, (dim−1)/2), exactly (Proposition 3.1). t in [−1,1], dim ≥ 2; NaN elsewhere. */
DPA_API double dpa__cosine_null_log_upper(double t, size_t dim);

/* ── fits ────────────────────────────────────────────────────────────────────────────── */

typedef struct dpa_cosine_fit {
    size_t count;
    double mean;
    double deviation; /* divided by count, as in the paper */
} dpa_cosine_fit;

/* At least one cosine; each must be finite and in [−1, 1]. */
dpa_status dpa__cosine_fit_sample(const double *cosines, size_t count, dpa_cosine_fit *out,
                                  dpa_error *err) DPA_MUST_USE;

/* The Anderson–Darling statistic A² for normality with fitted mean and deviation, and its p-value
 * (Stephens). NaN for fewer than 8 values or if all are equal. */
dpa_status dpa__anderson_darling(const double *sample, size_t count, double *statistic,
                                 double *p_value, dpa_error *err) DPA_MUST_USE;

/* ── estimates ───────────────────────────────────────────────────────────────────────── */

typedef struct dpa_cosine_estimate {
    double epsilon;
    double lower, upper; /* two-sided interval at the confidence asked for */
    double mean;         /* of the alternative, in deviations of the null */
    double deviation;    /* likewise */
} dpa_cosine_estimate;

/* For cosines with the final model; the deviation of the alternative is taken as the null's,
 * 1/√dim. The interval is exact for normal cosines with that deviation: mean·√dim ± z/√count. */
dpa_status dpa__cosines_mean(const dpa_cosine_fit *fit, size_t dim, double delta, double confidence,
                             dpa_cosine_estimate *out, dpa_error *err) DPA_MUST_USE;
/* For cosines with the final model, with a fitted deviation too (Algorithms 1 and 2); the larger of
 * both directions. Biased upwards, because an error of the fitted deviation raises ε in either
 * direction. The interval is the range of ε over the exact joint region of mean and deviation
 * (normal and chi-squared pivots), so it covers at least as often as asked for. Needs at least two
 * values that are not all equal. */
dpa_status dpa__cosines_mean_and_deviation(const dpa_cosine_fit *fit, size_t dim, double delta,
                                           double confidence, dpa_cosine_estimate *out,
                                           dpa_error *err) DPA_MUST_USE;

/* ── a lower bound ───────────────────────────────────────────────────────────────────── */

/* What was observed. If `unobserved` is NULL, the cosines are with the final model, and the null is
 * the exact law (for signs an upper bound on it). Otherwise both samples are largest cosines over
 * the rounds, and `unobserved` is the null. */
typedef struct dpa_cosines {
    const double *observed;
    size_t observed_count;
    const double *unobserved; /* NULL: none */
    size_t unobserved_count;
    size_t dim;              /* not used with `unobserved` */
    dpa_direction direction; /* of the canaries (sphere) */
    size_t runs;             /* number of equal trainings they come from; 0: one */
} dpa_cosines;

typedef struct dpa_cosine_bound {
    double epsilon;
    double threshold;
    double fnr_upper, log_fpr;
    size_t missed, count; /* observed canaries below the threshold, of all used for the bound */
} dpa_cosine_bound;

/* ── known rounds: a certificate ─────────────────────────────────────────────────────── */

/* How often a client takes part, according to the claim. */
typedef struct dpa_participation_rule {
    double times;    /* the most rounds that the attacker knows the client to be in */
    double q;        /* Poisson: its probability in each of `rounds` rounds; NaN: not Poisson */
    uint64_t rounds; /* of Poisson participation */
} dpa_participation_rule;

/* Scores of observed and unobserved canaries, each over its own rounds (dpa__canaries_own_score,
 * dpa_federation_known). The rounds of all canaries must have been drawn by one rule before it was
 * drawn which ones take part. */
typedef struct dpa_known_rounds {
    const double *observed;
    size_t observed_count;
    const double *unobserved;
    size_t unobserved_count;
    double canary_rounds;        /* the most rounds that any of these canaries has */
    double spread;               /* dpa__canaries_own_spread: 1 for Hadamard canaries */
    dpa_participation_rule rule; /* the participation that ε shall be about */
    dpa_direction direction;
} dpa_known_rounds;

/* The method "known-rounds": a lower bound at request->confidence on what the rounds of one canary
 * leak. In the Gaussian family (request->family "" or "gaussian") two tests give the smallest μ of
 * a canary that the scores do not contradict: ranks of the observed among the unobserved canaries
 * (with four fifths of the error), and the scan (one fifth; it finds leaks of a few canaries only);
 * μ divided by the spread is the bound. request->method "rank" uses ranks alone, with all of the
 * error. In another family, `dp` for any mechanism, the canaries must not overlap (spread 1), and
 * dpa__one_run_channels is the test. `p_value` belongs to request->claim_epsilon (NaN: none), a
 * claim about a training with the rule of `known`. Needs independent noise, and a divisor of the
 * sum that does not depend on the canaries (docs/methods/known-rounds.md). */
dpa_status dpa__known_rounds_participation(const dpa_known_rounds *known,
                                           const dpa_request *request, dpa_result *out,
                                           dpa_lints *lints, dpa_error *err) DPA_MUST_USE;

/* What that bound means for a whole training with the rule of `known`. If clients take part as the
 * canaries did, a bound in another family than the Gaussian one is that of the training as it
 * stands. Else the noise of one round that it shows goes through the accountant; DPA_BAD_ARGUMENT
 * if the family says nothing about that. */
dpa_status dpa__known_rounds_training(const dpa_known_rounds *known,
                                      const dpa_result *participation, double delta,
                                      dpa_result *out, dpa_error *err) DPA_MUST_USE;

/* ── what the files on cosines share, and the judge ────────────────────────────────────────── */

/* What a method of the registry works on. */
enum { DPA__COSINES_FINAL = 1, DPA__COSINES_ROUNDS = 2 };

/* A sorted copy; NULL if memory ran out. */
double *dpa__cosine_sorted(const double *x, size_t count, dpa_error *err);

/* An upper limit of the FNR, and what a bound at δ takes of it. */
typedef struct dpa__missed {
    double fnr, log_fnr,
        log_rest; /* log_rest: log(1 − δ − fnr); −INFINITY where that is negative */
} dpa__missed;
dpa__missed dpa__cosine_missed(double fnr, double delta);

/* The threshold that `split` learns from one half of the canaries (ascending) for the other half,
 * when a cosine is normal, in units of its deviation. limit[k] is the Jeffreys limit after k of
 * `count` were missed. */
double dpa__cosine_learn(double *sorted, size_t count, double delta, const dpa__missed *limit);

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
