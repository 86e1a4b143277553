/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run with each allocation failing in turn: from scores to guesses, bounds and reports. */
#include "check.h"

#include <jansson.h>

#include "evidence/guesses.h"
#include "fault/alloc.h"
#include "judge/judge.h"

enum { COUNT = 24 };
static double score[COUNT];
static uint8_t in[COUNT];

static dpa_status guess(dpa_guesses *guesses, dpa_lints *lints) {
    const dpa_status status =
        dpa__guesses_from_scores(score, in, COUNT, DPA_GUESS_BOTH, guesses, lints, NULL);
    dpa__lints_free(lints);
    return status;
}

static void guessing(void **state) {
    (void)state;
    dpa_guesses guesses;
    dpa_lints lints = {0};
    dpa_status status;
    FAULT_EVERY(status, guess(&guesses, &lints), dpa__guesses_free(&guesses));
}

static void bounding(void **state) {
    (void)state;
    static const char *const families[] = {"gaussian", "laplace", "dp"};
    for (size_t i = 0; i < 3; ++i) {
        const dpa_one_run game = {50, 2, 20, 19};
        dpa_request request;
        dpa_result result;
        dpa_status status;
        dpa__request_init(&request);
        request.claim_epsilon = 0.5;
        (void)snprintf(request.family, sizeof request.family, "%s", families[i]);
        FAULT_EVERY(status,
                    dpa__one_run_bound(&game, 1, DPA_GUESSES_FIXED, &request, &result, NULL),
                    assert_true(result.epsilon_lower > 0.0));
    }
}

/* The texts of a report are tried twice (as UTF-8, then as ASCII), so the call may succeed despite
 * a failure. */
static dpa_status audit(const dpa_evidence *evidence, const dpa_claim *claim,
                        const dpa_protocol *protocol) {
    dpa_report *report = NULL;
    const dpa_status status = dpa_judge(evidence, claim, protocol, &report, NULL);
    dpa_report_free(report);
    return status;
}

static dpa_status plan(const dpa_ideal *ideal, const dpa_request *request) {
    dpa_report *report = NULL;
    const dpa_status status = dpa__audit_ideal(ideal, 10, 2, request, 0, &report, NULL);
    dpa_report_free(report);
    return status;
}

static void reporting(void **state) {
    (void)state;
    double right[COUNT];
    dpa_evidence evidence;
    dpa_claim claim;
    dpa_protocol protocol;
    dpa_status status;
    json_set_alloc_funcs(malloc, free);
    for (size_t i = 0; i < COUNT; ++i) right[i] = in[i];
    dpa__evidence_init(&evidence, DPA_EVIDENCE_GUESSES);
    evidence.design = DPA_ONE_RUN;
    assert_ok(dpa_evidence_copy(&evidence, "score", score, COUNT, NULL));
    assert_ok(dpa_evidence_copy(&evidence, "correct", right, COUNT, NULL));
    dpa_claim_init(&claim);
    claim.epsilon = 0.5;
    dpa__protocol_init(&protocol);
    assert_ok(dpa_protocol_set(&protocol, "family", "dp", NULL));
    FAULT_EVERY_OR(DPA_OK, status, audit(&evidence, &claim, &protocol), (void)0);
    const dpa_ideal ideal = {1.0, 30, 2};
    FAULT_EVERY_OR(DPA_OK, status, plan(&ideal, &protocol.request), (void)0);
    dpa__evidence_clear(&evidence);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guessing),
        cmocka_unit_test(bounding),
        cmocka_unit_test(reporting),
    };
    for (size_t i = 0; i < COUNT; ++i) {
        score[i] = (double)(i / 2 * 2); /* with ties */
        in[i] = i > COUNT / 2 || i % 5 == 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
