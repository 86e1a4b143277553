/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests: every field from text; every bad value is refused with words that say what would be
 * right. */
#include "check.h"

#include "estimate/estimate.h"

static void refuse(const char *key, const char *value, const char *words) {
    dpa_request request;
    dpa_error err = {0};
    dpa__request_init(&request);
    assert_int_equal(dpa__request_set(&request, key, value, &err), DPA_BAD_ARGUMENT);
    if (strstr(err.text, words) == NULL) fail_msg("'%s' does not say '%s'", err.text, words);
}

static void defaults(void **state) {
    (void)state;
    dpa_request request;
    dpa__request_init(&request);
    assert_ok(dpa__request_check(&request, NULL));
    assert_true(request.delta == 1e-5 && request.confidence == 0.95 && request.sides == 1);
    assert_true(isnan(request.claim_epsilon) && isnan(request.claim_delta));
}

static void fields_from_text(void **state) {
    (void)state;
    dpa_request request;
    dpa__request_init(&request);
    assert_ok(dpa__request_set(&request, "delta", "0", NULL));
    assert_ok(dpa__request_set(&request, "confidence", "0.9", NULL));
    assert_ok(dpa__request_set(&request, "two-sided", NULL, NULL));
    assert_ok(dpa__request_set(&request, "claim-epsilon", "1.27", NULL));
    assert_ok(dpa__request_set(&request, "claim-delta", "1e-6", NULL));
    assert_ok(dpa__request_set(&request, "family", "subsampled-gaussian:q=0.1,steps=5", NULL));
    assert_ok(dpa__request_set(&request, "method", "cp", NULL));
    assert_ok(dpa__request_set(&request, "select", "split", NULL));
    assert_ok(dpa__request_set(&request, "seed", "18446744073709551615", NULL));
    assert_ok(dpa__request_set(&request, "threads", "2", NULL));
    assert_true(request.delta == 0 && request.confidence == 0.9 && request.sides == 2);
    assert_true(request.claim_epsilon == 1.27 && request.claim_delta == 1e-6);
    assert_string_equal(request.family, "subsampled-gaussian:q=0.1,steps=5");
    assert_string_equal(request.method, "cp");
    assert_string_equal(request.select, "split");
    assert_true(request.seed == UINT64_MAX && request.threads == 2);
    assert_ok(dpa__request_set(&request, "one-sided", NULL, NULL));
    assert_int_equal(request.sides, 1);
}

static void bad_values(void **state) {
    (void)state;
    char name[DPA_FAMILY_SIZE + 8];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    refuse("delta", "1", "less than 1");
    refuse("delta", "-1e-9", "at least 0");
    refuse("delta", "nan", "not a number");
    refuse("delta", "", "not a number");
    refuse("delta", "1e-5x", "not a number");
    refuse("delta", NULL, "needs a value");
    refuse("confidence", "0", "between 0 and 1");
    refuse("confidence", "1", "between 0 and 1");
    refuse("confidence", "95", "0.95 for 95%");
    refuse("claim-epsilon", "-1", "negative");
    refuse("claim-epsilon", "nan", "not a number");
    refuse("claim-delta", "1", "less than 1");
    refuse("seed", "-1", "whole number");
    refuse("seed", "1.5", "whole number");
    refuse("seed", "18446744073709551616", "whole number");
    refuse("threads", "5000", "4096");
    refuse("family", name, "longer than");
    refuse("colour", "red", "no option");
}

static void assumptions_have_names_and_sentences(void **state) {
    (void)state;
    for (unsigned i = 0; i < DPA_ASSUMPTION_COUNT; ++i) {
        assert_true(strlen(dpa__assumption_name(i)) > 3);
        assert_true(strlen(dpa__assumption_text(i)) > 10);
    }
    assert_null(dpa__assumption_name(DPA_ASSUMPTION_COUNT));
    assert_null(dpa__assumption_text(DPA_ASSUMPTION_COUNT));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(fields_from_text),
        cmocka_unit_test(bad_values),
        cmocka_unit_test(assumptions_have_names_and_sentences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
