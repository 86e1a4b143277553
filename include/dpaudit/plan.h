/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Before an audit: what can it show, and how much of it is needed?
 *
 * A plan has a claim, a suspected truth, a game and a method. Its power is the probability that the
 * audit's lower bound exceeds the claim when the attack is as good as the truth allows. Exact where
 * the sample is binomial; simulated, with its standard error, elsewhere. */
#ifndef DPAUDIT_PLAN_H
#define DPAUDIT_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/estimate.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

/* What one observation is; a size n is … */
typedef enum dpa_plan_game {
    DPA_PLAN_RUNS,    /* n trained models with the point and n without it */
    DPA_PLAN_STEPS,   /* n noisy steps of one run with a canary in them and n without one: what a
                         step shows goes to the whole run through the accountant */
    DPA_PLAN_ONE_RUN, /* n canaries of one run, each in or out by a coin */
    DPA_PLAN_COSINES  /* n canaries, all in, compared with the final model */
} dpa_plan_game;
enum { DPA_PLAN_GAMES = 4 };
DPA_API const char *dpa_plan_game_name(dpa_plan_game game); /* NULL past the last */
/* The methods of a game for a family at δ, in the order of the table: NULL past the last. Methods
 * that cost much or show little are not listed but can be named: "pointwise" of one run, for dp
 * "recursion", and for a family that the accountant makes "sequential". Cosines have "jeffreys"
 * with a threshold fixed before and "jeffreys-split" with one learned from half of the canaries, as
 * the command `cosines` does unless it is told otherwise. */
DPA_API const char *dpa_plan_method(dpa_plan_game game, const char *family, double delta,
                                    size_t index);

typedef struct dpa_plan {
    dpa_plan_game game;
    const char *method; /* "cp", "rank", "recursion", "mean", … */
    const char *family; /* that the audit assumes; of steps always "gaussian" */
    /* The claim: ε at δ, or the noise of the training; the other is NaN. */
    double claim_epsilon, claim_sigma;
    /* The truth that is suspected, likewise. With ε it is a member of the family `truth` ("": the
     * Gaussian mechanism; "laplace", "dp", …), with σ the training itself. One run and cosines take
     * the Gaussian mechanism of the same ε at δ. */
    double truth_epsilon, truth_sigma;
    const char *truth;
    double q; /* the training: sampling rate and steps, for the two σ and for DPA_PLAN_STEPS */
    uint64_t steps; /* 1 and 1 by default */
    double delta, confidence;
    uint64_t seed;    /* of simulations, and of the audit's own */
    uint64_t audits;  /* simulated for "sequential", 1 to 2000: 200 */
    unsigned threads; /* 0: as many as the machine has */
    dpa_progress progress;
} dpa_plan;
/* Runs by cp, family dp, nothing claimed or suspected. */
DPA_API void dpa_plan_init(dpa_plan *plan);

typedef struct dpa_plan_answer {
    uint64_t size;    /* n */
    double power;     /* Pr[the claim is refuted] */
    double error;     /* its standard error; 0 where it is computed and not simulated */
    double threshold; /* of a score that is N(0,1) without the point; NaN: none, or learned */
    uint64_t guesses; /* of one run; else 0 */
} dpa_plan_answer;

/* The power of an audit with n observations (1 to 1e5 for counts and "sequential", else to 1e9), at
 * the threshold or guess count that suits the suspected truth. */
DPA_API dpa_status dpa_plan_power(const dpa_plan *plan, uint64_t n, dpa_plan_answer *out,
                                  dpa_error *err) DPA_MUST_USE;
/* The same at many sizes. */
DPA_API dpa_status dpa_plan_curve(const dpa_plan *plan, const uint64_t *sizes, size_t count,
                                  dpa_plan_answer *out, dpa_error *err) DPA_MUST_USE;
/* The power at one threshold (methods from counts only). */
DPA_API dpa_status dpa_plan_power_at(const dpa_plan *plan, uint64_t n, double threshold,
                                     double *power, dpa_error *err) DPA_MUST_USE;
/* The n that reaches `power`, up to `most` (out->size is 0 where that does not do). Powers of
 * counts have small teeth: a slightly smaller n may do as well. */
DPA_API dpa_status dpa_plan_size(const dpa_plan *plan, double power, uint64_t most,
                                 dpa_plan_answer *out, dpa_error *err) DPA_MUST_USE;
typedef struct dpa_plan_leak {
    double epsilon;
    double error; /* its standard error where it is simulated, else 0 */
} dpa_plan_leak;
/* The smallest true ε that n observations show to be above the claim with `power`, to 1e-3
 * (INFINITY above 100; simulated ones to 0.5%); the plan's own truth says of which family, its size
 * is not looked at. Ranks by their normal law. */
DPA_API dpa_status dpa_plan_detectable(const dpa_plan *plan, uint64_t n, double power,
                                       dpa_plan_leak *out, dpa_error *err) DPA_MUST_USE;

/* When does an audit that may stop at any time stop? Method "sequential" only. In pairs, from
 * simulated audits that give up after `most`; each with its standard error. INFINITY where too many
 * gave up: one for the mean, half for the median, a tenth for `late`. */
typedef struct dpa_plan_stops {
    uint64_t most, audits, refuted;
    double mean, mean_error;
    double median, median_error;
    double late, late_error; /* by then nine of ten have refuted the claim */
} dpa_plan_stops;
DPA_API dpa_status dpa_plan_stop(const dpa_plan *plan, uint64_t most, dpa_plan_stops *out,
                                 dpa_error *err) DPA_MUST_USE;
/* The bound that the method gives when n observations leave nothing to be desired: every answer
 * right. NaN for a method that has no such limit (cosines). Of "sequential": after n pairs, the
 * claim being what it bets against until it falls. */
DPA_API dpa_status dpa_plan_most(const dpa_plan *plan, uint64_t n, double *out,
                                 dpa_error *err) DPA_MUST_USE;
/* The ceiling: no valid method that looks at right and wrong answers, and whose bound does not fall
 * when answers get better, certifies more than this with `observations` answers. Where both errors
 * of a member's curve are alike, all answers are right with probability r^N; a bound above its ε
 * there is wrong that often, so r^N must not be above 1 − confidence. INFINITY for no finite limit
 * (of a training also for one beyond σ = 1/4). */
DPA_API dpa_status dpa_plan_ceiling(const char *family, uint64_t observations, double delta,
                                    double confidence, double *out, dpa_error *err) DPA_MUST_USE;

/* How precise is an estimate of ε? Two-sided intervals of an attack with these error rates, from
 * the expected counts (rounded) of n members and n non-members. Methods "cp", "jeffreys", "bayes";
 * at δ = 0 also the ratio intervals. */
typedef struct dpa_precision {
    const char *family, *method;
    double fnr, fpr, delta, confidence;
} dpa_precision;
typedef struct dpa_precision_answer {
    uint64_t size; /* n */
    double lower, upper;
} dpa_precision_answer;
DPA_API dpa_status dpa_plan_interval(const dpa_precision *plan, uint64_t n,
                                     dpa_precision_answer *out, dpa_error *err) DPA_MUST_USE;
/* The n at which the interval is no wider than twice `half`; out->size is 0 where `most` does not
 * do. */
DPA_API dpa_status dpa_plan_half_width(const dpa_precision *plan, double half, uint64_t most,
                                       dpa_precision_answer *out, dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
