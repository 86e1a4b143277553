/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one table of estimators from counts and scores, as the code uses it. */
#ifndef DPA_ESTIMATE_REGISTRY_H
#define DPA_ESTIMATE_REGISTRY_H

#include "dpaudit/scores.h"
#include "estimate/model.h"

typedef struct dpa__entry dpa__entry;

/* Fills t or ε limits, numerical error and notes of a result that is otherwise ready. */
typedef dpa_status (*dpa__counts_fn)(const dpa__entry *entry, const dpa_counts *counts,
                                     const dpa__model *model, const dpa_request *request,
                                     dpa_result *result, dpa_error *err);

/* The same from prepared scores; `method` as it was asked for, with what follows a colon. */
typedef dpa_status (*dpa__scores_fn)(const char *method, const dpa__model *model,
                                     const dpa_scores *scores, const dpa_request *request,
                                     dpa_result *out, dpa_error *err);

struct dpa__entry {
    dpa_estimator about;
    dpa__counts_fn from_counts; /* NULL: needs scores */
    int variant;                /* which limit or which ratio */
    dpa__scores_fn from_scores; /* of those that need scores, in any order */
};

const dpa__entry *dpa__registry_at(size_t index);
/* NULL and an error that lists the names. "rank:auc" finds "rank". */
const dpa__entry *dpa__registry_find(const char *name, dpa_error *err);
/* NULL when the estimator can be used with this family at this δ, else the reason. */
const char *dpa__registry_refusal(const dpa__entry *entry, const dpa__model *model, double delta);

/* The same among the estimators of one kind of evidence (DPA_FROM_…): also those of one run and of
 * cosines. */
const dpa__entry *dpa__registry_for(unsigned source, const char *name, dpa_error *err);
/* The name of the method that decides where none is named: for the family of all mechanisms or
 * another one; `is_tail`: the leak shows at low false positive rates only; `is_large`: more than an
 * exact test of counts can take; `options` of one run. */
const char *dpa__registry_default(unsigned source, int is_universal, int is_tail, int is_large,
                                  uint64_t options);
int dpa__registry_is_scan(const char *method);
int dpa__registry_is_exact(const char *method);
int dpa__registry_takes_counts(const char *method);
/* The method that decides where a way to choose a threshold is named, and no method. */
const char *dpa__registry_threshold(void);
/* The method whose number is a posterior probability. */
const char *dpa__registry_posterior(void);

/* One estimator on one family; `counts` are checked by the caller. */
dpa_status dpa__estimate_one(const dpa__entry *entry, const dpa_counts *counts,
                             const dpa__model *model, const dpa_request *request, dpa_result *out,
                             dpa_error *err);
/* Writes the limits of the parameter and of ε at the request's δ; `error` is that of t. */
dpa_status dpa__result_limits(dpa_result *result, const dpa__model *model, double delta,
                              double lower, double upper, double error, dpa_error *err);

/* Families of a request: its own, or every family that needs no parameters. */
enum { DPA__DEFAULT_FAMILIES = 3 };
const char *dpa__request_family(const dpa_request *request, size_t index); /* NULL past the last */

dpa_status dpa__counts_check(const dpa_counts *counts, dpa_error *err);

#endif
