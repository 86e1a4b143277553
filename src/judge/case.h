/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One case before the judge: the evidence, the claim, and the test that decides. */
#ifndef DPA_JUDGE_CASE_H
#define DPA_JUDGE_CASE_H

#include "estimate/registry.h"
#include "evidence/canary.h"
#include "judge/judge.h"
#include "report/model/model.h"

/* What the claim promises, in the terms of the evidence. */
typedef struct dpa__promise {
    double epsilon; /* at the case's δ and the claim's scope, rounded up; NaN: no claim */
    double sigma;   /* smallest noise multiplier of a step consistent with it; NaN: not known */
    double step_epsilon; /* what that noise promises for one observation of a step; NaN */
} dpa__promise;

/* The test that decides, with all names resolved; lists are joined by '+'. */
typedef struct dpa__test {
    char family[DPA_FAMILY_SIZE], method[DPA_NAME_SIZE], select[DPA_NAME_SIZE];
    size_t count; /* tests that share the error: families × methods × (1 + groups) */
} dpa__test;

typedef struct dpa__case {
    const dpa_evidence *evidence;
    dpa_claim claim;
    dpa_protocol protocol; /* request.delta is the δ used everywhere */
    double one_delta;      /* the δ of one record, which protocols name: of several it follows */
    dpa__promise promise;
    dpa__test test;
    dpa_report *report;
} dpa__case;

/* Takes claim, protocol and promise from the arguments and from what the evidence carries. */
dpa_status dpa__case_open(const dpa_evidence *evidence, const dpa_claim *claim,
                          const dpa_protocol *protocol, dpa__case *out, dpa_error *err);
/* What the claim promises (promise.c). */
dpa_status dpa__promise_make(dpa__case *c, dpa_error *err);
/* The decision rule (rule.c): fills c->test without looking at any number of the evidence. */
dpa_status dpa__rule_apply(dpa__case *c, dpa_error *err);
int dpa__is_large(const dpa_evidence *evidence);
/* The family of the claimed training: DP-SGD with its sampling and steps. */
void dpa__claimed_family(const dpa__case *c, char *text, size_t size);
/* The protocol that is carried out (the caller decrefs it), and its canonical text (the caller
 * frees it). */
dpa_status dpa__protocol_object(const dpa__case *c, json_t **out, dpa_error *err);
dpa_status dpa__protocol_write(const json_t *object, char **out, dpa_error *err);
/* Fails for confidences at which a verdict would be wrong more often than right. */
dpa_status dpa__confidence_check(const dpa_request *request, dpa_error *err);
/* Fills fields that were not given from the JSON that the evidence carries. */
dpa_status dpa__protocol_fill(dpa_protocol *protocol, const char *json, dpa_error *err);

/* Reads protocol and claim back from what dpa__protocol_write wrote. */
dpa_status dpa__protocol_restore(dpa_protocol *protocol, dpa_claim *claim, const char *json,
                                 dpa_error *err);

/* The confidence of each of `tests` tests that share the error, so that all hold together. */
double dpa__shared_confidence(double confidence, size_t tests);
/* How the canaries of the cosines were drawn; the sphere if nothing is said. */
dpa_direction dpa__direction_of(const dpa_evidence *e);
/* 1 if the report has a result of this family, method and (unless NULL) choice of a threshold. */
int dpa__has_row(const dpa_report *report, const char *family, const char *method,
                 const char *select);

/* ε at δ of DP-SGD with this noise. */
dpa_status dpa__training_epsilon(double sigma, double q, uint64_t steps, int replace_one,
                                 double delta, dpa_interval *out, dpa_error *err);
/* The reverse: the noise that gives an ε, and the ε that this noise has. */
dpa_status dpa__noise_of_epsilon(double epsilon, double q, uint64_t steps, int replace_one,
                                 double delta, double *sigma, dpa_interval *achieved,
                                 dpa_error *err);

/* One function per kind of evidence: adds results to the report, the deciding ones with role
 * DPA_PRIMARY. */
dpa_status dpa__judge_counts(dpa__case *c, dpa_error *err);
dpa_status dpa__judge_scores(dpa__case *c, dpa_error *err);
dpa_status dpa__judge_one_run(dpa__case *c, dpa_error *err);
dpa_status dpa__judge_cosines(dpa__case *c, dpa_error *err);

/* The request for one row. The claim gets its p-value from the row with the same scope. */
dpa_request dpa__case_request(const dpa__case *c);
/* A fact of the evidence by name; NaN if it has none. */
double dpa__fact(const dpa_evidence *evidence, const char *name);
/* Adds a result to the report, with its role and scope. */
dpa_status dpa__case_add(dpa__case *c, dpa_result *result, dpa_role role, dpa_error *err);
/* What a bound on one step implies for the whole training (scores_training.c). */
dpa_status dpa__whole_training(dpa__case *c, const dpa_result *step, dpa_error *err);
/* What the deciding test would have detected (power.c); n1 and n0 are the sizes of the classes. */
dpa_status dpa__power_state(dpa__case *c, double n1, double n0, dpa_error *err);
/* The same of the scan in the family dp. */
dpa_status dpa__power_scan(dpa__case *c, double n1, double n0, dpa_error *err);
/* Records the assumptions that lints, missing trials and exhausted families contradict. */
dpa_status dpa__doubts(dpa__case *c, const dpa_lints *lints, dpa_error *err);

/* ── from the results of a report to its verdict (verdict.c) ─────────────────────────── */

/* Starts a verdict about this claim; `epsilon` is what the claim promises at the report's δ. */
void dpa__verdict_begin(dpa_report *report, const dpa_claim *claim, double epsilon);
/* Records that the data contradict an assumption of the test: the verdict will be inconclusive. */
void dpa__verdict_contradict(dpa_report *report, unsigned assumption, const char *format, ...)
    DPA_PRINTF(3, 4);
/* 1 if a deciding result exceeds the claim. */
int dpa__verdict_refutes(const dpa_report *report);
/* Sets state and headline from the results with role DPA_PRIMARY. */
dpa_status dpa__verdict_conclude(dpa_report *report, dpa_error *err) DPA_MUST_USE;

#endif
