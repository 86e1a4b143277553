/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verdict: which bound counts, and the sentence that says so. A bound of 0 means "nothing
 * shown", never "private", and a claim that is not refuted is not thereby proved. */
#include <math.h>

#include "base/error.h"
#include "report/model.h"
#include "report/value.h"

double dpa__claim_delta(const dpa_request *request) {
    return isnan(request->claim_delta) ? request->delta : request->claim_delta;
}

int dpa__has_verdict(const dpa_report *report) {
    return report->results.count > 0 || json_object_get(report->evidence, "kind") != NULL;
}

int dpa__claim_is_comparable(const dpa_request *request) {
    return !isnan(request->claim_epsilon) && request->delta >= dpa__claim_delta(request);
}

/* What is about one model instance says nothing against a claim about the mechanism. */
static int is_instance(const dpa_result *result) {
    return (result->assumptions & DPA_ASSUME_ONE_INSTANCE) != 0;
}

static int is_valid_bound(const dpa_result *result) {
    return result->kind == DPA_BOUND && result->valid && !isnan(result->epsilon_lower);
}

/* A credible bound holds on average over its prior, not for every mechanism (docs/coverage.md: 78%
 * of the time at worst where it says 95%). So it decides only where nothing stronger in kind is
 * there: when it was asked for by name. */
int dpa__decides(const dpa_report *report, const dpa_result *result) {
    if (!is_valid_bound(result)) return 0;
    if ((result->assumptions & DPA_ASSUME_BAYES_PRIOR) == 0) return 1;
    for (size_t i = 0; i < report->results.count; ++i) {
        const dpa_result *other = &report->results.items[i];
        if (is_valid_bound(other) && (other->assumptions & DPA_ASSUME_BAYES_PRIOR) == 0) return 0;
    }
    return 1;
}

int dpa__refutes(const dpa_report *report, const dpa_result *result) {
    return dpa__claim_is_comparable(&report->request) && dpa__decides(report, result) &&
           !is_instance(result) && result->epsilon_lower > report->request.claim_epsilon;
}

const dpa_result *dpa_report_strongest(const dpa_report *report) {
    const dpa_result *best = NULL;
    for (size_t i = 0; i < report->results.count; ++i) {
        const dpa_result *result = &report->results.items[i];
        if (!dpa__decides(report, result)) continue;
        if (best == NULL || result->epsilon_lower > best->epsilon_lower) best = result;
    }
    return best;
}

int dpa_report_refuted(const dpa_report *report) {
    for (size_t i = 0; i < report->results.count; ++i)
        if (dpa__refutes(report, &report->results.items[i])) return 1;
    return 0;
}

static void add_name(dpa__text *out, const dpa_result *result) {
    dpa__text_printf(out, "%s%s%s%s%s", result->family, result->family[0] ? " family, " : "",
                     result->method, result->select[0] ? ", " : "", result->select);
}

static void headline_of_estimate(dpa__text *out, const dpa_report *report) {
    for (size_t i = 0; i < report->results.count; ++i) {
        const dpa_result *result = &report->results.items[i];
        if (result->kind != DPA_ESTIMATE) continue;
        dpa__text_printf(out, "Estimated ε = %.4g at δ = %g (%s): an estimate, not a bound.",
                         result->epsilon, report->request.delta, result->method);
        return;
    }
    dpa__text_add(out, report->results.count > 0
                           ? "No valid bound: what is shown is optimistic, for comparison only."
                           : "No result: no estimator applies to this evidence.");
}

static void headline_of_bound(dpa__text *out, const dpa_report *report, const dpa_result *best) {
    const dpa_request *request = &report->request;
    const dpa__percent percent = dpa__percent_of(best->confidence);
    const char *of = report->scope[0] != '\0' ? " of " : "";
    if (dpa_report_refuted(report)) {
        dpa__text_printf(out,
                         "REFUTED: the claim ε ≤ %.6g (δ = %g)%s%s does not stand; the leak is at "
                         "least ε = %.4f with %s confidence (",
                         request->claim_epsilon, dpa__claim_delta(request), of, report->scope,
                         best->epsilon_lower, percent.text);
        add_name(out, best);
        dpa__text_add(out, ").");
        return;
    }
    if (!(best->epsilon_lower > 0.0))
        dpa__text_printf(out,
                         "Nothing shown: no valid bound above 0 with %s confidence; this does "
                         "not mean private.",
                         percent.text);
    else {
        dpa__text_printf(out, "The leak%s%s is at least ε = %.4f at δ = %g with %s confidence (",
                         is_instance(best) ? " of this one model" : of, report->scope,
                         best->epsilon_lower, request->delta, percent.text);
        add_name(out, best);
        dpa__text_add(out, ").");
    }
    if (isnan(request->claim_epsilon)) return;
    if (dpa__claim_is_comparable(request))
        dpa__text_printf(out, " The claim ε ≤ %.6g%s%s is not refuted, which does not prove it.",
                         request->claim_epsilon, of, report->scope);
    else
        dpa__text_printf(out,
                         " The claim is at δ = %g and cannot be compared at the smaller δ = %g: "
                         "use --delta %g.",
                         dpa__claim_delta(request), request->delta, dpa__claim_delta(request));
}

dpa_status dpa_report_headline(const dpa_report *report, char **out, dpa_error *err) {
    dpa__text text = {0};
    const dpa_result *best = dpa_report_strongest(report);
    if (best == NULL)
        headline_of_estimate(&text, report);
    else
        headline_of_bound(&text, report, best);
    return dpa__text_take(&text, out, err);
}
