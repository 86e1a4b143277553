/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the deciding test would have detected: the smallest leak that it refutes the claim for with
 * probability 0.8 when the attack is as good as the leak allows. From the plan of the audit, never
 * from what was observed. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "dpaudit/plan.h"
#include "judge/case.h"

static const double POWER = 0.8;

static dpa_plan_game game_of(const dpa_evidence *e) {
    if (e->scope == DPA_SCOPE_STEP) return DPA_PLAN_STEPS;
    return e->design == DPA_ONE_RUN ? DPA_PLAN_ONE_RUN : DPA_PLAN_RUNS;
}

/* NaN where the plan does not know the method, the family or the alternative. */
static double detectable(const dpa__case *c, const dpa_plan *plan, const char *truth, double n) {
    dpa_plan one = *plan;
    dpa_plan_leak leak = {NAN, NAN};
    one.truth = truth;
    (void)c;
    if (dpa_plan_detectable(&one, (uint64_t)n, POWER, &leak, NULL) != DPA_OK) return NAN;
    return leak.epsilon;
}

dpa_status dpa__power_state(dpa__case *c, double n1, double n0, dpa_error *err) {
    dpa__verdict *v = &c->report->verdict;
    const dpa_protocol *p = &c->protocol;
    const dpa__test *t = &c->test;
    dpa_plan plan;
    (void)err;
    if (isnan(v->claim_epsilon) || t->count > 1) return DPA_OK;
    dpa_plan_init(&plan);
    plan.game = game_of(c->evidence);
    plan.method = t->method;
    plan.family = t->family;
    plan.claim_epsilon = c->promise.epsilon;
    plan.delta = p->request.delta;
    plan.confidence = p->request.confidence;
    plan.seed = p->request.seed;
    plan.threads = p->request.threads;
    const double n = game_of(c->evidence) == DPA_PLAN_ONE_RUN ? n1 + n0 : fmin(n1, n0);
    if (plan.game == DPA_PLAN_STEPS) {
        const dpa_training_facts *f = &c->evidence->training;
        if (isnan(c->promise.sigma) || isnan(f->q) || f->rate < 1) return DPA_OK;
        plan.claim_epsilon = NAN;
        plan.claim_sigma = c->promise.sigma;
        plan.q = f->q;
        plan.steps = f->steps;
        v->detect_gaussian = detectable(c, &plan, "", n);
        return DPA_OK;
    }
    if (plan.game == DPA_PLAN_RUNS) v->detect_worst = detectable(c, &plan, "dp", n);
    v->detect_gaussian = detectable(c, &plan, "", n);
    return DPA_OK;
}
