/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an account holds: the claim, a coarse grid that finds tilts, and the grid that answers. */
#ifndef DPA_ACCOUNT_HANDLE_H
#define DPA_ACCOUNT_HANDLE_H

#include <pthread.h>

#include "account/model.h"

struct dpa_account {
    dpa_account_opts opts;
    dpa__model model;
    double log_tail;
    dpa__grid coarse, fine; /* empty when model.mu answers in closed form; fine also when the coarse
                             * one is narrow enough to answer */
    int self_guided;        /* the coarse grid is too coarse to find tilts: the fine one does */
    dpa_interval epsilon;   /* at opts.delta */
    dpa_interval question;  /* an ε that is clearly outside need not be known any better */
    size_t transform;       /* the longest that was used */
    pthread_mutex_t lock;   /* guards the curves, made when first asked for */
    dpa_curve *curve[2];    /* indexed by dpa__side */
};

/* With DPA_KEEP the grid does what a closed form could: for tests. */
dpa_status dpa__account_new(const dpa_phase *phases, size_t count, const dpa_account_opts *opts,
                            dpa__keep keep, dpa_account **out, dpa_error *err);
/* ε at the δ of the options: as narrow as promised, or as soon as it is clear that ε is outside
 * `question` (NaN: no question); is_clear is set. Where no grid will do, as far as it came. */
dpa_status dpa__account_judge(const dpa_phase *phases, size_t count, const dpa_account_opts *opts,
                              dpa_interval question, dpa_interval *out, int *is_clear,
                              dpa_error *err);
/* Options in range, or an error that says which is not. */
dpa_status dpa__account_check(const dpa_account_opts *opts, dpa_error *err);

/* A narrow interval around a number from a closed form good to about 1e-13. */
dpa_interval dpa__account_around(double value);

/* The grid that answers. */
static inline const dpa__grid *dpa__account_answers(const dpa_account *account) {
    return account->fine.directions > 0 ? &account->fine : &account->coarse;
}

/* The pmfs that tilts of a direction are found with. */
const dpa__pld *dpa__account_guide(const dpa_account *account, size_t direction);
/* Composes one direction on one side. */
dpa_status dpa__account_compose(const dpa_account *account, size_t direction, dpa__side side,
                                double theta, double log_accuracy, dpa__composed *out,
                                dpa_error *err);
/* A curve on the safe side; DPA_QUICK without relative accuracy for rates below about 1e-10. */
typedef enum dpa__detail { DPA_QUICK, DPA_FINE } dpa__detail;
dpa_status dpa__account_curve(const dpa_account *account, dpa__side side, dpa__detail detail,
                              dpa_curve **out, dpa_error *err);

#endif
