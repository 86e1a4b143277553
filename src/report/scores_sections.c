/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sections on scores: histogram, ROC, quality of the attack. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "report/audit_rates.h"

enum { BINS = 40, ROC_POINTS = 500 };

static dpa_status append_pair(json_t *array, const char *a, double x, const char *b, double y,
                              dpa_error *err) {
    json_t *point = json_object();
    DPA_TRY(dpa__json_append(array, point, err));
    DPA_TRY(dpa__json_set(point, a, dpa__json_number(x), err));
    return dpa__json_set(point, b, dpa__json_number(y), err);
}

/* ── histogram ─────────────────────────────────────────────────────────────────────────────── */

/* The finite scores of an ascending list: [*first, *end). */
static void finite_part(const double *sorted, size_t count, size_t *first, size_t *end) {
    *first = 0;
    *end = count;
    while (*first < *end && isinf(sorted[*first])) ++*first;
    while (*end > *first && isinf(sorted[*end - 1])) --*end;
}

static dpa_status put_bins(json_t *section, const char *key, const double *sorted, size_t first,
                           size_t end, double low, double width, dpa_error *err) {
    double bin[BINS] = {0};
    for (size_t i = first; i < end; ++i) {
        const double place = (sorted[i] - low) / width;
        bin[place < BINS - 1 ? (size_t)place : BINS - 1] += 1;
    }
    json_t *array = json_array();
    DPA_TRY(dpa__json_set(section, key, array, err));
    for (size_t b = 0; b < BINS; ++b)
        DPA_TRY(dpa__json_append(array, dpa__json_number(bin[b]), err));
    return DPA_OK;
}

static dpa_status section_histogram(dpa_report *report, const dpa_scores *s, dpa_error *err) {
    size_t in, in_end, out, out_end;
    finite_part(s->member, s->members, &in, &in_end);
    finite_part(s->nonmember, s->nonmembers, &out, &out_end);
    if (in == in_end || out == out_end) return DPA_OK;
    const double low = fmin(s->member[in], s->nonmember[out]);
    const double high = fmax(s->member[in_end - 1], s->nonmember[out_end - 1]);
    const double width = (high - low) / BINS;
    if (!(width > 0 && isfinite(width))) return DPA_OK;
    json_t *section = json_object(), *edges = json_array();
    DPA_TRY(dpa__json_set(report->sections, "histogram", section, err));
    DPA_TRY(dpa__json_set(section, "edges", edges, err));
    for (int b = 0; b <= BINS; ++b)
        DPA_TRY(dpa__json_append(edges, dpa__json_number(low + b * width), err));
    DPA_TRY(put_bins(section, "members", s->member, in, in_end, low, width, err));
    return put_bins(section, "nonmembers", s->nonmember, out, out_end, low, width, err);
}

/* ── ROC ───────────────────────────────────────────────────────────────────────────────────── */

/* At most ROC_POINTS operating points, evenly spaced among the thresholds: half along the
 * non-members (where FPR is small they are few, so by rank), half along the members. */
static dpa_status section_roc(dpa_report *report, const dpa_scores *s, dpa_error *err) {
    json_t *points = json_array();
    DPA_TRY(dpa__json_set(report->sections, "roc", points, err));
    DPA_TRY(append_pair(points, "fpr", 0, "tpr", 0, err));
    const size_t all = s->members + s->nonmembers;
    const size_t count = all < ROC_POINTS ? all : ROC_POINTS - 2;
    size_t i = s->members, j = s->nonmembers, emitted = 0;
    double last_fpr = 0, last_tpr = 0;
    while (i > 0 || j > 0) {
        const double value = j == 0 || (i > 0 && s->member[i - 1] > s->nonmember[j - 1])
                                 ? s->member[i - 1]
                                 : s->nonmember[j - 1];
        while (i > 0 && s->member[i - 1] == value) --i;
        while (j > 0 && s->nonmember[j - 1] == value) --j;
        const size_t passed = all - i - j;
        if (passed * count < (emitted + 1) * all && (i > 0 || j > 0)) continue;
        emitted = passed * count / all;
        const double fpr = 1 - (double)j / (double)s->nonmembers;
        const double tpr = 1 - (double)i / (double)s->members;
        if (fpr == last_fpr && tpr == last_tpr) continue;
        DPA_TRY(append_pair(points, "fpr", fpr, "tpr", tpr, err));
        last_fpr = fpr;
        last_tpr = tpr;
    }
    return DPA_OK;
}

/* ── quality ───────────────────────────────────────────────────────────────────────────────── */

static dpa_status put_measure(json_t *object, const char *key, const dpa_measure *m,
                              dpa_error *err) {
    json_t *value = json_object();
    DPA_TRY(dpa__json_set(object, key, value, err));
    DPA_TRY(dpa__json_set(value, "value", dpa__json_number(m->value), err));
    DPA_TRY(dpa__json_set(value, "lower", dpa__json_number(m->lower), err));
    return dpa__json_set(value, "upper", dpa__json_number(m->upper), err);
}

static dpa_status section_quality(dpa_report *report, const dpa_quality *q, dpa_error *err) {
    json_t *section = json_object(), *rates = json_array();
    DPA_TRY(dpa__json_set(report->sections, "quality", section, err));
    DPA_TRY(put_measure(section, "auc", &q->auc, err));
    DPA_TRY(dpa__json_set(section, "auc_replicates", dpa__json_number((double)q->replicates), err));
    DPA_TRY(put_measure(section, "balanced_accuracy", &q->accuracy, err));
    DPA_TRY(
        dpa__json_set(section, "balanced_accuracy_threshold", dpa__json_number(q->threshold), err));
    DPA_TRY(dpa__json_set(section, "tpr_at_fpr", rates, err));
    for (size_t i = 0; i < DPA_LOW_FPRS; ++i) {
        json_t *rate = json_object();
        DPA_TRY(dpa__json_append(rates, rate, err));
        DPA_TRY(dpa__json_set(rate, "fpr", dpa__json_number(q->fpr[i]), err));
        DPA_TRY(put_measure(rate, "tpr", &q->tpr[i], err));
    }
    return DPA_OK;
}

static dpa_status say_quality(dpa_report *report, const dpa_quality *q, dpa_error *err) {
    DPA_TRY(dpa_report_say(report, err,
                           "attack: AUC %.4f [%.4f, %.4f], balanced accuracy %.4f [%.4f, %.4f]",
                           q->auc.value, q->auc.lower, q->auc.upper, q->accuracy.value,
                           q->accuracy.lower, q->accuracy.upper));
    return dpa_report_say(report, err, "        TPR %.4f at FPR %g, %.4f at %g, %.4f at %g",
                          q->tpr[0].value, q->fpr[0], q->tpr[1].value, q->fpr[1], q->tpr[2].value,
                          q->fpr[2]);
}

dpa_status dpa__section_scores(dpa_report *report, const dpa_scores *scores, dpa_error *err) {
    dpa_quality quality;
    DPA_TRY(dpa_scores_quality(scores, &report->request, &quality, err));
    DPA_TRY(section_quality(report, &quality, err));
    DPA_TRY(say_quality(report, &quality, err));
    DPA_TRY(section_histogram(report, scores, err));
    return section_roc(report, scores, err);
}
