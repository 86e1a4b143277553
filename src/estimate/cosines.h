/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One-shot estimates from canary cosines (one-shot-federated, Algorithms 1–3).
 *
 * What comes out is an estimate of ε for one attacker, who compares a canary's direction with what
 * was released; it is not a bound on what other attackers can do. The exception is
 * dpa__cosines_lower, a lower bound for the same attacker. */
#ifndef DPA_ESTIMATE_COSINES_H
#define DPA_ESTIMATE_COSINES_H

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
 * dpa__onerun_channels is the test. `p_value` belongs to request->claim_epsilon (NaN: none), a
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

/* ── everything that applies ─────────────────────────────────────────────────────────── */

#endif
