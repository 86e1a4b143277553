/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The decision rule (docs/judging.md): one claim, one null hypothesis, one test named beforehand.
 *
 *   claim                      null hypothesis                    test
 *   (ε,δ), nothing else        every (ε,δ)-DP mechanism           family dp
 *   σ, q, T                    that mechanism's curve             family of the claimed mechanism
 *   a family named by the user its members                        that family
 *   several of them            all together                       each at its share of the error
 *   canaries' known rounds     Gaussian noise of a round          family gaussian
 *
 * Everything here looks at the claim, at what was named and at the kind of evidence, never at a
 * number of it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "account/family.h"
#include "base/error.h"
#include "base/json.h"
#include "estimate/model.h"
#include "estimate/rates/exact.h"
#include "estimate/rates/select.h"
#include "estimate/registry.h"
#include "judge/case.h"

double dpa__shared_confidence(double confidence, size_t tests) {
    return tests > 1 ? 1 - (1 - confidence) / (double)tests : confidence;
}

/* 1 if the evidence or the claim states the mechanism. */
static int is_stated(const dpa__case *c) {
    const dpa_training_facts *t = &c->evidence->training;
    if (!isnan(c->claim.sigma)) return 1;
    const int sees_enough = c->evidence->design == DPA_ONE_RUN || t->sees_all;
    return sees_enough && !isnan(t->q) && !isnan(t->sigma) && t->steps > 0;
}

static void step_family(const dpa__case *c, char *text, size_t size) {
    const double rate = c->evidence->training.rate;
    char number[40];
    dpa__number_text(rate, number, sizeof number);
    if (rate < 1)
        (void)snprintf(text, size, "subsampled-gaussian:q=%s,steps=1", number);
    else
        (void)snprintf(text, size, "gaussian");
}

/* 1 if a group is sampled: a random number of its records is then in a batch, which no member of
 * the claimed family models. */
static int is_mixed_group(const dpa__case *c) {
    return c->evidence->training.records > 1 && !isnan(c->claim.sigma) && c->claim.q < 1;
}

static void default_family(const dpa__case *c, char *text, size_t size) {
    /* the curve is claimed for the training, but a step was observed */
    const int is_other = c->evidence->scope == DPA_SCOPE_STEP && c->claim.scope != DPA_SCOPE_STEP;
    if (c->claim.curve[0] != '\0' && !is_other)
        (void)snprintf(text, size, "points:%s", c->claim.curve);
    else if (c->evidence->scope == DPA_SCOPE_STEP)
        step_family(c, text, size);
    else if (is_stated(c) && !is_mixed_group(c))
        dpa__claimed_family(c, text, size);
    else
        (void)snprintf(text, size, "dp");
}

static unsigned source_of(const dpa_evidence *e) {
    switch (e->kind) {
    case DPA_EVIDENCE_COUNTS:
        return DPA_FROM_COUNTS;
    case DPA_EVIDENCE_SCORES:
        return e->design == DPA_ONE_RUN ? DPA_FROM_GUESSES : DPA_FROM_SCORES;
    case DPA_EVIDENCE_GUESSES:
        return DPA_FROM_GUESSES;
    case DPA_EVIDENCE_COSINES:
        return DPA_FROM_COSINES;
    case DPA_EVIDENCE_SIGNALS:
        break;
    }
    return 0;
}

/* 1 if a named method can decide: it gives a bound with a confidence, or a posterior may decide. */
static int can_decide(const dpa__case *c, const dpa__entry *entry) {
    if (!(entry->about.what & DPA_GIVES_BOUND) || !entry->about.valid) return 0;
    return (entry->about.assumptions & DPA_ASSUME_BAYES_PRIOR) == 0 ||
           c->protocol.decides_by_posterior;
}

/* Fails unless every name of the list exists and applies. *decide is set if all named methods can
 * decide; otherwise they are only shown, and the default decides. */
static dpa_status check_methods(const dpa__case *c, unsigned source, int *decide, dpa_error *err) {
    const char *list = c->protocol.request.method;
    char name[DPA_NAME_SIZE];
    *decide = list[0] != '\0';
    for (size_t i = 0; list[0] != '\0' && dpa__list_item(list, i, name, sizeof name); ++i) {
        const dpa__entry *entry = dpa__registry_for(source, name, err);
        if (entry == NULL) return DPA_BAD_ARGUMENT;
        *decide &= can_decide(c, entry);
    }
    return DPA_OK;
}

/* Fails unless every named method works with this family. */
static dpa_status check_pairs(const dpa__case *c, unsigned source, const dpa__model *model,
                              dpa_error *err) {
    const char *list = c->protocol.request.method;
    char name[DPA_NAME_SIZE];
    for (size_t i = 0; list[0] != '\0' && dpa__list_item(list, i, name, sizeof name); ++i) {
        const dpa__entry *entry = dpa__registry_for(source, name, err);
        if (entry == NULL) return DPA_BAD_ARGUMENT;
        const char *refusal = dpa__registry_refusal(entry, model, c->protocol.request.delta);
        if (refusal != NULL)
            return dpa__fail(err, DPA_BAD_ARGUMENT, "method %s, family %.60s: %s", name,
                             model->spec, refusal);
    }
    return DPA_OK;
}

/* Fails unless the families exist and every named method works with each of them. */
static dpa_status check_families(const dpa__case *c, unsigned source, dpa_error *err) {
    const int has_rates = (source & (DPA_FROM_COUNTS | DPA_FROM_SCORES)) != 0;
    char name[DPA_FAMILY_SIZE];
    for (size_t i = 0; dpa__list_item(c->test.family, i, name, sizeof name); ++i) {
        dpa__model model;
        if (is_mixed_group(c) && !dpa__family_is_universal(name))
            return dpa__fail(err, DPA_BAD_ARGUMENT,
                             "family: '%.60s' does not apply to copies of a record, of which a "
                             "sampled number is in a batch; take --family dp, in plan too",
                             name);
        DPA_TRY(dpa__model_open(name, c->protocol.request.delta, &model, err));
        const dpa_status status = has_rates ? check_pairs(c, source, &model, err) : DPA_OK;
        dpa__model_close(&model);
        DPA_TRY(status);
    }
    return DPA_OK;
}

/* 1 if there are too many runs for the exact test; their number is known before looking at the
 * data. */
int dpa__is_large(const dpa_evidence *e) {
    const dpa_named_array *a =
        e->kind == DPA_EVIDENCE_COUNTS ? dpa__evidence_find(e, "counts") : NULL;
    if (a == NULL || a->count != 4) return 0;
    return fmax(a->items[0] + a->items[1], a->items[2] + a->items[3]) > DPA__EXACT_MOST;
}

/* 1 if a way to choose the threshold is named that may decide. */
static int has_threshold(const dpa__case *c) {
    const char *select = c->protocol.request.select;
    return select[0] != '\0' && !dpa__select_is(select, DPA__MAX);
}

/* 1 if the default is that for any mechanism. Of several families one test has to work in each:
 * scan, which is for any mechanism, does; of guesses `either` does not. */
static int is_for_any(const dpa__case *c, unsigned source) {
    const int is_each = source == DPA_FROM_GUESSES;
    char name[DPA_FAMILY_SIZE];
    for (size_t i = 0; dpa__list_item(c->test.family, i, name, sizeof name); ++i)
        if (dpa__family_is_universal(name) != is_each) return !is_each;
    return is_each;
}

/* The method that decides for the families if none is named. */
static const char *default_method(const dpa__case *c, unsigned source) {
    if (c->protocol.decides_by_posterior && (source & (DPA_FROM_COUNTS | DPA_FROM_SCORES)))
        return dpa__registry_posterior();
    if (source == DPA_FROM_SCORES && has_threshold(c)) return dpa__registry_threshold();
    /* With canary_rate < 1 the leak of a step is in the low-FPR tail, which ranks dilute. */
    const int is_tail = c->evidence->scope == DPA_SCOPE_STEP && c->evidence->training.rate < 1;
    return dpa__registry_default(source, is_for_any(c, source), is_tail, dpa__is_large(c->evidence),
                                 c->evidence->options);
}

/* Fails if a posterior is to decide and the test is none: the verdict would be of another kind than
 * was asked for. */
static dpa_status check_posterior(const dpa__case *c, unsigned source, dpa_error *err) {
    char name[DPA_NAME_SIZE];
    if (!c->protocol.decides_by_posterior) return DPA_OK;
    for (size_t i = 0; dpa__list_item(c->test.method, i, name, sizeof name); ++i) {
        const dpa__entry *entry = dpa__registry_for(source, name, err);
        if (entry == NULL) return DPA_BAD_ARGUMENT;
        if ((entry->about.assumptions & DPA_ASSUME_BAYES_PRIOR) == 0)
            return dpa__fail(err, DPA_BAD_ARGUMENT,
                             "decide: posterior, but %s gives a bound with a confidence; %s", name,
                             source == DPA_FROM_GUESSES
                                 ? "one run has no posterior: leave --decide out"
                                 : "leave --decide or --method out");
    }
    return DPA_OK;
}

static dpa_status check_guesses(const dpa__case *c, unsigned source, dpa_error *err) {
    if (c->protocol.guesses[0] != '\0' && source != DPA_FROM_GUESSES)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "guesses: only one run is guessed");
    return DPA_OK;
}

/* Cosines are tested in a family if the canaries' rounds are known: the Gaussian one, under which
 * the noise is independent from canary to canary, and canaries may overlap. Another one has to be
 * named, and takes that independence as an assumption. */
static dpa_status cosine_family(const dpa__case *c, char *text, size_t size, dpa_error *err) {
    const char *named = c->protocol.request.family;
    const dpa_evidence *e = c->evidence;
    /* before a run its evidence has no arrays and facts yet */
    const int is_known =
        e->scope == DPA_SCOPE_PARTICIPATION || dpa__evidence_find(e, "members") != NULL;
    const double spread = dpa__fact(e, "spread");
    const int is_orthogonal =
        isnan(spread) ? dpa__direction_of(e) == DPA_DIRECTION_HADAMARD : spread == 1.0;
    if (named[0] != '\0' && (!is_known || dpa__list_count(named) > 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "family: '%.60s' does not apply: cosines are tested in one family, if the "
                         "rounds of the canaries are known, else in none",
                         named);
    if (named[0] != '\0' && !is_orthogonal && !dpa__family_is_gaussian(named))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "family: '%.60s' needs canaries that do not overlap (direction hadamard); "
                         "for others there is gaussian",
                         named);
    if (is_known) (void)snprintf(text, size, "%s", named[0] != '\0' ? named : "gaussian");
    return DPA_OK;
}

dpa_status dpa__rule_apply(dpa__case *c, dpa_error *err) {
    const unsigned source = source_of(c->evidence);
    const dpa_request *r = &c->protocol.request;
    dpa__test *t = &c->test;
    int named;
    *t = (dpa__test){.count = 1};
    if (source == 0)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "signals, no scores: name an attack (game: attack), or take the files of "
                         "dpaudit export to dpaudit attack");
    DPA_TRY(check_guesses(c, source, err));
    DPA_TRY(check_methods(c, source, &named, err));
    if (source == DPA_FROM_COSINES) {
        (void)snprintf(t->method, sizeof t->method, "%s", named ? r->method : "");
        DPA_TRY(cosine_family(c, t->family, sizeof t->family, err));
        return t->family[0] != '\0' ? check_families(c, source, err) : DPA_OK;
    }
    if (r->family[0] != '\0')
        (void)snprintf(t->family, sizeof t->family, "%s", r->family);
    else
        default_family(c, t->family, sizeof t->family);
    DPA_TRY(check_families(c, source, err));
    (void)snprintf(t->method, sizeof t->method, "%s",
                   named ? r->method : default_method(c, source));
    const int is_optimistic = dpa__select_is(r->select, DPA__MAX); /* shown, never decides */
    if (source != DPA_FROM_GUESSES && !is_optimistic)
        (void)snprintf(t->select, sizeof t->select, "%s", r->select);
    t->count = dpa__list_count(t->family) * dpa__list_count(t->method);
    return check_posterior(c, source, err);
}
