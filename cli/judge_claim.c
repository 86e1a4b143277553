/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The claim of a training: noise that it is run with, noise and ε that are promised. */
#include "judge.h"

#include <math.h>
#include <stdio.h>

dpa_status phase_epsilon(const judgement *j, const dpa_phase *phase, dpa_adjacency adjacency,
                         dpa_interval *out, dpa_error *err) {
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.adjacency = adjacency;
    opts.delta = j->request.delta;
    /* Epsilons in the hundreds need no third digit, and the grid would not hold it. */
    if (phase->sigma < 0.5) opts.tolerance = 0.2;
    dpa_account *account = NULL;
    dpa_status status = dpa_account_new(phase, 1, &opts, &account, err);
    if (status == DPA_OK) status = dpa_account_epsilon(account, j->request.delta, out, err);
    dpa_account_free(account);
    return status;
}

dpa_status training_epsilon(const judgement *j, double sigma, double q, uint64_t steps,
                            dpa_interval *out, dpa_error *err) {
    const dpa_phase phase = {DPA_GAUSSIAN, sigma, q, steps};
    return phase_epsilon(j, &phase, DPA_ADD_REMOVE, out, err);
}

static dpa_status noise_for(const judgement *j, double epsilon, double *sigma,
                            dpa_interval *achieved, dpa_error *err) {
    const dpa_phase phase = {DPA_GAUSSIAN, 1.0, j->claim.q, j->claim.steps};
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.delta = j->request.delta;
    if (isnan(j->claim.q)) {
        err->status = DPA_BAD_INPUT;
        (void)snprintf(err->place, sizeof err->place, "%.400s", j->experiment->training);
        (void)snprintf(err->text, sizeof err->text,
                       "an epsilon needs sampling: poisson (shuffled batches are not accounted "
                       "for)");
        return DPA_BAD_INPUT;
    }
    return dpa_calibrate(&phase, 1, DPA_CALIBRATE_SIGMA, epsilon, j->request.delta, &opts, sigma,
                         achieved, err);
}

/* The least noise that the claim may stand for: calibration rounds up, so its target is raised
 * until the ε of the noise is certainly not below the claim. A trainer that just keeps its promise
 * must not be refuted. */
static dpa_status claimed_noise(const judgement *j, double epsilon, double *sigma, dpa_error *err) {
    dpa_interval achieved = {0, 0};
    double target = epsilon;
    dpa_status status = noise_for(j, target, sigma, &achieved, err);
    for (int i = 0; i < 4 && status == DPA_OK && achieved.lower < epsilon; ++i) {
        target *= 1.0005 * epsilon / achieved.lower;
        status = noise_for(j, target, sigma, &achieved, err);
    }
    return status;
}

dpa_status training_claim(judgement *j, dpa_error *err) {
    const dpa_experiment *e = j->experiment;
    const dpa_train_plan *plan = dpa_game_training(j->game);
    training_promise *claim = &j->claim;
    if (plan == NULL) { /* an external trainer: what the experiment says is all there is */
        j->request.confidence = e->confidence;
        if (!isnan(e->claim_delta)) j->request.delta = e->claim_delta;
        *claim = (training_promise){.q = (double)NAN, .epsilon = e->claim_epsilon};
        return DPA_OK;
    }
    const size_t members = dpa_game_data(j->game)->member_count;
    j->request.delta = isnan(e->claim_delta) ? plan->delta : e->claim_delta;
    j->request.confidence = e->confidence;
    claim->steps = dpa_train_plan_steps(plan, members);
    claim->q = dpa_train_plan_q(plan, members);
    claim->epsilon = e->claim_epsilon;
    claim->sigma = plan->train.microbatch > 1 ? 0.5 * plan->train.sigma : plan->train.sigma;
    if (!isnan(claim->epsilon)) {
        /* Without noise or Poisson sampling the claim is only a number. */
        if (!(claim->sigma > 0.0) || isnan(claim->q)) return DPA_OK;
        return claimed_noise(j, claim->epsilon, &claim->sigma, err);
    }
    if (!(claim->sigma > 0.0) || isnan(claim->q)) return DPA_OK;
    dpa_interval promised = {0.0, 0.0};
    const dpa_status status =
        training_epsilon(j, claim->sigma, claim->q, claim->steps, &promised, err);
    claim->epsilon = promised.upper;
    return status;
}

void claimed_family(const judgement *j, int is_replace, char *text, size_t size) {
    const training_promise *c = &j->claim;
    (void)snprintf(text, size, "dp");
    if (c->sigma > 0.0 && !isnan(c->q))
        (void)snprintf(text, size, "subsampled-gaussian:q=%.17g,steps=%llu%s", c->q,
                       (unsigned long long)c->steps, is_replace ? ",adjacency=replace-one" : "");
}
