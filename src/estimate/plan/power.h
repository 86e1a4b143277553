/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Planning an audit: what can it show, and how many observations does it need?
 *
 * A plan has a claim, a suspected truth, a game and a method. Its power is the probability that
 * the audit's lower bound exceeds the claim if the attack is as good as the truth allows. The
 * power is exact where the sample is binomial, elsewhere simulated and given with its standard
 * error. */
#ifndef DPA_ESTIMATE_POWER_H
#define DPA_ESTIMATE_POWER_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/status.h"
#include "estimate/estimate.h"

/* What one observation is. A size n means: */
typedef enum dpa_plan_game {
    DPA_PLAN_RUNS,    /* n trained models with the point and n without it */
    DPA_PLAN_STEPS,   /* n noisy steps of one run with a canary and n without; the accountant turns
                         what a step shows into a bound for the whole run */
    DPA_PLAN_ONE_RUN, /* n canaries of one run, each in or out by a coin */
    DPA_PLAN_COSINES  /* n canaries, all in, compared with the final model */
} dpa_plan_game;
enum { DPA_PLAN_GAMES = 4 };
const char *dpa__plan_game_name(dpa_plan_game game); /* NULL past the last */
/* The methods of a game for a family at δ, in the order of the table; NULL past the last. Expensive
 * or weak methods are not listed but can be named: "pointwise" for one run, "recursion" for dp, and
 * "sequential" for a family that the accountant computes. Cosines have "jeffreys" with a threshold
 * fixed before, and "jeffreys-split" with one learned from half of the canaries (the default of the
 * command `cosines`). */
const char *dpa__plan_method(dpa_plan_game game, const char *family, double delta, size_t index);

typedef struct dpa_plan {
    dpa_plan_game game;
    const char *method; /* "cp", "rank", "recursion", "mean", … */
    const char *family; /* assumed by the audit; always "gaussian" for steps */
    /* The claim: ε at δ, or the training's noise; the other is NaN. */
    double claim_epsilon, claim_sigma;
    /* The suspected truth, given the same way. If it is an ε, the mechanism is the member of the
     * family `truth` with this ε ("": the Gaussian mechanism; "laplace", "dp", …); if it is a σ, it
     * is the training itself. One run and cosines use the Gaussian mechanism with the same ε at δ.
     */
    double truth_epsilon, truth_sigma;
    const char *truth;
    double q;       /* sampling rate and steps of the training, for the two σ and DPA_PLAN_STEPS */
    uint64_t steps; /* 1 and 1 by default */
    double delta, confidence;
    uint64_t seed;    /* of simulations and of the simulated audits */
    uint64_t audits;  /* audits to simulate for "sequential", 1 to 2000: 200 */
    unsigned threads; /* 0: as many as the machine has */
    dpa_progress progress;
    struct dpa__known *known; /* powers that other plans of the command computed; NULL: none kept */
} dpa_plan;
/* The defaults: game runs, method cp, family dp, no claim and no suspected truth. */
DPA_API void dpa__plan_init(dpa_plan *plan);

typedef struct dpa_plan_answer {
    uint64_t size;    /* n */
    double power;     /* Pr[the claim is refuted] */
    double error;     /* standard error of `power`; 0 if it was computed exactly */
    double threshold; /* for scores that are N(0,1) without the point; NaN: none, or learned */
    uint64_t guesses; /* number of guesses in one run; else 0 */
} dpa_plan_answer;

/* The power of an audit with n observations, at the threshold or guess count that is best for the
 * suspected truth. n is at most 1e5 for counts and "sequential", else at most 1e9. */
DPA_API dpa_status dpa__ask_power(const dpa_plan *plan, uint64_t n, dpa_plan_answer *out,
                                  dpa_error *err) DPA_MUST_USE;
/* The same at many sizes. */
dpa_status dpa__plan_curve(const dpa_plan *plan, const uint64_t *sizes, size_t count,
                           dpa_plan_answer *out, dpa_error *err) DPA_MUST_USE;
/* The power at one threshold (methods from counts only). */
dpa_status dpa__plan_power_at(const dpa_plan *plan, uint64_t n, double threshold, double *power,
                              dpa_error *err) DPA_MUST_USE;
/* The n that reaches `power`, up to `most` (out->size is 0 if `most` is not enough). The power from
 * counts is not quite monotone in n: a slightly smaller n may do as well. */
dpa_status dpa__ask_size(const dpa_plan *plan, double power, uint64_t most, dpa_plan_answer *out,
                         dpa_error *err) DPA_MUST_USE;
typedef struct dpa_plan_leak {
    double epsilon;
    double error; /* its standard error if it was simulated, else 0 */
} dpa_plan_leak;
/* The smallest true ε that n observations show to be above the claim with this power, to 1e-3
 * (simulated: to 0.5%); INFINITY above 100. Of the plan's suspected truth only the family is used.
 * The law of rank statistics is taken as normal. */
dpa_status dpa__ask_detectable(const dpa_plan *plan, uint64_t n, double power, dpa_plan_leak *out,
                               dpa_error *err) DPA_MUST_USE;

/* When an audit with the method "sequential" stops, counted in pairs. The numbers, each with its
 * standard error, come from simulated audits that give up after `most` pairs. A number is INFINITY
 * if too many gave up: any at all for the mean, half for the median, a tenth for `late`. */
typedef struct dpa_plan_stops {
    uint64_t most, audits, refuted;
    double mean, mean_error;
    double median, median_error;
    double late, late_error; /* nine of ten audits have refuted the claim by then */
} dpa_plan_stops;
dpa_status dpa__ask_stop(const dpa_plan *plan, uint64_t most, dpa_plan_stops *out,
                         dpa_error *err) DPA_MUST_USE;
/* The best bound that n observations can give: every answer is right. NaN for methods without such
 * a limit (cosines). For "sequential": after n pairs that all bet against the claim until it is
 * refuted. */
dpa_status dpa__ask_most(const dpa_plan *plan, uint64_t n, double *out,
                         dpa_error *err) DPA_MUST_USE;
/* The ceiling: with this many answers no valid method that looks only at right and wrong answers,
 * and whose bound does not fall if answers get better, can certify more than this. Reason: take the
 * point of a member's curve where both errors are equal. There all N answers are right with
 * probability r^N, and a bound above the member's ε is then wrong, so r^N must be at most 1 −
 * confidence. INFINITY if there is no finite limit (for a training also if the limit is beyond σ =
 * 1/4). */
DPA_API dpa_status dpa__plan_ceiling(const char *family, uint64_t observations, double delta,
                                     double confidence, double *out, dpa_error *err) DPA_MUST_USE;

/* The precision of an estimate of ε: two-sided intervals for an attack with these error rates, from
 * the expected counts (rounded) of n members and n non-members. Methods "cp", "jeffreys", "bayes";
 * at δ = 0 also the ratio intervals. */
typedef struct dpa_precision {
    const char *family, *method;
    double fnr, fpr, delta, confidence;
    dpa_progress progress; /* asked before each size that is tried */
} dpa_precision;
typedef struct dpa_precision_answer {
    uint64_t size; /* n */
    double lower, upper;
} dpa_precision_answer;
/* The interval at n members and n non-members. */
dpa_status dpa__plan_interval(const dpa_precision *plan, uint64_t n, dpa_precision_answer *out,
                              dpa_error *err) DPA_MUST_USE;
/* The smallest n found at which the interval is at most 2·half wide; out->size is 0 if `most` is
 * not enough. */
dpa_status dpa__plan_half_width(const dpa_precision *plan, double half, uint64_t most,
                                dpa_precision_answer *out, dpa_error *err) DPA_MUST_USE;

#endif
