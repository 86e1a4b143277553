/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was observed: counts, scores and what is odd about them. */
#ifndef DPAUDIT_EVIDENCE_H
#define DPAUDIT_EVIDENCE_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/data.h"
#include "dpaudit/status.h"

/* A confusion matrix of an attack that says "in" or "out". */
typedef struct dpa_counts {
    uint64_t fn, tp, fp, tn;
} dpa_counts;

/* Something about the evidence that a reader of the result must know: it is shown with every
 * result. */
typedef struct dpa_lint {
    char code[40];
    char text[320];
} dpa_lint;

typedef struct dpa_lints {
    dpa_lint *items;
    size_t count, capacity;
} dpa_lints;

DPA_API dpa_status dpa_lints_add(dpa_lints *lints, dpa_error *err, const char *code,
                                 const char *format, ...) DPA_PRINTF(4, 5);
DPA_API void dpa_lints_free(dpa_lints *lints);

#endif
