/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an account contains: the claim in normal form, a coarse discretisation for finding tilts,
 * and the one that answers. */
#ifndef DPA_ACCOUNT_HANDLE_H
#define DPA_ACCOUNT_HANDLE_H

#include <pthread.h>

#include "account/pair.h"

/* ── the claim, and its discretisation at one cell width ───────────────────────────────────── */

/* Equal phases are merged; all unsampled Gaussian phases become one Gaussian step with μ = √Σ
 * steps/σ² (unless `keep` asks for the grid, for tests). Replace-one doubles the sensitivity of
 * Gaussian and Laplace noise; Gaussian units record that in `adjacency`, Laplace units in `sigma`.
 * A group of k records moves the mean k times as far. For a sampled Gaussian a binomial number of
 * them is in the batch, which is a mixture of Gaussians that the composition owns (Ganesh 2024). */
typedef struct dpa__composition {
    dpa_adjacency adjacency;
    dpa_phase *unit;
    size_t count;
    int symmetric; /* one direction is enough */
    double steps;  /* sum over all units */
    double mu;     /* if all is one unsampled Gaussian, else 0 */
    double pure;   /* Σ ε₀ when every unit is pure, else INFINITY */
    int has_gap;   /* the two sides of some unit differ even with the narrowest cells */
    size_t owned;
    dpa_pair **own;
} dpa__composition;

typedef enum dpa__keep { DPA_COMBINE, DPA_KEEP } dpa__keep;

dpa_status dpa__composition_new(const dpa_phase *phases, size_t count, const dpa_account_opts *opts,
                                dpa__keep keep, dpa__composition *out, dpa_error *err);
void dpa__composition_free(dpa__composition *model);

/* One direction: pmfs of every unit, optimistic and pessimistic. */
typedef struct dpa__pld {
    size_t count;
    dpa__pmf *side[2]; /* indexed by dpa__rounding */
} dpa__pld;

typedef struct dpa__loss_grid {
    double h;
    size_t directions;
    dpa__pld direction[2];
} dpa__loss_grid;

/* The cell width that gives the widest unit about `cells` cells. */
double dpa__composition_width(const dpa__composition *model, double log_tail, double cells);
/* h may be reduced a little so that atoms lie on grid points. */
dpa_status dpa__loss_grid_new(const dpa__composition *model, double h, double log_tail, size_t max,
                              dpa__loss_grid *out, dpa_error *err);
void dpa__loss_grid_free(dpa__loss_grid *grid);

/* ── the account ───────────────────────────────────────────────────────────────────────────── */

struct dpa_account {
    dpa_account_opts opts;
    dpa__composition model;
    double log_tail;
    dpa__loss_grid coarse, fine; /* empty when model.mu answers in closed form; fine also when the
                                  * coarse one is narrow enough to answer */
    int self_guided;       /* the coarse grid is too coarse to find tilts; the fine one does */
    dpa_interval epsilon;  /* at opts.delta */
    dpa_interval question; /* calibration: stop once ε is clearly outside */
    size_t transform;      /* the longest transform used */
    pthread_mutex_t lock;  /* guards the curves, made when first asked for */
    dpa_curve *curve[2];   /* indexed by dpa__rounding */
};

/* With DPA_KEEP the grid is used even where a closed form exists: for tests. */
dpa_status dpa__account_new(const dpa_phase *phases, size_t count, const dpa_account_opts *opts,
                            dpa__keep keep, dpa_account **out, dpa_error *err);
/* ε at the δ of the options: as narrow as promised, or only until ε is clearly outside `question`
 * (NaN: no question). is_clear says whether either was reached; if no grid can, *out is the best
 * interval found. */
dpa_status dpa__account_judge(const dpa_phase *phases, size_t count, const dpa_account_opts *opts,
                              dpa_interval question, dpa_interval *out, int *is_clear,
                              dpa_error *err);
/* Fails if an option is out of range, and says which. */
dpa_status dpa__account_check(const dpa_account_opts *opts, dpa_error *err);

/* A narrow interval around a number from a closed form good to about 1e-13. */
dpa_interval dpa__account_around(double value);

/* The grid that answers. */
static inline const dpa__loss_grid *dpa__account_answers(const dpa_account *account) {
    return account->fine.directions > 0 ? &account->fine : &account->coarse;
}

/* The pmfs used to find the tilts of a direction. */
const dpa__pld *dpa__account_guide(const dpa_account *account, size_t direction);
/* Composes one direction on one side. */
dpa_status dpa__account_compose(const dpa_account *account, size_t direction, dpa__rounding side,
                                double theta, double log_accuracy, dpa__composed *out,
                                dpa_error *err);
/* A curve on the safe side; DPA_QUICK: rates below about 1e-10 have no relative accuracy.
 * DPA_EITHER_WAY: whichever of the two is the run without the record (the hull of both curves);
 * DPA_WITHOUT_TO_WITH: false positives are those of the run without it. */
typedef enum dpa__detail { DPA_QUICK, DPA_FINE } dpa__detail;
typedef enum dpa__way { DPA_EITHER_WAY, DPA_WITHOUT_TO_WITH } dpa__way;
dpa_status dpa__account_curve(const dpa_account *account, dpa__rounding side, dpa__detail detail,
                              dpa__way way, dpa_curve **out, dpa_error *err);

#endif
