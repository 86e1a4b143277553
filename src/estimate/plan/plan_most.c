/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The largest possible bounds: of one method if every answer is right, and of any method. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/one_run/one_run.h"
#include "estimate/plan/plan.h"
#include "estimate/ranks/rank.h"
#include "math/dist.h"
#include "math/root.h"

enum { LEAKIEST = 4 };

static dpa_request request_of(const dpa_plan *asked) {
    dpa_request request;
    dpa__request_init(&request);
    request.delta = asked->delta;
    request.confidence = asked->confidence;
    request.seed = asked->seed;
    return request;
}

/* Members above all non-members. */
static dpa_status perfect_ranks(const dpa__plan *plan, size_t n, const dpa_request *request,
                                dpa_result *out, dpa_error *err) {
    double *scores = DPA_NEW_ARRAY(double, 2 * n, err);
    if (scores == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < 2 * n; ++i) scores[i] = (double)i;
    const dpa_scores sample = {
        .member = scores + n, .nonmember = scores, .members = n, .nonmembers = n, .is_sorted = 1};
    const dpa_status status = dpa__plan_has_channels(plan)
                                  ? dpa__one_run_channels(&sample, request, out, err)
                                  : plan->entry->from_scores(plan->entry->about.name, &plan->model,
                                                             &sample, request, out, err);
    free(scores);
    return status;
}

static dpa_status perfect_run(const dpa__plan *plan, uint64_t n, dpa_request *request,
                              dpa_result *out, dpa_error *err) {
    const dpa_one_run game = {n, 2, n, n};
    memcpy(request->method, plan->asked->method, strlen(plan->asked->method) + 1);
    return dpa__one_run_bound(&game, 1, DPA_GUESSES_FIXED, request, out, err);
}

static dpa_status perfect(const dpa__plan *plan, uint64_t n, dpa_result *out, dpa_error *err) {
    dpa_request request = request_of(plan->asked);
    const dpa_counts right = {0, n, 0, n};
    memcpy(request.family, plan->model.spec, strlen(plan->model.spec) + 1);
    if (dpa__plan_has_channels(plan))
        return perfect_ranks(plan, (size_t)(n < 2 ? 1 : n / 2), &request, out, err);
    if (plan->asked->game == DPA_PLAN_ONE_RUN) return perfect_run(plan, n, &request, out, err);
    if (plan->entry->from_counts == NULL) return perfect_ranks(plan, (size_t)n, &request, out, err);
    return dpa__estimate_one(plan->entry, &right, &plan->model, &request, out, err);
}

dpa_status dpa__plan_most(const dpa__plan *plan, uint64_t n, double *out, dpa_error *err) {
    dpa_result result;
    *out = NAN;
    DPA_TRY(dpa__plan_check_size(plan, n, err));
    if (plan->asked->game == DPA_PLAN_COSINES) return DPA_OK;
    if (dpa__plan_is_sequential(plan)) {
        DPA_TRY(dpa__plan_perfect_pairs(plan, n, &result.parameter_lower, err));
        DPA_TRY(dpa__model_epsilon(&plan->model, result.parameter_lower, plan->asked->delta, -1,
                                   &result.epsilon_lower, err));
    } else {
        DPA_TRY(perfect(plan, n, &result, err));
    }
    *out = result.epsilon_lower;
    if (plan->asked->game != DPA_PLAN_STEPS) return DPA_OK;
    return dpa__plan_truth_epsilon(plan, result.parameter_lower, out, err);
}

dpa_status dpa__ask_most(const dpa_plan *asked, uint64_t n, double *out, dpa_error *err) {
    dpa__plan plan;
    DPA_TRY(dpa__plan_open(asked, 0, &plan, err));
    const dpa_status status = dpa__plan_most(&plan, n, out, err);
    dpa__plan_close(&plan);
    return status;
}

/* ── the ceiling ───────────────────────────────────────────────────────────────────────────── */

typedef struct search {
    const dpa__model *model;
    double wrong;
    dpa_status status;
    dpa_error *err;
} search;

/* Positive while the member at t has more than the wanted error where both errors are equal. */
static double surplus(double t, void *user) {
    search *s = user;
    dpa__member member;
    if (s->status == DPA_OK) s->status = dpa__member_open(s->model, t, &member, s->err);
    if (s->status != DPA_OK) return NAN;
    const double fixed = member.fixed;
    dpa__member_close(&member);
    return log(fixed) - log(s->wrong);
}

/* Each curve of a training is a composition, so few are made, and the ceiling is rounded up. A
 * point that may be sampled in no step keeps its errors above a limit, whatever the noise: beyond σ
 * = 1/4 there is taken to be no ceiling, which is the safe side. */
static dpa_status ceiling_of_curves(const dpa__model *model, double wrong, double *t,
                                    dpa_error *err) {
    search s = {model, wrong, DPA_OK, err};
    const int is_training = model->assumption == DPA_ASSUME_FAMILY_SUBSAMPLED;
    double low = 0, high = fmin(1, model->max);
    dpa__bracket root;
    *t = 0;
    if (wrong >= 0.5) return DPA_OK;
    while (surplus(high, &s) > 0) {
        *t = high;
        if (is_training && high >= LEAKIEST) *t = HUGE_VAL;
        if (high >= model->max || high > 1e3 || isinf(*t)) return s.status;
        low = high;
        high = fmin(2 * high, model->max);
    }
    DPA_TRY(s.status);
    const double fine = is_training ? 1e-4 : 1e-9;
    const dpa_status status = dpa__root(surplus, &s, low, high, fine, fine, &root, err);
    DPA_TRY(s.status);
    *t = root.upper;
    return status;
}

dpa_status dpa__plan_ceiling(const char *family, uint64_t observations, double delta,
                             double confidence, double *out, dpa_error *err) {
    if (observations < 1 || !(delta >= 0 && delta < 1) || !(confidence > 0 && confidence < 1))
        return dpa__fail(
            err, DPA_BAD_ARGUMENT,
            "ceiling: at least one observation, delta in [0, 1), confidence in (0, 1)");
    /* r = p^(1/N), and 1 − r, which is the small one */
    const double log_r = log1p(-confidence) / (double)observations, wrong = -expm1(log_r);
    dpa__model model;
    double t = 0;
    DPA_TRY(dpa__model_open(family, delta, &model, err));
    dpa_status status = DPA_OK;
    if (model.kind == DPA__MODEL_GAUSSIAN) {
        t = fmax(0, 2 * dpa__norm_quantile(wrong, DPA_UPPER));
    } else if (model.kind == DPA__MODEL_DP) { /* r = δ + (1−δ)q and q = e^ε/(1+e^ε) */
        const double right = exp(log_r) - delta;
        t = right <= 0 ? 0 : fmax(0, log(right / wrong));
    } else {
        status = ceiling_of_curves(&model, wrong, &t, err);
    }
    if (status == DPA_OK) status = dpa__model_epsilon(&model, t, delta, 1, out, err);
    dpa__model_close(&model);
    return status;
}
