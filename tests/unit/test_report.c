/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report: who decides the verdict, what JSON and page say, and that no string can break out of
 * either. */
#include "check.h"

#include <jansson.h>
#include <locale.h>

#include "dpaudit/report.h"
#include "dpaudit/rng.h"
#include "report/model.h"

static dpa_report *new_report(double claim, double claim_delta) {
    dpa_request request;
    dpa_report *report = NULL;
    dpa_request_init(&request);
    request.claim_epsilon = claim;
    request.claim_delta = claim_delta;
    assert_ok(dpa_report_new("scores", &request, &report, NULL));
    assert_ok(dpa_report_evidence(report, "scores", NULL));
    return report;
}

static void add_bound(dpa_report *report, const char *method, double lower, int valid) {
    dpa_request request;
    dpa_result result;
    dpa_request_init(&request);
    dpa_result_init(&result, &request);
    (void)snprintf(result.family, sizeof result.family, "gaussian");
    (void)snprintf(result.method, sizeof result.method, "%s", method);
    result.epsilon_lower = lower;
    result.valid = valid;
    result.assumptions = DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_FAMILY_GAUSSIAN;
    result.numerical_error = 1e-10;
    assert_ok(dpa_report_add(report, &result, NULL));
}

static void expect_headline(const dpa_report *report, const char *words) {
    char *text = NULL;
    assert_ok(dpa_report_headline(report, &text, NULL));
    if (strstr(text, words) == NULL) fail_msg("'%s' does not say '%s'", text, words);
    dpa_free(text);
}

static void only_valid_bounds_refute(void **state) {
    (void)state;
    dpa_report *report = new_report(1.27, NAN);
    add_bound(report, "max", 3.0, 0);
    add_bound(report, "cp", 1.2, 1);
    assert_false(dpa_report_refuted(report));
    assert_string_equal(dpa_report_strongest(report)->method, "cp");
    expect_headline(report, "is not refuted, which does not prove it");
    add_bound(report, "rank", 1.5, 1);
    assert_true(dpa_report_refuted(report));
    assert_string_equal(dpa_report_strongest(report)->method, "rank");
    expect_headline(report, "REFUTED: the claim ε ≤ 1.27");
    dpa_report_free(report);
}

/* A credible bound decides only where there is nothing else. */
static void credible_bounds_stand_back(void **state) {
    (void)state;
    dpa_request request;
    dpa_result credible;
    dpa_request_init(&request);
    dpa_result_init(&credible, &request);
    (void)snprintf(credible.method, sizeof credible.method, "bayes");
    credible.epsilon_lower = 9.0;
    credible.assumptions = DPA_ASSUME_BAYES_PRIOR;
    dpa_report *report = new_report(1.27, NAN);
    assert_ok(dpa_report_add(report, &credible, NULL));
    assert_true(dpa_report_refuted(report));
    add_bound(report, "cp", 1.0, 1);
    assert_false(dpa_report_refuted(report));
    assert_string_equal(dpa_report_strongest(report)->method, "cp");
    dpa_report_free(report);
}

static void equal_is_not_above(void **state) {
    (void)state;
    dpa_report *report = new_report(1.5, NAN);
    add_bound(report, "cp", 1.5, 1);
    assert_false(dpa_report_refuted(report));
    dpa_report_free(report);
}

/* (ε,δ)-DP at a larger δ says nothing at a smaller one. */
static void a_claim_at_a_larger_delta_is_not_compared(void **state) {
    (void)state;
    dpa_report *larger = new_report(1.0, 1e-3);
    add_bound(larger, "cp", 5.0, 1);
    assert_false(dpa_report_refuted(larger));
    expect_headline(larger, "cannot be compared");
    dpa_report_free(larger);
    dpa_report *smaller = new_report(1.0, 1e-9);
    add_bound(smaller, "cp", 5.0, 1);
    assert_true(dpa_report_refuted(smaller));
    dpa_report_free(smaller);
}

static void zero_is_nothing_shown(void **state) {
    (void)state;
    dpa_report *report = new_report(NAN, NAN);
    expect_headline(report, "No result");
    add_bound(report, "max", 2.0, 0);
    expect_headline(report, "No valid bound");
    add_bound(report, "cp", 0.0, 1);
    expect_headline(report, "Nothing shown");
    dpa_report_free(report);
}

static void json_has_the_documented_shape(void **state) {
    (void)state;
    dpa_report *report = new_report(1.27, NAN);
    add_bound(report, "cp", 0.1 + 0.2, 1);
    char *text = NULL;
    assert_ok(dpa_report_json(report, &text, NULL));
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    const json_t *result = json_array_get(json_object_get(json, "results"), 0);
    /* full precision, and null where nothing is known */
    assert_true(json_real_value(json_object_get(result, "epsilon_lower")) == 0.1 + 0.2);
    assert_true(json_is_null(json_object_get(result, "epsilon_upper")));
    assert_null(json_object_get(result, "epsilon_upper_infinite"));
    assert_string_equal(json_string_value(json_object_get(result, "kind")), "bound");
    assert_int_equal(json_array_size(json_object_get(result, "assumptions")), 2);
    assert_true(json_is_false(json_object_get(json_object_get(json, "verdict"), "refuted")));
    json_decref(json);
    dpa_free(text);
    dpa_report_free(report);
}

static void infinite_ends_say_so(void **state) {
    (void)state;
    dpa_request request;
    dpa_result result;
    dpa_request_init(&request);
    dpa_result_init(&result, &request);
    result.epsilon_lower = 1.0;
    result.epsilon_upper = INFINITY;
    dpa_report *report = new_report(NAN, NAN);
    assert_ok(dpa_report_add(report, &result, NULL));
    char *text = NULL;
    assert_ok(dpa_report_json(report, &text, NULL));
    assert_non_null(strstr(text, "\"epsilon_upper\": null"));
    assert_non_null(strstr(text, "\"epsilon_upper_infinite\": true"));
    dpa_free(text);
    dpa_report_free(report);
}

static void numbers_are_the_shortest_that_read_back(void **state) {
    (void)state;
    static const double values[] = {0.1,        1e-5, 1.0 / 3.0, 5e-324, 1.7976931348623157e308,
                                    123456789.0};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i) {
        char text[40];
        dpa__number_text(values[i], text, sizeof text);
        assert_true(strtod(text, NULL) == values[i]);
    }
    char text[40];
    dpa__number_text(1e-5, text, sizeof text);
    assert_string_equal(text, "1e-05");
}

/* Digits that count: without sign, point, exponent, and zeros at either end. */
static int digits_of(const char *text) {
    int digits = 0, zeros = 0;
    for (; *text != '\0' && *text != 'e'; ++text) {
        if (*text < '0' || *text > '9' || (*text == '0' && digits == 0)) continue;
        zeros = *text == '0' ? zeros + 1 : 0;
        ++digits;
    }
    return digits - zeros;
}

/* Against the slow search over every number of digits. */
static void numbers_are_as_short_as_a_search_finds(void **state) {
    (void)state;
    dpa_rng rng;
    dpa_rng_init(&rng, 1, DPA_PURPOSE_TEST, 0);
    for (int i = 0; i < 20000; ++i) {
        char got[40], want[40];
        double value = dpa_rng_normal(&rng) * pow(10.0, 40.0 * dpa_rng_normal(&rng));
        if (i % 2) { /* a number of few digits */
            (void)snprintf(want, sizeof want, "%.*g", 1 + i % 16, value);
            value = strtod(want, NULL);
        }
        for (int digits = 1; digits <= 17; ++digits) {
            (void)snprintf(want, sizeof want, "%.*g", digits, value);
            if (strtod(want, NULL) == value) break;
        }
        dpa__number_text(value, got, sizeof got);
        assert_true(strtod(got, NULL) == value);
        assert_int_equal(digits_of(got), digits_of(want));
    }
}

/* Names and labels come from outside: a page must show them, never run them. */
static void hostile_text_stays_text(void **state) {
    (void)state;
    static const char hostile[] =
        "</script><script>alert(1)</script>\"'<img src=x onerror=alert(1)>\xff";
    dpa_report *report = new_report(1.0, NAN);
    dpa_lints lints = {0};
    add_bound(report, "cp", 2.0, 1);
    assert_ok(dpa_report_fact_text(report, "label", hostile, NULL));
    assert_ok(dpa_report_input(report, hostile, hostile, NULL));
    assert_ok(dpa_report_invocation(report, hostile, NULL));
    assert_ok(dpa_lints_add(&lints, NULL, "odd", "%s", hostile));
    assert_ok(dpa_report_lints(report, &lints, NULL));
    dpa_lints_free(&lints);
    char *page = NULL, *text = NULL, *json = NULL;
    assert_ok(dpa_report_html(report, &page, NULL));
    assert_null(strstr(page, "<script>alert"));
    assert_null(strstr(page, "<img src=x"));
    assert_non_null(strstr(page, "&lt;script&gt;alert"));
    assert_ok(dpa_report_text(report, NULL, &text, NULL));
    assert_ok(dpa_report_json(report, &json, NULL));
    json_t *parsed = json_loads(json, 0, NULL);
    assert_non_null(parsed);
    json_decref(parsed);
    dpa_free(page);
    dpa_free(text);
    dpa_free(json);
    dpa_report_free(report);
}

/* German numbers have commas; ours are read by programs. The locale is made for this, where the
 * system has the means. */
static int set_comma_locale(char *folder) {
    char command[160];
    if (mkdtemp(folder) == NULL) return 0;
    (void)snprintf(command, sizeof command,
                   "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    const int made = system(command) == 0 && setenv("LOCPATH", folder, 1) == 0;
    return made && setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
}

static void a_comma_locale_changes_nothing(void **state) {
    (void)state;
    char folder[] = "/tmp/dpa_locale_XXXXXX", command[64];
    char *texts[2][2];
    dpa_report *report = new_report(1.27, NAN);
    add_bound(report, "cp", 1.25, 1);
    for (int i = 0; i < 2; ++i) {
        const int is_set = i == 0 || set_comma_locale(folder);
        assert_ok(dpa_report_json(report, &texts[i][0], NULL));
        assert_ok(dpa_report_html(report, &texts[i][1], NULL));
        if (!is_set) print_message("no German locale can be made here\n");
    }
    (void)setlocale(LC_ALL, "C");
    for (int k = 0; k < 2; ++k) {
        assert_string_equal(texts[0][k], texts[1][k]);
        dpa_free(texts[0][k]);
        dpa_free(texts[1][k]);
    }
    dpa_report_free(report);
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

static void bad_section_is_refused(void **state) {
    (void)state;
    dpa_error err = {0};
    dpa_report *report = new_report(NAN, NAN);
    assert_int_equal(dpa_report_section(report, "roc", "[1, 2", &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "roc is not JSON"));
    assert_ok(dpa_report_section(report, "roc", "[{\"fpr\": 0.5}]", NULL));
    dpa_report_free(report);
    dpa_report_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_valid_bounds_refute),
        cmocka_unit_test(credible_bounds_stand_back),
        cmocka_unit_test(equal_is_not_above),
        cmocka_unit_test(a_claim_at_a_larger_delta_is_not_compared),
        cmocka_unit_test(zero_is_nothing_shown),
        cmocka_unit_test(json_has_the_documented_shape),
        cmocka_unit_test(infinite_ends_say_so),
        cmocka_unit_test(numbers_are_the_shortest_that_read_back),
        cmocka_unit_test(numbers_are_as_short_as_a_search_finds),
        cmocka_unit_test(hostile_text_stays_text),
        cmocka_unit_test(bad_section_is_refused),
        cmocka_unit_test(a_comma_locale_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
