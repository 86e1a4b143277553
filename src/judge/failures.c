/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do trainings fail more often with the record than without it? The answer is shown beside the
 * verdict but never decides: ε may allow the difference, and failed trials already count in the
 * bound, with the score that was fixed for them beforehand. */
#include "estimate/failures.h"

#include <math.h>

#include "base/error.h"
#include "judge/case.h"

/* Below this p-value the report says it in words; the p-value itself is always among the facts. */
static const double UNLIKELY = 0.01;

/* How many trials of an arm ended, well or not; 0: not known. */
static uint64_t ended(const dpa_evidence *e, const char *fact, uint64_t absent) {
    const double trials = dpa__fact(e, fact);
    return trials >= (double)absent && trials <= 9007199254740992.0 ? (uint64_t)trials - absent : 0;
}

dpa_status dpa__say_failures(dpa__case *c, dpa_error *err) {
    const dpa_evidence *e = c->evidence;
    const dpa__failure_counts counts = {.failed_members = e->failed[0],
                                        .members = ended(e, "trials_members", e->absent[0]),
                                        .failed_nonmembers = e->failed[1],
                                        .nonmembers = ended(e, "trials_nonmembers", e->absent[1])};
    dpa_lints lints = {0};
    /* in one run both kinds of records share the training, so failing tells nothing */
    if (e->failed[0] + e->failed[1] == 0 || e->design == DPA_ONE_RUN) return DPA_OK;
    if (counts.members == 0 || counts.nonmembers == 0) return DPA_OK;
    const double p = dpa__failures_test(&counts);
    if (isnan(p))
        return dpa__fail(err, DPA_BAD_INPUT, "evidence: more trials failed than there were");
    DPA_TRY(dpa__report_fact(c->report, "failures_p_value", p, err));
    if (p > UNLIKELY) return DPA_OK;
    dpa_status status = dpa__lints_add(
        &lints, err, "failures",
        "trainings failed in %llu of %llu trials with the record and in %llu of %llu without it "
        "(p = %.2g): failing tells who was in, which is a leak by itself; the bound has it through "
        "the score of failed trials",
        (unsigned long long)counts.failed_members, (unsigned long long)counts.members,
        (unsigned long long)counts.failed_nonmembers, (unsigned long long)counts.nonmembers, p);
    if (status == DPA_OK) status = dpa__report_lints(c->report, &lints, err);
    dpa__lints_free(&lints);
    return status;
}
