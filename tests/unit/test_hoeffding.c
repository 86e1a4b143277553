/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hoeffding's limits: a known value, and nothing without a leak. */
#include "check.h"

#include <math.h>

#include "dpaudit/scores.h"

static double bound(dpa_counts counts) {
    dpa_request request;
    dpa_results results = {0};
    dpa_error err;
    dpa_request_init(&request);
    request.delta = 0;
    assert_ok(dpa_request_set(&request, "method", "hoeffding", &err));
    assert_ok(dpa_request_set(&request, "family", "dp", &err));
    assert_ok(dpa_estimate_counts(&counts, &request, &results, &err));
    const double lower = results.items[0].epsilon_lower;
    dpa_results_free(&results);
    return lower;
}

static void known(void **state) {
    (void)state;
    const double rate = 0.1 + sqrt(log(40) / 2000);
    assert_true(fabs(bound((dpa_counts){100, 900, 100, 900}) - log((1 - rate) / rate)) < 1e-9);
    assert_true(bound((dpa_counts){50, 50, 50, 50}) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
