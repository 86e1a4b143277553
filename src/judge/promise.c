/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a claim promises in the terms of the evidence: ε of the whole training, the noise of a step
 * that it implies, ε of that step. Always rounded such that a trainer who just keeps the promise is
 * not refuted. */
#include <math.h>
#include <stdio.h>

#include "account/account.h"
#include "base/error.h"
#include "base/json.h"
#include "estimate/cosines/cosine.h"
#include "judge/case.h"
#include "tradeoff/tradeoff.h"

static dpa_status training_epsilon(double sigma, double q, uint64_t steps, int replace_one,
                                   unsigned records, double delta, dpa_interval *out,
                                   dpa_error *err) {
    const dpa_phase phase = {DPA_GAUSSIAN, sigma, q, steps};
    dpa_account_opts opts;
    dpa_account *account = NULL;
    dpa_account_opts_init(&opts);
    opts.adjacency = replace_one ? DPA_REPLACE_ONE : DPA_ADD_REMOVE;
    opts.delta = delta;
    opts.group = records;
    /* ε in the hundreds needs no third digit, and the grid could not provide it. */
    if (sigma < 0.5 * records) opts.tolerance = 0.2;
    DPA_TRY(dpa_account_new(&phase, 1, &opts, &account, err));
    const dpa_status status = dpa_account_epsilon(account, delta, out, err);
    dpa_account_free(account);
    return status;
}

dpa_status dpa__training_epsilon(double sigma, double q, uint64_t steps, int replace_one,
                                 double delta, dpa_interval *out, dpa_error *err) {
    return training_epsilon(sigma, q, steps, replace_one, 1, delta, out, err);
}

dpa_status dpa__noise_of_epsilon(double epsilon, double q, uint64_t steps, int replace_one,
                                 double delta, double *sigma, dpa_interval *achieved,
                                 dpa_error *err) {
    const dpa_phase phase = {DPA_GAUSSIAN, 1.0, q, steps};
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.adjacency = replace_one ? DPA_REPLACE_ONE : DPA_ADD_REMOVE;
    opts.delta = delta;
    return dpa_calibrate(&phase, 1, DPA_CALIBRATE_SIGMA, epsilon, delta, &opts, sigma, achieved,
                         err);
}

static dpa_status noise_for(const dpa__case *c, double epsilon, double *sigma,
                            dpa_interval *achieved, dpa_error *err) {
    const dpa_training_facts *t = &c->evidence->training;
    return dpa__noise_of_epsilon(epsilon, t->q, t->steps, c->claim.replace_one,
                                 c->protocol.request.delta, sigma, achieved, err);
}

/* The least noise that a claimed ε can stand for. Calibration rounds up, so its target is raised
 * until the ε of the noise is certainly not below the claim. */
static dpa_status claimed_noise(const dpa__case *c, double *sigma, dpa_error *err) {
    const double epsilon = c->claim.epsilon;
    dpa_interval achieved = {0, 0};
    double target = epsilon;
    DPA_TRY(noise_for(c, target, sigma, &achieved, err));
    for (int i = 0; i < 4 && achieved.lower < epsilon; ++i) {
        target *= 1.0005 * epsilon / achieved.lower;
        DPA_TRY(noise_for(c, target, sigma, &achieved, err));
    }
    return DPA_OK;
}

static dpa_status curve_epsilon(const dpa__case *c, double *epsilon, dpa_error *err) {
    dpa_curve *curve = NULL;
    DPA_TRY(dpa__curve_read(c->claim.curve, &curve, err));
    *epsilon = dpa_curve_epsilon(curve, c->protocol.request.delta);
    dpa_curve_free(curve);
    return DPA_OK;
}

/* What the promised noise means for one observation of a step that contains the canary with the
 * stated rate. */
static dpa_status promise_step(dpa__case *c, dpa_error *err) {
    dpa_interval step = {0, 0};
    dpa__promise *p = &c->promise;
    if (isnan(p->sigma)) return DPA_OK;
    DPA_TRY(dpa__training_epsilon(p->sigma, c->evidence->training.rate, 1, 0,
                                  c->protocol.request.delta, &step, err));
    p->step_epsilon = step.upper;
    return DPA_OK;
}

/* Noise that is promised for one participation: a client in as many rounds as a canary. */
static dpa_status promise_participation(dpa__case *c, double rounds, dpa_error *err) {
    const dpa_participation_rule rule = {rounds, (double)NAN, 0};
    dpa_interval epsilon = {0, 0};
    DPA_TRY(dpa__participation_epsilon(&rule, c->claim.sigma, c->protocol.request.delta, &epsilon,
                                       err));
    c->promise.epsilon = epsilon.upper;
    return DPA_OK;
}

static dpa_status promise_noise(dpa__case *c, dpa_error *err) {
    const dpa_claim *claim = &c->claim;
    const int is_step = claim->scope == DPA_SCOPE_STEP;
    const double canary_rounds = dpa__fact(c->evidence, "canary_rounds");
    dpa_interval epsilon = {0, 0};
    c->promise.sigma = claim->sigma;
    if (claim->scope == DPA_SCOPE_PARTICIPATION && !isnan(canary_rounds))
        return promise_participation(c, canary_rounds, err);
    DPA_TRY(dpa__training_epsilon(claim->sigma, is_step ? c->evidence->training.rate : claim->q,
                                  is_step ? 1 : claim->steps, claim->replace_one,
                                  c->protocol.request.delta, &epsilon, err));
    c->promise.epsilon = epsilon.upper;
    return DPA_OK;
}

static dpa_status promise_epsilon(dpa__case *c, dpa_error *err) {
    const dpa_training_facts *t = &c->evidence->training;
    c->promise.epsilon = c->claim.epsilon;
    const int needs_noise =
        c->evidence->scope == DPA_SCOPE_STEP || c->evidence->design == DPA_ONE_RUN || t->sees_all;
    if (!needs_noise || c->claim.scope != DPA_SCOPE_TRAINING) return DPA_OK;
    /* Without a known noise and Poisson sampling the claim stays a number. */
    if (isnan(t->q) || isnan(t->sigma) || t->steps == 0) return DPA_OK;
    return claimed_noise(c, &c->promise.sigma, err);
}

/* In or out is add/remove. One of K options is replace-one, for which the same noise promises less.
 */
static dpa_status promise_replace(dpa__case *c, dpa_error *err) {
    const dpa_training_facts *t = &c->evidence->training;
    dpa_interval promised = {0, 0};
    if (!t->replace_one || c->claim.replace_one || isnan(c->promise.sigma) || isnan(t->q))
        return DPA_OK;
    DPA_TRY(dpa__training_epsilon(c->promise.sigma, t->q, t->steps, 1, c->protocol.request.delta,
                                  &promised, err));
    c->promise.epsilon = promised.upper;
    c->claim.replace_one = 1;
    return DPA_OK;
}

/* k records at once, by changing one record at a time: (ε, δ)-DP implies (kε, δ·(e^(kε) − 1)/(e^ε −
 * 1)). Rounded up. */
static void group_of(double epsilon, double delta, uint64_t records, double *group_epsilon,
                     double *group_delta) {
    const double k = (double)records;
    *group_epsilon = k * epsilon;
    *group_delta = delta * expm1(k * epsilon) / expm1(epsilon) * (1 + 1e-12);
}

/* If the two sides differ by several records, converts the claim for one record into one for all of
 * them. */
static dpa_status promise_group(dpa__case *c, dpa_error *err) {
    const uint64_t records = c->evidence->training.records;
    double *delta = &c->protocol.request.delta;
    if (c->claim.curve[0] != '\0' || c->claim.replace_one || c->claim.scope != DPA_SCOPE_TRAINING)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "the evidence is about %llu copies of a record: claim ε, or σ with q and "
                         "steps, of the training with records added or removed",
                         (unsigned long long)records);
    if (!isnan(c->claim.sigma)) {
        dpa_interval epsilon = {0, 0};
        DPA_TRY(training_epsilon(c->claim.sigma, c->claim.q, c->claim.steps, 0, (unsigned)records,
                                 *delta, &epsilon, err));
        c->promise.epsilon = epsilon.upper;
        return DPA_OK;
    }
    if (isnan(c->claim.epsilon)) return DPA_OK;
    if (isnan(c->claim.delta)) c->claim.delta = *delta;
    group_of(c->claim.epsilon, c->one_delta, records, &c->promise.epsilon, delta);
    if (*delta < 1 && c->promise.epsilon < 700) return DPA_OK;
    return dpa__fail(
        err, DPA_BAD_ARGUMENT,
        "the claim says nothing about %llu records at once: δ grows to %.3g; take fewer "
        "copies",
        (unsigned long long)records, *delta);
}

dpa_status dpa__promise_make(dpa__case *c, dpa_error *err) {
    c->promise = (dpa__promise){NAN, NAN, NAN};
    if (c->evidence->training.records > 1) return promise_group(c, err);
    if (c->claim.curve[0] != '\0') return curve_epsilon(c, &c->promise.epsilon, err);
    if (!isnan(c->claim.sigma))
        DPA_TRY(promise_noise(c, err));
    else if (!isnan(c->claim.epsilon))
        DPA_TRY(promise_epsilon(c, err));
    DPA_TRY(promise_replace(c, err));
    return c->evidence->scope == DPA_SCOPE_STEP ? promise_step(c, err) : DPA_OK;
}

void dpa__claimed_family(const dpa__case *c, char *text, size_t size) {
    const dpa_training_facts *t = &c->evidence->training;
    const int is_said = !isnan(c->claim.sigma);
    const double q = is_said ? c->claim.q : t->q;
    const uint64_t steps = is_said ? c->claim.steps : t->steps;
    char number[40];
    dpa__number_text(q, number, sizeof number);
    if (q == 1 && steps == 1 && !c->claim.replace_one)
        (void)snprintf(text, size, "gaussian");
    else
        (void)snprintf(text, size, "subsampled-gaussian:q=%s,steps=%llu%s", number,
                       (unsigned long long)steps,
                       c->claim.replace_one ? ",adjacency=replace-one" : "");
}
