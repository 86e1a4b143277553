/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The anytime-valid p-value of one curve from trials in the order of arrival. What was bet depends
 * on earlier pairs only, and what a bet pays under the curve has mean at most 1
 * (docs/methods/sequential.md), so the wealth against the curve is a test supermartingale whatever
 * family the bets were aimed with, and 1 over its largest value is a p-value (Ville). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "estimate/sequential.h"

double dpa__sequential_curve_p_value(const dpa_sequential *s, const dpa_curve *curve) {
    const dpa__member null = {.kind = DPA__MODEL_CURVES, .curve = (dpa_curve *)curve};
    double now = 0, most = 0;
    for (size_t i = 0; i < s->stage_count; ++i) {
        now += dpa__stage_log_wealth(&s->stages[i], &null);
        most = fmax(most, now);
    }
    return exp(-most);
}

dpa_status dpa__sequential_p_value(const dpa_scores *in_order, const dpa_curve *curve,
                                   const dpa_request *request, double *p, dpa_error *err) {
    dpa_request asked = *request;
    dpa_sequential *audit = NULL;
    dpa_status status = DPA_OK;
    asked.claim_epsilon = NAN; /* aim the bets at the data, not at a claim of another kind */
    asked.sides = 1;
    if (asked.family[0] == '\0') memcpy(asked.family, "gaussian", sizeof "gaussian");
    *p = 1;
    DPA_TRY(dpa_sequential_new(&asked, &audit, err));
    const size_t most =
        in_order->members > in_order->nonmembers ? in_order->members : in_order->nonmembers;
    for (size_t i = 0; i < most && status == DPA_OK; ++i) {
        if (i < in_order->members) status = dpa_sequential_push(audit, 1, in_order->member[i], err);
        if (i < in_order->nonmembers && status == DPA_OK)
            status = dpa_sequential_push(audit, 0, in_order->nonmember[i], err);
    }
    if (status == DPA_OK) *p = dpa__sequential_curve_p_value(audit, curve);
    dpa_sequential_free(audit);
    return status;
}
