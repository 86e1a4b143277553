/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Before an audit: what can it show, and how much of it is needed?
 *
 * The claim is "at most claim_epsilon at delta"; the suspected truth is a Gaussian mechanism whose
 * ε at the same δ is truth_epsilon, attacked as well as possible. A plan says how probable it is
 * that an audit refutes the claim (its power). */
#ifndef DPAUDIT_PLAN_H
#define DPAUDIT_PLAN_H

#include <stdint.h>

#include "dpaudit/estimate.h"
#include "dpaudit/status.h"

typedef enum dpa_plan_method {
    DPA_PLAN_CP,     /* n members and n non-members (runs, or white-box steps), one threshold fixed
                        before, Clopper–Pearson limits. Exact */
    DPA_PLAN_RANK,   /* the same, ranks; gaussian only. Normal law of the statistic */
    DPA_PLAN_ONE_RUN /* n canaries in one run, the guess count fixed before. The right guesses are
                        taken as binomial */
} dpa_plan_method;
enum { DPA_PLAN_METHODS = 3 };
DPA_API const char *dpa_plan_method_name(dpa_plan_method method); /* NULL past the last */

typedef struct dpa_plan {
    dpa_plan_method method;
    const char *family; /* that the audit assumes: "dp" or "gaussian" */
    double claim_epsilon, truth_epsilon;
    double delta, confidence;
} dpa_plan;

typedef struct dpa_plan_answer {
    uint64_t size;    /* n */
    double power;     /* Pr[the claim is refuted] */
    double threshold; /* of a score that is N(0,1) for non-members; NaN for ranks and one run */
    uint64_t guesses; /* of one run; else 0 */
} dpa_plan_answer;

/* The power of an audit with n observations (1 to 1e5 for Clopper–Pearson, else to 1e9), at the
 * threshold or guess count that suits the suspected truth. */
DPA_API dpa_status dpa_plan_power(const dpa_plan *plan, uint64_t n, dpa_plan_answer *out,
                                  dpa_error *err) DPA_MUST_USE;
/* The power at one threshold (Clopper–Pearson only). */
DPA_API dpa_status dpa_plan_power_at(const dpa_plan *plan, uint64_t n, double threshold,
                                     double *power, dpa_error *err) DPA_MUST_USE;
/* The n that reaches `power`, up to `most` (out->size is 0 where that does not do). Powers of
 * counts have small teeth: a slightly smaller n may do as well. */
DPA_API dpa_status dpa_plan_size(const dpa_plan *plan, double power, uint64_t most,
                                 dpa_plan_answer *out, dpa_error *err) DPA_MUST_USE;
/* The smallest true ε that n observations show to be above the claim with `power`, to 1e-3
 * (INFINITY above 100); plan->truth_epsilon is not looked at. */
DPA_API dpa_status dpa_plan_detectable(const dpa_plan *plan, uint64_t n, double power, double *out,
                                       dpa_error *err) DPA_MUST_USE;
/* The ceiling: no valid method that looks at right and wrong answers, and whose bound does not fall
 * when answers get better, certifies more than this with `observations` answers. Under randomized
 * response at (ε,δ), or the Gaussian curve cut where both errors are alike, all answers are right
 * with probability r^N; a bound above ε there is wrong that often, so r^N must not be above
 * 1 − confidence. INFINITY for no finite limit; NaN for a family that is neither. */
DPA_API double dpa_plan_ceiling(const char *family, uint64_t observations, double delta,
                                double confidence);

#endif
