/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sections on scores: histogram, ROC, quality of the attack. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "estimate/rates.h"
#include "judge/rates.h"
#include "report/histogram.h"

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

dpa_status dpa__section_quality(dpa_report *report, const dpa_quality *quality, size_t nonmembers,
                                dpa_error *err) {
    DPA_TRY(put_quality(report, quality, nonmembers, err));
    return say_quality(report, quality, nonmembers, err);
}

dpa_status dpa__section_scores(dpa_report *report, const dpa_scores *scores, dpa_error *err) {
    const dpa__sample samples[] = {{"members", scores->member, scores->members},
                                   {"nonmembers", scores->nonmember, scores->nonmembers}};
    DPA_TRY(dpa__section_histogram(report, "histogram", samples, 2, err));
    return section_roc(report, scores, err);
}
