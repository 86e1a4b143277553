/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One case before the judge: what was seen, what was promised, which test decides. */
#ifndef DPA_JUDGE_CASE_H
#define DPA_JUDGE_CASE_H

#include "dpaudit/judge.h"
#include "judge/verdict.h"

/* What the claim says, in the terms of the evidence. */
typedef struct dpa__promise {
    double epsilon; /* at the case's δ, of the claim's scope, rounded up; NaN: no claim */
    double sigma;   /* the least noise multiplier of a step that it may stand for; NaN: not known */
    double step_epsilon; /* what that noise promises for one observation of a step; NaN */
} dpa__promise;

/* The test that decides, all names resolved; lists are joined by '+'. */
typedef struct dpa__test {
    char family[DPA_FAMILY_SIZE], method[DPA_NAME_SIZE], select[DPA_NAME_SIZE];
    size_t count; /* tests that share the error: families × methods × (1 + groups) */
} dpa__test;

typedef struct dpa__case {
    const dpa_evidence *evidence;
    dpa_claim claim;
    dpa_protocol protocol; /* request.delta is the δ of everything */
    dpa__promise promise;
    dpa__test test;
    dpa_report *report;
} dpa__case;

/* Claim, protocol and promise from what was given and what the evidence carries. */
dpa_status dpa__case_open(const dpa_evidence *evidence, const dpa_claim *claim,
                          const dpa_protocol *protocol, dpa__case *out, dpa_error *err);
/* What the claim promises (promise.c). */
dpa_status dpa__promise_make(dpa__case *c, dpa_error *err);
/* The decision rule (rule.c): fills c->test. Looks at no number of the evidence. */
dpa_status dpa__rule_apply(dpa__case *c, dpa_error *err);
int dpa__is_large(const dpa_evidence *evidence);
/* The family of the claimed training: DP-SGD with its sampling and steps. */
void dpa__claimed_family(const dpa__case *c, char *text, size_t size);
/* The protocol as it is carried out (to be decref'd), and its canonical text (to be freed). */
dpa_status dpa__protocol_object(const dpa__case *c, json_t **out, dpa_error *err);
dpa_status dpa__protocol_write(const json_t *object, char **out, dpa_error *err);
/* A verdict that is wrong more often than right is none. */
dpa_status dpa__confidence_check(const dpa_request *request, dpa_error *err);
/* Fills what was not given from JSON that the evidence carries. */
dpa_status dpa__protocol_fill(dpa_protocol *protocol, const char *json, dpa_error *err);

/* Protocol and claim as dpa__protocol_write wrote them. */
dpa_status dpa__protocol_restore(dpa_protocol *protocol, dpa_claim *claim, const char *json,
                                 dpa_error *err);

/* The error of one of `tests` tests that must hold together. */
double dpa__shared_confidence(double confidence, size_t tests);
/* The i-th word of a list joined by '+'; 0 past the last. */
int dpa__list_item(const char *list, size_t index, char *out, size_t size);
size_t dpa__list_count(const char *list);

/* ε at δ of DP-SGD with this noise. */
dpa_status dpa__training_epsilon(double sigma, double q, uint64_t steps, int replace_one,
                                 double delta, dpa_interval *out, dpa_error *err);
/* The other way round: the noise for an ε, and the ε that it has. */
dpa_status dpa__training_noise(double epsilon, double q, uint64_t steps, int replace_one,
                               double delta, double *sigma, dpa_interval *achieved, dpa_error *err);

/* One kind of evidence each: results into the report, the deciding ones with role DPA_PRIMARY. */
dpa_status dpa__judge_counts(dpa__case *c, dpa_error *err);
dpa_status dpa__judge_scores(dpa__case *c, dpa_error *err);
dpa_status dpa__judge_one_run(dpa__case *c, dpa_error *err);
dpa_status dpa__judge_cosines(dpa__case *c, dpa_error *err);

/* The request of one row. A claim gets its p-value from the row that is about the same thing. */
dpa_request dpa__case_request(const dpa__case *c);
/* A fact of the evidence by its name; NaN where it has none. */
double dpa__fact(const dpa_evidence *evidence, const char *name);
/* A result into the report, with its role and scope. */
dpa_status dpa__case_add(dpa__case *c, dpa_result *result, dpa_role role, dpa_error *err);
/* What follows for the whole training from a bound on one step (scores_training.c). */
dpa_status dpa__whole_training(dpa__case *c, const dpa_result *step, dpa_error *err);
/* What the deciding test would have detected (power.c); n1 and n0 are the sizes of the classes. */
dpa_status dpa__power_state(dpa__case *c, double n1, double n0, dpa_error *err);
/* Assumptions that lints, missing trials and exhausted families speak against. */
dpa_status dpa__doubts(dpa__case *c, const dpa_lints *lints, dpa_error *err);
/* Whether trainings fail more often with the record than without it (failures.c). */
dpa_status dpa__say_failures(dpa__case *c, dpa_error *err);

#endif
