/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bound that is valid after every trial, however often one looks.
 *
 * Trials arrive one by one, members and non-members in any order. After each trial the lower
 * bound holds at its confidence, no matter how often it was looked at and why the audit stops
 * (construction and proof: docs/methods/sequential.md). The k-th member and the k-th non-member
 * form a pair. Each pair is a bet against "at most ε", whose stake depends on earlier pairs
 * only. The result depends on the two lists of scores, not on how members and non-members were
 * interleaved. An audit belongs to one thread at a time. */
#ifndef DPA_ESTIMATE_SEQUENTIAL_H
#define DPA_ESTIMATE_SEQUENTIAL_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/status.h"
#include "estimate/estimate.h"
#include "estimate/model.h"
#include "evidence/evidence.h"

typedef struct dpa_sequential dpa_sequential;

/* Of the request it uses delta, confidence, exactly one family, select and the claim. select "" or
 * "running": thresholds are learned from earlier pairs; "fixed:T": the threshold T. For guesses
 * instead of scores push 1 for "in" and 0 for "out" and use "fixed:0.5". */
DPA_API dpa_status dpa__sequential_new(const dpa_request *request, dpa_sequential **out,
                                       dpa_error *err) DPA_MUST_USE;
DPA_API void dpa__sequential_free(dpa_sequential *audit);

/* Adds one trial. Higher scores mean "in"; NaN counts against the attack. If it fails (no memory),
 * the trial was not added. */
DPA_API dpa_status dpa__sequential_push(dpa_sequential *audit, int is_member, double score,
                                        dpa_error *err) DPA_MUST_USE;

typedef struct dpa_sequential_now {
    uint64_t members, nonmembers; /* pushed */
    uint64_t pairs;               /* complete pairs, on which all numbers rest */
    double epsilon_lower;         /* the largest lower bound so far */
    double parameter_lower;       /* the same bound as the family's parameter */
    double log_e_value;           /* current e-value against the claim; NaN without a claim */
    double p_value;      /* of the claim, anytime-valid: 1/(largest e-value so far), at most 1 */
    uint64_t refuted_at; /* the pair at which the claim was refuted; 0: not refuted */
} dpa_sequential_now;
/* The state after the trials so far; it does not change the audit. */
DPA_API dpa_status dpa__sequential_look(const dpa_sequential *audit, dpa_sequential_now *out,
                                        dpa_error *err) DPA_MUST_USE;
/* 1 once the claim is refuted. Cheap enough for an inner loop. */
DPA_API int dpa__sequential_refuted(const dpa_sequential *audit);
/* The current log e-value against "at most epsilon" at the request's delta; it falls as epsilon
 * rises. */
dpa_status dpa__sequential_log_e(const dpa_sequential *audit, double epsilon, double *out,
                                 dpa_error *err) DPA_MUST_USE;

/* The same for two lists in order of arrival; do not prepare them, since preparing sorts. One
 * result per family of the request. This is `--method sequential`. */
dpa_status dpa__estimate_sequential(const dpa_scores *in_order, const dpa_request *request,
                                    dpa_results *results, dpa_error *err) DPA_MUST_USE;

/* Betting against a claim, pair by pair (docs/methods/sequential.md).
 *
 * A bet j at slope k = e^|s| and threshold τ uses Pr[good] ≤ k·Pr[bad] + δ_t(|s|), which every
 * mechanism of the null at t obeys: for s ≥ 0 good is "a member is accused" and bad "a non-member
 * is accused", for s < 0 good is "a non-member is spared" and bad "a member is spared". With a null
 * point q it pays
 *     (1 + λ(good − kq − δ_t))·(1 − λk(bad − q)),
 * whose mean is at most 1 under the null. A stage is a run of pairs with the same bets; they were
 * chosen from the pairs before it. */

enum { DPA__BETS = 7, DPA__BINS = DPA__BETS + 1, DPA__HISTORY = 4096 };

typedef struct dpa__bet {
    double slope;     /* s */
    double threshold; /* τ: accused at score ≥ τ */
    double point;     /* q */
    double size;      /* λ, at most 1/(1+kq) and 1/(k(1−q)): no factor is negative at any t */
    double share;     /* share of the wealth */
} dpa__bet;

/* Bets in ascending order of thresholds. The bin of a score is the number of thresholds it reaches.
 */
typedef struct dpa__stage {
    uint64_t first; /* pairs before it */
    uint64_t count; /* number of bets; 0: the wealth does not change */
    dpa__bet bet[DPA__BETS];
    double kept;                         /* share that is not at risk */
    uint64_t cell[DPA__BINS][DPA__BINS]; /* pairs: [bin of the member][bin of the non-member] */
} dpa__stage;

/* δ_t(|s|) of the member at t: sup over attacks of Pr[good] − e^|s|·Pr[bad]. */
double dpa__null_delta(const dpa__member *null, double slope);

unsigned dpa__stage_bin(const dpa__stage *stage, double score);
/* log of what every cell pays at the null. */
void dpa__stage_pay(const dpa__stage *stage, const dpa__member *null,
                    double pay[DPA__BINS][DPA__BINS]);
/* log of what the pairs of the stage paid. */
double dpa__stage_log_wealth(const dpa__stage *stage, const dpa__member *null);
/* What a single bet pays. */
double dpa__bet_pay(const dpa__bet *bet, double delta, int is_member_accused,
                    int is_nonmember_accused);

/* What is known when a stage begins. */
typedef struct dpa__past {
    const double *member, *nonmember; /* the newest pairs, in no order; the arrays are sorted */
    size_t count;
    uint64_t horizon; /* pairs seen by the end of the stage */
    double log_goal;  /* log of the e-value that refutes */
    double fixed;     /* the given threshold; NaN: learned */
    double last;      /* t of the stage before */
    double cap;       /* t of the claim until it is refuted, then INFINITY */
} dpa__past;

/* Chooses the t to bet against and the bets. `member` and `nonmember` are ascending. */
dpa_status dpa__stage_plan(const dpa__model *model, const dpa__past *past, dpa__stage *stage,
                           double *aim, dpa_error *err);

struct dpa_sequential {
    dpa_request request;
    dpa__model model, claim_model; /* claim_model: at the claim's δ */
    double fixed;                  /* threshold; NaN: learned */
    double claim;                  /* t; NaN: none */
    uint64_t pushed[2];            /* non-members, members */
    double *pending; /* scores of the class that has more trials, waiting for partners */
    size_t pending_first, pending_count, pending_room;
    int pending_is_member;
    uint64_t pairs, stage_end;
    dpa__stage *stages;
    size_t stage_count, stage_room;
    double *history[2]; /* rings of the newest pairs */
    double *sorted[2];  /* those that were there when the last stage began */
    size_t sorted_count;
    int is_unseen; /* nobody will look: of bounds only the refutation matters */
    double best;   /* t: the bound when the claim was refuted; 0 before */
    double aim;
    double claim_closed, claim_now,
        claim_most; /* log wealth at the claim: stages before, all, max */
    uint64_t refuted_at;
    double claim_pay[DPA__BINS][DPA__BINS]; /* of the last stage */
};

#endif
