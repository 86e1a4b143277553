/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Auditing in one run: m canaries, each with one of k options drawn at random (k = 2: in or out),
 * one trained model, an attacker who guesses some of them.
 *
 * What is tested is always "no attack on such a mechanism guesses `correct` or more of `guesses`
 * with probability above p". Which options are neighbours is part of the claim: for in/out it is
 * add/remove, for one of k examples it is replace-one. */
#ifndef DPAUDIT_ONERUN_H
#define DPAUDIT_ONERUN_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/estimate.h"
#include "dpaudit/status.h"
#include "dpaudit/tradeoff.h"

DPA_C_BEGIN

typedef struct dpa_onerun {
    uint64_t canaries; /* m, 1 to 2^53 */
    uint64_t options;  /* k, 2 to 2^53 */
    uint64_t guesses;  /* c′ ≤ m: all others are abstentions */
    uint64_t correct;  /* c ≤ c′ */
} dpa_onerun;

DPA_API dpa_status dpa_onerun_check(const dpa_onerun *game, dpa_error *err) DPA_MUST_USE;

/* ── p-values of one hypothesis
 * ────────────────────────────────────────────────────────────────────── */

/* "the mechanism is (ε,δ)-DP", by Steinke, Nasr and Jagielski; k = 2 only (NaN for others). At most
 * 1. */
DPA_API double dpa_onerun_dp_p_value(const dpa_onerun *game, double epsilon, double delta);
/* "the mechanism is f-DP in both directions", by the recursion of Mahloujifar, Melis and Chaudhuri,
 * for any k. `curve` must hold for every ordered pair of options: symmetric, or made so by
 * dpa_onerun_symmetric. 1 when the hypothesis is refuted at error p. */
DPA_API int dpa_onerun_refutes(const dpa_onerun *game, const dpa_curve *curve, double p);
/* The smallest p at which it is refuted, rounded up; 1 when there is none. Not below 1e-300. */
DPA_API double dpa_onerun_p_value(const dpa_onerun *game, const dpa_curve *curve);
/* The largest symmetric trade-off curve that is nowhere above the curve or its inverse (a share of
 * the same curve when it is symmetric). DPA_BAD_ARGUMENT for an asymmetric curve that is not
 * piecewise linear. */
DPA_API dpa_status dpa_onerun_symmetric(const dpa_curve *curve, dpa_curve **out,
                                        dpa_error *err) DPA_MUST_USE;

/* ── the bound
 * ─────────────────────────────────────────────────────────────────────────────────────── */

/* How the number of guesses was chosen. */
typedef enum dpa_guess_choice {
    DPA_GUESSES_FIXED, /* before looking: one game */
    DPA_GUESSES_AUTO,  /* the best of the games given, the error split evenly over them: valid when
                          the list of guess counts was fixed before */
    DPA_GUESSES_MAX    /* the best of the games given, uncorrected: optimistic */
} dpa_guess_choice;

/* The guess counts that `auto` tries: 16, 64, 256, … below `canaries`, and `canaries`; at most
 * `capacity` of them. Gives how many there are (never more than 27). */
DPA_API size_t dpa_onerun_grid(uint64_t canaries, uint64_t *counts, size_t capacity);

/* The lower bound from one run, looked at with the guess counts of `games` (all with the same
 * canaries and options). The request names one family ("": gaussian) and one method:
 *   steinke    dp only, k = 2
 *   recursion  any family and k
 *   either     dp only, k = 2: the smaller p-value of the two, both of which bound one probability
 *   pointwise  any family but dp, k = 2: the best of Steinke's bounds over the family's (ε,δ) at 60
 *              values of δ (section 4.2 of the paper)
 * "": either for dp with k = 2, recursion otherwise. A claim gets its p-value. */
DPA_API dpa_status dpa_onerun_bound(const dpa_onerun *games, size_t count, dpa_guess_choice choice,
                                    const dpa_request *request, dpa_result *result,
                                    dpa_error *err) DPA_MUST_USE;

/* ── canaries with channels of their own
 * ─────────────────────────────────────────────────────────────── */

/* The lower bound from prepared scores of the canaries of one run (members: those that were in),
 * when every canary acts on the output through independent noise of its own: white-box canaries on
 * disjoint coordinates or orthogonal directions, each with its own coin of one rate
 * (docs/methods/one-run-channels.md). The request names one family ("": gaussian) and method
 * ("rank"; "scan", the default for dp). Much stronger than guesses; it needs more, and names it. */
DPA_API dpa_status dpa_onerun_channels(const dpa_scores *scores, const dpa_request *request,
                                       dpa_result *result, dpa_error *err) DPA_MUST_USE;

/* Is the noise independent? From coordinates that no canary touched, noise[step][coordinate], mean
 * zero. Both p-values are large-sample; the first DPA_CHECK_COORDINATES coordinates are correlated
 * with each other, all count for the energy. */
enum { DPA_CHECK_COORDINATES = 400 };
#define DPA_CHECK_LEVEL 0.001
typedef struct dpa_channels_check {
    double correlation_p; /* coordinates are correlated over the steps */
    double energy_p;      /* steps have a random scale in common */
    int is_refuted;       /* either, at 0.001 for both: use guesses then */
} dpa_channels_check;
DPA_API dpa_status dpa_onerun_channels_check(const double *noise, size_t steps, size_t coordinates,
                                             dpa_channels_check *out, dpa_error *err) DPA_MUST_USE;

/* Guesses about canaries whose coins came up "in" at a known rate. */
typedef struct dpa_onerun_coins {
    double rate;                      /* in (0,1) */
    uint64_t in_guesses, out_guesses; /* all others are abstentions */
    uint64_t correct;
} dpa_onerun_coins;
/* The p-value of (ε,0)-DP. NaN for arguments out of range. */
DPA_API double dpa_onerun_coin_p_value(const dpa_onerun_coins *guesses, double epsilon);

/* ── the idealised game (Algorithm 4 of the paper)
 * ───────────────────────────────────────────────────── */

/* Gaussian noise on orthogonal canaries, scaled so that the trade-off curve between two options is
 * that of μ = 1/σ, and the attacker who knows all about it. */
typedef struct dpa_ideal {
    double sigma;
    uint64_t canaries, options;
} dpa_ideal;

/* Expected number of right guesses with the threshold where `guesses` canaries are expected beyond
 * it; closed form for two options. With more than two, guesses = canaries (by quadrature). */
DPA_API dpa_status dpa_ideal_expected(const dpa_ideal *ideal, uint64_t guesses, double *out,
                                      dpa_error *err) DPA_MUST_USE;
/* The same when exactly `guesses` canaries are guessed, by rank: order statistics, by quadrature.
 * Two options. */
DPA_API dpa_status dpa_ideal_ranked(const dpa_ideal *ideal, uint64_t guesses, double *out,
                                    dpa_error *err) DPA_MUST_USE;
/* Plays it `repeats` times: mean number of right guesses and standard deviation of one play. */
DPA_API dpa_status dpa_ideal_simulate(const dpa_ideal *ideal, uint64_t guesses, uint64_t repeats,
                                      uint64_t seed, double *mean, double *deviation,
                                      dpa_error *err) DPA_MUST_USE;
/* The games worth a look, each with its expected number of right guesses rounded down: for every
 * number of wrong guesses up to 4096, and then in steps of 1%, the most guesses that have no more
 * wrong ones. For dpa_onerun_bound with DPA_GUESSES_MAX: here nothing is chosen after looking. The
 * list is to be freed with dpa_free. */
DPA_API dpa_status dpa_ideal_games(const dpa_ideal *ideal, dpa_onerun **games, size_t *count,
                                   dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
