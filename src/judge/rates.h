/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What judging counts and judging scores share. */
#ifndef DPA_JUDGE_RATES_H
#define DPA_JUDGE_RATES_H

#include "base/threads.h"
#include "estimate/scores.h"
#include "judge/case.h"

/* An estimator of this evidence: appends results for the family and method of a request. Called by
 * several threads at once. */
typedef dpa_status (*dpa__rates_fn)(void *user, const dpa_request *request, dpa_results *results,
                                    dpa_error *err);
typedef struct dpa__rows {
    dpa__case *c;
    dpa__rates_fn run;
    void *user;
    unsigned threads; /* rows that are worked on at the same time */
    /* other tasks for the same threads, so that none of them waits while a long row ends */
    dpa__task *beside;
    void *beside_user;
    size_t beside_count;
} dpa__rows;

/* Adds the rows of the deciding tests, each at its share of the error, then the rows shown beside
 * them. */
dpa_status dpa__rates_rows(const dpa__rows *rows, dpa_error *err);
/* Adds one row: a family and a method at a confidence. */
dpa_status dpa__rates_row(const dpa__rows *rows, const char *family, const char *method,
                          const char *select, double confidence, dpa_role role, dpa_error *err);

/* What is asked for beside the rows: the posterior, bounds at other δ, δ at an ε, --explain.
 * `scores` NULL: from the counts of the results. */
dpa_status dpa__rates_sections(dpa__case *c, const dpa_scores *scores, dpa_error *err);

#endif
