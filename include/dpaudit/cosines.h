/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One-shot estimates from canary cosines (one-shot-federated, Algorithms 1–3).
 *
 * What comes out is an estimate of ε for one attacker, who compares a canary's direction with what
 * was released; it is not a bound on what other attackers can do. The exception is
 * dpa_cosines_lower, a lower bound for the same attacker. */
#ifndef DPAUDIT_COSINES_H
#define DPAUDIT_COSINES_H

#include <stddef.h>

#include "dpaudit/account.h"
#include "dpaudit/canary.h"
#include "dpaudit/estimate.h"
#include "dpaudit/evidence.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

/* ── the null: a canary that was not there ───────────────────────────────────────────── */

/* log Pr[τ ≥ t] for the cosine τ of a random direction with any fixed one in R^dim: t² has the law
 * Beta(½, (dim−1)/2), exactly (Proposition 3.1). t in [−1,1], dim ≥ 2; NaN elsewhere. */
DPA_API double dpa_cosine_null_log_upper(double t, size_t dim);
/* No less than log Pr[τ ≥ t] for a direction of random signs, whatever the fixed one is: the
 * smallest of log ½ for t > 0, Hoeffding's −t²·dim/2 and a normal tail times 3.178 (Bentkus and
 * Dzindzalieta 2015). */
DPA_API double dpa_cosine_signs_log_upper(double t, size_t dim);
/* The largest distance between its distribution and N(0, 1/dim)'s: what the estimators below
 * neglect. */
DPA_API double dpa_cosine_null_distance(size_t dim);

/* ── fits ────────────────────────────────────────────────────────────────────────────── */

typedef struct dpa_cosine_fit {
    size_t count;
    double mean;
    double deviation; /* divided by count, as in the paper */
} dpa_cosine_fit;

/* Each number finite and in [−1, 1]; at least one. */
DPA_API dpa_status dpa_cosine_fit_sample(const double *cosines, size_t count, dpa_cosine_fit *out,
                                         dpa_error *err) DPA_MUST_USE;

/* A² of Anderson and Darling for normality with fitted mean and deviation, and its p-value
 * (Stephens). NaN below 8 values or when all are equal. */
DPA_API dpa_status dpa_anderson_darling(const double *sample, size_t count, double *statistic,
                                        double *p_value, dpa_error *err) DPA_MUST_USE;

/* ── estimates ───────────────────────────────────────────────────────────────────────── */

typedef struct dpa_cosine_estimate {
    double epsilon;
    double lower, upper; /* two-sided interval at the confidence asked for */
    double mean;         /* of the alternative, in deviations of the null */
    double deviation;    /* likewise */
} dpa_cosine_estimate;

/* Final model, the alternative's deviation kept at the null's 1/√dim. The interval is exact for
 * normal cosines of that deviation: mean·√dim ± z/√count. */
DPA_API dpa_status dpa_cosines_mean(const dpa_cosine_fit *fit, size_t dim, double delta,
                                    double confidence, dpa_cosine_estimate *out,
                                    dpa_error *err) DPA_MUST_USE;
/* Final model, deviation fitted too (Algorithms 1 and 2), the larger of both directions. Biased
 * upwards: an error of the fitted deviation raises ε whichever way it goes. The interval is the
 * range of ε over the exact joint region of mean and deviation (normal and chi-squared pivots), so
 * it covers at least as often as asked for. Two values or more, not all equal. */
DPA_API dpa_status dpa_cosines_mean_and_deviation(const dpa_cosine_fit *fit, size_t dim,
                                                  double delta, double confidence,
                                                  dpa_cosine_estimate *out,
                                                  dpa_error *err) DPA_MUST_USE;
/* `mean` without the crowd: every canary of the run lengthens the model that the others are
 * compared with, and so do the clients. With canaries of equal part in it, ‖θ‖² = a²·(k + g +
 * d/μ²), a a canary's part, k = `canaries` of them, g the squared length of the clients' part (of
 * all but canaries and noise) in units of a²: 1/μ² = 1/μ̂² − (k + g)/d. g = 0 leaves the clients in.
 * An estimate; the interval is that of `mean`, corrected. Where less than a twentieth of the length
 * is left the correction stands on nothing: all NaN. */
DPA_API dpa_status dpa_cosines_corrected(const dpa_cosine_fit *fit, size_t dim, double canaries,
                                         double clients, double delta, double confidence,
                                         dpa_cosine_estimate *out, dpa_error *err) DPA_MUST_USE;
/* The share of the model's squared length that such canaries and clients are, by the mean cosine.
 */
DPA_API double dpa_cosines_crowd(const dpa_cosine_fit *fit, double canaries, double clients);
/* All iterates (Algorithm 3): largest cosines over the rounds, of unobserved canaries and of
 * observed ones, both fitted. The interval is the range of ε over a large-sample rectangle of
 * standardised mean and log deviation, half of the error for each. */
DPA_API dpa_status dpa_cosines_all_iterates(const dpa_cosine_fit *unobserved,
                                            const dpa_cosine_fit *observed, double delta,
                                            double confidence, dpa_cosine_estimate *out,
                                            dpa_error *err) DPA_MUST_USE;

/* ── a lower bound ───────────────────────────────────────────────────────────────────── */

/* What was observed. Without `unobserved` the cosines are with the final model and the null is the
 * exact one, for signs an upper limit of it; with it both are largest cosines over the rounds and
 * the null is that sample. */
typedef struct dpa_cosines {
    const double *observed;
    size_t observed_count;
    const double *unobserved; /* NULL: none */
    size_t unobserved_count;
    size_t dim;              /* not used with `unobserved` */
    dpa_direction direction; /* of the canaries (sphere) */
} dpa_cosines;

typedef struct dpa_cosine_bound {
    double epsilon;
    double threshold;
    double fnr_upper, log_fpr;
    size_t missed, count; /* observed canaries below the threshold, of those used for the bound */
} dpa_cosine_bound;

/* ε from "cosine ≥ threshold": Jeffreys limit on the FNR at 1 − confidence and the exact FPR (or
 * Jeffreys on both with half of the error each). The canaries count as independent.
 * select: "fixed:T" is that threshold; "split" chooses it on one random half and bounds on the
 * other; "simultaneous" has limits that hold at every threshold at once (Berk–Jones, no prior) and
 * takes the best; "max" takes the best on all, which is what the papers do and is optimistic. */
DPA_API dpa_status dpa_cosines_lower(const dpa_cosines *cosines, const char *select, double delta,
                                     double confidence, uint64_t seed, dpa_cosine_bound *out,
                                     dpa_error *err) DPA_MUST_USE;

/* ── known rounds: a certificate ─────────────────────────────────────────────────────── */

/* How often a client takes part, as the claim has it. */
typedef struct dpa_participation_rule {
    double times;    /* rounds that the attacker knows the client to be in, at most */
    double q;        /* Poisson: its probability in each of `rounds` rounds; NaN: not Poisson */
    uint64_t rounds; /* of Poisson participation */
} dpa_participation_rule;

/* ε of a whole training whose rounds are Gaussian mechanisms of noise multiplier `sigma`, as an
 * interval that holds it: `times` rounds composed, or with q the Poisson-subsampled ones. sigma =
 * 0: infinite. */
DPA_API dpa_status dpa_participation_epsilon(const dpa_participation_rule *rule, double sigma,
                                             double delta, dpa_interval *out,
                                             dpa_error *err) DPA_MUST_USE;

/* Scores of canaries over their own rounds (dpa_canaries_own_score, dpa_federation_known), observed
 * and unobserved: the rounds of all were drawn by one rule before it was drawn who takes part. */
typedef struct dpa_known_rounds {
    const double *observed;
    size_t observed_count;
    const double *unobserved;
    size_t unobserved_count;
    double canary_rounds;        /* the most rounds that one of these canaries has */
    double spread;               /* dpa_canaries_own_spread: 1 for Hadamard canaries */
    dpa_participation_rule rule; /* what ε is to be about */
    dpa_direction direction;
} dpa_known_rounds;

/* The largest μ of one round that (ε,δ) allows for the rule of `known`; INFINITY: any. */
DPA_API dpa_status dpa_known_rounds_claim(const dpa_known_rounds *known, double epsilon,
                                          double delta, double *mu, dpa_error *err) DPA_MUST_USE;

/* "known-rounds": ranks of the observed among the unobserved (four fifths of the error) and the
 * scan (the rest; it sees canaries of which only a few leak much), in the Gaussian family, give the
 * smallest μ of a canary that the scores do not contradict; divided by spread·√canary_rounds it is
 * that of one round; the accountant makes ε of it for the rule. A lower bound at
 * request->confidence, about the whole training. request->claim_epsilon (NaN: none) is compared
 * with that; `p_value` is the claim's. request->method "rank": ranks alone, with all of the error.
 * Needs independent Gaussian noise and a divisor that does not depend on the canaries
 * (docs/methods/known-rounds.md). */
DPA_API dpa_status dpa_known_rounds_result(const dpa_known_rounds *known,
                                           const dpa_request *request, dpa_result *out,
                                           dpa_lints *lints, dpa_error *err) DPA_MUST_USE;

/* ── everything that applies ─────────────────────────────────────────────────────────── */

/* Adds results for request->method ("" for all): "mean", "mean-and-deviation", "jeffreys" without
 * `unobserved`, "all-iterates", "jeffreys" with it; and what is odd to `lints`. */
DPA_API dpa_status dpa_cosines_results(const dpa_cosines *cosines, const dpa_request *request,
                                       dpa_results *results, dpa_lints *lints,
                                       dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
