/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judging canary cosines: estimates for an attacker who sees the final model and for one who
 * sees all iterates, side by side (one-shot-federated, Tables 2 and 5), next to what the noise
 * promises.
 *
 * None of these numbers refutes a claim by itself: they are estimates, or bounds that treat the
 * canaries of one run as independent. Of these the scan decides if it is the method that was named,
 * the posterior ones with `decide: posterior`.
 * If the evidence has known rounds, these decide. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "account/family.h"
#include "base/error.h"
#include "estimate/cosines/cosine.h"
#include "estimate/plan/power.h"
#include "judge/case.h"
#include "report/model/model.h"

typedef struct sample {
    dpa_cosines last, rounds; /* final model; all rounds (observed NULL: none) */
    size_t maxima[2]; /* rows of the estimates from all rounds: first, and one past the last */
} sample;

/* What the noise promises against an attacker who knows the canary's rounds and, with Poisson
 * participation, against one who does not. NaN: not known. */
typedef struct noise {
    double unamplified, amplified;
} noise;

dpa_direction dpa__direction_of(const dpa_evidence *e) {
    const char *name;
    for (int i = 0; (name = dpa__direction_name((dpa_direction)i)) != NULL; ++i)
        if (strcmp(name, e->direction) == 0) return (dpa_direction)i;
    return DPA_DIRECTION_SPHERE;
}

static dpa_status sample_of(const dpa_evidence *e, sample *out, dpa_error *err) {
    const dpa_named_array *last = dpa__evidence_find(e, "final");
    const dpa_named_array *in = dpa__evidence_find(e, "observed");
    const dpa_named_array *none = dpa__evidence_find(e, "unobserved");
    const dpa_direction direction = dpa__direction_of(e);
    const double runs = dpa__fact(e, "runs"); /* NaN means one */
    *out = (sample){0};
    if (last != NULL)
        out->last = (dpa_cosines){last->items,
                                  last->count,
                                  NULL,
                                  0,
                                  e->dim,
                                  direction,
                                  runs >= 1 && runs <= (double)last->count ? (size_t)runs : 1};
    if (in != NULL && none != NULL)
        out->rounds =
            (dpa_cosines){in->items, in->count, none->items, none->count, e->dim, direction, 1};
    if (last == NULL && out->rounds.observed == NULL && dpa__evidence_find(e, "members") == NULL)
        return dpa__fail(err, DPA_BAD_INPUT, "cosines: final, or observed and unobserved");
    if (out->rounds.unobserved == NULL || e->path[1][0] == '\0') return DPA_OK;
    dpa_cosine_fit fit; /* a number that is no cosine is the second file's */
    return dpa__name_place(dpa__cosine_fit_sample(none->items, none->count, &fit, err), e->path[1],
                           err);
}

/* ── rows ────────────────────────────────────────────────────────────────────────────── */

/* A bound decides if it is a posterior one and `decide: posterior` was asked for, or if it needs no
 * prior and is the one method that was named. */
static dpa_role role_of(const dpa__case *c, const dpa_result *r) {
    const int has_prior = (r->assumptions & DPA_ASSUME_BAYES_PRIOR) != 0 || r->select[0] != '\0';
    const char *asked = c->protocol.request.method; /* this one, and others if there is a list */
    char second[DPA_NAME_SIZE];
    const int is_named = asked[0] != '\0' && !dpa__list_item(asked, 1, second, sizeof second);
    if (r->kind != DPA_BOUND || !r->valid) return DPA_SHOWN;
    return (has_prior ? c->protocol.decides_by_posterior : is_named) ? DPA_PRIMARY : DPA_SHOWN;
}

/* Runs one method on one set of cosines; `name` is its name in the report. */
static dpa_status add(dpa__case *c, const dpa_cosines *cosines, const char *method,
                      const char *name, double confidence, dpa_lints *lints, dpa_error *err) {
    dpa_request one = c->protocol.request;
    dpa_results results = {0};
    if (!dpa__list_asks(c->protocol.request.method, name)) return DPA_OK;
    one.confidence = confidence;
    dpa_status status = dpa__request_set(&one, "method", method, err);
    if (status == DPA_OK) status = dpa__cosines_results(cosines, &one, &results, lints, err);
    for (size_t i = 0; i < results.count && status == DPA_OK; ++i) {
        dpa_result *r = &results.items[i];
        (void)snprintf(r->method, sizeof r->method, "%s", name);
        r->confidence = c->protocol.request.confidence;
        if (r->kind == DPA_BOUND && r->valid) r->assumptions |= DPA_ASSUME_CHANNELS;
        status = dpa__case_add(c, r, role_of(c, r), err);
    }
    dpa__results_free(&results);
    return status;
}

/* If the bounds of both attackers are used, each gets half of the error. */
static dpa_status add_rows(dpa__case *c, sample *s, dpa_lints *lints, dpa_error *err) {
    const int has_last = s->last.observed != NULL, has_rounds = s->rounds.observed != NULL;
    const double confidence = c->protocol.request.confidence;
    dpa_lints unused = {0};
    c->test.count = has_last && has_rounds ? 2 : 1;
    const double shared = dpa__shared_confidence(confidence, c->test.count);
    dpa_status status = DPA_OK;
    if (has_last) {
        status = add(c, &s->last, "mean", "mean", confidence, lints, err);
        if (status == DPA_OK)
            status = add(c, &s->last, "mean-corrected", "mean-corrected", confidence, &unused, err);
        if (status == DPA_OK)
            status = add(c, &s->last, "mean-and-deviation", "mean-and-deviation", confidence,
                         &unused, err);
        if (status == DPA_OK && (s->last.observed_count > 1 || c->protocol.request.select[0]))
            status = add(c, &s->last, "jeffreys", "jeffreys", shared, &unused, err);
        if (status == DPA_OK) status = add(c, &s->last, "scan", "scan", shared, &unused, err);
    }
    s->maxima[0] = c->report->results.count;
    if (status == DPA_OK && has_rounds)
        status = add(c, &s->rounds, "all-iterates", "all-iterates", confidence, lints, err);
    s->maxima[1] = c->report->results.count;
    if (status == DPA_OK && has_rounds)
        status = add(c, &s->rounds, "jeffreys", has_last ? "all-iterates-jeffreys" : "jeffreys",
                     shared, &unused, err);
    if (status == DPA_OK && has_rounds)
        status = add(c, &s->rounds, "scan", has_last ? "all-iterates-scan" : "scan", shared,
                     &unused, err);
    dpa__lints_free(&unused);
    return status;
}

/* Cosines that are there more than once count the noise of one canary for several. */
static dpa_status lint_copies(const dpa_cosines *s, dpa_lints *lints, dpa_error *err) {
    static const char *const names[] = {"canaries", "canaries that stayed out"};
    dpa_scores scores;
    DPA_TRY(dpa__scores_from(s->observed, s->observed_count, s->unobserved, s->unobserved_count,
                             &scores, err));
    dpa_status status = dpa__sort_numbers(scores.member, scores.members, err);
    if (status == DPA_OK) status = dpa__sort_numbers(scores.nonmember, scores.nonmembers, err);
    if (status == DPA_OK) status = dpa__scores_lint_copies(&scores, names, lints, err);
    dpa__scores_free(&scores);
    return status;
}

/* ── what the noise promises ─────────────────────────────────────────────────────────── */

static dpa_status find_noise(const dpa__case *c, noise *out, dpa_error *err) {
    const dpa_training_facts *t = &c->evidence->training;
    const double delta = c->protocol.request.delta;
    *out = (noise){NAN, NAN};
    if (isnan(t->sigma) || isnan(t->participations)) return DPA_OK;
    out->unamplified = dpa_gaussian_epsilon(sqrt(t->participations) / t->sigma, delta);
    if (isnan(t->q)) return DPA_OK;
    dpa_interval epsilon = {0, 0};
    DPA_TRY(dpa__training_epsilon(t->sigma, t->q, t->steps, 0, delta, &epsilon, err));
    out->amplified = epsilon.upper;
    return DPA_OK;
}

static dpa_status say_noise(dpa__case *c, const noise *n, dpa_error *err) {
    const double times = c->evidence->training.participations;
    if (isnan(n->unamplified)) return DPA_OK;
    DPA_TRY(dpa__report_fact(c->report, "epsilon_unamplified", n->unamplified, err));
    DPA_TRY(dpa__report_note(c->report, err,
                             "The added noise guarantees ε = %.4g (δ = %.3g) for a client in at "
                             "most %.0f round%s, even if the attacker knows which.",
                             n->unamplified, c->protocol.request.delta, times,
                             times == 1.0 ? "" : "s"));
    if (isnan(n->amplified)) return DPA_OK;
    DPA_TRY(dpa__report_fact(c->report, "epsilon_amplified", n->amplified, err));
    return dpa__report_note(c->report, err,
                            "With Poisson participation unknown to the attacker it is %.4g.",
                            n->amplified);
}

/* The one-sided limit of `mean`; it exists only if nothing contradicts the assumptions of `mean`.
 */
static dpa_status say_one_sided(dpa__case *c, dpa_error *err) {
    for (size_t i = 0; i < c->report->results.count; ++i) {
        const dpa_result *r = &c->report->results.items[i];
        for (size_t k = 0; k < r->extra_count; ++k)
            if (strcmp(r->extra[k].name, "epsilon_lower_one_sided") == 0)
                return dpa__report_say(c->report, err,
                                       "One-sided, 'mean' says ε ≥ %.4g for that attacker: the "
                                       "cosines are as normal, as wide and as few as it takes.",
                                       r->extra[k].value);
    }
    return DPA_OK;
}

/* Even in a correct system the larger direction of all iterates can exceed what the noise allows,
 * because it extrapolates normal laws that were fitted to maxima. Readers of the row must be told.
 */
static dpa_status mark_artefact(dpa__case *c, const sample *s, const noise *n, dpa_error *err) {
    for (size_t i = s->maxima[0]; i < s->maxima[1]; ++i) {
        dpa_result *r = &c->report->results.items[i];
        if (!(r->epsilon > n->unamplified)) continue;
        (void)snprintf(r->note, sizeof r->note,
                       "above what the noise allows: an artefact of the fit");
        DPA_TRY(dpa__report_note(c->report, err,
                                 "%s says %.4g, more than the %.4g that the noise allows: an "
                                 "artefact of normal laws fitted to maxima, not a leak.",
                                 r->method, r->epsilon, n->unamplified));
    }
    return DPA_OK;
}

/* Estimates refute nothing, but one far above what the noise promises is no accident. For all
 * iterates only the direction from absent to present counts: the other extrapolates the narrow fit
 * of the absent canaries' maxima, which exceeds the promise in correct systems too
 * (papers/one-shot-federated). */
static dpa_status say_suspicion(dpa__case *c, const sample *s, const noise *n, dpa_error *err) {
    const double delta = c->protocol.request.delta;
    double found = 0.0;
    if (isnan(n->unamplified)) return DPA_OK;
    if (s->last.observed != NULL) {
        dpa_cosine_fit fit;
        dpa_cosine_estimate e;
        DPA_TRY(dpa__cosine_fit_sample(s->last.observed, s->last.observed_count, &fit, err));
        DPA_TRY(
            dpa__cosines_mean(&fit, s->last.dim, delta, c->protocol.request.confidence, &e, err));
        found = e.lower;
    }
    if (s->rounds.observed != NULL) {
        dpa_cosine_fit in, out;
        DPA_TRY(dpa__cosine_fit_sample(s->rounds.observed, s->rounds.observed_count, &in, err));
        DPA_TRY(
            dpa__cosine_fit_sample(s->rounds.unobserved, s->rounds.unobserved_count, &out, err));
        found = fmax(found, dpa__two_gaussians_directed(out.mean, out.deviation, in.mean,
                                                        in.deviation, delta));
    }
    if (!(found > n->unamplified)) return mark_artefact(c, s, n, err);
    return dpa__report_note(
        c->report, err,
        "SUSPICIOUS: the cosines mean an ε of about %.4g, above what the noise "
        "promises. Look for noise that is missing, clients that are not clipped "
        "or count twice.",
        found);
}

/* Cosines with the final model scatter by 1/√dim. Twice or half of that contradicts a dimension
 * that somebody told; files of canaries and games carry the right one. */
static void doubt_dim(dpa__case *c, const sample *s) {
    const dpa_evidence *e = c->evidence;
    const int is_told = e->game[0] == '\0' && isnan(dpa__fact(e, "canary_seed"));
    dpa_cosine_fit fit;
    if (!is_told || s->last.observed_count < 30 ||
        dpa__cosine_fit_sample(s->last.observed, s->last.observed_count, &fit, NULL) != DPA_OK)
        return;
    const double ratio = fit.deviation * sqrt((double)e->dim);
    if (ratio >= 0.5 && ratio <= 2.0) return;
    dpa__verdict_contradict(
        c->report,
        s->last.direction == DPA_DIRECTION_SPHERE ? DPA_ASSUMPTION_INDEX_RANDOM_CANARIES
                                                  : DPA_ASSUMPTION_INDEX_SIGN_CANARIES,
        "the cosines scatter %.3g times as much as in %zu dimensions, which is not the "
        "number of the model's parameters",
        ratio, e->dim);
}

/* ── how the estimates move ──────────────────────────────────────────────────────────── */

enum { POINT = 7, MOST_SAID = 10 };

/* A row of `trajectory`: round, fit of the final cosines, fits of observed and unobserved. */
static dpa_status put_point(const dpa__case *c, size_t canaries, const double *x, json_t *rows,
                            dpa__text *words, dpa_error *err) {
    const dpa_request *r = &c->protocol.request;
    const dpa_cosine_fit last = {canaries, x[1], x[2]}, in = {canaries, x[3], x[4]};
    const dpa_cosine_fit absent = {canaries, x[5], x[6]};
    dpa_cosine_estimate e;
    json_t *row = json_object();
    DPA_TRY(dpa__json_append(rows, row, err));
    DPA_TRY(dpa__json_put(row, "round", x[0], err));
    DPA_TRY(dpa__cosines_mean(&last, c->evidence->dim, r->delta, r->confidence, &e, err));
    DPA_TRY(dpa__json_put(row, "final", e.epsilon, err));
    dpa__text_printf(words, "%s%.3g", words->length > 0 ? ", " : "", e.epsilon);
    if (!isnan(x[3])) {
        DPA_TRY(dpa__cosines_all_iterates(&absent, &in, r->delta, r->confidence, &e, err));
        DPA_TRY(dpa__json_put(row, "all", e.epsilon, err));
        dpa__text_printf(words, " (%.3g)", e.epsilon);
    }
    dpa__text_printf(words, " after %.0f", x[0]);
    return DPA_OK;
}

static dpa_status put_trajectory(dpa__case *c, const sample *s, dpa_error *err) {
    const dpa_named_array *a = dpa__evidence_find(c->evidence, "trajectory");
    const double points = dpa__fact(c->evidence, "checkpoints");
    if (a == NULL || s->last.observed == NULL || !(points >= 1) ||
        (double)a->count < POINT * points)
        return DPA_OK;
    json_t *rows = json_array();
    dpa__text words = {0};
    DPA_TRY(dpa__json_set(c->report->sections, "trajectory", rows, err));
    dpa_status status = DPA_OK;
    for (size_t i = 0; i < (size_t)points && status == DPA_OK; ++i)
        status = put_point(c, s->last.observed_count, a->items + POINT * i, rows, &words, err);
    if (status == DPA_OK && points <= MOST_SAID && !words.failed)
        status = dpa__report_say(c->report, err, "On the way 'mean' (all-iterates) was %s rounds.",
                                 words.data);
    dpa__text_free(&words);
    return status;
}

/* ── known rounds ────────────────────────────────────────────────────────────────────── */

/* Judging canaries by their own rounds (docs/methods/known-rounds.md): the only bound with a
 * confidence that a single federated training gives, for the claimed participation. */

typedef struct known_bound {
    int has_bound;            /* 0: nothing was added, the evidence has no known rounds */
    dpa_known_rounds known;   /* borrows from the evidence */
    dpa_result participation; /* the bound on a canary's rounds */
} known_bound;

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
static dpa_status add_primary(dpa__case *c, const known_bound *k, dpa_result *primary,
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
    return dpa__family_is_universal(whole.family) ? dpa__case_add(c, &whole, DPA_SHOWN, err)
                                                  : DPA_OK;
}

/* Adds what is shown beside it: the bound on the canary's rounds themselves, and that for any
 * mechanism. */
static dpa_status show_known_rounds(dpa__case *c, known_bound *k, dpa_error *err) {
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

/* Adds the bound from the arrays members and nonmembers, which are scores of canaries over their
 * own rounds; it decides, unless a posterior shall. Without these arrays nothing happens. */
static dpa_status judge_known_rounds(dpa__case *c, dpa_lints *lints, known_bound *k,
                                     dpa_error *err) {
    dpa_result primary;
    dpa_request request = c->protocol.request;
    *k = (known_bound){.has_bound = 0};
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

/* ── all of it ───────────────────────────────────────────────────────────────────────── */

static dpa_status describe(dpa__case *c, const sample *s, dpa_error *err) {
    const dpa_cosines *shown = s->last.observed != NULL ? &s->last : &s->rounds;
    DPA_TRY(dpa__report_evidence(c->report, "cosines", err));
    if (shown->observed == NULL) return DPA_OK;
    DPA_TRY(dpa__report_fact(c->report, "canaries", (double)shown->observed_count, err));
    if (s->rounds.observed != NULL)
        DPA_TRY(dpa__report_fact(c->report, "unobserved", (double)s->rounds.unobserved_count, err));
    if (s->last.observed != NULL)
        DPA_TRY(dpa__report_fact(c->report, "dim", (double)c->evidence->dim, err));
    DPA_TRY(dpa__report_say(
        c->report, err,
        "Estimates, not bounds: for an attacker who sees %s and compares it with an update.",
        s->last.observed == NULL ? "every round's model change" : "only the final model"));
    const dpa__sample samples[] = {{"observed", shown->observed, shown->observed_count},
                                   {"unobserved", shown->unobserved, shown->unobserved_count}};
    return dpa__section_histogram(c->report, "cosines", samples, shown->unobserved != NULL ? 2 : 1,
                                  err);
}

dpa_status dpa__judge_cosines(dpa__case *c, dpa_error *err) {
    sample s;
    noise n;
    known_bound known;
    dpa_lints lints = {0};
    dpa__verdict *v = &c->report->verdict;
    DPA_TRY(sample_of(c->evidence, &s, err));
    DPA_TRY(describe(c, &s, err));
    dpa_status status = judge_known_rounds(c, &lints, &known, err);
    const int has_known = known.has_bound && !c->protocol.decides_by_posterior;
    if (status == DPA_OK && !(has_known && c->protocol.bare)) status = add_rows(c, &s, &lints, err);
    if (status == DPA_OK) status = lint_copies(&s.last, &lints, err);
    if (status == DPA_OK) status = lint_copies(&s.rounds, &lints, err);
    if (status == DPA_OK) status = show_known_rounds(c, &known, err);
    if (status == DPA_OK) status = dpa__doubts(c, &lints, err);
    dpa__lints_free(&lints);
    DPA_TRY(status);
    if (dpa_report_primary(c->report) == NULL && v->obstacle[0] == '\0')
        (void)snprintf(v->obstacle, sizeof v->obstacle,
                       "cosines of one run give estimates, and bounds that take the noise for "
                       "independent between canaries: --method scan or --decide posterior lets one "
                       "decide. Canaries with known rounds, some of which stay at home, show more");
    doubt_dim(c, &s);
    DPA_TRY(say_one_sided(c, err));
    DPA_TRY(find_noise(c, &n, err));
    DPA_TRY(say_noise(c, &n, err));
    DPA_TRY(say_suspicion(c, &s, &n, err));
    return put_trajectory(c, &s, err);
}
