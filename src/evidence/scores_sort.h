/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef DPA_EVIDENCE_SCORES_SORT_H
#define DPA_EVIDENCE_SCORES_SORT_H

#include <stddef.h>

#include "evidence/evidence.h"

/* Sorts ascending; no NaN allowed. Needs as much memory again during the call. */
dpa_status dpa__sort_numbers(double *values, size_t count, dpa_error *err);

/* Scores for each of which a further thread pays. */
enum { DPA__SCORES_A_THREAD = 1 << 16 };
/* dpa__scores_prepare_here of a copy, which the caller frees also on failure; with two threads each
 * class is copied and sorted by one. */
dpa_status dpa__scores_prepare(const dpa_scores *given, unsigned threads, dpa_scores *out,
                               dpa_lints *lints, dpa_error *err);

/* How many of the ascending numbers are at least x. */
size_t dpa__count_at_least(const double *sorted, size_t count, double x);

/* Adds the lint "sign" if members score lower than non-members by more than chance. The scores must
 * be sorted. */
dpa_status dpa__scores_lint_sign(const dpa_scores *scores, dpa_lints *lints, dpa_error *err);

#endif
