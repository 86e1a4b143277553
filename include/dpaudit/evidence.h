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

/* Attack scores of both classes: higher must mean "in". Arrays are ascending once prepared. */
typedef struct dpa_scores {
    double *member, *nonmember;
    size_t members, nonmembers;
    int is_sorted;
    char sha256[2][DPA_SHA256_SIZE]; /* of the files they came from; "" where there is none */
} dpa_scores;

/* Copies. */
DPA_API dpa_status dpa_scores_from(const double *member, size_t members, const double *nonmember,
                                   size_t nonmembers, dpa_scores *out, dpa_error *err) DPA_MUST_USE;
/* Two files of one array each, or (nonmembers_path NULL) one file: an NPZ with `members` and
 * `nonmembers`, or a CSV with the columns `score` and `member` (0 or 1). */
DPA_API dpa_status dpa_scores_read(const char *path, const char *nonmembers_path, dpa_scores *out,
                                   dpa_error *err) DPA_MUST_USE;
/* Sorts both classes and says what is odd: ties, the wrong sign, NaN, infinities, duplicates, tiny
 * classes. A NaN counts against the attack: as the lowest member, as the highest non-member. An
 * empty class, or one of NaN only, is an error. */
DPA_API dpa_status dpa_scores_prepare(dpa_scores *scores, dpa_lints *lints,
                                      dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_scores_free(dpa_scores *scores);

/* The same CSV cut by the values of one more column. */
typedef struct dpa_score_groups {
    dpa_scores *items;
    char (*names)[64];
    size_t count;
} dpa_score_groups;
DPA_API dpa_status dpa_score_groups_read(const char *path, const char *column,
                                         dpa_score_groups *out, dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_score_groups_free(dpa_score_groups *groups);

/* Members, non-members and how often they were told apart rightly: what a threshold gives. In means
 * score ≥ threshold. The scores must be prepared. */
DPA_API dpa_counts dpa_scores_counts(const dpa_scores *scores, double threshold);

#endif
