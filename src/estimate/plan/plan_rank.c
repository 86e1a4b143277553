/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The power of an audit by ranks. The audit refutes if Mann–Whitney's U is above all but a few of B
 * simulated U* under the claim (estimate/ranks/rank.c). With the audit's own seed its critical
 * value is known exactly, and the power is the share of U simulated under the truth that exceed it.
 * Where the audit uses the normal law, the plan does too, for both. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/plan/plan.h"
#include "estimate/ranks/rank.h"
#include "estimate/ranks/scan.h"
#include "math/dist.h"

enum { REPLICATES = 2000 };

static dpa_status by_normal_law(const dpa__plan *plan, double n, dpa_plan_answer *out,
                                dpa_error *err) {
    double mean[2], deviation[2];
    DPA_TRY(dpa__rank_moments(&plan->claim, n, n, &mean[0], &deviation[0], err));
    DPA_TRY(dpa__rank_moments(&plan->truth, n, n, &mean[1], &deviation[1], err));
    const double least =
        0.5 + mean[0] +
        deviation[0] * dpa__norm_quantile(dpa__rank_normal_level(plan->p), DPA_UPPER);
    out->power = dpa__norm_cdf((least - mean[1]) / deviation[1], DPA_UPPER);
    return DPA_OK;
}

/* U of `count` simulated pairs of samples under a member. */
static dpa_status simulate(const dpa__model *model, const dpa__member *member, size_t n,
                           size_t count, uint64_t seed, double *out, dpa_error *err) {
    dpa__rank_draws draws = {0};
    double *weights = NULL, *scratch = DPA_NEW_ARRAY(double, n, err);
    dpa_status status = scratch == NULL ? DPA_NO_MEMORY : DPA_OK;
    if (status == DPA_OK) status = dpa__rank_weights(DPA__RANK_AUC, model, 0, n, &weights, err);
    if (status == DPA_OK) status = dpa__rank_draw(model, n, n, count, seed, &draws, err);
    for (size_t b = 0; b < count && status == DPA_OK; ++b)
        out[b] = dpa__rank_simulated(&draws, b, member, weights, scratch);
    dpa__rank_draws_free(&draws);
    free(weights);
    free(scratch);
    return status;
}

/* The largest U that does not refute. */
static dpa_status critical(const dpa__plan *plan, size_t n, size_t count, double *u, double *out,
                           dpa_error *err) {
    DPA_TRY(simulate(&plan->model, &plan->claim, n, count, plan->asked->seed, u, err));
    DPA_TRY(dpa__sort_numbers(u, count, err));
    const size_t allowed = dpa__scan_may_reach(plan->p, count, DPA__SCAN_DOUBT);
    *out = allowed > 0 ? u[count - allowed] : HUGE_VAL;
    return DPA_OK;
}

static dpa_status power_of_ranks(dpa__plan *plan, uint64_t n, dpa__care care, dpa_plan_answer *out,
                                 dpa_error *err) {
    const size_t count = dpa__rank_replicates(DPA__RANK_AUC, plan->p, (double)n, (double)n);
    if (care == DPA__ROUGHLY || count == 0) return by_normal_law(plan, (double)n, out, err);
    const size_t most = count > REPLICATES ? count : REPLICATES;
    double limit = 0, *u = DPA_NEW_ARRAY(double, most, err);
    if (u == NULL) return DPA_NO_MEMORY;
    dpa_status status = critical(plan, (size_t)n, count, u, &limit, err);
    /* another seed, because the draws of the truth must be independent of the claim's */
    if (status == DPA_OK)
        status = simulate(&plan->suspect, &plan->truth, (size_t)n, REPLICATES, ~plan->asked->seed,
                          u, err);
    size_t refuted = 0;
    for (size_t b = 0; b < REPLICATES && status == DPA_OK; ++b) refuted += u[b] > limit;
    free(u);
    out->power = (double)refuted / REPLICATES;
    out->error = dpa__share_error((double)refuted, REPLICATES);
    return status;
}

const dpa__power dpa__planned_ranks = {power_of_ranks, DPA__IN_RUNS, .limit = 10000000, .parts = 40,
                                       .fine = 1e-4};
