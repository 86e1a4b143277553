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

/* From the masses p[i] and q[i] of the same `count` outcomes; both arrays are copied. */
DPA_API dpa_status dpa_pair_new(const double *p, const double *q, size_t count, dpa_pair **out,
                                dpa_error *err) DPA_MUST_USE;
/* From an NPZ with arrays p and q, or a JSON object with lists of these names. They are masses; if
 * there is also `edges` (one element more), they are densities, constant between edges. */
DPA_API dpa_status dpa_pair_read(const char *path, dpa_pair **out, dpa_error *err) DPA_MUST_USE;
/* NULL is allowed. No phase, account or calibration that uses the pair may be used afterwards. */
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

/* Fills in the defaults that the comments at the fields give. */
DPA_API void dpa_account_opts_init(dpa_account_opts *opts);

/* Reads a ledger; the caller frees *out with dpa_ledger_free. */
DPA_API dpa_status dpa_ledger_read(const char *path, dpa_adjacency adjacency, dpa_ledger **out,
                                   dpa_error *err) DPA_MUST_USE;
/* The phases; they and their pairs belong to the ledger. */
DPA_API const dpa_phase *dpa_ledger_phases(const dpa_ledger *ledger, size_t *count);
DPA_API void dpa_ledger_free(dpa_ledger *ledger);

/* A composed privacy loss distribution, pessimistic and optimistic. Immutable; thread-safe to read.
 */
typedef struct dpa_account dpa_account;

/* Composes `count` phases, which are copied (their pairs are not). `opts` must not be NULL.
 * DPA_NUMERIC when the tolerance cannot be reached with max_grid. */
DPA_API dpa_status dpa_account_new(const dpa_phase *phases, size_t count,
                                   const dpa_account_opts *opts, dpa_account **out,
                                   dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_account_free(dpa_account *account);

/* ε(δ) and δ(ε), each an interval that contains the truth. */
DPA_API dpa_status dpa_account_epsilon(const dpa_account *account, double delta, dpa_interval *out,
                                       dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_account_delta(const dpa_account *account, double epsilon, dpa_interval *out,
                                     dpa_error *err) DPA_MUST_USE;
/* The same for `count` questions, in any order; faster than asking one by one, since one
 * composition answers all neighbouring ones. */
DPA_API dpa_status dpa_account_epsilons(const dpa_account *account, const double *deltas,
                                        size_t count, dpa_interval *out,
                                        dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_account_deltas(const dpa_account *account, const double *epsilons,
                                      size_t count, dpa_interval *out, dpa_error *err) DPA_MUST_USE;
/* The smallest FNR of any attack with this FPR, as an interval. */
DPA_API dpa_status dpa_account_fnr(const dpa_account *account, double fpr, dpa_interval *out,
                                   dpa_error *err) DPA_MUST_USE;
/* The trade-off curve as a new dpa_curve that the caller frees: nowhere above the truth for side <
 * 0 (whoever refutes it refutes the mechanism), nowhere below it for side > 0. */
DPA_API dpa_status dpa_account_curve(const dpa_account *account, int side, dpa_curve **out,
                                     dpa_error *err) DPA_MUST_USE;
/* The μ of the Gaussian mechanism that has the same ε at δ. */
DPA_API dpa_status dpa_account_mu(const dpa_account *account, double delta, dpa_interval *out,
                                  dpa_error *err) DPA_MUST_USE;
/* How it was computed: the cell width of the grid and the length of the longest transform. */
DPA_API double dpa_account_cell(const dpa_account *account);
DPA_API size_t dpa_account_grid(const dpa_account *account);

/* Other accountants, as cross-checks. Rényi: an upper bound, looser than dpa_account_epsilon.
 * Central limit (GDP): an approximation that can be too small. NaN if the method does not cover one
 * of the phases. */
DPA_API double dpa_account_rdp_epsilon(const dpa_phase *phases, size_t count, double delta);
/* The Rényi divergence of this order (above 1) of all phases together, add/remove; NaN where it is
 * not known. */
DPA_API double dpa_account_rdp(const dpa_phase *phases, size_t count, double order);
/* Upper bounds on ε at δ for a mechanism of which only Rényi divergences at some orders (above 1)
 * are known, or only that it is ρ-zCDP. */
DPA_API double dpa_rdp_epsilon(const double *orders, const double *rdp, size_t count, double delta);
DPA_API double dpa_zcdp_epsilon(double rho, double delta);
/* ε at δ by the central limit (GDP). */
DPA_API double dpa_account_gdp_epsilon(const dpa_phase *phases, size_t count, double delta);

/* Finds the value of one parameter of the first phase at which the training meets (epsilon, delta).
 * It is rounded to the safe side (sigma up, q and steps down): the upper end of the interval for ε,
 * which `achieved` returns, is at most `epsilon`. */
typedef enum dpa_calibrate {
    DPA_CALIBRATE_SIGMA,
    DPA_CALIBRATE_Q,
    DPA_CALIBRATE_STEPS
} dpa_calibrate_what;
DPA_API dpa_status dpa_calibrate(const dpa_phase *phases, size_t count, dpa_calibrate_what what,
                                 double epsilon, double delta, const dpa_account_opts *opts,
                                 double *value, dpa_interval *achieved,
                                 dpa_error *err) DPA_MUST_USE;

/* The same, and whether a better value may have been missed. `unjudged` is a value beyond `value`,
 * on its leaky side, whose interval for ε (unjudged_epsilon) still contains the target at the
 * finest grid allowed: it may meet the target too. NaN if there is none. */
typedef struct dpa_calibration {
    double value;
    dpa_interval epsilon;
    double unjudged;
    dpa_interval unjudged_epsilon;
} dpa_calibration;
DPA_API dpa_status dpa_calibrate_whole(const dpa_phase *phases, size_t count,
                                       dpa_calibrate_what what, double epsilon, double delta,
                                       const dpa_account_opts *opts, dpa_calibration *out,
                                       dpa_error *err) DPA_MUST_USE;

/* A family: trade-off curves ordered by one number t ≥ 0, leakier as t grows, t=0 perfectly
 * private.
 *
 * - dp: t = ε (δ fixed when the family is made)
 * - gaussian: t = μ
 * - laplace: t = ε₀
 * - subsampled-gaussian:q=0.01,steps=1000: t = 1/σ
 * - points:FILE: t in [0,1], the file's curve diluted (dpa_curve_diluted); t=1 is the file's own
 * - pair:FILE,q=0.01,steps=1000 and ledger:FILE: the same for the curve of a dominating pair, of a
 *   ledger of events */
typedef struct dpa_family dpa_family;

/* `spec` is one of the above, e.g. "gaussian". `delta` in [0,1) is the δ of dp; for families that
 * are composed it is where their curves are most accurate. The caller frees *out. */
DPA_API dpa_status dpa_family_parse(const char *spec, double delta, dpa_family **out,
                                    dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_family_free(dpa_family *family);
/* 1 for dp, the family that contains every mechanism: a bound in it assumes nothing. */
DPA_API int dpa_family_is_universal(const char *spec);
/* 1 if t is 1/σ of Gaussian noise (gaussian, subsampled-gaussian). */
DPA_API int dpa_family_is_noise(const dpa_family *family);
DPA_API const char *dpa_family_spec(const dpa_family *family);      /* as it was given */
DPA_API const char *dpa_family_name(const dpa_family *family);      /* "gaussian" */
DPA_API const char *dpa_family_parameter(const dpa_family *family); /* "mu", "sigma", … */
DPA_API double dpa_family_value(const dpa_family *family,
                                double t); /* the named parameter at t: σ = 1/t */
DPA_API double dpa_family_t(const dpa_family *family, double value); /* and back */
DPA_API double dpa_family_max(const dpa_family *family); /* INFINITY; 1 for points … */
/* 1 if t is at the end of a family whose leakiest member still hides something (points, pair,
 * ledger; DP-SGD with q < 1). A search that ends there has rejected every member and found no
 * bound. */
DPA_API int dpa_family_is_spent(const dpa_family *family, double t);
/* The curve of the member at t, for the caller to free. Where the member is known only as an
 * interval, the curve is nowhere above it, so that whoever refutes the curve refutes the member. */
DPA_API dpa_status dpa_family_curve(const dpa_family *family, double t, dpa_curve **out,
                                    dpa_error *err) DPA_MUST_USE;
/* ε at δ of the member at t. */
DPA_API dpa_status dpa_family_epsilon(const dpa_family *family, double t, double delta,
                                      dpa_interval *out, dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
