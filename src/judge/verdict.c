/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verdict: the state of the claim, and the sentence that says so. A bound of 0 means "nothing
 * shown", never "private"; a claim that is not refuted is not proved by that. */
#include "judge/case.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "estimate/registry.h"
#include "report/model/value.h"

void dpa__verdict_begin(dpa_report *report, const dpa_claim *claim, double epsilon) {
    report->verdict = (dpa__verdict){.is_made = 1,
                                     .claim = *claim,
                                     .claim_epsilon = epsilon,
                                     .epsilon_lower = NAN,
                                     .confidence = NAN,
                                     .p_value = NAN,
                                     .detect_worst = NAN,
                                     .detect_gaussian = NAN,
                                     .must_detect = NAN};
}

void dpa__verdict_contradict(dpa_report *report, unsigned assumption, const char *format, ...) {
    dpa__verdict *v = &report->verdict;
    va_list args;
    if (v->contradictions == DPA__CONTRADICTIONS) return;
    dpa__contradiction *c = &v->contradicted[v->contradictions++];
    c->assumption = assumption;
    va_start(args, format);
    (void)dpa__vprint(c->reason, sizeof c->reason, format, args);
    va_end(args);
}

/* ── the state ───────────────────────────────────────────────────────────────────────── */

/* 1 if this result may decide: a bound with a confidence about the mechanism, or a posterior
 * probability if the protocol lets it. */
static int may_decide(const dpa__verdict *v, const dpa_result *r) {
    const dpa_guarantee g = dpa__result_guarantee(r);
    if (r->scope == DPA_SCOPE_MODEL || (r->assumptions & DPA_ASSUME_ONE_INSTANCE) != 0) return 0;
    return g == DPA_CONFIDENCE || (g == DPA_POSTERIOR && v->is_posterior);
}

static int refutes(const dpa__verdict *v, const dpa_result *r) {
    return may_decide(v, r) && r->scope == v->claim.scope && r->epsilon_lower > v->claim_epsilon;
}

int dpa__verdict_refutes(const dpa_report *report) {
    if (report->verdict.is_all_rejected) return 1;
    for (size_t i = 0; i < report->results.count; ++i) {
        const dpa_result *r = &report->results.items[i];
        if (r->role == DPA_PRIMARY && refutes(&report->verdict, r)) return 1;
    }
    return 0;
}

static void take_primary(dpa__verdict *v, const dpa_result *r) {
    v->scope = r->scope;
    v->epsilon_lower = r->epsilon_lower;
    v->confidence = r->confidence;
    v->p_value = r->p_value;
    v->assumptions = r->assumptions;
    v->conditional = dpa__result_conditional(r);
    if (!may_decide(v, r) && v->obstacle[0] == '\0')
        (void)snprintf(v->obstacle, sizeof v->obstacle, "%s",
                       r->scope == DPA_SCOPE_MODEL || (r->assumptions & DPA_ASSUME_ONE_INSTANCE)
                           ? "this one model says nothing about the mechanism that made it"
                           : "no bound at a confidence was made");
    if (r->scope != v->claim.scope && v->obstacle[0] == '\0')
        (void)snprintf(v->obstacle, sizeof v->obstacle,
                       "the bound is about one %s, the claim about one %s",
                       dpa__scope_name(r->scope), dpa__scope_name(v->claim.scope));
}

/* 1 if the test lacked the power to detect the leak that it had to detect. */
static int is_blind(const dpa__verdict *v) {
    const double seen = fmax(v->detect_worst, v->detect_gaussian);
    return !isnan(v->must_detect) && !(seen <= v->must_detect);
}

static dpa_state find_state(const dpa_report *report) {
    const dpa__verdict *v = &report->verdict;
    if (isnan(v->claim_epsilon)) return DPA_NO_CLAIM;
    if (v->contradictions > 0 || v->obstacle[0] != '\0') return DPA_INCONCLUSIVE;
    if (dpa__verdict_refutes(report)) return DPA_REFUTED;
    return is_blind(v) ? DPA_INCONCLUSIVE : DPA_NOT_REFUTED;
}

/* ── the sentence ────────────────────────────────────────────────────────────────────── */

static const char *of_scope(dpa_scope scope) {
    switch (scope) {
    case DPA_SCOPE_STEP:
        return " of one step";
    case DPA_SCOPE_PARTICIPATION:
        return " of one client's rounds";
    case DPA_SCOPE_MODEL:
        return " of this one model";
    case DPA_SCOPE_TRAINING:
        break;
    }
    return "";
}

static void add_claim(dpa__text *out, const dpa_report *report) {
    const dpa__verdict *v = &report->verdict;
    const double delta = isnan(v->claim.delta) ? report->request.delta : v->claim.delta;
    const int by_epsilon = v->records > 1 && !isnan(v->claim.epsilon);
    dpa__text_printf(out, "the claim ε ≤ %.6g (δ = %g",
                     by_epsilon ? v->claim.epsilon : v->claim_epsilon, delta);
    if (!isnan(v->claim.sigma)) dpa__text_printf(out, ", from noise σ = %.6g", v->claim.sigma);
    if (v->claim.curve[0] != '\0') dpa__text_add(out, ", from a curve");
    dpa__text_printf(out, ")%s", of_scope(v->claim.scope));
    if (by_epsilon)
        dpa__text_printf(out, " (ε ≤ %.6g at δ = %.4g for %llu records at once)", v->claim_epsilon,
                         report->request.delta, (unsigned long long)v->records);
    else if (v->records > 1)
        dpa__text_printf(out, " for %llu records at once", (unsigned long long)v->records);
}

/* A few words about what the bound assumes. */
static void add_basis(dpa__text *out, const dpa_report *report, const dpa_result *r) {
    const int has_channels = (r->assumptions & DPA_ASSUME_CHANNELS) != 0;
    const int is_any = dpa__result_conditional(r) == NULL || has_channels;
    if (dpa__family_is_universal(r->family) && is_any)
        dpa__text_printf(out, "for any mechanism%s; %s",
                         has_channels ? " with noise of its own for each canary" : "", r->method);
    else if (r->family[0] != '\0')
        dpa__text_printf(out, "if the mechanism is %s; %s", r->family, r->method);
    else
        dpa__text_add(out, r->method);
    if (r->select[0] != '\0') dpa__text_printf(out, ", %s", r->select);
    if (report->verdict.is_posterior)
        dpa__text_add(out, "; a posterior probability decides, as asked");
}

static int is_like(const dpa_result *r, const dpa_result *like) {
    return r->role == like->role && dpa__is_same_test((dpa__test_name){.method = r->method},
                                                      (dpa__test_name){.method = like->method});
}

/* How many results one method has about several models, not counting bounds of groups of records.
 */
static size_t models_like(const dpa_report *report, const dpa_result *like) {
    size_t count = 0;
    for (size_t i = 0; i < report->results.count; ++i) {
        const dpa_result *r = &report->results.items[i];
        count += r->scope == DPA_SCOPE_MODEL && is_like(r, like);
    }
    return count;
}

/* Says which model the strongest of several bounds comes from. */
static void add_whose(dpa__text *out, const dpa_report *report, const dpa_result *r) {
    const size_t models = models_like(report, r);
    if (models > 1)
        dpa__text_printf(out, " of the leakiest of these %zu models", models);
    else
        dpa__text_add(out, of_scope(r->scope));
}

static void add_bound(dpa__text *out, const dpa_report *report, const dpa_result *r) {
    const dpa__percent percent = dpa__percent_of(r->confidence);
    const char *sure =
        dpa__result_guarantee(r) == DPA_POSTERIOR ? "posterior probability" : "confidence";
    if (r->epsilon_lower > 0) {
        dpa__text_add(out, "the leak");
        add_whose(out, report, r);
        if (report->verdict.records > 1 && isnan(report->verdict.claim_epsilon))
            dpa__text_printf(out, " of %llu records at once",
                             (unsigned long long)report->verdict.records);
        else if (report->verdict.records > 1) /* the claim has just said how many */
            dpa__text_add(out, " of all of them");
        dpa__text_printf(out, " is at least ε = %.4f at δ = %g with %s %s (", r->epsilon_lower,
                         report->request.delta, percent.text, sure);
    } else {
        const size_t models = models_like(report, r);
        dpa__text_add(out, "nothing is shown");
        if (models > 1) dpa__text_printf(out, " of these %zu models", models);
        dpa__text_printf(out, " with %s %s, which does not mean private (", percent.text, sure);
    }
    add_basis(out, report, r);
    dpa__text_add(out, ")");
}

/* The sentence for "no bound": no member of the family is as leaky as the observations. */
static void add_rejection(dpa__text *out, const dpa_result *r) {
    dpa__text_printf(out, "more leaks than any member of %s allows, with %s confidence (%s)",
                     r->family, dpa__percent_of(r->confidence).text, r->method);
}

static void add_power(dpa__text *out, const dpa__verdict *v) {
    if (isnan(v->detect_worst) && isnan(v->detect_gaussian)) return;
    dpa__text_add(out, " It would have detected");
    if (!isnan(v->detect_worst))
        dpa__text_printf(out,
                         isinf(v->detect_worst) ? " no leak of the most visible kind"
                                                : " ε = %.3g of the most visible kind",
                         v->detect_worst);
    if (!isnan(v->detect_gaussian))
        dpa__text_printf(out,
                         isinf(v->detect_gaussian) ? "%s no leak from too little Gaussian noise"
                                                   : "%s ε = %.3g from too little Gaussian noise",
                         isnan(v->detect_worst) ? "" : " and", v->detect_gaussian);
    dpa__text_add(out, " (power 80%).");
}

static void add_why_inconclusive(dpa__text *out, const dpa__verdict *v) {
    if (v->contradictions > 0)
        dpa__text_printf(out, "the data contradict that %s: %s",
                         dpa__assumption_text(v->contradicted[0].assumption),
                         v->contradicted[0].reason);
    else if (v->obstacle[0] != '\0')
        dpa__text_add(out, v->obstacle);
    else
        dpa__text_printf(out,
                         "ε = %.6g had to be detectable, and this audit would not have seen it",
                         v->must_detect);
}

/* A reason may be a sentence or a question, which has its own end. */
static void end_sentence(dpa__text *out) {
    const char last = out->length > 0 ? out->data[out->length - 1] : '\0';
    if (last != '.' && last != '?') dpa__text_add(out, ".");
}

static void add_estimate_of(dpa__text *out, const dpa_report *report, const dpa_result *first) {
    const size_t models = models_like(report, first);
    double sum = 0.0, least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < report->results.count; ++i) {
        const dpa_result *r = &report->results.items[i];
        if (!is_like(r, first)) continue;
        sum += r->epsilon;
        least = fmin(least, r->epsilon);
        most = fmax(most, r->epsilon);
    }
    if (models > 1)
        dpa__text_printf(out, "Estimated ε = %.4g on average over %zu models, %.4g to %.4g,",
                         sum / (double)models, models, least, most);
    else
        dpa__text_printf(out, "Estimated ε = %.4g%s", first->epsilon, of_scope(first->scope));
    dpa__text_printf(out, " at δ = %g (%s): an estimate, not a bound.", report->request.delta,
                     first->method);
}

static void add_estimate(dpa__text *out, const dpa_report *report) {
    for (size_t i = 0; i < report->results.count; ++i)
        if (dpa__result_guarantee(&report->results.items[i]) == DPA_ESTIMATE_ONLY) {
            add_estimate_of(out, report, &report->results.items[i]);
            return;
        }
    dpa__text_add(out, report->results.count > 0
                           ? "No valid bound: what is shown is optimistic, for comparison only."
                           : "No result: no estimator applies to this evidence.");
}

static void add_sentence(dpa__text *out, const dpa_report *report, const dpa_result *primary) {
    const dpa__verdict *v = &report->verdict;
    switch (v->state) {
    case DPA_REFUTED:
        dpa__text_add(out, "REFUTED: ");
        add_claim(out, report);
        dpa__text_add(out, " does not stand; ");
        if (v->is_all_rejected)
            add_rejection(out, primary);
        else
            add_bound(out, report, primary);
        dpa__text_add(out, ".");
        return;
    case DPA_NOT_REFUTED:
        dpa__text_add(out, "Not refuted: ");
        add_claim(out, report);
        dpa__text_add(out, " is not contradicted, which does not prove it; ");
        add_bound(out, report, primary);
        dpa__text_add(out, ".");
        add_power(out, v);
        return;
    case DPA_INCONCLUSIVE:
        dpa__text_add(out, "INCONCLUSIVE about ");
        add_claim(out, report);
        dpa__text_add(out, ": ");
        add_why_inconclusive(out, v);
        end_sentence(out);
        if (v->contradictions == 0) add_power(out, v);
        return;
    case DPA_NO_CLAIM:
        if (primary == NULL)
            add_estimate(out, report);
        else
            add_bound(out, report, primary);
        if (primary != NULL) dpa__text_add(out, ".");
        return;
    }
}

static dpa_status say(dpa_report *report, const dpa_result *primary, dpa_error *err) {
    dpa__verdict *v = &report->verdict;
    dpa__text text = {0};
    char *sentence = NULL;
    add_sentence(&text, report, primary);
    if (v->is_registered && !v->is_as_registered)
        dpa__text_add(&text, " NOT AS REGISTERED: what was done is not what the protocol says.");
    DPA_TRY(dpa__text_take(&text, &sentence, err));
    (void)snprintf(v->headline, sizeof v->headline, "%s", sentence);
    if (strncmp(v->headline, "the ", 4) == 0 || strncmp(v->headline, "nothing", 7) == 0)
        v->headline[0] = (char)(v->headline[0] - 'a' + 'A');
    free(sentence);
    return DPA_OK;
}

dpa_status dpa__verdict_conclude(dpa_report *report, dpa_error *err) {
    dpa__verdict *v = &report->verdict;
    const dpa_result *primary = dpa_report_primary(report);
    if (primary != NULL)
        take_primary(v, primary);
    else if (v->obstacle[0] == '\0')
        (void)snprintf(v->obstacle, sizeof v->obstacle,
                       "no test that could decide applies to this evidence");
    v->state = find_state(report);
    return say(report, primary, err);
}
