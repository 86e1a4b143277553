/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judging scores of independent runs or of independent steps (bounds, quality of the attack,
 * slices), and a confusion matrix. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/threads.h"
#include "estimate/rates/rates.h"
#include "estimate/registry.h"
#include "estimate/scores.h"
#include "estimate/sequential/sequential.h"
#include "evidence/evidence.h"
#include "judge/rates.h"
#include "report/model/model.h"

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

enum { ROC_POINTS = 160 };
static const double ROC_RATIO = 1.15;

/* ── ROC ───────────────────────────────────────────────────────────────────────────────────── */

/* Chooses the operating points to show: about ROC_POINTS along both classes, and at low false
 * positive rates (for a log axis) one whenever the false positives grow by ROC_RATIO. */
typedef struct roc_picker {
    size_t next_passed, step;
    double next_false;
} roc_picker;

static int roc_pick(roc_picker *picker, size_t passed, size_t false_positives) {
    if (passed < picker->next_passed && (double)false_positives < picker->next_false) return 0;
    picker->next_passed = passed + picker->step;
    picker->next_false = fmax((double)false_positives * ROC_RATIO, (double)false_positives + 1);
    return 1;
}

/* The point, with the Clopper–Pearson interval of its TPR alone at the request's confidence. */
static dpa_status append_point(json_t *points, const dpa_scores *s, size_t fn, size_t tn,
                               double confidence, dpa_error *err) {
    const double error = 0.5 * (1 - confidence);
    const size_t tp = s->members - fn;
    json_t *point = json_object();
    DPA_TRY(dpa__json_append(points, point, err));
    DPA_TRY(DPA__JSON_FILL(point, err,
                           {"fpr", (double)(s->nonmembers - tn) / (double)s->nonmembers},
                           {"tpr", (double)tp / (double)s->members}));
    const double lower = dpa__rate_lower(DPA__CLOPPER_PEARSON, tp, s->members, error);
    const double upper = dpa__rate_upper(DPA__CLOPPER_PEARSON, tp, s->members, error);
    return DPA__JSON_FILL(point, err, {"tpr_lower", lower}, {"tpr_upper", upper});
}

static dpa_status section_roc(dpa_report *report, const dpa_scores *s, dpa_error *err) {
    const double confidence = report->request.confidence;
    json_t *points = json_array();
    DPA_TRY(dpa__json_set(report->sections, "roc", points, err));
    size_t i = s->members, j = s->nonmembers;
    const size_t step = (i + j) / ROC_POINTS;
    roc_picker picker = {step > 0 ? step : 1, step > 0 ? step : 1, 1};
    DPA_TRY(append_point(points, s, i, j, confidence, err));
    while (i > 0 || j > 0) {
        const double value = j == 0 || (i > 0 && s->member[i - 1] > s->nonmember[j - 1])
                                 ? s->member[i - 1]
                                 : s->nonmember[j - 1];
        while (i > 0 && s->member[i - 1] == value) --i;
        while (j > 0 && s->nonmember[j - 1] == value) --j;
        const size_t passed = s->members - i + s->nonmembers - j;
        if (roc_pick(&picker, passed, s->nonmembers - j) || (i == 0 && j == 0))
            DPA_TRY(append_point(points, s, i, j, confidence, err));
    }
    return DPA_OK;
}

/* ── quality ───────────────────────────────────────────────────────────────────────────────── */

static dpa_status put_measure(json_t *object, const char *key, const dpa_measure *m,
                              dpa_error *err) {
    json_t *value = json_object();
    DPA_TRY(dpa__json_set(object, key, value, err));
    return DPA__JSON_FILL(value, err, {"value", m->value}, {"lower", m->lower},
                          {"upper", m->upper});
}

/* A false positive rate below one non-member cannot be observed. */
static int is_resolved(double fpr, size_t nonmembers) {
    return fpr * (double)nonmembers >= 1;
}

static dpa_status put_quality(dpa_report *report, const dpa_quality *q, size_t nonmembers,
                              dpa_error *err) {
    json_t *section = json_object(), *rates = json_array();
    DPA_TRY(dpa__json_set(report->sections, "quality", section, err));
    DPA_TRY(put_measure(section, "auc", &q->auc, err));
    DPA_TRY(put_measure(section, "balanced_accuracy", &q->accuracy, err));
    DPA_TRY(dpa__json_put(section, "balanced_accuracy_threshold", q->threshold, err));
    DPA_TRY(dpa__json_set(section, "tpr_at_fpr", rates, err));
    for (size_t i = 0; i < DPA_LOW_FPRS; ++i) {
        if (!is_resolved(q->fpr[i], nonmembers)) continue;
        json_t *rate = json_object();
        DPA_TRY(dpa__json_append(rates, rate, err));
        DPA_TRY(dpa__json_put(rate, "fpr", q->fpr[i], err));
        DPA_TRY(put_measure(rate, "tpr", &q->tpr[i], err));
    }
    return DPA_OK;
}

static dpa_status say_quality(dpa_report *report, const dpa_quality *q, size_t nonmembers,
                              dpa_error *err) {
    char rates[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < DPA_LOW_FPRS; ++i)
        if (is_resolved(q->fpr[i], nonmembers) && used < sizeof rates)
            used += (size_t)dpa__print(rates + used, sizeof rates - used, "%s%.4f at %s%g",
                                       used > 0 ? ", " : "", q->tpr[i].value,
                                       used > 0 ? "" : "FPR ", q->fpr[i]);
    DPA_TRY(dpa__report_say(report, err,
                            "attack: AUC %.4f [%.4f, %.4f], balanced accuracy %.4f [%.4f, %.4f]",
                            q->auc.value, q->auc.lower, q->auc.upper, q->accuracy.value,
                            q->accuracy.lower, q->accuracy.upper));
    return used > 0 ? dpa__report_say(report, err, "        TPR %s", rates) : DPA_OK;
}

/* Section "quality" and its text. */
static dpa_status section_quality(dpa__case *c, const dpa_quality *quality, size_t nonmembers,
                                  dpa_error *err) {
    DPA_TRY(put_quality(c->report, quality, nonmembers, err));
    DPA_TRY(say_quality(c->report, quality, nonmembers, err));
    if (!c->protocol.bootstrap_auc) return DPA_OK;
    json_t *section = json_object_get(c->report->sections, "quality");
    DPA_TRY(dpa__json_set(section, "auc_interval", dpa__json_text("bootstrap"), err));
    return dpa__report_say(c->report, err,
                           "        the AUC's interval is a bootstrap (BCa), seed %llu",
                           (unsigned long long)c->report->request.seed);
}

/* Sections "histogram" and "roc". */
static dpa_status section_scores(dpa_report *report, const dpa_scores *scores, dpa_error *err) {
    const dpa__sample samples[] = {{"members", scores->member, scores->members},
                                   {"nonmembers", scores->nonmember, scores->nonmembers}};
    DPA_TRY(dpa__section_histogram(report, "histogram", samples, 2, err));
    return section_roc(report, scores, err);
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
    if (p->bootstrap_auc)
        DPA_TRY(dpa__scores_auc_bootstrap(s, &c->report->request, &quality.auc, err));
    DPA_TRY(section_quality(c, &quality, s->nonmembers, err));
    if (!p->plain) DPA_TRY(section_scores(c->report, s, err));
    return dpa__rates_sections(c, s, err);
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

/* ── a confusion matrix ──────────────────────────────────────────────────────────────── */

static dpa_status counts_of(const dpa_evidence *e, dpa_counts *out, dpa_error *err) {
    const dpa_named_array *a = dpa__evidence_find(e, "counts");
    if (a == NULL || a->count != 4)
        return dpa__fail(err, DPA_BAD_INPUT, "counts: fn, tp, fp and tn are needed");
    for (size_t i = 0; i < 4; ++i)
        if (!(a->items[i] >= 0 && a->items[i] <= 4503599627370496.0) ||
            a->items[i] != floor(a->items[i]))
            return dpa__fail(err, DPA_BAD_ARGUMENT, "counts: whole numbers, at most 2^52 each");
    *out = (dpa_counts){(uint64_t)a->items[0], (uint64_t)a->items[1], (uint64_t)a->items[2],
                        (uint64_t)a->items[3]};
    return DPA_OK;
}

/* Warns if the attack is worse than guessing by more than chance: five deviations of FNR + FPR. */
static dpa_status lint_counts(const dpa_counts *c, dpa_lints *lints, dpa_error *err) {
    const double in = (double)(c->fn + c->tp), out = (double)(c->fp + c->tn);
    const double fnr = (double)c->fn / in, fpr = (double)c->fp / out;
    const double spread = sqrt(0.25 / in + 0.25 / out);
    if (fnr + fpr > 1)
        DPA_TRY(dpa__lints_add(
            lints, err, fnr + fpr - 1 > 5 * spread ? "sign" : "below-chance",
            "the attack is right less often than by chance (FNR + FPR = %.3f): are the columns "
            "swapped?",
            fnr + fpr));
    if (in < 20 || out < 20)
        DPA_TRY(
            dpa__lints_add(lints, err, "tiny",
                           "fewer than 20 runs of a class: nothing but a very strong attack can "
                           "show a leak"));
    return DPA_OK;
}

static dpa_status run_counts(void *user, const dpa_request *request, dpa_results *results,
                             dpa_error *err) {
    return dpa__estimate_counts(user, request, results, err);
}

dpa_status dpa__judge_counts(dpa__case *c, dpa_error *err) {
    dpa_counts counts;
    dpa_lints lints = {0};
    DPA_TRY(counts_of(c->evidence, &counts, err));
    const dpa__rows rows = {c, run_counts, &counts, 1};
    DPA_TRY(dpa__rates_rows(&rows, err));
    DPA_TRY(dpa__report_evidence(c->report, "counts", err));
    DPA_TRY(DPA__JSON_FILL(c->report->evidence, err, {"fn", (double)counts.fn},
                           {"tp", (double)counts.tp}, {"fp", (double)counts.fp},
                           {"tn", (double)counts.tn}));
    dpa_status status = lint_counts(&counts, &lints, err);
    if (status == DPA_OK) status = dpa__doubts(c, &lints, err);
    dpa__lints_free(&lints);
    DPA_TRY(status);
    DPA_TRY(
        dpa__power_state(c, (double)(counts.fn + counts.tp), (double)(counts.fp + counts.tn), err));
    return dpa__rates_sections(c, NULL, err);
}
