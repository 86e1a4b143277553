/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts and scores with each allocation failing in turn: evidence, estimators, reports. */
#include "check.h"

#include "dpaudit/report.h"
#include "dpaudit/rng.h"
#include "dpaudit/scores.h"
#include "fault/alloc.h"

enum { N = 40 };
static double in[N], out[N];

static void draw(void) {
    dpa_rng rng;
    dpa_rng_init(&rng, 3, DPA_PURPOSE_TEST, 0);
    for (int i = 0; i < N; ++i) in[i] = 2 + dpa_rng_normal(&rng), out[i] = dpa_rng_normal(&rng);
}

static dpa_status make(dpa_scores *scores) {
    dpa_lints lints = {0};
    dpa_error err;
    dpa_status status = dpa_scores_from(in, N, out, N, scores, &err);
    if (status != DPA_OK) return status;
    status = dpa_scores_prepare(scores, &lints, &err);
    dpa_lints_free(&lints);
    if (status != DPA_OK) dpa_scores_free(scores);
    return status;
}

static void evidence(void **state) {
    (void)state;
    dpa_scores scores;
    dpa_status status;
    FAULT_EVERY(status, make(&scores), dpa_scores_free(&scores));
}

static dpa_status estimate(const dpa_scores *scores, const char *family, const char *select) {
    dpa_request request;
    dpa_results results = {0};
    dpa_error err;
    dpa_request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    (void)snprintf(request.select, sizeof request.select, "%s", select);
    const dpa_status status = dpa_estimate_scores(scores, &request, &results, &err);
    dpa_results_free(&results);
    return status;
}

static void estimators(void **state) {
    (void)state;
    static const char *const selects[] = {
        "", "fixed:1", "fixed-fpr:0.1", "split", "multi-split", "simultaneous", "max"};
    dpa_scores scores;
    assert_ok(make(&scores));
    for (size_t i = 0; i < sizeof selects / sizeof selects[0]; ++i) {
        dpa_status status;
        FAULT_EVERY(status, estimate(&scores, i % 2 ? "dp" : "gaussian", selects[i]), (void)0);
    }
    dpa_scores_free(&scores);
}

static dpa_status report_counts(dpa_report **report) {
    dpa_counts_query query;
    dpa_request request;
    dpa_error err;
    dpa_counts_query_init(&query);
    dpa_request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "dp");
    query.counts = (dpa_counts){10, 90, 5, 95};
    query.at_epsilon = 1;
    query.explain = 1;
    return dpa_audit_counts(&query, &request, report, &err);
}

static dpa_status report_scores(const dpa_scores *scores, dpa_report **report) {
    dpa_scores_query query;
    dpa_request request;
    dpa_error err;
    dpa_scores_query_init(&query);
    dpa_request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "dp");
    (void)snprintf(request.method, sizeof request.method, "cp");
    query.scores = scores;
    query.explain = 1;
    return dpa_audit_scores(&query, &request, report, &err);
}

static void reports(void **state) {
    (void)state;
    dpa_scores scores;
    dpa_report *report = NULL;
    dpa_status status;
    FAULT_EVERY(status, report_counts(&report), dpa_report_free(report));
    assert_ok(make(&scores));
    FAULT_EVERY(status, report_scores(&scores, &report), dpa_report_free(report));
    dpa_scores_free(&scores);
}

int main(void) {
    draw();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evidence),
        cmocka_unit_test(estimators),
        cmocka_unit_test(reports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
