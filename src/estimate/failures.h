/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do trainings fail more often with the challenge than without it? */
#ifndef DPA_ESTIMATE_FAILURES_H
#define DPA_ESTIMATE_FAILURES_H

#include <stdint.h>

/* Failed trainings of each arm. */
typedef struct dpa__failure_counts {
    uint64_t failed_members, members, failed_nonmembers, nonmembers;
} dpa__failure_counts;

/* The p-value of Fisher's exact test, two-sided: the probability, given how many failed in all, of
 * a split over the arms that is at most as likely as the one seen, if failing does not depend on
 * the arm. 1 where nothing can be said (an arm is empty, none failed, all failed); NaN when more
 * failed than there were. Small: failing by itself tells members from non-members. That is a leak,
 * but no refutation of a claim: epsilon may allow it. */
double dpa__failures_test(const dpa__failure_counts *counts);

#endif
