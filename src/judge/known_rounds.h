/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Known rounds, for the judge. */
#ifndef DPA_JUDGE_KNOWN_ROUNDS_H
#define DPA_JUDGE_KNOWN_ROUNDS_H

#include "estimate/cosine.h"
#include "judge/case.h"

typedef struct dpa__known {
    int has_bound;            /* 0: nothing was added, the evidence has no known rounds */
    dpa_known_rounds known;   /* borrows from the evidence */
    dpa_result participation; /* the bound on a canary's rounds */
} dpa__known;

/* Adds the bound from the arrays members and nonmembers of cosine evidence, which are scores of
 * canaries over their own rounds; it decides, unless a posterior shall. Without these arrays
 * nothing happens. */
dpa_status dpa__judge_known_rounds(dpa__case *c, dpa_lints *lints, dpa__known *k, dpa_error *err);
/* Adds what is shown beside it: the bound on the canary's rounds themselves, and that for any
 * mechanism. */
dpa_status dpa__known_rounds_show(dpa__case *c, dpa__known *k, dpa_error *err);

#endif
