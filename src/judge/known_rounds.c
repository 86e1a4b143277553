/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judging canaries by their own rounds (docs/methods/known-rounds.md): the only bound with a
 * confidence that a single federated training gives, for the claimed participation. */
#include "judge/known_rounds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "account/family.h"
#include "base/error.h"
#include "estimate/cosine.h"
#include "estimate/power.h"
#include "judge/power.h"

static const double POWER = 0.8;

/* The participation of the claim if it names a mechanism, else that of the training. A claim about
 * one participation is about the canaries' own rounds. */
static dpa_participation_rule rule_of(const dpa__case *c) {
    const dpa_training_facts *t = &c->evidence->training;
    if (c->claim.scope == DPA_SCOPE_PARTICIPATION)
        return (dpa_participation_rule){dpa__fact(c->evidence, "canary_rounds"), (double)NAN, 0};
    const int is_said = !isnan(c->claim.sigma);
    const double q = is_said ? c->claim.q : t->q;
    if (!isnan(q) && q < 1)
        return (dpa_participation_rule){1, q, is_said ? c->claim.steps : t->steps};
    const double times = is_said ? (double)c->claim.steps : t->participations;
    return (dpa_participation_rule){isnan(times) ? dpa__fact(c->evidence, "canary_rounds") : times,
                                    (double)NAN, 0};
}

static dpa_status known_of(const dpa__case *c, dpa_known_rounds *out, dpa_error *err) {
    const dpa_evidence *e = c->evidence;
    const dpa_named_array *in = dpa__evidence_find(e, "members");
    const dpa_named_array *none = dpa__evidence_find(e, "nonmembers");
    *out = (dpa_known_rounds){.canary_rounds = dpa__fact(e, "canary_rounds"),
                              .spread = dpa__fact(e, "spread"),
                              .rule = rule_of(c)};
    if (in == NULL || none == NULL || isnan(out->canary_rounds) || isnan(out->spread))
        return dpa__fail(
            err, DPA_BAD_INPUT,
            "known rounds: members, nonmembers, and the facts canary_rounds and spread");
    out->observed = in->items;
    out->observed_count = in->count;
    out->unobserved = none->items;
    out->unobserved_count = none->count;
    out->direction = dpa__direction_of(e);
    return DPA_OK;
}

/* The power of ranks for the claimed μ of a canary against a larger one, expressed as the
 * training's ε. */
static dpa_status state_power(dpa__case *c, const dpa_known_rounds *k, const dpa_result *r,
                              dpa_error *err) {
    const double delta = c->protocol.request.delta, scale = k->spread * sqrt(k->canary_rounds);
    const size_t n =
        k->observed_count < k->unobserved_count ? k->observed_count : k->unobserved_count;
    dpa_plan plan;
    dpa_plan_leak leak = {NAN, NAN};
    dpa_interval epsilon;
    double claimed;
    if (c->protocol.bare || isnan(c->promise.epsilon) || isinf(scale)) return DPA_OK;
    if (dpa__family_is_universal(r->family))
        return dpa__power_scan(c, (double)k->observed_count, (double)k->unobserved_count, err);
    if (!dpa__family_is_gaussian(c->test.family)) return DPA_OK;
    DPA_TRY(dpa__known_rounds_claim(k, c->promise.epsilon, delta, &claimed, err));
    if (!isfinite(claimed)) return DPA_OK;
    dpa__plan_init(&plan);
    plan.game = DPA_PLAN_RUNS;
    plan.method = "rank";
    plan.family = "gaussian";
    plan.truth = "";
    plan.claim_epsilon = dpa_gaussian_epsilon(claimed * scale, delta);
    plan.delta = delta;
    plan.confidence = r->confidence;
    plan.seed = c->protocol.request.seed;
    plan.threads = c->protocol.request.threads;
    if (dpa__ask_detectable(&plan, n, POWER, &leak, NULL) != DPA_OK || !isfinite(leak.epsilon))
        return DPA_OK;
    const double mu = dpa_gaussian_mu(leak.epsilon, delta) / scale;
    DPA_TRY(dpa__participation_epsilon(&k->rule, 1 / mu, delta, &epsilon, err));
    c->report->verdict.detect_gaussian = epsilon.upper;
    return DPA_OK;
}

/* The bound that decides: on the canary's rounds if the claim is about them, else what the
 * accountant makes of it. */
static dpa_status add_primary(dpa__case *c, const dpa__known *k, dpa_result *primary,
                              dpa_error *err) {
    const dpa_role role = c->protocol.decides_by_posterior ? DPA_SHOWN : DPA_PRIMARY;
    dpa__verdict *v = &c->report->verdict;
    dpa_error why = {0};
    *primary = k->participation;
    if (c->claim.scope == DPA_SCOPE_PARTICIPATION) return dpa__case_add(c, primary, role, err);
    const dpa_status status = dpa__known_rounds_training(&k->known, &k->participation,
                                                         c->protocol.request.delta, primary, &why);
    if (status == DPA_OK) return dpa__case_add(c, primary, role, err);
    if (status != DPA_BAD_ARGUMENT) {
        if (err != NULL) *err = why;
        return status;
    }
    (void)snprintf(v->obstacle, sizeof v->obstacle, "%.239s", why.text);
    return DPA_OK;
}

/* What would be shown for any mechanism; nothing if that does not apply. */
static dpa_status show_any(dpa__case *c, const dpa_known_rounds *k, dpa_error *err) {
    dpa_request request = c->protocol.request;
    dpa_result participation, whole;
    dpa_lints unused = {0};
    if (request.family[0] != '\0' || k->spread > 1.0) return DPA_OK;
    (void)snprintf(request.family, sizeof request.family, "dp");
    request.claim_epsilon = (double)NAN;
    const dpa_status status =
        dpa__known_rounds_participation(k, &request, &participation, &unused, err);
    dpa__lints_free(&unused);
    DPA_TRY(status);
    if (c->claim.scope == DPA_SCOPE_PARTICIPATION)
        return dpa__case_add(c, &participation, DPA_SHOWN, err);
    DPA_TRY(dpa__known_rounds_training(k, &participation, request.delta, &whole, err));
    const int is_itself = strcmp(whole.family, request.family) == 0;
    return is_itself ? dpa__case_add(c, &whole, DPA_SHOWN, err) : DPA_OK;
}

dpa_status dpa__known_rounds_show(dpa__case *c, dpa__known *k, dpa_error *err) {
    const dpa_result *r = &k->participation;
    if (!k->has_bound || c->protocol.bare) return DPA_OK;
    if (c->claim.scope != DPA_SCOPE_PARTICIPATION) {
        DPA_TRY(dpa__report_say(
            c->report, err,
            "The %.6g round%s of a canary leak%s at least ε = %.4f at δ = %g (%s; %s).",
            k->known.canary_rounds, k->known.canary_rounds == 1.0 ? "" : "s",
            k->known.canary_rounds == 1.0 ? "s" : "", r->epsilon_lower, c->protocol.request.delta,
            dpa__scope_name(r->scope), r->family));
        DPA_TRY(dpa__case_add(c, &k->participation, DPA_SHOWN, err));
    }
    return show_any(c, &k->known, err);
}

dpa_status dpa__judge_known_rounds(dpa__case *c, dpa_lints *lints, dpa__known *k, dpa_error *err) {
    dpa_result primary;
    dpa_request request = c->protocol.request;
    *k = (dpa__known){.has_bound = 0};
    if (dpa__evidence_find(c->evidence, "members") == NULL ||
        !dpa__list_asks(c->protocol.request.method, "known-rounds"))
        return DPA_OK;
    DPA_TRY(known_of(c, &k->known, err));
    /* too few canaries had a round: only the other numbers are shown */
    if (k->known.observed_count < 2 || k->known.unobserved_count < 2) return DPA_OK;
    (void)snprintf(request.family, sizeof request.family, "%s", c->test.family);
    request.claim_epsilon = c->promise.epsilon;
    request.claim_delta = (double)NAN;
    DPA_TRY(dpa__known_rounds_participation(&k->known, &request, &k->participation, lints, err));
    k->has_bound = 1;
    DPA_TRY(add_primary(c, k, &primary, err));
    if (c->protocol.decides_by_posterior) return DPA_OK;
    if (dpa__fact(c->evidence, "fixed_divisor") == 0)
        dpa__verdict_contradict(c->report, DPA_ASSUMPTION_INDEX_CHANNELS,
                                "the server divides by the number of clients that came, which "
                                "depends on the canaries");
    return c->report->verdict.obstacle[0] == '\0' ? state_power(c, &k->known, &primary, err)
                                                  : DPA_OK;
}
