/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a claim means: the privacy loss of a composed mechanism, as intervals that contain the
 * truth. */
#ifndef DPAUDIT_ACCOUNT_H
#define DPAUDIT_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/status.h"
#include "dpaudit/tradeoff.h"

DPA_C_BEGIN

typedef struct dpa_interval {
    double lower, upper;
} dpa_interval;

typedef enum dpa_mechanism {
    DPA_GAUSSIAN,            /* sigma in [0.001, 1e9]; q < 1 subsamples it (Poisson) */
    DPA_LAPLACE,             /* sigma is the scale b of the noise for sensitivity 1: [1e-5, 1e9] */
    DPA_RANDOMIZED_RESPONSE, /* sigma is ε₀ of the binary response: [1e-9, 1e5] */
    DPA_PAIR,    /* any mechanism, by a dominating pair; q < 1 samples it (Poisson, add/remove) */
    DPA_SHUFFLED /* Gaussian noise of sigma on batches of shuffled records, q = 1/batches, steps =
                  * epochs. Its ε is only known between a best attack and no amplification. */
} dpa_mechanism;

/* Replace-one doubles the sensitivity of Gaussian and Laplace noise; a response keeps its ε₀. */
typedef enum dpa_adjacency { DPA_ADD_REMOVE, DPA_REPLACE_ONE } dpa_adjacency;

/* A dominating pair (P, Q): for every ε and every two neighbouring data sets, the hockey-stick
 * divergence of the mechanism's outputs is at most that of (P, Q), and in the other direction at
 * most that of (Q, P). Immutable; may be read by several threads. */
typedef struct dpa_pair dpa_pair;

/* Makes a pair in *out from the masses p[i] and q[i] of the same `count` outcomes; both arrays are
 * copied. Free it with dpa_pair_free. Returns DPA_BAD_INPUT if they are no distributions, or
 * DPA_NO_MEMORY. */
DPA_API dpa_status dpa_pair_new(const double *p, const double *q, size_t count, dpa_pair **out,
                                dpa_error *err) DPA_MUST_USE;
/* Reads a pair from an NPZ with arrays p and q, or a JSON object with lists of these names. They
 * are masses; if there is also `edges` (one element more), they are densities, constant between
 * edges. Free *out with dpa_pair_free. Returns DPA_IO or DPA_BAD_INPUT with file and place. */
DPA_API dpa_status dpa_pair_read(const char *path, dpa_pair **out, dpa_error *err) DPA_MUST_USE;
/* Frees the pair; NULL is allowed. No phase, account or calibration that uses the pair may be used
 * afterwards. */
DPA_API void dpa_pair_free(dpa_pair *pair);

/* One part of a training run: `steps` equal steps. */
typedef struct dpa_phase {
    dpa_mechanism mechanism;
    double sigma;
    double q;             /* sampling rate, [1e-30, 1]; 1 for laplace and randomized response */
    uint64_t steps;       /* up to 1e12 */
    const dpa_pair *pair; /* for DPA_PAIR: borrowed, must outlive whatever uses the phase */
} dpa_phase;

/* The phases of a training that a JSON file describes with Google's DpEvent classes. A ledger is
 * for one adjacency, because the pair of a sampled mechanism depends on it. */
typedef struct dpa_ledger dpa_ledger;

typedef struct dpa_account_opts {
    dpa_adjacency adjacency;
    double delta;     /* tolerance and truncation of the tails are for this δ; 1e-5 */
    double tolerance; /* width of the interval for ε at delta, relative to ε (1e-3) … */
    double absolute;  /* … or absolute, whichever is larger (1e-4) */
    size_t max_grid;  /* longest transform that may be used (2^24) */
    unsigned group;   /* ε of this many records together (1) */
} dpa_account_opts;

/* Fills in the defaults that the comments at the fields give. There is nothing to free. */
DPA_API void dpa_account_opts_init(dpa_account_opts *opts);

/* Reads a ledger; free *out with dpa_ledger_free. Returns DPA_IO or DPA_BAD_INPUT with file and
 * place. */
DPA_API dpa_status dpa_ledger_read(const char *path, dpa_adjacency adjacency, dpa_ledger **out,
                                   dpa_error *err) DPA_MUST_USE;
/* Returns the phases, and how many there are; they and their pairs belong to the ledger. */
DPA_API const dpa_phase *dpa_ledger_phases(const dpa_ledger *ledger, size_t *count);
/* Frees the ledger with its phases and pairs; NULL is allowed. */
DPA_API void dpa_ledger_free(dpa_ledger *ledger);

/* A composed privacy loss distribution, pessimistic and optimistic. Immutable; thread-safe to read.
 */
typedef struct dpa_account dpa_account;

/* Composes `count` phases, which are copied (their pairs are not); free *out with dpa_account_free.
 * `opts` must not be NULL. Returns DPA_BAD_ARGUMENT if a number is out of its range, DPA_NUMERIC if
 * the tolerance cannot be reached with max_grid, or DPA_NO_MEMORY. */
DPA_API dpa_status dpa_account_new(const dpa_phase *phases, size_t count,
                                   const dpa_account_opts *opts, dpa_account **out,
                                   dpa_error *err) DPA_MUST_USE;
/* Frees the account; NULL is allowed. */
DPA_API void dpa_account_free(dpa_account *account);

/* Each of the following fails with DPA_BAD_ARGUMENT if the number asked about is out of its range,
 * DPA_NUMERIC if an accuracy was not reached, or DPA_NO_MEMORY. */

/* Gives ε(δ) as an interval that contains the truth. */
DPA_API dpa_status dpa_account_epsilon(const dpa_account *account, double delta, dpa_interval *out,
                                       dpa_error *err) DPA_MUST_USE;
/* Gives δ(ε) as an interval that contains the truth. */
DPA_API dpa_status dpa_account_delta(const dpa_account *account, double epsilon, dpa_interval *out,
                                     dpa_error *err) DPA_MUST_USE;
/* Gives the smallest FNR of any attack with this FPR, as an interval. */
DPA_API dpa_status dpa_account_fnr(const dpa_account *account, double fpr, dpa_interval *out,
                                   dpa_error *err) DPA_MUST_USE;
/* Gives the trade-off curve as a new dpa_curve, to be freed with dpa_curve_free: nowhere above the
 * truth for side < 0 (whoever refutes it refutes the mechanism), nowhere below it for side > 0. */
DPA_API dpa_status dpa_account_curve(const dpa_account *account, int side, dpa_curve **out,
                                     dpa_error *err) DPA_MUST_USE;
/* Which parameter of the first phase is looked for. */
typedef enum dpa_calibrate {
    DPA_CALIBRATE_SIGMA,
    DPA_CALIBRATE_Q,
    DPA_CALIBRATE_STEPS
} dpa_calibrate_what;
/* Finds the value of `what`, a parameter of the first phase, at which the training meets (epsilon,
 * delta). It is rounded to the safe side (sigma up, q and steps down): the upper end of the
 * interval for ε, which `achieved` returns, is at most `epsilon`. Returns DPA_BAD_ARGUMENT or
 * DPA_NUMERIC if no value meets it. */
DPA_API dpa_status dpa_calibrate(const dpa_phase *phases, size_t count, dpa_calibrate_what what,
                                 double epsilon, double delta, const dpa_account_opts *opts,
                                 double *value, dpa_interval *achieved,
                                 dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
