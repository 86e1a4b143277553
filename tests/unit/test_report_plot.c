/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pictures for a terminal, dot by dot: tests/golden has them in plain characters only, where
 * eight dots are one star. */
#include "check.h"

#include "judge/case.h"
#include "judge/judge.h"
#include "report/model/model.h"
#include "report/model/report.h"
#include "report/model/value.h"

static dpa_report *made(const char *section, const char *json) {
    dpa_request request;
    dpa_claim claim;
    dpa_report *report = NULL;
    dpa__request_init(&request);
    dpa_claim_init(&claim);
    claim.epsilon = 1;
    assert_ok(dpa__report_new("scores", &request, &report, NULL));
    assert_ok(dpa__report_evidence(report, "scores", NULL));
    dpa__verdict_begin(report, &claim, claim.epsilon);
    assert_ok(dpa__verdict_conclude(report, NULL));
    json_t *value = json_loads(json, 0, NULL);
    assert_non_null(value);
    assert_int_equal(json_object_set_new(report->sections, section, value), 0);
    return report;
}

static void shows(const char *section, const char *json, const char *wanted) {
    dpa_report *report = made(section, json);
    const dpa_text_style style = {80, 0, 1, 0};
    char *text = NULL;
    assert_ok(dpa__report_plot(report, &style, &text, NULL));
    assert_string_equal(text, wanted);
    dpa_free(text);
    dpa_report_free(report);
}

/* The attack's corner, the dashed limit of ε = 1, and every fourth dot of the diagonal. */
static void roc(void **state) {
    (void)state;
    shows("roc",
          "[{\"fpr\": 0, \"tpr\": 0}, {\"fpr\": 0.25, \"tpr\": 0.75}, {\"fpr\": 1, \"tpr\": 1}]",
          "\n"
          "  ROC of the attack; dotted: guessing; dashed: limit of the claim\n"
          "  true positive rate\n"
          "          1 │                                                 ⣀⣀⣀⣤⠤⠤⠖⠒⠲⠋⠉\n"
          "            │                                     ⣀⣀⣀⡤⣤⠤⠶⠒⠒⠙⠋⠉⠉   ⠠ ⠈\n"
          "            │                        ⢀⣀⣀⣀⣤⡤⣤⠲⠶⠒⠛⠙⠋⠉⠁          ⠠ ⠈\n"
          "            │              ⢀⣀⠤⣤⢤⣒⠲⠶⠹⠋⠛⠂⠉⠁⠁                ⠠ ⠈\n"
          "            │             ⢠⠞⡴⠋⠁                       ⠠ ⠈\n"
          "            │            ⡰⣫⠆                      ⠠ ⠈\n"
          "            │          ⢀⣜⡅⠁                   ⠠ ⠈\n"
          "            │         ⢠⡎⠚                ⡀ ⠂⠈\n"
          "            │        ⡴⠳⠃             ⡀ ⠂\n"
          "            │      ⢀⣼⠟           ⡀ ⠂\n"
          "            │     ⢠⡾         ⡀ ⠂\n"
          "            │    ⣴⠋      ⡀ ⠂\n"
          "            │  ⢀⡞⠋   ⡀ ⠂\n"
          "            │ ⣠⠟⠁⡀ ⠂\n"
          "          0 │⡴⠃⠂\n"
          "            └────────────────────────────────────────────────────────────\n"
          "             0         false positive rate                        1\n");
}

/* All of the posterior at one ε: the axis is one wide. */
static void one_place(void **state) {
    (void)state;
    shows("posterior",
          "{\"points\": [{\"epsilon\": 2, \"density\": 0}, {\"epsilon\": 2, \"density\": 4}]}",
          "\n"
          "  Posterior density of ε\n"
          "  density\n"
          "          4 │⡇\n"
          "            │⡇\n"
          "            │⡇\n"
          "            │⡇\n"
          "            │⡇\n"
          "            │⡇\n"
          "            │⡇\n"
          "            │⡇\n"
          "            │⡇\n"
          "            │⡇\n"
          "            │⡇\n"
          "            │⡇\n"
          "            │⡇\n"
          "            │⡇\n"
          "          0 │⡇\n"
          "            └────────────────────────────────────────────────────────────\n"
          "             2         ε                                         3\n");
}

/* A line per family and none between them. */
static void series(void **state) {
    (void)state;
    shows("guesses_curve",
          "[{\"family\": \"a\", \"guesses\": 1, \"epsilon_lower\": 0},"
          " {\"family\": \"a\", \"guesses\": 10, \"epsilon_lower\": 2},"
          " {\"family\": \"b\", \"guesses\": 10, \"epsilon_lower\": 0.5},"
          " {\"family\": \"b\", \"guesses\": 100, \"epsilon_lower\": 1}]",
          "\n"
          "  The bound with other numbers of guesses, a line per family\n"
          "  ε at least\n"
          "          2 │                            ⣠⠞⠁\n"
          "            │                          ⣠⠞⠁\n"
          "            │                        ⣠⠞⠁\n"
          "            │                      ⣠⠞⠁\n"
          "            │                    ⣠⠞⠁\n"
          "            │                  ⣠⠞⠁\n"
          "            │                ⣠⠞⠁\n"
          "            │              ⣠⠞⠁                                      ⢀⣀⣠⠤⠴\n"
          "            │            ⣠⠞⠁                                ⢀⣀⣠⠤⠴⠒⠚⠉⠉\n"
          "            │          ⣠⠞⠁                          ⢀⣀⣠⠤⠴⠒⠚⠉⠉\n"
          "            │        ⣠⠞⠁                    ⢀⣀⡠⠤⠔⠒⠚⠉⠉\n"
          "            │      ⡠⠊⠁                     ⠉⠁\n"
          "            │    ⡠⠊\n"
          "            │  ⡠⠊\n"
          "          0 │⡠⠊\n"
          "            └────────────────────────────────────────────────────────────\n"
          "             0         log10 of the number of guesses             2\n");
}

/* A bar for each result that has a finite number, its end by what it promises; at most 24 of them.
 */
static void bars(void **state) {
    (void)state;
    static const struct {
        const char *method;
        double lower;
        int is_estimate, valid;
        unsigned assumptions;
    } rows[] = {{"sure", 1, 0, 1, 0},
                {"posterior", 4, 0, 1, DPA_ASSUME_BAYES_PRIOR},
                {"best", 8, 0, 0, 0},
                {"guess", 2, 1, 1, 0},
                {"infinite", INFINITY, 0, 1, 0},
                {"zero", 0, 0, 1, 0}};
    const dpa_text_style plain = {80, 0, 0, 1}, unicode = {80, 0, 1, 1}, full = {80, 0, 0, 0};
    dpa_report *report = made("roc", "[{\"fpr\": 0, \"tpr\": 0}, {\"fpr\": 1, \"tpr\": 1}]");
    char *text = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        dpa_result r;
        dpa__result_init(&r, &report->request);
        (void)snprintf(r.method, sizeof r.method, "%s", rows[i].method);
        if (i == 1)
            (void)snprintf(r.family, sizeof r.family,
                           "a-name-that-is-too-long-even-for-46-columns");
        r.kind = rows[i].is_estimate ? DPA_ESTIMATE : DPA_BOUND;
        r.valid = rows[i].valid;
        r.assumptions = rows[i].assumptions;
        if (rows[i].is_estimate) r.epsilon = rows[i].lower;
        r.epsilon_lower = rows[i].lower;
        assert_ok(dpa__report_add(report, &r, NULL));
    }
    assert_ok(dpa__report_plot(report, &plain, &text, NULL));
    assert_string_equal(
        text, "\n"
              "  Bounds on epsilon; : is the claim\n"
              "  sure                                           ===#                      1\n"
              "  a-name-that-is-too-lon...6-columns · posterior ===:========p             4\n"
              "  best                                           ===:====================o 8\n"
              "  guess                                          ===:==*                   2\n"
              "  zero                                           #  :                      0\n");
    dpa_free(text);
    assert_ok(dpa__report_plot(report, &unicode, &text, NULL));
    assert_string_equal(
        text, "\n"
              "  Bounds on ε; ┊ is the claim\n"
              "  sure                                           ━━━●                      1\n"
              "  a-name-that-is-too-lon...6-columns · posterior ━━━┊━━━━━━━━□             4\n"
              "  best                                           ━━━┊━━━━━━━━━━━━━━━━━━━━△ 8\n"
              "  guess                                          ━━━┊━━◇                   2\n"
              "  zero                                           ●  ┊                      0\n");
    dpa_free(text);
    assert_ok(dpa__report_plot(report, &full, &text, NULL));
    assert_non_null(
        strstr(text, "  ROC of the attack; dotted: guessing; dashed: limit of the claim\n"
                     "  true positive rate\n"
                     "          1 |                                                  **********\n"
                     "            |                                       ***********  *****\n"
                     "            |                            ***********         *****\n"
                     "            |                 ************               *****\n"
                     "            |               ***                      ****\n"
                     "            |             **                     ****\n"
                     "            |           ***                  ****\n"
                     "            |          **                ****\n"
                     "            |         **             ****\n"
                     "            |       **           ****\n"
                     "            |      *         ****\n"
                     "            |    **     *****\n"
                     "            |   **  *****\n"
                     "            |  ******\n"
                     "          0 |****\n"
                     "            +------------------------------------------------------------\n"
                     "             0         false positive rate                        1\n"));
    dpa_free(text);
    for (int i = 0; i < 30; ++i) {
        dpa_result r;
        dpa__result_init(&r, &report->request);
        (void)snprintf(r.method, sizeof r.method, "row%d", i + 6);
        r.epsilon_lower = 1;
        assert_ok(dpa__report_add(report, &r, NULL));
    }
    assert_ok(dpa__report_plot(report, &plain, &text, NULL));
    assert_true(strstr(text, "row23 ") != NULL && strstr(text, "row24 ") == NULL);
    dpa_free(text);
    dpa_report_free(report);
}

/* Of equal bounds the first decides, and an infinite one before all others. */
static void primary(void **state) {
    (void)state;
    static const struct {
        const char *json;
        const char *method;
    } cases[] = {
        {"[{\"role\": \"shown\", \"method\": \"a\", \"epsilon_lower\": 9},"
         " {\"role\": \"primary\", \"method\": \"b\", \"epsilon_lower\": 0},"
         " {\"role\": \"primary\", \"method\": \"c\", \"epsilon_lower\": 0}]",
         "b"},
        {"[{\"role\": \"primary\", \"method\": \"a\", \"epsilon_lower\": 1},"
         " {\"role\": \"primary\", \"method\": \"b\", \"epsilon_lower\": 2},"
         " {\"role\": \"primary\", \"method\": \"c\", \"epsilon_lower\": 1.5}]",
         "b"},
        {"[{\"role\": \"primary\", \"method\": \"a\", \"epsilon_lower\": 1},"
         " {\"role\": \"primary\", \"method\": \"b\", \"epsilon_lower_infinite\": true},"
         " {\"role\": \"primary\", \"method\": \"c\", \"epsilon_lower\": 3}]",
         "b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        json_t *results = json_loads(cases[i].json, 0, NULL);
        assert_non_null(results);
        assert_string_equal(dpa__word_of(dpa__primary_of(results), "method"), cases[i].method);
        json_decref(results);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roc),  cmocka_unit_test(one_place), cmocka_unit_test(series),
        cmocka_unit_test(bars), cmocka_unit_test(primary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
