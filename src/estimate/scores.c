/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From scores to results: every estimator of the registry that applies, each with the requested
 * choice of threshold, or else with the one that is valid for it. */
#include <string.h>

#include "base/error.h"
#include "estimate/ranks/rank.h"
#include "estimate/ranks/scan.h"
#include "estimate/rates/select.h"
#include "estimate/registry.h"

typedef struct audit {
    const dpa_scores *scores;
    const dpa_request *request;
    dpa__roc roc;
    int has_select;
    dpa__select select;
    const dpa__entry *asked; /* NULL: all */
} audit;

/* Ranks need no choice, Clopper–Pearson limits have a band for all thresholds, all others need a
 * split. */
static dpa__select select_for(const audit *a, const dpa__entry *entry) {
    if (a->has_select) return a->select;
    return (dpa__select){dpa__entry_has_band(entry) ? DPA__SIMULTANEOUS : DPA__SPLIT, 0};
}

/* Why the estimator is left out of this audit; NULL if it is not. */
static const char *refusal(const audit *a, const dpa__entry *entry, const dpa__model *model) {
    const char *reason = dpa__registry_refusal(entry, model, a->request->delta);
    if (reason != NULL) return reason;
    const int is_scan = entry->from_scores == dpa__scan_run;
    if (is_scan && a->asked == NULL && model->kind != DPA__MODEL_DP)
        return "for other families ranks usually show more: asked for by name only";
    if (entry->from_counts != NULL && a->asked == NULL && !a->has_select &&
        (entry->about.what & DPA_FROM_SCORES) == 0)
        return "it works on counts: asked for by name, or with a threshold, only";
    if (entry->from_scores != NULL && !a->has_select) return NULL;
    const dpa__select select = select_for(a, entry);
    reason = dpa__select_refusal(&select, entry);
    if (reason != NULL || a->has_select) return reason;
    if (a->scores->members < 2 || a->scores->nonmembers < 2)
        return select.kind == DPA__SPLIT ? "two of each class are needed for a split" : NULL;
    return NULL;
}

/* Corners are needed where all thresholds are tried: not for a fixed one, and a split has its own.
 */
static int needs_corners(const audit *a) {
    if (a->asked == NULL) return 1;
    const dpa__select select = select_for(a, a->asked);
    return a->asked->from_scores == NULL &&
           (select.kind == DPA__SIMULTANEOUS || select.kind == DPA__MAX);
}

static dpa_status run_one(const audit *a, const dpa__entry *entry, const dpa__model *model,
                          dpa_results *results, dpa_error *err) {
    dpa_result result;
    if (entry->from_scores != NULL) {
        const char *method = a->asked != NULL ? a->request->method : entry->about.name;
        DPA_TRY(entry->from_scores(method, model, a->scores, a->request, &result, err));
    } else {
        const dpa__selection chosen = {
            select_for(a, entry), entry, model, a->scores, &a->roc, a->request};
        DPA_TRY(dpa__select_run(&chosen, &result, err));
    }
    return dpa__results_add(results, &result, err);
}

static dpa_status run_family(const audit *a, const dpa__model *model, dpa_results *results,
                             dpa_error *err) {
    for (size_t i = 0; i < dpa__estimator_count(); ++i) {
        const dpa__entry *entry = dpa__registry_at(i);
        if (a->asked != NULL && entry != a->asked) continue;
        if (!(entry->about.what & DPA_FROM_SCORES) && entry->from_counts == NULL) continue;
        const char *reason = refusal(a, entry, model);
        if (reason == NULL)
            DPA_TRY(run_one(a, entry, model, results, err));
        else if (a->asked != NULL && a->request->family[0] != '\0')
            return dpa__fail(err, DPA_BAD_ARGUMENT, "method %s, family %s: %s", entry->about.name,
                             model->spec, reason);
    }
    return DPA_OK;
}

static dpa_status run(audit *a, dpa_results *results, dpa_error *err) {
    const char *family;
    const size_t before = results->count;
    for (size_t i = 0; (family = dpa__request_family(a->request, i)) != NULL; ++i) {
        dpa__model model;
        DPA_TRY(dpa__model_open(family, a->request->delta, &model, err));
        const dpa_status status = run_family(a, &model, results, err);
        dpa__model_close(&model);
        if (status != DPA_OK) return status;
    }
    if (results->count == before)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "no family takes this method and choice of threshold: name one with "
                         "--family to see why");
    return DPA_OK;
}

dpa_status dpa__estimate_scores(const dpa_scores *scores, const dpa_request *request,
                                dpa_results *results, dpa_error *err) {
    audit a = {.scores = scores, .request = request};
    DPA_TRY(dpa__request_check(request, err));
    if (!scores->is_sorted || scores->members == 0 || scores->nonmembers == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "scores: not prepared (dpa__scores_prepare_here)");
    if (request->method[0] != '\0') {
        a.asked = dpa__registry_find(request->method, err);
        if (a.asked == NULL) return DPA_BAD_ARGUMENT;
        if (a.asked->about.what & DPA_FROM_ORDER)
            return dpa__fail(err, DPA_BAD_ARGUMENT,
                             "method sequential: sorted scores have lost their order of arrival");
    }
    a.has_select = request->select[0] != '\0';
    if (a.has_select) DPA_TRY(dpa__select_parse(request->select, &a.select, err));
    if (needs_corners(&a)) DPA_TRY(dpa__roc_of(scores, &a.roc, err));
    const dpa_status status = run(&a, results, err);
    dpa__roc_free(&a.roc);
    return status;
}
