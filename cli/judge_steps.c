/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every step was seen: bounds on one step, and through the accountant on the whole training
 * (tight-auditing section 5.5). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "judge.h"

/* The strongest valid bound on the noise of a step; INFINITY: nothing is shown. */
static double shown_noise(const judgement *j) {
    double sigma = INFINITY;
    for (size_t i = 0; i < dpa_report_count(j->report); ++i) {
        const dpa_result *r = dpa_report_result(j->report, i);
        double s = INFINITY;
        if (strcmp(r->parameter, "mu") == 0 && r->parameter_lower > 0.0)
            s = 1.0 / r->parameter_lower;
        else if (strcmp(r->parameter, "sigma") == 0 && r->parameter_lower > 0.0)
            s = r->parameter_lower;
        if (r->valid && r->kind == DPA_BOUND && s < sigma) sigma = s;
    }
    return sigma;
}

static dpa_status add_end_to_end(judgement *j, dpa_error *err) {
    dpa_status status = dpa_report_fact(j->report, "claimed_sigma", j->claim.sigma, err);
    /* Rounded up: at most that much noise is what was shown. Below 0.1 it makes no difference. */
    const double shown = fmax(shown_noise(j) * (1.0 + 1e-9), 0.1);
    if (status == DPA_OK && isfinite(shown))
        status = dpa_report_fact(j->report, "sigma_at_most", shown, err);
    if (status != DPA_OK || isnan(j->claim.q)) return status;
    dpa_interval whole = {0.0, 0.0};
    if (shown <= 1e9) status = training_epsilon(j, shown, j->claim.q, j->claim.steps, &whole, err);
    if (status == DPA_OK)
        status = dpa_report_fact(j->report, "end_to_end_claimed_epsilon", j->claim.epsilon, err);
    if (status == DPA_OK)
        status = dpa_report_fact(j->report, "end_to_end_epsilon_lower", whole.lower, err);
    if (status == DPA_OK)
        status = dpa_report_note(j->report, err,
                                 "The bounds are about one step. Through the accountant (q %.6g, "
                                 "%llu steps) the strongest one says: the whole training has "
                                 "epsilon at least %.4f at delta %g; claimed: %.4f.",
                                 j->claim.q, (unsigned long long)j->claim.steps, whole.lower,
                                 j->request.delta, j->claim.epsilon);
    return status;
}

/* What the claim says of a step that has the canary with the stated rate. */
static dpa_status claim_step(judgement *j, dpa_error *err) {
    if (!(j->claim.sigma > 0.0)) return DPA_OK;
    dpa_interval promised = {0.0, 0.0};
    const dpa_status status =
        training_epsilon(j, j->claim.sigma, j->experiment->game.canary_rate, 1, &promised, err);
    if (status == DPA_OK) j->request.claim_epsilon = promised.upper;
    return status;
}

dpa_status steps_request(judgement *j, dpa_error *err) {
    char family[80] = "gaussian";
    const double rate = j->experiment->game.canary_rate;
    /* Ranks weigh all of the curve alike; that of a sampled canary shows at its steep end. */
    if (rate < 1.0)
        (void)snprintf(family, sizeof family, "subsampled-gaussian:q=%.17g,steps=1", rate);
    dpa_status status = training_claim(j, err);
    if (status == DPA_OK) status = claim_step(j, err);
    if (status == DPA_OK) status = choose_estimator(j, family, rate < 1.0 ? "cp" : "rank", err);
    return status;
}

dpa_status judge_steps(judgement *j, dpa_error *err) {
    dpa_status status = steps_request(j, err);
    if (status == DPA_OK) status = audit_scores_of(j, err);
    if (status != DPA_OK) return status;
    dpa_report_scope(j->report, "one step");
    return add_end_to_end(j, err);
}
