/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan that is ready to compute: claim and truth as members of families, however they were given.
 */
#ifndef DPA_ESTIMATE_PLAN_H
#define DPA_ESTIMATE_PLAN_H

#include "estimate/model.h"
#include "estimate/plan/power.h"
#include "estimate/registry.h"
#include "math/quad.h"

struct dpa__plan {
    const dpa_plan *asked;
    double p;           /* 1 − confidence */
    dpa__model model;   /* the family that the audit assumes; for steps, that of one step */
    dpa__model whole;   /* for steps: the training, with the t of one step */
    dpa__member claim;  /* the member of `model` that the claim allows */
    dpa__model suspect; /* the family of the truth; for steps a copy of `model` */
    dpa__member truth;
    double claim_epsilon;
    double mu; /* for canaries: the Gaussian mechanism with the truth's ε at δ */
    const dpa__entry *entry;
    struct dpa__staircase *stairs;  /* for counts: the outcomes that refute, for the last n */
    struct dpa__scan_tests *tests;  /* for the scan: the tests, for every n so far */
    struct dpa__arrivals *arrivals; /* for pairs: audits simulated under the current truth */
    double powers;                  /* powers computed so far */
    double wanted; /* a rough power is only compared with this one; NAN: used as it is */
};

int dpa__plan_is_sequential(const dpa__plan *plan);
int dpa__plan_has_channels(const dpa__plan *plan);
/* The largest size of any method. */
enum { DPA__MOST_SIZE = 1000000000 };
dpa_status dpa__plan_check_size(const dpa__plan *plan, uint64_t n, dpa_error *err);

/* Checks the plan and does everything that does not depend on n. If `has_truth` is 0, the truth is
 * left open. */
dpa_status dpa__plan_open(const dpa_plan *asked, int has_truth, dpa__plan *out, dpa_error *err);
void dpa__plan_close(dpa__plan *plan);
/* Sets another truth, as the parameter t of its family, or of one step. */
dpa_status dpa__plan_suspect(dpa__plan *plan, double t, dpa_error *err);
/* The t of an ε, and back; the ε of the current truth. */
dpa_status dpa__plan_truth_t(const dpa__plan *plan, double epsilon, double *t, dpa_error *err);
dpa_status dpa__plan_truth_epsilon(const dpa__plan *plan, double t, double *epsilon,
                                   dpa_error *err);

/* ε of the plan's training with this noise, rounded to `side`. */
dpa_status dpa__plan_training_epsilon(const dpa_plan *asked, double sigma, int side, double *out,
                                      dpa_error *err);

/* What the public functions of the same names do, on an open plan. */
dpa_status dpa__plan_power(dpa__plan *plan, uint64_t n, dpa__care care, dpa_plan_answer *out,
                           dpa_error *err);
dpa_status dpa__plan_size(dpa__plan *plan, double power, uint64_t most, dpa_plan_answer *out,
                          dpa_error *err);
/* Changes the truth of the plan. */
dpa_status dpa__plan_detectable(dpa__plan *plan, uint64_t n, double power, dpa_plan_leak *out,
                                dpa_error *err);
dpa_status dpa__plan_stop(dpa__plan *plan, uint64_t most, dpa_plan_stops *out, dpa_error *err);
dpa_status dpa__plan_most(const dpa__plan *plan, uint64_t n, double *out, dpa_error *err);

dpa_status dpa__plan_counts_at(dpa__plan *plan, uint64_t n, double threshold, double *power,
                               dpa_error *err);
/* Sequential audits: the bound from n perfect pairs as the family's parameter. */
dpa_status dpa__plan_perfect_pairs(const dpa__plan *plan, uint64_t n, double *t, dpa_error *err);

/* The smallest leak, as t, at which `enough` is set: from the claim up in growing steps, then by
 * bisection to `fine` of t; INFINITY if there is none with ε up to 100. */
typedef dpa_status (*dpa__leak_test)(void *user, double t, int *enough, dpa_error *err);
dpa_status dpa__plan_search_leak(const dpa__plan *plan, double fine, dpa__leak_test test,
                                 void *user, double *t, dpa_error *err);

/* Reports progress; DPA_CANCELLED if the caller wants to stop. */
dpa_status dpa__plan_progress(const dpa__plan *plan, const char *what, double done, double total,
                              dpa_error *err);

/* The power of a method as another plan of the command may have computed it (plan_known.c). The
 * plans of a command share what they know through dpa_plan.known; they differ only in game, family
 * and method. */
typedef struct dpa__known dpa__known;
dpa__known *dpa__known_new(dpa_error *err);
void dpa__known_free(dpa__known *known);
dpa_status dpa__power_like(dpa__plan *plan, const dpa__power *like, uint64_t n, dpa__care care,
                           dpa_plan_answer *out, dpa_error *err);

/* The standard error of a share of simulated audits; never 0. */
double dpa__share_error(double count, double total);

void dpa__staircase_free(struct dpa__staircase *stairs);
void dpa__arrivals_free(struct dpa__arrivals *arrivals);
void dpa__scan_tests_free(struct dpa__scan_tests *tests);
/* The truth is another one from here on. */
void dpa__scan_tests_forget(struct dpa__scan_tests *tests);

/* The best threshold in [low, high] for a function: a grid, then golden section; or the first with
 * a power that is `enough` (NAN: none is). */
void dpa__best_threshold(dpa__fn power, void *user, double low, double high, double enough,
                         dpa_plan_answer *out);
/* What is enough for a power that is needed with this care. */
double dpa__plan_enough(const dpa__plan *plan, dpa__care care);

#endif
