/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One-run tests as one predicate over a family's parameter, for every method. */
#ifndef DPA_ESTIMATE_ONERUN_H
#define DPA_ESTIMATE_ONERUN_H

#include "dpaudit/account.h"
#include "dpaudit/onerun.h"

typedef enum dpa__onerun_method {
    DPA__STEINKE,
    DPA__RECURSION,
    DPA__POINTWISE,
    DPA__EITHER, /* the smaller of the first two */
    DPA__ONERUN_METHODS
} dpa__onerun_method;

enum { DPA__POINTWISE_COUNT = 60 };

/* A family with the member that was used last, because curves can be expensive. */
typedef struct dpa__onerun_test {
    dpa__onerun_method method;
    double delta;
    dpa_family *family;
    dpa_curve *curve; /* the member at t, symmetric */
    double t;
    double epsilon[DPA__POINTWISE_COUNT]; /* of the member, at the deltas of the pointwise method */
    dpa_status status;                    /* the first failure; kept */
    dpa_error *err;
} dpa__onerun_test;

/* Sets up the test from the request's family and method; `delta` is the δ of a dp family. */
dpa_status dpa__onerun_test_init(dpa__onerun_test *test, const dpa_request *request, double delta,
                                 uint64_t options, dpa_error *err);
void dpa__onerun_test_free(dpa__onerun_test *test);
const char *dpa__onerun_method_name(dpa__onerun_method method);
/* The method that is used if none is named. */
dpa__onerun_method dpa__onerun_default(int is_dp, uint64_t options);

/* 1 if the member at t is refuted at error p. 0 after a failure, which is in test->status. */
int dpa__onerun_test_refutes(dpa__onerun_test *test, double t, const dpa_onerun *game, double p);
/* The p-value of the member at t. */
double dpa__onerun_test_p_value(dpa__onerun_test *test, double t, const dpa_onerun *game);

/* The p-value of "the trade-off is at least `curve`, in both directions", from games with the guess
 * counts that `choice` allows. The curve may be asymmetric if it is piecewise linear. */
dpa_status dpa__onerun_p_value_curve(const dpa_onerun *games, size_t count, dpa_guess_choice choice,
                                     const dpa_curve *curve, double *p, dpa_error *err);

/* dpa_onerun_dp_p_value ≤ p; skips the expensive part if the binomial tail alone is too large. */
int dpa__onerun_dp_refutes(const dpa_onerun *game, double epsilon, double delta, double p);

#endif
