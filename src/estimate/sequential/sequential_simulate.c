/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sequential audits under a suspected truth, by the estimator itself.
 *
 * Scores of the truth: of the Gaussian mechanism N(μ,1) against N(0,1). Of (ε,δ) the four outcomes
 * of its leakiest mechanism: sure of "in", in, out, sure of "out". Of any other curve f the level
 * at which an observation is first accused: V uniform without the point, and W with
 * Pr[W ≤ w] = 1 − f(w) with it, drawn as f⁻¹ of a uniform. An audit is a function of its stream, so
 * nothing depends on the number of threads. */
#include "estimate/sequential/sequential_simulate.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/error.h"
#include "base/threads.h"

enum { BLOCK = 8 }; /* audits each thread runs between progress reports */

/* ── one pair ──────────────────────────────────────────────────────────────────────────────── */

/* Outcomes 3 (surely in) and 0 (surely out) have probability 0 under the other class. */
static double response(const dpa__member *truth, int is_member, dpa_rng *rng) {
    const double u = dpa__rng_uniform(rng);
    if (u < truth->delta) return is_member ? 3 : 0;
    const double wrong = (1 - truth->delta) / (1 + exp(truth->t));
    return (u < truth->delta + wrong) == is_member ? 1 : 2;
}

static double level(const dpa__member *truth, int is_member, dpa_rng *rng) {
    const double u = dpa__rng_uniform(rng);
    return is_member ? -dpa__member_fpr(truth, u, truth->end - u) : -u;
}

static double score(const dpa__member *truth, int is_member, dpa_rng *rng) {
    switch (truth->kind) {
    case DPA__MODEL_DP:
        return response(truth, is_member, rng);
    case DPA__MODEL_GAUSSIAN:
        return (is_member ? truth->t : 0) + dpa__rng_normal(rng);
    case DPA__MODEL_CURVES:
        break;
    }
    return level(truth, is_member, rng);
}

/* ── one audit ─────────────────────────────────────────────────────────────────────────────── */

dpa_status dpa__pairs_open(const dpa__plan *plan, dpa_sequential **out, dpa_error *err) {
    dpa_request request;
    dpa__request_init(&request);
    request.delta = plan->asked->delta;
    request.confidence = plan->asked->confidence;
    (void)snprintf(request.family, sizeof request.family, "%s", plan->model.spec);
    request.claim_epsilon = plan->claim_epsilon;
    if (plan->asked->game == DPA_PLAN_STEPS) /* what the claim says of one step */
        DPA_TRY(dpa__model_epsilon(&plan->model, plan->claim.t, request.delta, 1,
                                   &request.claim_epsilon, err));
    return dpa__sequential_new(&request, out, err);
}

void dpa__arrival_close(dpa__arrival *a) {
    dpa__sequential_free(a->audit);
    a->audit = NULL;
}

static dpa_status begin(const dpa__plan *plan, dpa__arrival *a, dpa_error *err) {
    dpa__rng_init(&a->rng, plan->asked->seed, DPA_PURPOSE_SIMULATE, a->index);
    DPA_TRY(dpa__pairs_open(plan, &a->audit, err));
    a->audit->is_unseen = 1;
    return DPA_OK;
}

static dpa_status go_on(const dpa__plan *plan, dpa__arrival *a, uint64_t n, dpa_error *err) {
    if (a->stopped_at > 0 || a->pairs >= n) return DPA_OK;
    if (a->audit == NULL) DPA_TRY(begin(plan, a, err));
    while (a->pairs < n && !dpa__sequential_refuted(a->audit)) {
        for (int c = 1; c >= 0; --c)
            DPA_TRY(dpa__sequential_push(a->audit, c, score(&plan->truth, c, &a->rng), err));
        ++a->pairs;
    }
    if (!dpa__sequential_refuted(a->audit)) return DPA_OK;
    a->stopped_at = a->pairs;
    dpa__arrival_close(a);
    return DPA_OK;
}

/* ── many ──────────────────────────────────────────────────────────────────────────────────── */

typedef struct job {
    const dpa__plan *plan;
    dpa__arrival *items;
    uint64_t n;
    atomic_flag has_failed;
    dpa_status status; /* of the first that failed, with its error */
    dpa_error error;
} job;

static int do_audit(void *user, size_t task) {
    job *j = user;
    dpa_error err;
    const dpa_status status = go_on(j->plan, &j->items[task], j->n, &err);
    if (status == DPA_OK) return 0;
    if (!atomic_flag_test_and_set(&j->has_failed)) {
        j->status = status;
        j->error = err;
    }
    return 1;
}

dpa_status dpa__arrivals_reach(const dpa__plan *plan, dpa__arrival *items, size_t count, uint64_t n,
                               dpa_error *err) {
    const unsigned threads = dpa__threads(plan->asked->threads);
    const size_t block = (size_t)BLOCK * threads;
    for (size_t first = 0; first < count; first += block) {
        const size_t tasks = count - first < block ? count - first : block;
        job j = {.plan = plan, .items = items + first, .n = n, .has_failed = ATOMIC_FLAG_INIT};
        DPA_TRY(dpa__plan_progress(plan, "sequential audits simulated", (double)first,
                                   (double)count, err));
        const dpa_status status = dpa__parallel(threads, tasks, do_audit, &j, err);
        if (j.status != DPA_OK && err != NULL) *err = j.error;
        DPA_TRY(j.status);
        DPA_TRY(status);
    }
    return DPA_OK;
}
