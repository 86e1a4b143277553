/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Choosing a threshold, validly or optimistically. */
#ifndef DPA_ESTIMATE_SELECT_H
#define DPA_ESTIMATE_SELECT_H

#include "estimate/rates/roc.h"
#include "estimate/registry.h"

typedef enum dpa__select_kind {
    DPA__FIXED,        /* fixed:T */
    DPA__FIXED_FPR,    /* fixed-fpr:X */
    DPA__SPLIT,        /* split */
    DPA__MULTI_SPLIT,  /* multi-split */
    DPA__SIMULTANEOUS, /* simultaneous */
    DPA__MAX           /* max */
} dpa__select_kind;

typedef struct dpa__select {
    dpa__select_kind kind;
    double value; /* T or X */
} dpa__select;

dpa_status dpa__select_parse(const char *text, dpa__select *out, dpa_error *err);
/* 1 if the text names this kind, with a value if the kind has one. */
int dpa__select_is(const char *text, dpa__select_kind kind);
const char *dpa__select_name(dpa__select_kind kind);
/* NULL if the estimator can be used with this choice, else the reason. */
const char *dpa__select_refusal(const dpa__select *select, const dpa__entry *entry);

/* One estimator on one family of prepared scores; `roc` has their corners. */
typedef struct dpa__selection {
    dpa__select select;
    const dpa__entry *entry;
    const dpa__model *model;
    const dpa_scores *scores;
    const dpa__roc *roc;
    const dpa_request *request;
} dpa__selection;
dpa_status dpa__select_run(const dpa__selection *selection, dpa_result *out, dpa_error *err);

enum { DPA__SPLITS = 11, DPA__SPLITS_NEEDED = 6 };

#endif
