/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a bound on one step to one on the whole training, by the accountant (tight-auditing,
 * section 5.5): the bound shows the most noise that a step can have. */
#include <math.h>
#include <stdio.h>

#include "account/account.h"
#include "base/error.h"
#include "judge/case.h"

/* Less noise than this makes no difference. */
static const double LEAST_NOISE = 0.1;

/* The noise of a step with this ε at δ; with more noise its ε would be smaller. */
static dpa_status noise_of_epsilon(const dpa__case *c, double epsilon, double *sigma,
                                   dpa_error *err) {
    dpa_interval achieved;
    if (!(epsilon > 0)) return DPA_OK;
    return dpa__noise_of_epsilon(epsilon, c->evidence->training.rate, 1, 0,
                                 c->protocol.request.delta, sigma, &achieved, err);
}

/* The largest noise multiplier that the step's bound allows, rounded up. INFINITY: nothing was
 * shown. NaN: the family has no Gaussian noise (a Laplace step, a curve). */
static dpa_status most_noise(const dpa__case *c, const dpa_result *step, double *sigma,
                             dpa_error *err) {
    dpa_family *family = NULL;
    *sigma = INFINITY;
    if (isnan(step->parameter_lower)) return DPA_OK;
    if (dpa__family_is_universal(step->family)) {
        DPA_TRY(noise_of_epsilon(c, step->epsilon_lower, sigma, err));
    } else {
        DPA_TRY(dpa__family_parse(step->family, c->protocol.request.delta, &family, err));
        const int is_noise = dpa__family_is_noise(family);
        const double t = dpa__family_t(family, step->parameter_lower); /* 1/σ of a Gaussian step */
        dpa__family_free(family);
        if (!is_noise) *sigma = NAN;
        if (is_noise && t > 0) *sigma = 1 / t * (1 + 1e-9);
    }
    if (*sigma < LEAST_NOISE) *sigma = LEAST_NOISE;
    return DPA_OK;
}

/* Sampling rate and steps of the training: from the claim, else from the evidence. */
static int sampling_of(const dpa__case *c, double *q, uint64_t *steps) {
    const dpa_training_facts *t = &c->evidence->training;
    const int is_claimed = !isnan(c->claim.sigma);
    *q = is_claimed ? c->claim.q : t->q;
    *steps = is_claimed ? c->claim.steps : t->steps;
    return !isnan(*q) && *steps > 0;
}

static dpa_status put_facts(dpa__case *c, double sigma, dpa_error *err) {
    if (!isnan(c->promise.sigma))
        DPA_TRY(dpa__report_fact(c->report, "claimed_sigma", c->promise.sigma, err));
    if (isfinite(sigma)) DPA_TRY(dpa__report_fact(c->report, "sigma_at_most", sigma, err));
    return DPA_OK;
}

/* Says why nothing follows for the training. */
static dpa_status stop(dpa__case *c, const char *why) {
    (void)snprintf(c->report->verdict.obstacle, sizeof c->report->verdict.obstacle, "%s", why);
    return DPA_OK;
}

dpa_status dpa__whole_training(dpa__case *c, const dpa_result *step, dpa_error *err) {
    double sigma, q;
    uint64_t steps;
    DPA_TRY(most_noise(c, step, &sigma, err));
    DPA_TRY(put_facts(c, sigma, err));
    if (isnan(sigma))
        return stop(c, "a bound in this family says nothing about the noise of a step, and so "
                       "nothing about the training; leave --family out, or --claim-scope step");
    if (!sampling_of(c, &q, &steps))
        return stop(c, "the scores are about one step and the claim about the training; say its "
                       "sampling rate and steps (--claim-sigma with --claim-q and --claim-steps), "
                       "or --claim-scope step");
    dpa_result whole = *step;
    dpa_interval epsilon = {0, 0};
    whole.scope = DPA_SCOPE_TRAINING;
    if (sigma <= 1e9)
        DPA_TRY(dpa__training_epsilon(sigma, q, steps, c->claim.replace_one,
                                      c->protocol.request.delta, &epsilon, err));
    whole.epsilon_lower = epsilon.lower;
    whole.epsilon_upper = NAN;
    whole.numerical_error = epsilon.upper - epsilon.lower;
    whole.assumptions |= DPA_ASSUME_SAME_NOISE;
    if (dpa__family_is_universal(step->family)) {
        whole.assumptions &= ~(unsigned)DPA_ASSUME_FAMILY_DP;
        whole.assumptions |= DPA_ASSUME_FAMILY_SUBSAMPLED;
    }
    (void)dpa__print(whole.family, sizeof whole.family, "subsampled-gaussian:q=%.6g,steps=%llu%s",
                     q, (unsigned long long)steps,
                     c->claim.replace_one ? ",adjacency=replace-one" : "");
    (void)snprintf(whole.parameter, sizeof whole.parameter, "sigma");
    whole.parameter_lower = isfinite(sigma) ? sigma : (double)NAN;
    if (isinf(sigma))
        (void)snprintf(whole.note, sizeof whole.note,
                       "One step could have had any noise, so nothing follows for the training.");
    else
        (void)dpa__print(whole.note, sizeof whole.note,
                         "One step shows a noise multiplier of at most %.6g; the accountant does "
                         "the rest (q %.6g, %llu steps).",
                         sigma, q, (unsigned long long)steps);
    return dpa__case_add(c, &whole, DPA_PRIMARY, err);
}
