/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Claims from text: every key, and what is no claim. */
#include "check.h"

#include "evidence/evidence.h"

static void claims_from_text(void **state) {
    (void)state;
    dpa_claim *c = NULL;
    dpa_error err = {0};
    assert_ok(dpa_claim_new(&c, NULL));
    assert_false(dpa__claim_is_made(c));
    assert_ok(dpa__claim_check(c, NULL));
    assert_ok(dpa_claim_set(c, "claim-sigma", "1.5", NULL));
    assert_ok(dpa_claim_set(c, "claim-q", "0.25", NULL));
    assert_ok(dpa_claim_set(c, "claim-steps", "1e3", NULL));
    assert_ok(dpa_claim_set(c, "claim-delta", "1e-7", NULL));
    assert_ok(dpa_claim_set(c, "claim-scope", "step", NULL));
    assert_ok(dpa_claim_set(c, "neighbours", "replace-one", NULL));
    assert_true(c->sigma == 1.5 && c->q == 0.25 && c->steps == 1000 && c->delta == 1e-7);
    assert_true(c->scope == DPA_SCOPE_STEP && c->replace_one == 1);
    assert_ok(dpa_claim_set(c, "neighbours", "add-remove", NULL));
    assert_int_equal(c->replace_one, 0);
    assert_true(dpa__claim_is_made(c));
    assert_ok(dpa__claim_check(c, NULL));
    assert_ok(dpa_claim_set(c, "claim-epsilon", "1", NULL));
    assert_int_equal(dpa__claim_check(c, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "one claim only"));
    dpa_free(c);
}

static void claims_that_are_refused(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"claim-epsilon", "x"},   {"claim-epsilon", ""},    {"claim-epsilon", "nan"},
        {"claim-steps", "0"},     {"claim-steps", "1.5"},   {"claim-steps", "-3"},
        {"claim-scope", "model"}, {"claim-scope", "world"}, {"neighbours", "both"},
        {"nonsense", "1"},        {"claim-q", NULL}};
    static const char *const wrong[][2] = {{"claim-epsilon", "-1"}, {"claim-sigma", "0"},
                                           {"claim-sigma", "inf"},  {"claim-q", "0"},
                                           {"claim-q", "1.5"},      {"claim-delta", "1"},
                                           {"claim-delta", "-0.5"}, {"claim-delta", "0.1"}};
    dpa_error err = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        dpa_claim c;
        dpa_claim_init(&c);
        if (dpa_claim_set(&c, bad[i][0], bad[i][1], &err) != DPA_BAD_ARGUMENT)
            fail_msg("%s is taken", bad[i][0]);
        assert_non_null(strstr(err.text, bad[i][0]));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        dpa_claim c;
        dpa_claim_init(&c);
        assert_ok(dpa_claim_set(&c, wrong[i][0], wrong[i][1], &err));
        if (dpa__claim_check(&c, &err) != DPA_BAD_ARGUMENT)
            fail_msg("%s %s is taken", wrong[i][0], wrong[i][1]);
        assert_non_null(strstr(err.text, wrong[i][0]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_from_text),
        cmocka_unit_test(claims_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
