/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judging a confusion matrix. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "estimate/scores.h"
#include "judge/rates.h"

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
static dpa_status lint(const dpa_counts *c, dpa_lints *lints, dpa_error *err) {
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

static dpa_status run(void *user, const dpa_request *request, dpa_results *results,
                      dpa_error *err) {
    return dpa__estimate_counts(user, request, results, err);
}

static dpa_status put_facts(dpa_report *report, const dpa_counts *c, dpa_error *err) {
    DPA_TRY(dpa__report_evidence(report, "counts", err));
    DPA_TRY(dpa__report_fact(report, "fn", (double)c->fn, err));
    DPA_TRY(dpa__report_fact(report, "tp", (double)c->tp, err));
    DPA_TRY(dpa__report_fact(report, "fp", (double)c->fp, err));
    return dpa__report_fact(report, "tn", (double)c->tn, err);
}

dpa_status dpa__judge_counts(dpa__case *c, dpa_error *err) {
    dpa_counts counts;
    dpa_lints lints = {0};
    DPA_TRY(counts_of(c->evidence, &counts, err));
    const dpa__rows rows = {c, run, &counts, 1};
    DPA_TRY(dpa__rates_rows(&rows, err));
    DPA_TRY(put_facts(c->report, &counts, err));
    dpa_status status = lint(&counts, &lints, err);
    if (status == DPA_OK) status = dpa__doubts(c, &lints, err);
    dpa__lints_free(&lints);
    DPA_TRY(status);
    DPA_TRY(
        dpa__power_state(c, (double)(counts.fn + counts.tp), (double)(counts.fp + counts.tn), err));
    const dpa_protocol *p = &c->protocol;
    if (!p->plain) DPA_TRY(dpa__section_posterior(c->report, err));
    if (p->curve) DPA_TRY(dpa__section_curve(c->report, NULL, err));
    if (!isnan(p->at_epsilon)) DPA_TRY(dpa__section_delta(c->report, p->at_epsilon, err));
    return p->explain ? dpa__explain(c->report, NULL, err) : DPA_OK;
}
