/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judging scores of independent runs or of independent steps: bounds, quality of the attack,
 * slices. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/threads.h"
#include "estimate/registry.h"
#include "estimate/scores.h"
#include "estimate/sequential.h"
#include "evidence/scores_sort.h"
#include "judge/rates.h"

/* The scores in their order of arrival, for methods that need it (owned by the evidence), and
 * prepared (sorted). */
typedef struct both {
    dpa_scores in_order, prepared;
} both;

static dpa_status scores_of(const dpa_evidence *e, dpa_scores *in_order, dpa_error *err) {
    const dpa_named_array *in = dpa__evidence_find(e, "members");
    const dpa_named_array *none = dpa__evidence_find(e, "nonmembers");
    if (in == NULL || none == NULL)
        return dpa__fail(err, DPA_BAD_INPUT, "scores: members and nonmembers are needed");
    *in_order = (dpa_scores){.member = in->items,
                             .members = in->count,
                             .nonmember = none->items,
                             .nonmembers = none->count};
    return DPA_OK;
}

static dpa_status run(void *user, const dpa_request *request, dpa_results *results,
                      dpa_error *err) {
    const both *scores = user;
    return request->method[0] != '\0' && dpa__registry_is_sequential(request->method)
               ? dpa__estimate_sequential(&scores->in_order, request, results, err)
               : dpa__estimate_scores(&scores->prepared, request, results, err);
}

/* ── slices ──────────────────────────────────────────────────────────────────────────── */

static dpa_status put_group(json_t *rows, const char *name, const dpa_scores *scores,
                            const dpa_result *r, dpa_error *err) {
    return DPA__JSON_ADD(rows, err, {"group", .text = name}, {"members", (double)scores->members},
                         {"nonmembers", (double)scores->nonmembers}, {"family", .text = r->family},
                         {"method", .text = r->method}, {"epsilon_lower", r->epsilon_lower});
}

/* Judges one slice with the deciding test, at the same share of the error. */
static dpa_status judge_group(dpa__case *c, const char *name, dpa_scores *scores, json_t *section,
                              dpa_error *err) {
    dpa_lints lints = {0};
    both slice = {.prepared = *scores};
    const dpa_status status = dpa__scores_prepare_here(&slice.prepared, &lints, err);
    dpa__lints_free(&lints);
    if (status == DPA_BAD_INPUT)
        return dpa__report_say(c->report, err, "group %s: left out: it has only one class", name);
    DPA_TRY(status);
    const dpa__rows rows = {.c = c, .run = run, .user = &slice, .threads = 1};
    const size_t before = dpa_report_count(c->report);
    char family[DPA_FAMILY_SIZE], method[DPA_NAME_SIZE];
    const double confidence = dpa__shared_confidence(c->protocol.request.confidence, c->test.count);
    for (size_t f = 0; dpa__list_item(c->test.family, f, family, sizeof family); ++f)
        for (size_t m = 0; dpa__list_item(c->test.method, m, method, sizeof method); ++m)
            DPA_TRY(dpa__rates_row(&rows, family, method, c->test.select, confidence, DPA_PRIMARY,
                                   err));
    for (size_t i = before; i < c->report->results.count; ++i) {
        dpa_result *r = &c->report->results.items[i];
        (void)snprintf(r->select, sizeof r->select, "group %.30s", name);
        DPA_TRY(put_group(section, name, scores, r, err));
    }
    return DPA_OK;
}

static dpa_status judge_groups(dpa__case *c, dpa_score_groups *groups, dpa_error *err) {
    json_t *section = json_array();
    DPA_TRY(dpa__json_set(c->report->sections, "groups", section, err));
    DPA_TRY(dpa__report_say(c->report, err,
                            "groups: all scores and %zu slices by %s, each at error p/%zu, so that "
                            "all hold together",
                            groups->count, c->protocol.group, c->test.count));
    for (size_t i = 0; i < groups->count; ++i)
        DPA_TRY(judge_group(c, groups->names[i], &groups->items[i], section, err));
    return DPA_OK;
}

static dpa_status open_groups(dpa__case *c, dpa_score_groups *out, dpa_error *err) {
    const char *path = c->evidence->path[0];
    if (c->protocol.group[0] == '\0') return DPA_OK;
    if (path[0] == '\0' || c->evidence->path[1][0] != '\0')
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "group: needs one table with the columns score, member and the group");
    if (strcmp(path, "-") == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "group: the table is read twice; not from '-'");
    if (dpa__registry_is_sequential(c->test.method))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "group: not with method %s", c->test.method);
    DPA_TRY(dpa__score_groups_read(path, c->protocol.group, out, err));
    c->test.count *= 1 + out->count;
    return DPA_OK;
}

/* ── is the canary there at all? ─────────────────────────────────────────────────────── */

/* The AUC of a step's scores under the promised noise: Φ(1/(σ√2)), scaled to how often the canary
 * is in. */
static double promised_auc(const dpa__case *c) {
    const double rate = c->evidence->training.rate;
    return 0.5 + rate * (0.5 * erfc(-0.5 / c->promise.sigma) - 0.5);
}

/* A canary of the clipping norm is at least as visible as the promised noise allows. If the AUC
 * shows less than half of that and no significant leak, the canary was probably never inserted. */
static dpa_status doubt_canary(dpa__case *c, const dpa_scores *s, dpa_error *err) {
    dpa_quality quality;
    dpa_request request = c->protocol.request;
    if (c->evidence->scope != DPA_SCOPE_STEP || isnan(c->promise.sigma)) return DPA_OK;
    request.confidence = 0.999;
    DPA_TRY(dpa__scores_quality(s, &request, &quality, err));
    const double half = 0.5 * (0.5 + promised_auc(c));
    if (quality.auc.upper < half && quality.auc.lower < 0.5)
        dpa__verdict_contradict(c->report, DPA_ASSUMPTION_INDEX_CANARY_INSERTED,
                                "AUC %.3f at most %.3f, where the promised noise would give %.3f",
                                quality.auc.value, quality.auc.upper, promised_auc(c));
    return DPA_OK;
}

/* ── which way round? ────────────────────────────────────────────────────────────────── */

static dpa_scores finite_scores(const dpa_scores *s) {
    dpa_scores out = *s;
    while (out.members > 0 && isinf(out.member[out.members - 1])) --out.members;
    while (out.members > 0 && isinf(out.member[0])) ++out.member, --out.members;
    while (out.nonmembers > 0 && isinf(out.nonmember[out.nonmembers - 1])) --out.nonmembers;
    while (out.nonmembers > 0 && isinf(out.nonmember[0])) ++out.nonmember, --out.nonmembers;
    return out;
}

/* Failed and lost trainings have infinite scores by definition, which say nothing about the sign of
 * the others. */
static dpa_status doubt_sign_of_played(const dpa_evidence *e, const dpa_scores *s, dpa_lints *lints,
                                       dpa_error *err) {
    size_t kept = 0;
    if (e->failed[0] + e->failed[1] + e->absent[0] + e->absent[1] == 0) return DPA_OK;
    for (size_t i = 0; i < lints->count; ++i)
        if (strcmp(lints->items[i].code, "sign") != 0) lints->items[kept++] = lints->items[i];
    lints->count = kept;
    const dpa_scores played = finite_scores(s);
    return dpa__scores_lint_sign(&played, lints, err);
}

/* ── all of it ───────────────────────────────────────────────────────────────────────── */

/* The rows, and beside them how good the attack is. */
static dpa_status fill_rows(dpa__case *c, both *scores, unsigned threads, dpa_quality *quality,
                            dpa_error *err) {
    dpa__measuring measuring;
    dpa__rows rows = {c, run, scores, threads, dpa__quality_task, &measuring, DPA__QUALITY_TASKS};
    if (c->protocol.bare) rows.beside_count = 0;
    DPA_TRY(dpa__quality_begin(&scores->prepared, &c->report->request, quality, &measuring, err));
    DPA_TRY(dpa__rates_rows(&rows, err));
    return dpa__quality_end(&measuring, err);
}

static dpa_status fill(dpa__case *c, both *scores, dpa_score_groups *groups, dpa_error *err) {
    const dpa_scores *s = &scores->prepared, *given = &scores->in_order;
    dpa_quality quality;
    dpa_lints lints = {0};
    const dpa_protocol *p = &c->protocol;
    const double size = (double)given->members + (double)given->nonmembers;
    const unsigned threads = dpa__threads_worth(p->request.threads, size, DPA__SCORES_A_THREAD);
    DPA_TRY(dpa__report_evidence(c->report, "scores", err));
    DPA_TRY(dpa__report_fact(c->report, "members", (double)given->members, err));
    DPA_TRY(dpa__report_fact(c->report, "nonmembers", (double)given->nonmembers, err));
    dpa_status status = dpa__scores_prepare(given, threads, &scores->prepared, &lints, err);
    if (status == DPA_OK) status = doubt_sign_of_played(c->evidence, s, &lints, err);
    if (status == DPA_OK) status = fill_rows(c, scores, threads, &quality, err);
    if (status == DPA_OK && p->group[0] != '\0') status = judge_groups(c, groups, err);
    if (status == DPA_OK) status = dpa__doubts(c, &lints, err);
    dpa__lints_free(&lints);
    DPA_TRY(status);
    DPA_TRY(doubt_canary(c, s, err));
    if (p->bare) return DPA_OK;
    DPA_TRY(dpa__power_state(c, (double)s->members, (double)s->nonmembers, err));
    DPA_TRY(dpa__section_quality(c->report, &quality, s->nonmembers, err));
    if (!p->plain) DPA_TRY(dpa__section_scores(c->report, s, err));
    if (!p->plain) DPA_TRY(dpa__section_posterior(c->report, err));
    if (p->curve) DPA_TRY(dpa__section_curve(c->report, s, err));
    if (!isnan(p->at_epsilon)) DPA_TRY(dpa__section_delta(c->report, p->at_epsilon, err));
    return p->explain ? dpa__explain(c->report, s, err) : DPA_OK;
}

dpa_status dpa__judge_scores(dpa__case *c, dpa_error *err) {
    both scores = {0};
    dpa_score_groups groups = {0};
    DPA_TRY(open_groups(c, &groups, err));
    dpa_status status = scores_of(c->evidence, &scores.in_order, err);
    if (status == DPA_OK) status = fill(c, &scores, &groups, err);
    dpa__scores_free(&scores.prepared);
    dpa__score_groups_free(&groups);
    return status;
}
