/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do trainings fail more often with the challenge than without it? */
#ifndef DPA_ESTIMATE_FAILURES_H
#define DPA_ESTIMATE_FAILURES_H

#include <stdint.h>

/* Failed trainings of each arm. */
typedef struct dpa__failure_counts {
    uint64_t failed_members, members, failed_nonmembers, nonmembers;
} dpa__failure_counts;

/* The two-sided p-value of Fisher's exact test: the probability, given the total number of
 * failures, of a split over the arms that is at most as likely as the observed one, if failing does
 * not depend on the arm. 1 if nothing can be said (an arm is empty, none failed, all failed); NaN
 * if more failed than there were. A small value means that failing by itself tells members from
 * non-members. That is a leak, but it does not refute a claim, since ε may allow it. */
double dpa__failures_test(const dpa__failure_counts *counts);

#endif
