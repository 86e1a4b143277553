/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts what was promised and what is suspected into members of families.
 *
 * The noise σ of a training with sampling rate q and T steps is the member 1/σ of the family
 * subsampled-gaussian:q,T (of gaussian, if q = T = 1), whose ε comes from the accountant. In the
 * game of steps one step is observed at a time, with the canary in every batch, so it is a
 * Gaussian mechanism with μ = 1/σ. Claim and truth are two values of that μ. Since ε of the
 * whole run grows with μ, "the run's bound exceeds the claim" means "μ's bound exceeds the
 * claimed μ". */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "account/family.h"
#include "base/error.h"
#include "base/text.h"
#include "estimate/plan/plan.h"
#include "estimate/sequential/sequential_simulate.h"
#include "math/root.h"

void dpa__plan_init(dpa_plan *plan) {
    *plan = (dpa_plan){.game = DPA_PLAN_RUNS,
                       .method = "cp",
                       .family = "dp",
                       .claim_epsilon = NAN,
                       .claim_sigma = NAN,
                       .truth_epsilon = NAN,
                       .truth_sigma = NAN,
                       .truth = "",
                       .q = 1,
                       .steps = 1,
                       .delta = 1e-5,
                       .confidence = 0.95,
                       .seed = 1,
                       .audits = 200};
}

/* ── checks ────────────────────────────────────────────────────────────────────────────────── */

static dpa_status check_side(const char *what, double epsilon, double sigma, dpa_error *err) {
    if (isnan(epsilon) == isnan(sigma))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: needs its epsilon or its sigma, one of them",
                         what);
    if (!isnan(epsilon) && !(epsilon >= 0 && epsilon <= 1000))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: epsilon %g is not in [0, 1000]", what,
                         epsilon);
    if (!isnan(sigma) && !(sigma >= 1e-3 && sigma <= 1e9))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%s: sigma %g is not in [0.001, 1e9]", what, sigma);
    return DPA_OK;
}

static dpa_status check(const dpa_plan *plan, int has_truth, dpa_error *err) {
    if ((unsigned)plan->game >= DPA_PLAN_GAMES)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "game: %d is none", (int)plan->game);
    if (!(plan->delta >= 0 && plan->delta < 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "delta: %g is not in [0, 1)", plan->delta);
    if (!(plan->confidence > 0 && plan->confidence < 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "confidence: %g is not between 0 and 1",
                         plan->confidence);
    if (!(plan->q > 0 && plan->q <= 1) || plan->steps < 1)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "training: a rate in (0, 1] and at least one step, not q = %g, %" PRIu64,
                         plan->q, plan->steps);
    if (plan->game == DPA_PLAN_STEPS && !dpa__family_is_gaussian(plan->family))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "steps: what one step shows goes to the whole run by family gaussian "
                         "only, not '%s'",
                         plan->family);
    if (plan->game == DPA_PLAN_STEPS && plan->truth[0] != '\0')
        return dpa__fail(err, DPA_BAD_ARGUMENT, "steps: the truth of a step is Gaussian noise");
    if (plan->audits < 1 || plan->audits > DPA__MOST_AUDITS)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "audits: %" PRIu64 " is not in [1, %d]",
                         plan->audits, (int)DPA__MOST_AUDITS);
    DPA_TRY(check_side("the claim", plan->claim_epsilon, plan->claim_sigma, err));
    return has_truth ? check_side("the truth", plan->truth_epsilon, plan->truth_sigma, err)
                     : DPA_OK;
}

/* A Gaussian mechanism has no finite ε at δ = 0. */
static dpa_status check_delta(const dpa__model *model, double delta, dpa_error *err) {
    if (delta > 0 || model->kind == DPA__MODEL_DP || model->assumption == DPA_ASSUME_FAMILY_LAPLACE)
        return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT,
                     "delta: must be above 0 for family %s, which has no finite epsilon at 0 (for "
                     "delta 0: a truth of family laplace or dp)",
                     model->spec);
}

static dpa_status check_match(const dpa__plan *plan, dpa_error *err) {
    const dpa_plan *asked = plan->asked;
    const char *refusal = dpa__registry_refusal(plan->entry, &plan->model, asked->delta);
    if (refusal == NULL) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT, "method %s, family %s: %s", asked->method,
                     asked->family, refusal);
}

/* ── between ε and t ───────────────────────────────────────────────────────────────────────── */

typedef struct search {
    const dpa__model *model;
    double target;
    int side;
    dpa_status status;
    dpa_error *err;
} search;

static double excess(double t, void *user) {
    search *s = user;
    double epsilon = NAN;
    if (s->status != DPA_OK) return NAN;
    s->status = dpa__model_epsilon(s->model, t, s->model->delta, s->side, &epsilon, s->err);
    return s->status == DPA_OK ? epsilon - s->target : (double)NAN;
}

/* The member of a model whose ε at the model's δ is the given one, rounded to `side`. */
static dpa_status member_of_epsilon(const dpa__model *model, double epsilon, int side, double *t,
                                    dpa_error *err) {
    search s = {model, epsilon, side, DPA_OK, err};
    double low = 0, high = fmin(1, model->max);
    dpa__bracket root;
    *t = model->kind == DPA__MODEL_DP         ? epsilon
         : model->kind == DPA__MODEL_GAUSSIAN ? dpa_gaussian_mu(epsilon, model->delta)
                                              : 0;
    if (model->kind != DPA__MODEL_CURVES || epsilon == 0) return DPA_OK;
    double beyond;
    while ((beyond = excess(high, &s)) < 0) {
        if (high >= model->max || high > 1e4)
            return dpa__fail(
                err, DPA_BAD_ARGUMENT,
                "family %s: its leakiest member has epsilon %.4g at delta %g; none has "
                "%g",
                model->spec, epsilon + beyond, model->delta, epsilon);
        low = high;
        high = fmin(2 * high, model->max);
    }
    if (s.status != DPA_OK) return s.status;
    const dpa_status status = dpa__root(excess, &s, low, high, 1e-9, 1e-7, &root, err);
    if (s.status != DPA_OK) return s.status;
    *t = root.upper;
    return status;
}

/* The model that defines ε: the training for steps, the family of the truth otherwise. */
static const dpa__model *scale_of(const dpa__plan *plan) {
    return plan->asked->game == DPA_PLAN_STEPS ? &plan->whole : &plan->suspect;
}

dpa_status dpa__plan_truth_t(const dpa__plan *plan, double epsilon, double *t, dpa_error *err) {
    return member_of_epsilon(scale_of(plan), epsilon, -1, t, err);
}

/* For very large ε, retry the accountant at a wider tolerance; INFINITY if that fails too. */
static dpa_status leaky_epsilon(const dpa_plan *asked, double t, double *epsilon, dpa_error *err) {
    const dpa_phase phase = {DPA_GAUSSIAN, 1 / t, asked->q, asked->steps};
    dpa_account_opts opts;
    dpa_account *account;
    dpa_interval interval = {HUGE_VAL, HUGE_VAL};
    dpa_account_opts_init(&opts);
    opts.delta = asked->delta;
    opts.tolerance = 0.05;
    dpa_status status = dpa_account_new(&phase, 1, &opts, &account, err);
    if (status == DPA_OK) {
        status = dpa_account_epsilon(account, asked->delta, &interval, err);
        dpa_account_free(account);
    }
    *epsilon = status == DPA_OK ? interval.lower : HUGE_VAL;
    return status == DPA_NUMERIC ? DPA_OK : status;
}

dpa_status dpa__plan_truth_epsilon(const dpa__plan *plan, double t, double *epsilon,
                                   dpa_error *err) {
    const dpa__model *scale = scale_of(plan);
    const dpa_status status = dpa__model_epsilon(scale, t, plan->asked->delta, -1, epsilon, err);
    if (status != DPA_NUMERIC || scale->assumption != DPA_ASSUME_FAMILY_SUBSAMPLED) return status;
    return leaky_epsilon(plan->asked, t, epsilon, err);
}

/* ── putting it together ───────────────────────────────────────────────────────────────────── */

/* The family of the training's noise: its t is 1/σ. */
static dpa_status open_training(const dpa_plan *asked, dpa__model *out, dpa_error *err) {
    char spec[96] = "gaussian";
    if (asked->q < 1 || asked->steps > 1)
        (void)dpa__print(spec, sizeof spec, "subsampled-gaussian:q=%.17g,steps=%" PRIu64, asked->q,
                         asked->steps);
    DPA_TRY(dpa__model_open(spec, asked->delta, out, err));
    return check_delta(out, asked->delta, err);
}

dpa_status dpa__plan_training_epsilon(const dpa_plan *asked, double sigma, int side, double *out,
                                      dpa_error *err) {
    dpa__model training;
    DPA_TRY(check_side("the training", NAN, sigma, err));
    dpa_status status = open_training(asked, &training, err);
    if (status == DPA_OK)
        status = dpa__model_epsilon(&training, 1 / sigma, asked->delta, side, out, err);
    dpa__model_close(&training);
    if (status == DPA_NUMERIC)
        return dpa__fail(err, DPA_NUMERIC,
                         "the training with sigma %g, q %g and %" PRIu64
                         " steps: its epsilon cannot be computed to a ten-thousandth; give the "
                         "claim and the leak as epsilon",
                         sigma, asked->q, asked->steps);
    return status;
}

static dpa_status open_claim(dpa__plan *plan, dpa_error *err) {
    const dpa_plan *asked = plan->asked;
    double t = 1 / asked->claim_sigma;
    plan->claim_epsilon = asked->claim_epsilon;
    if (!isnan(asked->claim_sigma))
        DPA_TRY(
            dpa__plan_training_epsilon(asked, asked->claim_sigma, 1, &plan->claim_epsilon, err));
    if (asked->game != DPA_PLAN_STEPS)
        DPA_TRY(member_of_epsilon(&plan->model, plan->claim_epsilon, -1, &t, err));
    else if (isnan(asked->claim_sigma))
        DPA_TRY(member_of_epsilon(&plan->whole, plan->claim_epsilon, -1, &t, err));
    /* as the audit will: only tests of two lists in their order know the direction */
    plan->model.is_directed = plan->entry->from_scores != NULL || dpa__plan_has_channels(plan);
    return dpa__member_open(&plan->model, t, &plan->claim, err);
}

static dpa_status open_suspect(dpa__plan *plan, dpa_error *err) {
    const dpa_plan *asked = plan->asked;
    const int is_training = !isnan(asked->truth_sigma);
    if (asked->game == DPA_PLAN_STEPS)
        return dpa__model_open("gaussian", asked->delta, &plan->suspect, err);
    if (is_training && asked->truth[0] != '\0')
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "the truth: a sigma is that of the training, no family can be given");
    if (is_training) return open_training(asked, &plan->suspect, err);
    DPA_TRY(dpa__model_open(asked->truth[0] == '\0' ? "gaussian" : asked->truth, asked->delta,
                            &plan->suspect, err));
    return check_delta(&plan->suspect, asked->delta, err);
}

/* The training's curve, nowhere below the truth: what an attack certainly reaches. */
static dpa_status training_curve(const dpa_plan *asked, double t, dpa_curve **out, dpa_error *err) {
    const dpa_phase phase = {DPA_GAUSSIAN, 1 / t, asked->q, asked->steps};
    dpa_account_opts opts;
    dpa_account *account;
    dpa_account_opts_init(&opts);
    opts.delta = asked->delta;
    DPA_TRY(dpa_account_new(&phase, 1, &opts, &account, err));
    const dpa_status status = dpa__account_directed(account, 1, out, err);
    dpa_account_free(account);
    return status;
}

/* As dpa__member_open, with that curve. */
static dpa_status open_training_member(dpa__plan *plan, double t, dpa_error *err) {
    plan->truth = (dpa__member){.kind = DPA__MODEL_CURVES, .t = t, .delta = plan->asked->delta};
    DPA_TRY(training_curve(plan->asked, t, &plan->truth.curve, err));
    return dpa__member_complete(&plan->truth, err);
}

/* Canaries observe the Gaussian mechanism with the same ε. */
static dpa_status equivalent_mu(dpa__plan *plan, double t, dpa_error *err) {
    double epsilon;
    plan->mu = t;
    if (plan->asked->game < DPA_PLAN_ONE_RUN || plan->suspect.kind == DPA__MODEL_GAUSSIAN)
        return DPA_OK;
    DPA_TRY(dpa__plan_truth_epsilon(plan, t, &epsilon, err));
    plan->mu = dpa_gaussian_mu(epsilon, plan->asked->delta);
    return DPA_OK;
}

dpa_status dpa__plan_suspect(dpa__plan *plan, double t, dpa_error *err) {
    dpa__member_close(&plan->truth);
    dpa__arrivals_free(plan->arrivals);
    dpa__scan_tests_forget(plan->tests);
    plan->arrivals = NULL;
    plan->truth = (dpa__member){.t = t};
    DPA_TRY(equivalent_mu(plan, t, err));
    if (plan->asked->game >= DPA_PLAN_ONE_RUN && !dpa__plan_has_channels(plan)) return DPA_OK;
    if (plan->suspect.assumption == DPA_ASSUME_FAMILY_SUBSAMPLED &&
        !isnan(plan->asked->truth_sigma))
        return open_training_member(plan, t, err);
    DPA_TRY(dpa__member_open(&plan->suspect, t, &plan->truth, err));
    if (plan->suspect.kind != DPA__MODEL_DP) return DPA_OK;
    return dpa_curve_dp(t, plan->asked->delta, &plan->truth.curve, err); /* ranks need it */
}

static dpa_status open_truth(dpa__plan *plan, dpa_error *err) {
    double t = 1 / plan->asked->truth_sigma;
    if (isnan(plan->asked->truth_sigma))
        DPA_TRY(dpa__plan_truth_t(plan, plan->asked->truth_epsilon, &t, err));
    return dpa__plan_suspect(plan, t, err);
}

static dpa_status open_all(dpa__plan *plan, int has_truth, dpa_error *err) {
    const dpa_plan *asked = plan->asked;
    plan->entry = dpa__registry_plan(asked->game, asked->method, err);
    if (plan->entry == NULL) return DPA_BAD_ARGUMENT;
    DPA_TRY(dpa__model_open(asked->family, asked->delta, &plan->model, err));
    DPA_TRY(check_delta(&plan->model, asked->delta, err));
    DPA_TRY(check_match(plan, err));
    if (asked->game == DPA_PLAN_STEPS) DPA_TRY(open_training(asked, &plan->whole, err));
    DPA_TRY(open_suspect(plan, err));
    plan->suspect.is_directed = 1;
    if (asked->game >= DPA_PLAN_ONE_RUN && !(asked->delta > 0))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "delta: must be above 0 for canaries, whose truth is Gaussian");
    DPA_TRY(open_claim(plan, err));
    return has_truth ? open_truth(plan, err) : DPA_OK;
}

dpa_status dpa__plan_open(const dpa_plan *asked, int has_truth, dpa__plan *out, dpa_error *err) {
    *out = (dpa__plan){.asked = asked, .p = 1 - asked->confidence, .wanted = NAN};
    DPA_TRY(check(asked, has_truth, err));
    const dpa_status status = open_all(out, has_truth, err);
    if (status != DPA_OK) dpa__plan_close(out);
    return status;
}

void dpa__plan_close(dpa__plan *plan) {
    dpa__staircase_free(plan->stairs);
    dpa__scan_tests_free(plan->tests);
    dpa__arrivals_free(plan->arrivals);
    dpa__member_close(&plan->truth);
    dpa__member_close(&plan->claim);
    dpa__model_close(&plan->suspect);
    dpa__model_close(&plan->whole);
    dpa__model_close(&plan->model);
}
