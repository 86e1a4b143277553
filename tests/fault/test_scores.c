/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts and scores with each allocation failing in turn: evidence, estimators, reports. */
#include "check.h"

#include "base/rng.h"
#include "estimate/scores.h"
#include "fault/alloc.h"
#include "judge/judge.h"

enum { N = 40 };
static double in[N], out[N];

static void draw(void) {
    dpa_rng rng;
    dpa__rng_init(&rng, 3, DPA_PURPOSE_TEST, 0);
    for (int i = 0; i < N; ++i) in[i] = 2 + dpa__rng_normal(&rng), out[i] = dpa__rng_normal(&rng);
}

static dpa_status make(dpa_scores *scores) {
    dpa_lints lints = {0};
    dpa_error err;
    dpa_status status = dpa__scores_from(in, N, out, N, scores, &err);
    if (status != DPA_OK) return status;
    status = dpa__scores_prepare_here(scores, &lints, &err);
    dpa__lints_free(&lints);
    if (status != DPA_OK) dpa__scores_free(scores);
    return status;
}

static void evidence(void **state) {
    (void)state;
    dpa_scores scores;
    dpa_status status;
    FAULT_EVERY(status, make(&scores), dpa__scores_free(&scores));
}

static dpa_status estimate(const dpa_scores *scores, const char *family, const char *select) {
    dpa_request request;
    dpa_results results = {0};
    dpa_error err;
    dpa__request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    (void)snprintf(request.select, sizeof request.select, "%s", select);
    const dpa_status status = dpa__estimate_scores(scores, &request, &results, &err);
    dpa__results_free(&results);
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
    dpa__scores_free(&scores);
}

static dpa_status judge(const dpa_evidence *evidence, const dpa_protocol *protocol,
                        dpa_report **report) {
    dpa_claim claim;
    dpa_error err;
    dpa_claim_init(&claim);
    claim.epsilon = 1;
    return dpa_judge(evidence, &claim, protocol, report, &err);
}

static void reports(void **state) {
    (void)state;
    static const double counts[4] = {10, 90, 5, 95};
    dpa_evidence evidence;
    dpa_protocol protocol;
    dpa_report *report = NULL;
    dpa_status status;
    dpa__protocol_init(&protocol);
    assert_ok(dpa_protocol_set(&protocol, "family", "dp", NULL));
    assert_ok(dpa_protocol_set(&protocol, "method", "cp", NULL));
    protocol.at_epsilon = 1;
    protocol.explain = 1;
    dpa__evidence_init(&evidence, DPA_EVIDENCE_COUNTS);
    assert_ok(dpa_evidence_copy(&evidence, "counts", counts, 4, NULL));
    FAULT_EVERY(status, judge(&evidence, &protocol, &report), dpa_report_free(report));
    dpa__evidence_clear(&evidence);
    dpa__evidence_init(&evidence, DPA_EVIDENCE_SCORES);
    assert_ok(dpa_evidence_copy(&evidence, "members", in, N, NULL));
    assert_ok(dpa_evidence_copy(&evidence, "nonmembers", out, N, NULL));
    FAULT_EVERY(status, judge(&evidence, &protocol, &report), dpa_report_free(report));
    dpa__evidence_clear(&evidence);
}

/* Writes evidence to a file and reads it back. libzip's own allocations are not counted, ours
 * are. */
static dpa_status round_trip(const dpa_evidence *evidence, const char *path) {
    dpa_evidence again;
    dpa_error err;
    dpa_status status = dpa_evidence_write(evidence, path, &err);
    if (status == DPA_OK) status = dpa__evidence_read(path, &again, &err);
    if (status == DPA_OK) dpa__evidence_clear(&again);
    return status;
}

static void files(void **state) {
    (void)state;
    char path[] = "/tmp/dpaudit-fault-XXXXXX";
    const int fd = mkstemp(path);
    dpa_evidence evidence;
    dpa_status status;
    assert_true(fd >= 0);
    (void)close(fd);
    dpa__evidence_init(&evidence, DPA_EVIDENCE_SCORES);
    evidence.claim.epsilon = 2;
    assert_ok(dpa_evidence_copy(&evidence, "members", in, N, NULL));
    assert_ok(dpa_evidence_copy(&evidence, "nonmembers", out, N, NULL));
    assert_ok(dpa_evidence_fact(&evidence, "accuracy", 0.5, NULL));
    FAULT_EVERY(status, round_trip(&evidence, path), (void)0);
    dpa__evidence_clear(&evidence);
    (void)unlink(path);
}

int main(void) {
    draw();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evidence),
        cmocka_unit_test(estimators),
        cmocka_unit_test(reports),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
