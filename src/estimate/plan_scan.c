/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The power of an audit by the scan: the audit's own test of the claim, under the truth
 * (scan_power.c). */
#include <math.h>

#include "base/error.h"
#include "estimate/plan.h"
#include "estimate/scan.h"

/* Simulated audits: standard errors of 0.009 and 0.006 at a power of 0.8. */
enum { FEW = 2000, MANY = 5000 };

/* A member in the form that the scan tests; *owned is a curve to be freed. */
static dpa_status claim_of(const dpa__model *model, const dpa__member *member, dpa__scan_claim *out,
                           dpa_curve **owned, dpa_error *err) {
    *out = (dpa__scan_claim){member->t, member->delta, member->curve};
    *owned = NULL;
    if (model->kind == DPA__MODEL_DP) out->curve = NULL; /* its law can be computed */
    if (model->kind != DPA__MODEL_GAUSSIAN || member->curve != NULL) return DPA_OK;
    DPA_TRY(dpa_curve_gaussian(member->t, owned, err));
    out->curve = *owned;
    return DPA_OK;
}

static dpa_status power_of(const dpa__plan *plan, const dpa__scan_claim *claim,
                           const dpa__scan_claim *truth, size_t n, dpa__care care,
                           dpa_plan_answer *out, dpa_error *err) {
    const size_t draws = care == DPA__ROUGHLY ? FEW : MANY;
    dpa_request request;
    dpa__scan_test test;
    dpa__request_init(&request);
    request.confidence = plan->asked->confidence;
    request.seed = plan->asked->seed;
    DPA_TRY(dpa__scan_test_open(n, n, claim, &request, &test, err));
    const double wanted = care == DPA__ROUGHLY ? plan->wanted : (double)NAN;
    const dpa_status status =
        dpa__scan_power(&test, truth, draws, wanted, &out->power, &out->error, err);
    dpa__scan_test_close(&test);
    return status;
}

dpa_status dpa__plan_scan(const dpa__plan *plan, uint64_t n, dpa__care care, dpa_plan_answer *out,
                          dpa_error *err) {
    dpa__scan_claim claim, truth;
    dpa_curve *owned[2] = {NULL, NULL};
    dpa_status status = claim_of(&plan->model, &plan->claim, &claim, &owned[0], err);
    if (status == DPA_OK) status = claim_of(&plan->suspect, &plan->truth, &truth, &owned[1], err);
    if (status == DPA_OK) status = power_of(plan, &claim, &truth, (size_t)n, care, out, err);
    dpa_curve_free(owned[0]);
    dpa_curve_free(owned[1]);
    return status;
}
