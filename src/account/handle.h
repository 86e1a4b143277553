/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an account contains: the claim, a coarse grid for finding tilts, and the grid that answers.
 */
#ifndef DPA_ACCOUNT_HANDLE_H
#define DPA_ACCOUNT_HANDLE_H

#include <pthread.h>

#include "account/composition.h"

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
