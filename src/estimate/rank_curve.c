/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The p-value of one curve by ranks: no family, no search. Mann–Whitney's U against its law under
 * the curve itself (rank.c has why). Simulated where that is quick; the value given is then the
 * upper 99.9% limit of the exact one, so that the level holds for the one seed that everybody uses.
 * Else the normal law with exact mean and deviation; its error at such sizes (from 10,000 scores
 * on) is below 0.0005 at p = 0.05, which is added. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/rank.h"
#include "estimate/scan.h"
#include "math/dist.h"

static const double DRAWS = 1.2e7, LEAST = 1199, MOST = 19999;

static dpa_status simulated(const dpa_scores *scores, const dpa__member *null,
                            const double *weights, double observed, size_t replicates,
                            uint64_t seed, double *p, dpa_error *err) {
    const dpa__model any = {.kind = DPA__MODEL_CURVES};
    dpa__rank_draws draws = {0};
    size_t reached = 0;
    double *scratch = DPA_NEW_ARRAY(double, scores->nonmembers, err);
    if (scratch == NULL) return DPA_NO_MEMORY;
    const dpa_status status =
        dpa__rank_draw(&any, scores->members, scores->nonmembers, replicates, seed, &draws, err);
    for (size_t b = 0; status == DPA_OK && b < replicates; ++b)
        reached += dpa__rank_reaches(&draws, b, null, weights, observed, scratch) != 0;
    *p = dpa__cp_upper((double)reached, (double)replicates, DPA__SCAN_DOUBT);
    dpa__rank_draws_free(&draws);
    free(scratch);
    return status;
}

static dpa_status by_normal_law(const dpa_scores *scores, const dpa__member *null, double observed,
                                double *p, dpa_error *err) {
    double mean, deviation;
    DPA_TRY(dpa__rank_moments(null, (double)scores->members, (double)scores->nonmembers, &mean,
                              &deviation, err));
    *p = fmin(1, DPA__RANK_NORMAL_ERROR +
                     dpa__norm_cdf((observed - 0.5 - mean) / deviation, DPA_UPPER));
    return DPA_OK;
}

dpa_status dpa__rank_p_value(const dpa_scores *scores, const dpa_curve *curve,
                             const dpa_request *request, double *p, dpa_error *err) {
    const dpa__member null = {.kind = DPA__MODEL_CURVES, .curve = (dpa_curve *)curve};
    const double size = (double)scores->members + (double)scores->nonmembers;
    const double replicates = fmin(MOST, floor(DRAWS / size));
    double *weights = NULL;
    DPA_TRY(dpa__rank_weights(DPA__RANK_AUC, NULL, 0, scores->nonmembers, &weights, err));
    const double observed = dpa__rank_statistic(scores, weights);
    const dpa_status status = replicates < LEAST
                                  ? by_normal_law(scores, &null, observed, p, err)
                                  : simulated(scores, &null, weights, observed, (size_t)replicates,
                                              request->seed, p, err);
    free(weights);
    return status;
}
