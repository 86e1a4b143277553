/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How good the attack is, apart from what it proves: AUC, TPR at low FPRs, balanced accuracy.
 *
 * AUC: ties count half. Its interval uses DeLong's variance on the logit scale; for classes that
 * do not overlap, where that is 0, Clopper–Pearson limits at the gap. TPR at an FPR: the threshold
 * is an order statistic of the non-members, of which the members are independent, so the
 * Clopper–Pearson interval is exact. Balanced accuracy of the best threshold: the
 * Dvoretzky–Kiefer–Wolfowitz inequality for both classes, valid for every threshold. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "estimate/roc.h"
#include "estimate/scores.h"
#include "math/dist.h"
#include "math/logspace.h"

/* placement[i]: the share of the other class that the i-th score beats, ties counted half. Both
 * arrays are ascending. */
static void placements(const double *score, size_t count, const double *other, size_t others,
                       double *out) {
    size_t below = 0, upto = 0;
    for (size_t i = 0; i < count; ++i) {
        while (below < others && other[below] < score[i]) ++below;
        while (upto < others && other[upto] <= score[i]) ++upto;
        out[i] = 0.5 * (double)(below + upto) / (double)others;
    }
}

/* DeLong's variance: the scatter of the placements, each class by its own size. */
static double variance_of(const dpa_scores *s, const double *place_in, const double *place_out,
                          double auc) {
    const double m = (double)s->members, n = (double)s->nonmembers;
    double in = 0, out = 0;
    for (size_t i = 0; i < s->members; ++i) in += (place_in[i] - auc) * (place_in[i] - auc);
    for (size_t j = 0; j < s->nonmembers; ++j) {
        const double d = 1 - place_out[j] - auc;
        out += d * d;
    }
    return in / (m * fmax(m - 1, 1)) + out / (n * fmax(n - 1, 1));
}

/* With one score in a class, or no variation, the spread is unknown. */
static void delong(double variance, double p, dpa_measure *out) {
    const double z = dpa__norm_quantile(0.5 * p, DPA_UPPER);
    const double width = z * sqrt(variance) / (out->value * (1 - out->value));
    out->lower = variance > 0 ? 1 / (1 + exp(width - dpa__logit(out->value))) : 0;
    out->upper = variance > 0 ? 1 / (1 + exp(-width - dpa__logit(out->value))) : 1;
}

/* AUC ≥ Pr[in above the gap]·Pr[out below it], and 1 cannot be excluded. */
static void separated(const dpa_scores *s, double p, dpa_measure *out) {
    const double x = dpa__cp_upper(0, (double)s->members, 0.25 * p);
    const double y = dpa__cp_upper(0, (double)s->nonmembers, 0.25 * p);
    const double least = (1 - x) * (1 - y);
    out->lower = out->value == 1 ? least : 0;
    out->upper = out->value == 1 ? 1 : 1 - least;
}

static dpa_status measure_auc(const dpa_scores *s, double p, dpa_measure *out, dpa_error *err) {
    double *place = DPA_NEW_ARRAY(double, s->members + s->nonmembers, err);
    if (place == NULL) return DPA_NO_MEMORY;
    double *place_out = place + s->members;
    placements(s->member, s->members, s->nonmember, s->nonmembers, place);
    placements(s->nonmember, s->nonmembers, s->member, s->members, place_out);
    dpa__sum sum = {0, 0};
    for (size_t i = 0; i < s->members; ++i) dpa__sum_add(&sum, place[i]);
    out->value = fmin(dpa__sum_get(&sum) / (double)s->members, 1);
    const double variance = variance_of(s, place, place_out, out->value);
    free(place);
    if (out->value <= 0 || out->value >= 1)
        separated(s, p, out);
    else
        delong(s->members > 1 && s->nonmembers > 1 ? variance : 0, p, out);
    return DPA_OK;
}

static dpa_status check(const dpa_scores *s, dpa_error *err) {
    if (s->is_sorted && s->members > 0 && s->nonmembers > 0) return DPA_OK;
    return dpa__fail(err, DPA_BAD_ARGUMENT, "scores: not prepared (dpa__scores_prepare_here)");
}

static void measure_tpr(const dpa_scores *s, double p, double fpr, dpa_measure *out) {
    const double k = floor(fpr * (double)s->nonmembers * (1 + 1e-12));
    const size_t above = k < (double)s->nonmembers ? (size_t)k : s->nonmembers - 1;
    const double threshold = nextafter(s->nonmember[s->nonmembers - 1 - above], HUGE_VAL);
    const dpa_counts c = dpa__scores_counts(s, threshold);
    const double n = (double)s->members;
    out->value = (double)c.tp / n;
    out->lower = dpa__cp_lower((double)c.tp, n, 0.5 * p);
    out->upper = dpa__cp_upper((double)c.tp, n, 0.5 * p);
}

static dpa_status measure_accuracy(const dpa_scores *s, double p, dpa_quality *out,
                                   dpa_error *err) {
    const double m = (double)s->members, n = (double)s->nonmembers;
    const double each = -expm1(0.5 * log1p(-p)); /* independent classes */
    const double off = 0.5 * (sqrt(log(2 / each) / (2 * m)) + sqrt(log(2 / each) / (2 * n)));
    dpa__roc roc;
    dpa_status status = dpa__roc_of(s, &roc, err);
    if (status != DPA_OK) return status;
    out->accuracy.value = 0.5;
    out->threshold = roc.count > 0 ? roc.items[0].threshold : (double)NAN;
    for (size_t i = 0; i < roc.count; ++i) {
        const double value = 1 - 0.5 * ((double)roc.items[i].fn / m + (double)roc.items[i].fp / n);
        if (value <= out->accuracy.value) continue;
        out->accuracy.value = value;
        out->threshold = roc.items[i].threshold;
    }
    out->accuracy.lower = fmax(out->accuracy.value - off, 0);
    out->accuracy.upper = fmin(out->accuracy.value + off, 1);
    dpa__roc_free(&roc);
    return DPA_OK;
}

int dpa__quality_task(void *user, size_t task) {
    dpa__measuring *m = user;
    m->status[task] = task == 0 ? measure_accuracy(m->scores, m->p, m->out, &m->error[task])
                                : measure_auc(m->scores, m->p, &m->out->auc, &m->error[task]);
    return 0;
}

dpa_status dpa__quality_begin(const dpa_scores *s, const dpa_request *request, dpa_quality *out,
                              dpa__measuring *m, dpa_error *err) {
    static const double rates[DPA_LOW_FPRS] = {0.001, 0.01, 0.1};
    *m = (dpa__measuring){.scores = s, .p = 1 - request->confidence, .out = out};
    *out = (dpa_quality){0};
    DPA_TRY(check(s, err));
    for (size_t i = 0; i < DPA_LOW_FPRS; ++i) {
        out->fpr[i] = rates[i];
        measure_tpr(s, m->p, rates[i], &out->tpr[i]);
    }
    return DPA_OK;
}

dpa_status dpa__quality_end(const dpa__measuring *m, dpa_error *err) {
    for (size_t i = 0; i < DPA__QUALITY_TASKS; ++i) {
        if (m->status[i] != DPA_OK && err != NULL) *err = m->error[i];
        DPA_TRY(m->status[i]);
    }
    return DPA_OK;
}

dpa_status dpa__scores_quality(const dpa_scores *s, const dpa_request *request, dpa_quality *out,
                               dpa_error *err) {
    dpa__measuring m;
    DPA_TRY(dpa__quality_begin(s, request, out, &m, err));
    for (size_t i = 0; i < DPA__QUALITY_TASKS; ++i) (void)dpa__quality_task(&m, i);
    return dpa__quality_end(&m, err);
}
