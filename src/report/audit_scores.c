/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scores as a report: bounds, quality of the attack, slices. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "dpaudit/sequential.h"
#include "report/audit_rates.h"

void dpa_scores_query_init(dpa_scores_query *query) {
    *query = (dpa_scores_query){.at_epsilon = NAN};
}

static dpa_status open_scores(const dpa_scores_query *query, dpa_scores *out, dpa_error *err) {
    if (query->scores != NULL)
        return dpa_scores_from(query->scores->member, query->scores->members,
                               query->scores->nonmember, query->scores->nonmembers, out, err);
    if (query->path == NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "scores: neither a file nor the scores were given");
    return dpa_scores_read(query->path, query->nonmembers_path, out, err);
}

static dpa_status put_inputs(dpa_report *report, const dpa_scores_query *query,
                             const dpa_scores *scores, dpa_error *err) {
    if (query->scores != NULL) return DPA_OK;
    DPA_TRY(dpa_report_input(report, query->path, scores->sha256[0], err));
    if (query->nonmembers_path == NULL) return DPA_OK;
    return dpa_report_input(report, query->nonmembers_path, scores->sha256[1], err);
}

/* ── slices ────────────────────────────────────────────────────────────────────────────────── */

static dpa_status put_group(json_t *rows, const char *name, const dpa_scores *scores,
                            const dpa_result *r, dpa_error *err) {
    json_t *row = json_object();
    DPA_TRY(dpa__json_append(rows, row, err));
    DPA_TRY(dpa__json_set(row, "group", json_string(name), err));
    DPA_TRY(dpa__json_put(row, "members", (double)scores->members, err));
    DPA_TRY(dpa__json_put(row, "nonmembers", (double)scores->nonmembers, err));
    DPA_TRY(dpa__json_set(row, "family", json_string(r->family), err));
    DPA_TRY(dpa__json_set(row, "method", json_string(r->method), err));
    return dpa__json_put(row, "epsilon_lower", r->epsilon_lower, err);
}

/* One slice at its share of the error; all slices together then hold at the request's confidence.
 */
static dpa_status audit_group(dpa_report *report, const char *name, dpa_scores *scores,
                              const dpa_request *request, double share, json_t *rows,
                              dpa_error *err) {
    dpa_request each = *request;
    dpa_results results = {0};
    dpa_lints lints = {0};
    each.confidence = 1 - (1 - request->confidence) * share;
    dpa_status status = dpa_scores_prepare(scores, &lints, err);
    dpa_lints_free(&lints);
    if (status == DPA_BAD_INPUT)
        return dpa_report_say(report, err, "group %s: left out: it has only one class", name);
    if (status == DPA_OK) status = dpa_estimate_scores(scores, &each, &results, err);
    for (size_t i = 0; i < results.count && status == DPA_OK; ++i) {
        dpa_result *r = &results.items[i];
        /* without a method: what is valid for all thresholds, or needs none */
        const int is_usual = strcmp(r->method, "rank") == 0 || strcmp(r->method, "cp") == 0;
        if (request->method[0] == '\0' && !is_usual) continue;
        r->confidence = request->confidence;
        (void)snprintf(r->select, sizeof r->select, "group %.30s", name);
        status = dpa_report_add(report, r, err);
        if (status == DPA_OK) status = put_group(rows, name, scores, r, err);
    }
    dpa_results_free(&results);
    return status;
}

static dpa_status audit_groups(dpa_report *report, const dpa_scores_query *query,
                               const dpa_request *request, dpa_error *err) {
    dpa_score_groups groups;
    json_t *rows = json_array();
    DPA_TRY(dpa__json_set(report->sections, "groups", rows, err));
    DPA_TRY(dpa_score_groups_read(query->path, query->group, &groups, err));
    dpa_status status = dpa_report_say(
        report, err, "groups: %zu slices by %s, each at error p/%zu, so that all hold together",
        groups.count, query->group, groups.count);
    for (size_t i = 0; i < groups.count && status == DPA_OK; ++i)
        status = audit_group(report, groups.names[i], &groups.items[i], request,
                             1 / (double)groups.count, rows, err);
    dpa_score_groups_free(&groups);
    return status;
}

/* ── all of it ─────────────────────────────────────────────────────────────────────────────── */

static dpa_status prepare(dpa_report *report, dpa_scores *scores, dpa_error *err) {
    dpa_lints lints = {0};
    dpa_status status = dpa_scores_prepare(scores, &lints, err);
    if (status == DPA_OK) status = dpa_report_lints(report, &lints, err);
    dpa_lints_free(&lints);
    return status;
}

static dpa_status fill(dpa_report *report, const dpa_scores_query *query,
                       const dpa_request *request, dpa_scores *scores, dpa_error *err) {
    dpa_results results = {0};
    DPA_TRY(dpa_report_evidence(report, "scores", err));
    DPA_TRY(dpa_report_fact(report, "members", (double)scores->members, err));
    DPA_TRY(dpa_report_fact(report, "nonmembers", (double)scores->nonmembers, err));
    DPA_TRY(put_inputs(report, query, scores, err));
    /* preparing sorts, and this method needs the order of arrival */
    const int needs_order = strcmp(request->method, "sequential") == 0;
    dpa_status status =
        needs_order ? dpa_estimate_sequential(scores, request, &results, err) : DPA_OK;
    if (status == DPA_OK) status = prepare(report, scores, err);
    if (status == DPA_OK && !needs_order)
        status = dpa_estimate_scores(scores, request, &results, err);
    if (status != DPA_OK) {
        dpa_results_free(&results);
        return status;
    }
    DPA_TRY(dpa__report_take(report, &results, err));
    DPA_TRY(dpa__section_scores(report, scores, err));
    DPA_TRY(dpa__section_posterior(report, err));
    if (query->curve) DPA_TRY(dpa__section_curve(report, scores, err));
    if (!isnan(query->at_epsilon)) DPA_TRY(dpa__section_delta(report, query->at_epsilon, err));
    if (query->group != NULL) DPA_TRY(audit_groups(report, query, request, err));
    return query->explain ? dpa__explain(report, scores, err) : DPA_OK;
}

dpa_status dpa_audit_scores(const dpa_scores_query *query, const dpa_request *request,
                            dpa_report **out, dpa_error *err) {
    dpa_scores scores = {0};
    *out = NULL;
    if (query->group != NULL && (query->path == NULL || query->nonmembers_path != NULL))
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "group: needs one table with the columns score, member and the group");
    if (query->group != NULL && strcmp(request->method, "sequential") == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "group: not with method sequential");
    if (query->group != NULL && strcmp(query->path, "-") == 0)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "group: the table is read twice; not from '-'");
    DPA_TRY(open_scores(query, &scores, err));
    dpa_status status = dpa_report_new("scores", request, out, err);
    if (status == DPA_OK) status = fill(*out, query, request, &scores, err);
    dpa_scores_free(&scores);
    if (status != DPA_OK) {
        dpa_report_free(*out);
        *out = NULL;
    }
    return status;
}
