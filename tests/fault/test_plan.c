/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans with each allocation failing in turn (those of fitted cosines make none), on one thread. */
#include "check.h"

#include <jansson.h>

#include "estimate/plan/power.h"
#include "fault/alloc.h"
#include "report/model/report.h"

static void powers(void **state) {
    (void)state;
    static const struct {
        dpa_plan_game game;
        const char *family, *method, *truth;
    } rows[] = {
        {DPA_PLAN_RUNS, "dp", "cp", ""},
        {DPA_PLAN_RUNS, "laplace", "bayes", "laplace"},
        {DPA_PLAN_RUNS, "gaussian", "rank", "dp"},
        {DPA_PLAN_STEPS, "gaussian", "jeffreys", ""},
        {DPA_PLAN_ONE_RUN, "gaussian", "recursion", ""},
        {DPA_PLAN_COSINES, "dp", "jeffreys-split", ""},
        {DPA_PLAN_RUNS, "gaussian", "sequential", ""},
        {DPA_PLAN_RUNS, "dp", "sequential", "laplace"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
        dpa_plan plan;
        dpa_plan_answer answer;
        dpa_status status;
        dpa__plan_init(&plan);
        plan.game = rows[r].game;
        plan.family = rows[r].family;
        plan.method = rows[r].method;
        plan.truth = rows[r].truth;
        plan.claim_epsilon = 1;
        plan.truth_epsilon = 4;
        plan.audits = 2;
        plan.threads = 1;
        FAULT_EVERY(status, dpa__ask_power(&plan, 6, &answer, NULL),
                    assert_true(answer.power >= 0 && answer.power <= 1));
    }
}

static void stopping(void **state) {
    (void)state;
    dpa_plan plan;
    dpa_plan_stops stops;
    dpa_plan_leak leak;
    dpa_plan_answer answer;
    double most;
    dpa_status status;
    dpa__plan_init(&plan);
    plan.family = "gaussian";
    plan.method = "sequential";
    plan.claim_epsilon = 0.5;
    plan.truth_epsilon = 20;
    plan.audits = 1;
    plan.threads = 1;
    FAULT_EVERY(status, dpa__ask_stop(&plan, 12, &stops, NULL), assert_int_equal(stops.audits, 1));
    FAULT_EVERY(status, dpa__ask_size(&plan, 0.5, 12, &answer, NULL), (void)0);
    FAULT_EVERY(status, dpa__ask_most(&plan, 9, &most, NULL), assert_true(most >= 0));
    FAULT_EVERY(status, dpa__ask_detectable(&plan, 12, 0.5, &leak, NULL),
                assert_true(leak.epsilon > 0.5));
}

/* The texts of a report are tried twice, so the call may succeed despite a failure. */
static dpa_status report_on(const dpa_plan_query *query, const dpa_request *request) {
    dpa_report *report = NULL;
    const dpa_status status = dpa__audit_plan(query, request, &report, NULL);
    dpa_report_free(report);
    return status;
}

static void reporting(void **state) {
    (void)state;
    dpa_plan_query query;
    dpa_request request;
    dpa_status status;
    json_set_alloc_funcs(malloc, free);
    dpa__plan_query_init(&query);
    dpa__request_init(&request);
    request.claim_epsilon = 1;
    query.game = "cosines";
    query.truth_epsilon = 4;
    query.size = 8;
    query.points = 2;
    query.half_width = 3;
    query.fnr = query.fpr = 0.3;
    request.threads = 1;
    (void)snprintf(request.family, sizeof request.family, "dp");
    (void)snprintf(request.method, sizeof request.method, "jeffreys");
    FAULT_EVERY_OR(DPA_OK, status, report_on(&query, &request), (void)0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers),
        cmocka_unit_test(stopping),
        cmocka_unit_test(reporting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
