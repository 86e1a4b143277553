/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scores of two classes, sorted as estimators want them. */
#ifndef DPA_TESTS_PREPARED_H
#define DPA_TESTS_PREPARED_H

#include "check.h"
#include "estimate/scores.h"

static inline dpa_scores prepared(const double *in, size_t members, const double *out,
                                  size_t nonmembers) {
    dpa_scores scores;
    dpa_lints lints = {0};
    assert_ok(dpa__scores_from(in, members, out, nonmembers, &scores, NULL));
    assert_ok(dpa__scores_prepare_here(&scores, &lints, NULL));
    dpa__lints_free(&lints);
    return scores;
}

#endif
