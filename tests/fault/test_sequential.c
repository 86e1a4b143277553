/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sequential audits with each of their allocations failing in turn: a trial that failed for lack of
 * memory is repeated, and the result is that of an undisturbed audit. */
#include "check.h"

#include "base/rng.h"
#include "estimate/sequential/sequential.h"
#include "fault/alloc.h"
#include "report/model/report.h"

enum { PAIRS = 90 };

static dpa_request request_of(const char *family) {
    dpa_request request;
    dpa__request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    request.claim_epsilon = 1;
    return request;
}

/* Members run ahead by a few, so that some scores wait for their partners. */
static double next_trial(int i, int *is_member) {
    dpa_rng rng;
    dpa__rng_init(&rng, 4, DPA_PURPOSE_TEST, (uint64_t)i);
    *is_member = i < 10 || i % 2;
    return 1.5 * *is_member + dpa__rng_normal(&rng);
}

static void pushes(const char *family) {
    const dpa_request request = request_of(family);
    dpa_sequential *calm, *wild;
    dpa_sequential_now now, other;
    int is_member;
    assert_ok(dpa__sequential_new(&request, &calm, NULL));
    assert_ok(dpa__sequential_new(&request, &wild, NULL));
    for (int i = 0; i < 2 * PAIRS; ++i) {
        const double score = next_trial(i, &is_member);
        assert_ok(dpa__sequential_push(calm, is_member, score, NULL));
        for (long n = 0;; ++n) {
            fault_left = n;
            const dpa_status status = dpa__sequential_push(wild, is_member, score, NULL);
            fault_left = -1;
            if (status == DPA_OK) break;
            assert_int_equal(status, DPA_NO_MEMORY);
        }
    }
    assert_ok(dpa__sequential_look(calm, &now, NULL));
    assert_ok(dpa__sequential_look(wild, &other, NULL));
    assert_memory_equal(&now, &other, sizeof now);
    assert_true(fault_hits > 0);
    dpa__sequential_free(calm);
    dpa__sequential_free(wild);
}

static void pushing(void **state) {
    (void)state;
    pushes("gaussian");
    pushes("laplace");
}

static void opening(void **state) {
    (void)state;
    const dpa_request request = request_of("gaussian");
    dpa_sequential *audit;
    dpa_status status;
    FAULT_EVERY(status, dpa__sequential_new(&request, &audit, NULL), dpa__sequential_free(audit));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pushing), cmocka_unit_test(opening)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
