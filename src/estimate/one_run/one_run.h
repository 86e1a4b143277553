/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Auditing in one run: m canaries, each with one of k options drawn at random (k = 2: in or
 * out), one trained model, and an attacker who guesses the options of some canaries.
 *
 * The tested hypothesis is always "no attack on such a mechanism gets `correct` or more of
 * `guesses` right with probability above p". The claim decides which options are neighbours:
 * add/remove for in/out, replace-one for one of k examples. */
#ifndef DPA_ESTIMATE_ONE_RUN_H
#define DPA_ESTIMATE_ONE_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "account/account.h"
#include "dpaudit/status.h"
#include "estimate/estimate.h"
#include "tradeoff/tradeoff.h"

typedef struct dpa_one_run {
    uint64_t canaries; /* m, 1 to 2^53 */
    uint64_t options;  /* k, 2 to 2^53 */
    uint64_t guesses;  /* c′ ≤ m; the attacker abstains on all others */
    uint64_t correct;  /* c ≤ c′ */
} dpa_one_run;

/* DPA_BAD_ARGUMENT if a number is out of the ranges above. */
dpa_status dpa__one_run_check(const dpa_one_run *game, dpa_error *err) DPA_MUST_USE;

/* ── p-values of one hypothesis ──────────────────────────────────────────────────────────────── */

/* The p-value of "the mechanism is (ε,δ)-DP", by Steinke, Nasr and Jagielski; at most 1. NaN unless
 * k = 2. */
double dpa__one_run_dp_p_value(const dpa_one_run *game, double epsilon, double delta);
/* 1 if "the mechanism is f-DP in both directions" is refuted at error p, by the recursion of
 * Mahloujifar, Melis and Chaudhuri, for any k. `curve` must hold for every ordered pair of options:
 * it must be symmetric, or made so by dpa__one_run_symmetric. */
int dpa__one_run_refutes(const dpa_one_run *game, const dpa_curve *curve, double p);
/* The smallest p at which dpa__one_run_refutes says 1, rounded up; 1 if there is none, never below
 * 1e-300. */
double dpa__one_run_p_value(const dpa_one_run *game, const dpa_curve *curve);
/* The largest symmetric trade-off curve that is nowhere above the curve or its inverse; for a
 * symmetric curve another reference to it. The caller frees *out. DPA_BAD_ARGUMENT for an
 * asymmetric curve that is not piecewise linear. */
dpa_status dpa__one_run_symmetric(const dpa_curve *curve, dpa_curve **out,
                                  dpa_error *err) DPA_MUST_USE;

/* ── the bound ───────────────────────────────────────────────────────────────────────────────── */

/* How the number of guesses was chosen. */
typedef enum dpa_guess_choice {
    DPA_GUESSES_FIXED, /* one game, fixed before looking */
    DPA_GUESSES_AUTO,  /* the best of the games, with the error split evenly over them: valid if the
                          list of guess counts was fixed before looking */
    DPA_GUESSES_MAX    /* the best of the games, uncorrected: optimistic */
} dpa_guess_choice;

/* The guess counts that `auto` tries: 16, 64, 256, … below `canaries`, and `canaries` itself.
 * Writes at most `capacity` of them; returns how many there are (never more than 27). */
size_t dpa__one_run_grid(uint64_t canaries, uint64_t *counts, size_t capacity);

/* The lower bound from one run that was looked at with the guess counts of `games` (all with the
 * same canaries and options). The request names one family ("": gaussian) and one method:
 *   steinke: dp only, k = 2
 *   recursion: any family and k
 *   either: dp only, k = 2; the smaller of both p-values; valid because both bound one
 *     probability
 *   pointwise: any family but dp, k = 2; the best of Steinke's bounds over the family's (ε,δ) at
 *     60 values of δ (section 4.2 of the paper)
 *
 * "": either for dp with k = 2, recursion otherwise. If the request has a claim, the result has
 * its p-value. */
DPA_API dpa_status dpa__one_run_bound(const dpa_one_run *games, size_t count,
                                      dpa_guess_choice choice, const dpa_request *request,
                                      dpa_result *result, dpa_error *err) DPA_MUST_USE;

/* ── canaries with channels of their own ───────────────────────────────────────────────────── */

/* The lower bound from prepared scores of the canaries of one run (members: those that were in), if
 * every canary acts on the output through its own independent noise: white-box canaries on disjoint
 * coordinates or orthogonal directions, each included by its own coin with the same rate
 * (docs/methods/one-run-channels.md). The request names one family ("": gaussian) and method
 * ("rank"; or "scan", the default for dp). Much stronger than guesses, but under one more
 * assumption, which the result names. */
DPA_API dpa_status dpa__one_run_channels(const dpa_scores *scores, const dpa_request *request,
                                         dpa_result *result, dpa_error *err) DPA_MUST_USE;

/* Tests whether the noise is independent, on coordinates that no canary touched:
 * noise[step][coordinate], mean zero. Both p-values are large-sample. Only the first
 * DPA_CHECK_COORDINATES coordinates are tested for correlation; all count for the energy. */
enum { DPA_CHECK_COORDINATES = 400 };
#define DPA_CHECK_LEVEL 0.001
typedef struct dpa_channels_check {
    double correlation_p; /* of "coordinates are uncorrelated over the steps" */
    double energy_p;      /* of "steps share no random scale" */
    int is_refuted;       /* one of them refuted, at 0.001 for both: use guesses instead */
} dpa_channels_check;
dpa_status dpa__one_run_channels_check(const double *noise, size_t steps, size_t coordinates,
                                       dpa_channels_check *out, dpa_error *err) DPA_MUST_USE;

/* ── the idealised game (Algorithm 4 of the paper) ───────────────────────────────────────────── */

/* Gaussian noise on orthogonal canaries, scaled such that the trade-off curve between two options
 * is that of μ = 1/σ, against an attacker who knows all of this. */
typedef struct dpa_ideal {
    double sigma;
    uint64_t canaries, options;
} dpa_ideal;

/* The expected number of right guesses at the threshold beyond which `guesses` canaries are
 * expected. Two options: a closed form. More: only guesses = canaries, by quadrature. */
dpa_status dpa__ideal_expected(const dpa_ideal *ideal, uint64_t guesses, double *out,
                               dpa_error *err) DPA_MUST_USE;
/* The same if the attacker guesses exactly the `guesses` highest-ranked canaries: order statistics,
 * by quadrature. Two options only. */
dpa_status dpa__ideal_ranked(const dpa_ideal *ideal, uint64_t guesses, double *out,
                             dpa_error *err) DPA_MUST_USE;
/* Simulates the game `repeats` times: the mean number of right guesses and the standard deviation
 * of one game. */
dpa_status dpa__ideal_simulate(const dpa_ideal *ideal, uint64_t guesses, uint64_t repeats,
                               uint64_t seed, double *mean, double *deviation,
                               dpa_error *err) DPA_MUST_USE;
/* The games worth trying, each with its expected number of right guesses, rounded down: for each
 * number of wrong guesses (every one up to 4096, then in steps of 1%) the most guesses that have no
 * more wrong ones. Pass them to dpa__one_run_bound with DPA_GUESSES_MAX, which is valid here
 * because expected numbers, not data, are looked at. Free *games with dpa_free. */
dpa_status dpa__ideal_games(const dpa_ideal *ideal, dpa_one_run **games, size_t *count,
                            dpa_error *err) DPA_MUST_USE;

/* One-run tests as one predicate over a family's parameter, for every method. */

typedef enum dpa__one_run_method {
    DPA__STEINKE,
    DPA__RECURSION,
    DPA__POINTWISE,
    DPA__EITHER, /* the smaller of the first two */
    DPA__ONE_RUN_METHODS
} dpa__one_run_method;

enum { DPA__POINTWISE_COUNT = 60 };

/* A family with the member that was used last, because curves can be expensive. */
typedef struct dpa__one_run_test {
    dpa__one_run_method method;
    double delta;
    dpa_family *family;
    dpa_curve *curve; /* the member at t, symmetric */
    double t;
    double epsilon[DPA__POINTWISE_COUNT]; /* of the member, at the deltas of the pointwise method */
    dpa_status status;                    /* the first failure; kept */
    dpa_error *err;
} dpa__one_run_test;

/* Sets up the test from the request's family and method; `delta` is the δ of a dp family. */
dpa_status dpa__one_run_test_init(dpa__one_run_test *test, const dpa_request *request, double delta,
                                  uint64_t options, dpa_error *err);
void dpa__one_run_test_free(dpa__one_run_test *test);
const char *dpa__one_run_method_name(dpa__one_run_method method);
/* The method that is used if none is named. */
dpa__one_run_method dpa__one_run_default(int is_dp, uint64_t options);

/* 1 if the member at t is refuted at error p. 0 after a failure, which is in test->status. */
int dpa__one_run_test_refutes(dpa__one_run_test *test, double t, const dpa_one_run *game, double p);
/* The p-value of the member at t. */
double dpa__one_run_test_p_value(dpa__one_run_test *test, double t, const dpa_one_run *game);

/* dpa__one_run_dp_p_value ≤ p; skips the expensive part if the binomial tail alone is too large. */
int dpa__one_run_dp_refutes(const dpa_one_run *game, double epsilon, double delta, double p);

#endif
