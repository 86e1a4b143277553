/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Canary cosines as a report. */
#include "base/error.h"
#include "report/histogram.h"

static dpa_status describe(dpa_report *report, const dpa_cosines *cosines, dpa_error *err) {
    const int all_rounds = cosines->unobserved != NULL;
    DPA_TRY(dpa_report_evidence(report, "cosines", err));
    DPA_TRY(dpa_report_fact(report, "canaries", (double)cosines->observed_count, err));
    if (all_rounds)
        DPA_TRY(dpa_report_fact(report, "unobserved", (double)cosines->unobserved_count, err));
    else
        DPA_TRY(dpa_report_fact(report, "dim", (double)cosines->dim, err));
    return dpa_report_say(
        report, err,
        "Estimates, not bounds: for an attacker who sees %s and compares it with an update.",
        all_rounds ? "every round's model change" : "only the final model");
}

/* For the chart: observed cosines, and those of canaries that took no part where there are any. */
dpa_status dpa_report_cosines(dpa_report *report, const dpa_cosines *cosines, dpa_error *err) {
    const dpa__sample samples[] = {{"observed", cosines->observed, cosines->observed_count},
                                   {"unobserved", cosines->unobserved, cosines->unobserved_count}};
    return dpa__section_histogram(report, "cosines", samples, cosines->unobserved != NULL ? 2 : 1,
                                  err);
}

static dpa_status fill(dpa_report *report, const dpa_cosines *cosines, const dpa_request *request,
                       dpa_error *err) {
    dpa_results results = {0};
    dpa_lints lints = {0};
    dpa_status status = dpa_cosines_results(cosines, request, &results, &lints, err);
    if (status == DPA_OK) status = describe(report, cosines, err);
    for (size_t i = 0; i < results.count && status == DPA_OK; ++i)
        status = dpa_report_add(report, &results.items[i], err);
    if (status == DPA_OK) status = dpa_report_lints(report, &lints, err);
    if (status == DPA_OK) status = dpa_report_cosines(report, cosines, err);
    dpa_results_free(&results);
    dpa_lints_free(&lints);
    return status;
}

dpa_status dpa_audit_cosines(const dpa_cosines *cosines, const dpa_request *request,
                             dpa_report **out, dpa_error *err) {
    DPA_TRY(dpa_report_new("cosines", request, out, err));
    const dpa_status status = fill(*out, cosines, request, err);
    if (status != DPA_OK) {
        dpa_report_free(*out);
        *out = NULL;
    }
    return status;
}
