/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan as a report: a table for people, the same rows as a section. Nothing was audited, so there
 * are no results and no verdict. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "dpaudit/plan.h"
#include "report/model.h"

void dpa_plan_query_init(dpa_plan_query *query) {
    *query = (dpa_plan_query){.truth_epsilon = NAN, .power = 0.8, .most = 20000};
}

static dpa_status put(json_t *row, const char *key, double value, dpa_error *err) {
    return dpa__json_set(row, key, dpa__json_number(value), err);
}

/* A cell of the table: empty where there is no number. */
static const char *cell(char *out, size_t size, const char *format, double value) {
    if (isnan(value)) return "";
    if (isinf(value)) return "none";
    if (strcmp(format, "n") == 0)
        (void)snprintf(out, size, "%.0f", value);
    else
        (void)snprintf(out, size, "%.3f", value);
    return out;
}

typedef struct plan_row {
    double needed, power_needed, guesses, threshold; /* at the size that is needed */
    double power, detectable;                        /* of the budget */
} plan_row;

static dpa_status compute(const dpa_plan *plan, const dpa_plan_query *query, plan_row *row,
                          dpa_error *err) {
    dpa_plan_answer answer;
    *row = (plan_row){NAN, NAN, NAN, NAN, NAN, NAN};
    if (!isnan(query->truth_epsilon)) {
        DPA_TRY(dpa_plan_size(plan, query->power, query->most, &answer, err));
        row->needed = answer.size > 0 ? (double)answer.size : (double)INFINITY;
        row->power_needed = answer.power;
        row->threshold = answer.threshold;
        row->guesses = answer.guesses > 0 ? (double)answer.guesses : (double)NAN;
    }
    if (query->size == 0) return DPA_OK;
    if (!isnan(query->truth_epsilon)) {
        DPA_TRY(dpa_plan_power(plan, query->size, &answer, err));
        row->power = answer.power;
    }
    return dpa_plan_detectable(plan, query->size, query->power, &row->detectable, err);
}

static dpa_status put_row(dpa_report *report, json_t *rows, const dpa_plan *plan,
                          const dpa_plan_query *query, dpa_error *err) {
    plan_row r;
    char text[5][32];
    json_t *row = json_object();
    const char *method = dpa_plan_method_name(plan->method);
    DPA_TRY(dpa__json_append(rows, row, err));
    DPA_TRY(compute(plan, query, &r, err));
    DPA_TRY(dpa__json_set(row, "family", json_string(plan->family), err));
    DPA_TRY(dpa__json_set(row, "method", json_string(method), err));
    DPA_TRY(put(row, "size_needed", r.needed, err));
    DPA_TRY(put(row, "power_at_size_needed", r.power_needed, err));
    DPA_TRY(put(row, "threshold", r.threshold, err));
    DPA_TRY(put(row, "guesses", r.guesses, err));
    DPA_TRY(put(row, "power_of_budget", r.power, err));
    DPA_TRY(put(row, "detectable_epsilon", r.detectable, err));
    return dpa_report_say(
        report, err, "  %-9s %-8s %9s %9s %9s %9s %11s", plan->family, method,
        cell(text[0], sizeof text[0], "n", r.needed), cell(text[1], sizeof text[1], "n", r.guesses),
        cell(text[2], sizeof text[2], "", r.threshold), cell(text[3], sizeof text[3], "", r.power),
        cell(text[4], sizeof text[4], "", r.detectable));
}

static dpa_status put_ceilings(dpa_report *report, json_t *section, const char *family,
                               uint64_t size, dpa_error *err) {
    const dpa_request *request = &report->request;
    json_t *row = json_object();
    const double runs = dpa_plan_ceiling(family, 2 * size, request->delta, request->confidence);
    const double canaries = dpa_plan_ceiling(family, size, request->delta, request->confidence);
    DPA_TRY(dpa__json_append(json_object_get(section, "ceilings"), row, err));
    DPA_TRY(dpa__json_set(row, "family", json_string(family), err));
    DPA_TRY(put(row, "runs", runs, err));
    DPA_TRY(put(row, "canaries", canaries, err));
    return dpa_report_say(report, err,
                          "  ceiling, %s: ε ≤ %.4f from %.0f+%.0f right answers, %.4f from %.0f "
                          "canaries",
                          family, runs, (double)size, (double)size, canaries, (double)size);
}

static dpa_status fill(dpa_report *report, const dpa_plan_query *query, dpa_error *err) {
    static const char *const families[] = {"dp", "gaussian"};
    const dpa_request *request = &report->request;
    json_t *section = json_object(), *rows = json_array();
    DPA_TRY(dpa__json_set(report->sections, "plan", section, err));
    DPA_TRY(dpa__json_set(section, "rows", rows, err));
    DPA_TRY(dpa__json_set(section, "ceilings", json_array(), err));
    DPA_TRY(put(section, "claim_epsilon", request->claim_epsilon, err));
    DPA_TRY(put(section, "truth_epsilon", query->truth_epsilon, err));
    DPA_TRY(put(section, "power", query->power, err));
    DPA_TRY(put(section, "budget", query->size > 0 ? (double)query->size : (double)NAN, err));
    DPA_TRY(dpa_report_say(report, err,
                           "Plan, nothing was audited: refute ε ≤ %g at δ = %g, "
                           "confidence %g%%, power %g%%",
                           request->claim_epsilon, request->delta, 100 * request->confidence,
                           100 * query->power));
    DPA_TRY(dpa_report_say(report, err, "  %-9s %-8s %9s %9s %9s %9s %11s", "family", "method",
                           "needed", "guesses", "threshold", "power", "detectable"));
    for (int f = 0; f < 2; ++f) {
        if (request->family[0] != '\0' && strcmp(request->family, families[f]) != 0) continue;
        for (int m = 0; m < DPA_PLAN_METHODS; ++m) {
            const dpa_plan plan = {(dpa_plan_method)m,   families[f],    request->claim_epsilon,
                                   query->truth_epsilon, request->delta, request->confidence};
            if (f == 0 && m == DPA_PLAN_RANK) continue;
            DPA_TRY(put_row(report, rows, &plan, query, err));
        }
    }
    for (int f = 0; f < 2 && query->size > 0; ++f)
        DPA_TRY(put_ceilings(report, section, families[f], query->size, err));
    return dpa_report_say(report, err,
                          "needed, power: members and as many non-members (cp, rank), or canaries "
                          "(one-run)");
}

dpa_status dpa_audit_plan(const dpa_plan_query *query, const dpa_request *request, dpa_report **out,
                          dpa_error *err) {
    dpa_report *report = NULL;
    *out = NULL;
    DPA_TRY(dpa_request_check(request, err));
    if (isnan(request->claim_epsilon))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "a plan needs the claimed epsilon");
    if (request->family[0] != '\0' && strcmp(request->family, "dp") != 0 &&
        strcmp(request->family, "gaussian") != 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "family: '%s' is none of dp, gaussian",
                         request->family);
    if (isnan(query->truth_epsilon) && query->size == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "a plan needs a suspected leak or a budget");
    if (query->most < 1 || !(query->power > 0 && query->power < 1))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "power: %g is not between 0 and 1", query->power);
    DPA_TRY(dpa_report_new("plan", request, &report, err));
    const dpa_status status = fill(report, query, err);
    if (status == DPA_OK)
        *out = report;
    else
        dpa_report_free(report);
    return status;
}
