/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A confusion matrix as a report. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/audit_rates.h"

void dpa_counts_query_init(dpa_counts_query *query) {
    *query = (dpa_counts_query){.at_epsilon = NAN};
}

dpa_status dpa__report_take(dpa_report *report, dpa_results *results, dpa_error *err) {
    dpa_status status = DPA_OK;
    for (size_t i = 0; i < results->count && status == DPA_OK; ++i)
        status = dpa_report_add(report, &results->items[i], err);
    dpa_results_free(results);
    return status;
}

static dpa_status lint_counts(const dpa_counts *c, dpa_lints *lints, dpa_error *err) {
    const double fnr = (double)c->fn / (double)(c->fn + c->tp);
    const double fpr = (double)c->fp / (double)(c->fp + c->tn);
    if (fnr + fpr > 1)
        DPA_TRY(
            dpa_lints_add(lints, err, "sign",
                          "the attack is right less often than by chance (FNR + FPR = %.3f): are "
                          "the columns swapped?",
                          fnr + fpr));
    if (c->fn + c->tp < 20 || c->fp + c->tn < 20)
        DPA_TRY(dpa_lints_add(lints, err, "tiny",
                              "fewer than 20 runs of a class: nothing but a very strong attack can "
                              "show a leak"));
    return DPA_OK;
}

static dpa_status fill(dpa_report *report, const dpa_counts_query *query,
                       const dpa_request *request, dpa_error *err) {
    const dpa_counts *c = &query->counts;
    dpa_results results = {0};
    dpa_lints lints = {0};
    dpa_status status = dpa_estimate_counts(c, request, &results, err);
    if (status != DPA_OK) {
        dpa_results_free(&results);
        return status;
    }
    DPA_TRY(dpa__report_take(report, &results, err));
    DPA_TRY(dpa_report_evidence(report, "counts", err));
    DPA_TRY(dpa_report_fact(report, "fn", (double)c->fn, err));
    DPA_TRY(dpa_report_fact(report, "tp", (double)c->tp, err));
    DPA_TRY(dpa_report_fact(report, "fp", (double)c->fp, err));
    DPA_TRY(dpa_report_fact(report, "tn", (double)c->tn, err));
    status = lint_counts(c, &lints, err);
    if (status == DPA_OK) status = dpa_report_lints(report, &lints, err);
    dpa_lints_free(&lints);
    DPA_TRY(status);
    DPA_TRY(dpa__section_posterior(report, err));
    if (query->curve) DPA_TRY(dpa__section_curve(report, NULL, err));
    if (!isnan(query->at_epsilon)) DPA_TRY(dpa__section_delta(report, query->at_epsilon, err));
    return query->explain ? dpa__explain(report, NULL, err) : DPA_OK;
}

dpa_status dpa_audit_counts(const dpa_counts_query *query, const dpa_request *request,
                            dpa_report **out, dpa_error *err) {
    DPA_TRY(dpa_report_new("counts", request, out, err));
    const dpa_status status = fill(*out, query, request, err);
    if (status != DPA_OK) {
        dpa_report_free(*out);
        *out = NULL;
    }
    return status;
}
