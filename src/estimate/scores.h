/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds from a confusion matrix and from two lists of scores.
 *
 * One registry says what every estimator needs, assumes and gives. A request without a family or a
 * method runs all that apply. */
#ifndef DPA_ESTIMATE_SCORES_H
#define DPA_ESTIMATE_SCORES_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/status.h"
#include "estimate/estimate.h"
#include "evidence/evidence.h"

/* What an estimator works on and what it gives: bits of dpa_estimator.what. */
enum {
    DPA_FROM_COUNTS = 1,
    DPA_FROM_SCORES = 2,
    DPA_GIVES_BOUND = 4,     /* one-sided */
    DPA_GIVES_INTERVAL = 8,  /* two-sided */
    DPA_GIVES_DENSITY = 16,  /* a posterior */
    DPA_GIVES_ESTIMATE = 32, /* a number without confidence */
    DPA_FROM_ORDER = 64,     /* scores in order of arrival: dpa__estimate_sequential */
    DPA_FROM_GUESSES = 128,  /* canaries of one run: dpa__one_run_bound */
    DPA_FROM_COSINES = 256,  /* dpa__cosines_results */
    DPA_FROM_LOSSES = 512    /* dpa__star_results */
};

typedef struct dpa_estimator {
    const char *name;     /* as in --method */
    const char *summary;  /* one line */
    const char *families; /* the families it takes, in words */
    unsigned what;        /* DPA_FROM_… and DPA_GIVES_… */
    unsigned assumptions; /* bits DPA_ASSUME_…, besides the family's own */
    int valid;            /* 1: holds at its confidence under its assumptions */
} dpa_estimator;

size_t dpa__estimator_count(void);
/* The entry of the registry, a constant; NULL past the last. */
DPA_API const dpa_estimator *dpa__estimator_at(size_t index);

/* Runs every estimator that applies to the counts and appends to `results`. If a method or family
 * was requested by name and cannot be used, the error says why. */
DPA_API dpa_status dpa__estimate_counts(const dpa_counts *counts, const dpa_request *request,
                                        dpa_results *results, dpa_error *err) DPA_MUST_USE;

/* The same for scores, which must be prepared (dpa__scores_prepare_here). If request->select is "",
 * ranks are used as they are, Clopper–Pearson limits with `simultaneous`, all others with `split`.
 */
DPA_API dpa_status dpa__estimate_scores(const dpa_scores *scores, const dpa_request *request,
                                        dpa_results *results, dpa_error *err) DPA_MUST_USE;

/* How good the attack is, each number with a two-sided interval at the request's confidence. */
typedef struct dpa_measure {
    double value, lower, upper;
} dpa_measure;
enum { DPA_LOW_FPRS = 3 };
typedef struct dpa_quality {
    dpa_measure auc;
    double fpr[DPA_LOW_FPRS];
    dpa_measure tpr[DPA_LOW_FPRS]; /* TPR at that FPR or less */
    dpa_measure accuracy;          /* balanced accuracy at the best threshold */
    double threshold;              /* the best threshold */
} dpa_quality;
/* The scores must be prepared. */
dpa_status dpa__scores_quality(const dpa_scores *scores, const dpa_request *request,
                               dpa_quality *out, dpa_error *err) DPA_MUST_USE;
/* The same in parts: `begin`, the tasks in any order and on any threads, `end`. */
enum { DPA__QUALITY_TASKS = 2 };
typedef struct dpa__measuring {
    const dpa_scores *scores;
    double p;
    dpa_quality *out;
    dpa_status status;
    dpa_error error;
} dpa__measuring;
dpa_status dpa__quality_begin(const dpa_scores *scores, const dpa_request *request,
                              dpa_quality *out, dpa__measuring *m, dpa_error *err) DPA_MUST_USE;
int dpa__quality_task(void *measuring, size_t task);
dpa_status dpa__quality_end(const dpa__measuring *m, dpa_error *err) DPA_MUST_USE;
/* The AUC with a BCa bootstrap interval (seeded by the request) instead of DeLong's. */
dpa_status dpa__scores_auc_bootstrap(const dpa_scores *scores, const dpa_request *request,
                                     dpa_measure *out, dpa_error *err) DPA_MUST_USE;

#endif
