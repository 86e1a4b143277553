/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One-run bounds against 40-digit numbers (scripts/known-one-run), against methods.md and against
 * ../shared/reference/one-run.json. */
#include "check.h"

#include <jansson.h>

#include "estimate/one_run/one_run.h"
#include "known/table.h"

static double bound(const dpa_one_run *game, const char *family, const char *method, double p,
                    double delta, dpa_result *result) {
    dpa_request request;
    dpa_error err;
    dpa__request_init(&request);
    request.delta = delta;
    request.confidence = 1.0 - p;
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    (void)snprintf(request.method, sizeof request.method, "%s", method);
    if (dpa__one_run_bound(game, 1, DPA_GUESSES_FIXED, &request, result, &err) != DPA_OK)
        fail_msg("%s", err.text);
    return result->epsilon_lower;
}

static void printed_values(void **state) {
    (void)state;
    dpa_result result;
    const dpa_one_run a = {500, 2, 100, 60}, b = {500, 2, 35, 23}, c = {100000, 2, 1500, 1429};
    assert_absolute(bound(&a, "dp", "", 0.05, 1e-5, &result), 0.050735610892, 1e-11);
    assert_absolute(bound(&b, "dp", "", 0.05, 1e-5, &result), 0.014548720201, 1e-11);
    assert_absolute(bound(&c, "gaussian", "", 0.05, 1e-5, &result), 3.29923509768, 1e-10);
    assert_string_equal(result.method, "recursion");
    assert_string_equal(result.parameter, "mu");
    assert_absolute(1.0 / result.parameter_lower, 1.27907860591, 1e-11);
    assert_true(result.numerical_error < 1e-9);
    assert_true(result.epsilon_lower <= 3.29923509768 + 5e-12);
}

/* What the independent program found for Table 1. */
static void table_of_the_paper(void **state) {
    (void)state;
    static const struct {
        dpa_one_run game;
        double want;
    } rows[] = {{{100000, 2, 2938, 2933}, 7.362105},
                {{100000, 2, 701, 675}, 3.338294},
                {{100000, 2, 756, 621}, 1.497610},
                {{1000000, 2, 2430, 1694}, 0.726227}};
    dpa_result result;
    for (size_t i = 0; i < 4; ++i)
        assert_absolute(bound(&rows[i].game, "gaussian", "recursion", 0.05, 1e-5, &result),
                        rows[i].want, 5.1e-7);
}

static void high_precision(void **state) {
    (void)state;
    static const char *const families[] = {"dp", "gaussian", "laplace", "dp"};
    static const char *const methods[] = {"steinke", "recursion", "recursion", "recursion"};
    FILE *file = known_open("one_run.txt");
    double row[8], worst = 0.0;
    int rows = 0;
    for (; known_row(file, row, 8); ++rows) {
        const dpa_one_run game = {(uint64_t)row[1], (uint64_t)row[2], (uint64_t)row[3],
                                  (uint64_t)row[4]};
        const int f = (int)row[0];
        dpa_result result;
        (void)bound(&game, families[f], methods[f], row[5], row[6], &result);
        assert_absolute(result.parameter_lower, row[7], 1e-11 * fmax(1.0, row[7]));
        assert_true(result.parameter_lower <= row[7] * (1.0 + 1e-14));
        worst = fmax(worst, fabs(result.parameter_lower - row[7]));
    }
    (void)fclose(file);
    assert_int_equal(rows, 186);
    print_message("%d rows: parameter off by %.2g at most, never above\n", rows, worst);
}

static void reference_file(void **state) {
    (void)state;
    json_error_t problem;
    json_t *root = json_load_file(check_shared("reference/one-run.json"), 0, &problem);
    assert_non_null(root);
    size_t index, checked = 0;
    json_t *row;
    json_array_foreach(json_object_get(root, "cases"), index, row) {
        json_int_t n[4];
        double delta, p, gaussian = NAN, dp = NAN;
        assert_int_equal(json_unpack(row, "{s:I,s:I,s:I,s:I,s:F,s:F,s:{s:F},s?:{s:F}}", "canaries",
                                     &n[0], "options", &n[1], "guesses", &n[2], "correct", &n[3],
                                     "delta", &delta, "p", &p, "gaussian", "epsilon", &gaussian,
                                     "dp", "epsilon", &dp),
                         0);
        const dpa_one_run game = {(uint64_t)n[0], (uint64_t)n[1], (uint64_t)n[2], (uint64_t)n[3]};
        dpa_result result;
        assert_absolute(bound(&game, "gaussian", "recursion", p, delta, &result), gaussian, 1e-9);
        if (!isnan(dp)) assert_absolute(bound(&game, "dp", "steinke", p, delta, &result), dp, 1e-9);
        ++checked;
    }
    assert_int_equal(checked, 8);
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printed_values),
        cmocka_unit_test(table_of_the_paper),
        cmocka_unit_test(high_precision),
        cmocka_unit_test(reference_file),
    };
    check_need_shared("reference/one-run.json");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
