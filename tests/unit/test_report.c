/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report: what JSON, text and page say about results and verdict, and that no string can break
 * out of any of them. test_verdict.c tests which verdict it is. */
#include "check.h"

#include <jansson.h>
#include <locale.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/text.h"
#include "judge/case.h"
#include "judge/judge.h"
#include "report/model/report.h"
#include "report/model/value.h"
#include "report/render/html.h"

static dpa_report *new_report(double claim_epsilon) {
    dpa_request request;
    dpa_claim claim;
    dpa_report *report = NULL;
    dpa__request_init(&request);
    dpa_claim_init(&claim);
    claim.epsilon = claim_epsilon;
    assert_ok(dpa__report_new("scores", &request, &report, NULL));
    assert_ok(dpa__report_evidence(report, "scores", NULL));
    dpa__verdict_begin(report, &claim, claim_epsilon);
    return report;
}

static void add_bound(dpa_report *report, const char *method, double lower, dpa_role role) {
    dpa_request request;
    dpa_result result;
    dpa__request_init(&request);
    dpa__result_init(&result, &request);
    (void)snprintf(result.family, sizeof result.family, "gaussian");
    (void)snprintf(result.method, sizeof result.method, "%s", method);
    result.epsilon_lower = lower;
    result.role = role;
    result.assumptions = DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_FAMILY_GAUSSIAN;
    result.numerical_error = 1e-10;
    assert_ok(dpa__report_add(report, &result, NULL));
    assert_ok(dpa__verdict_conclude(report, NULL));
}

static const char *word_of(const json_t *object, const char *key) {
    const char *word = json_string_value(json_object_get(object, key));
    return word != NULL ? word : "(none)";
}

static json_t *parsed(const dpa_report *report) {
    char *text = NULL;
    assert_ok(dpa_report_json(report, &text, NULL));
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    dpa_free(text);
    return json;
}

/* Whoever asks a result by name hears what the JSON says, of every row and key. */
static void results_by_name(void **state) {
    (void)state;
    dpa_evidence *evidence = NULL;
    dpa_report *report = NULL;
    assert_ok(dpa_evidence_new(DPA_EVIDENCE_COUNTS, &evidence, NULL));
    assert_ok(dpa_evidence_copy(evidence, "counts", (const double[]){10, 90, 5, 95}, 4, NULL));
    assert_ok(dpa_judge(evidence, NULL, NULL, &report, NULL));
    json_t *json = parsed(report), *rows = json_object_get(json, "results"), *row, *value;
    size_t at, i, numbers = 0, texts = 0;
    const char *key;
    assert_true(json_array_size(rows) == dpa_report_count(report) && json_array_size(rows) > 1);
    json_array_foreach(rows, at, row) {
        const dpa_result *result = dpa_report_result(report, at);
        json_object_foreach(row, key, value) {
            if (json_is_number(value)) {
                assert_true(dpa_result_number(result, key) == json_number_value(value));
                ++numbers;
            }
            if (!json_is_string(value)) continue;
            assert_string_equal(dpa_result_text(result, key), json_string_value(value));
            ++texts;
        }
        json_object_foreach(json_object_get(row, "counts"), key, value) {
            assert_true(dpa_result_number(result, key) == json_number_value(value));
        }
        json_array_foreach(json_object_get(row, "assumptions"), i, value) {
            const char *sentence = NULL;
            assert_string_equal(dpa_result_assumption(result, i, &sentence),
                                json_string_value(value));
            assert_true(sentence != NULL && strchr(sentence, ' ') != NULL);
        }
        assert_null(dpa_result_assumption(result, i, NULL));
        assert_true(isnan(dpa_result_number(result, "nothing")));
        assert_null(dpa_result_text(result, "nothing"));
    }
    assert_true(numbers > 4 && texts > 6);
    char path[] = "/tmp/dpaudit-report-XXXXXX", *text = NULL;
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    assert_ok(dpa_report_json(report, &text, NULL));
    assert_ok(dpa__file_write(path, text, strlen(text), NULL));
    assert_ok(dpa_verify(path, NULL, 0, NULL));
    text[strlen(text) / 2] ^= 1;
    assert_ok(dpa__file_write(path, text, strlen(text), NULL));
    assert_int_equal(dpa_verify(path, NULL, 0, NULL), DPA_BAD_INPUT);
    assert_int_equal(unlink(path), 0);
    dpa_free(text);
    assert_true(dpa_report_primary(report) == dpa_report_result(report, 0));
    assert_null(dpa_report_result(report, dpa_report_count(report)));
    json_decref(json);
    dpa_report_free(report);
    dpa_evidence_free(evidence);
}

static void json_has_the_documented_shape(void **state) {
    (void)state;
    dpa_report *report = new_report(1.27);
    add_bound(report, "cp", 0.1 + 0.2, DPA_PRIMARY);
    add_bound(report, "rank", 5, DPA_SHOWN);
    json_t *json = parsed(report);
    const json_t *rows = json_object_get(json, "results"), *result = json_array_get(rows, 0);
    /* full precision, and null for what is not known */
    assert_true(json_real_value(json_object_get(result, "epsilon_lower")) == 0.1 + 0.2);
    assert_true(json_is_null(json_object_get(result, "epsilon_upper")));
    assert_null(json_object_get(result, "epsilon_upper_infinite"));
    assert_string_equal(word_of(result, "role"), "primary");
    assert_string_equal(word_of(json_array_get(rows, 1), "role"), "shown");
    assert_string_equal(word_of(result, "guarantee"), "confidence");
    assert_string_equal(word_of(result, "conditional"), "family-gaussian");
    assert_string_equal(word_of(result, "scope"), "training");
    assert_int_equal(json_array_size(json_object_get(result, "assumptions")), 2);
    /* names that were used in the first version */
    assert_null(json_object_get(result, "valid"));
    assert_null(json_object_get(result, "kind"));
    assert_null(json_object_get(json, "claim"));
    json_decref(json);
    dpa_report_free(report);
}

/* The verdict in the JSON is that of the report, field by field. */
static void json_has_the_verdict(void **state) {
    (void)state;
    dpa_report *report = new_report(1.27);
    report->verdict.detect_worst = 2.5;
    report->verdict.detect_gaussian = INFINITY;
    add_bound(report, "cp", 1.25, DPA_PRIMARY);
    json_t *json = parsed(report);
    const json_t *verdict = json_object_get(json, "verdict");
    const json_t *claim = json_object_get(verdict, "claim");
    const json_t *detect = json_object_get(verdict, "would_detect");
    assert_string_equal(word_of(verdict, "state"), "not-refuted");
    assert_true(json_is_false(json_object_get(verdict, "refuted")));
    assert_true(json_number_value(json_object_get(claim, "epsilon")) == 1.27);
    assert_true(json_number_value(json_object_get(claim, "delta")) == 1e-5);
    assert_string_equal(word_of(claim, "scope"), "training");
    assert_string_equal(word_of(claim, "neighbours"), "add-remove");
    assert_true(json_number_value(json_object_get(verdict, "epsilon_lower")) == 1.25);
    assert_true(json_number_value(json_object_get(verdict, "confidence")) == 0.95);
    assert_string_equal(word_of(verdict, "conditional"), "family-gaussian");
    assert_string_equal(word_of(verdict, "decided_by"), "confidence");
    assert_string_equal(word_of(verdict, "headline"), report->verdict.headline);
    assert_int_equal(json_array_size(json_object_get(verdict, "contradicted")), 0);
    assert_true(json_number_value(json_object_get(detect, "epsilon")) == 2.5);
    assert_true(json_is_null(json_object_get(detect, "epsilon_gaussian")));
    assert_true(json_is_true(json_object_get(detect, "epsilon_gaussian_infinite")));
    assert_true(json_number_value(json_object_get(detect, "power")) == 0.8);
    json_decref(json);
    dpa_report_free(report);
}

/* A contradicted assumption and an obstacle are given with their reasons. */
static void json_says_why_it_is_inconclusive(void **state) {
    (void)state;
    dpa_report *report = new_report(1);
    dpa__verdict_contradict(report, DPA_ASSUMPTION_INDEX_ONE_RUN_CANARIES, "%d of %d", 606, 1000);
    add_bound(report, "cp", 5, DPA_PRIMARY);
    json_t *json = parsed(report);
    const json_t *verdict = json_object_get(json, "verdict");
    const json_t *why = json_array_get(json_object_get(verdict, "contradicted"), 0);
    assert_string_equal(word_of(verdict, "state"), "inconclusive");
    assert_true(json_is_false(json_object_get(verdict, "refuted")));
    assert_string_equal(word_of(why, "assumption"), "canaries-included-by-coin");
    assert_string_equal(word_of(why, "reason"), "606 of 1000");
    json_decref(json);
    dpa_report_free(report);
}

/* Text, page and JSON have the same state: the mark of the page, the first words of the text. */
static void every_form_says_the_same(void **state) {
    (void)state;
    static const struct {
        double lower;
        int is_doubted;
        const char *mark, *words;
    } cases[] = {{2, 0, "✗ Claim refuted", "REFUTED: the claim"},
                 {0.5, 0, "○ Claim not refuted", "Not refuted: the claim"},
                 {2, 1, "? Inconclusive", "INCONCLUSIVE about the claim"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char *page = NULL, *text = NULL;
        dpa_report *report = new_report(1);
        if (cases[i].is_doubted)
            dpa__verdict_contradict(report, DPA_ASSUMPTION_INDEX_HIGHER_IS_IN, "reversed");
        add_bound(report, "cp", cases[i].lower, DPA_PRIMARY);
        assert_ok(dpa_report_html(report, &page, NULL));
        assert_ok(dpa_report_text(report, NULL, &text, NULL));
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k)
            assert_int_equal(strstr(page, cases[k].mark) != NULL, k == i);
        assert_int_equal(strstr(page, "class=\"verdict refuted\"") != NULL, i == 0);
        if (strncmp(text, cases[i].words, strlen(cases[i].words)) != 0)
            fail_msg("'%.60s' does not begin with '%s'", text, cases[i].words);
        dpa_free(page);
        dpa_free(text);
        dpa_report_free(report);
    }
}

/* Six rows, the deciding one first; all rows on request. */
static void a_table_is_short(void **state) {
    (void)state;
    dpa_report *report = new_report(NAN);
    char *text = NULL;
    for (int i = 0; i < 8; ++i) {
        char method[8];
        (void)snprintf(method, sizeof method, "row%d", i);
        add_bound(report, method, i, i == 0 ? DPA_PRIMARY : DPA_SHOWN);
    }
    assert_ok(dpa_report_text(report, NULL, &text, NULL));
    assert_non_null(strstr(text, "row5"));
    assert_null(strstr(text, "row6"));
    assert_non_null(strstr(text, "… and 2 more: --all shows them"));
    dpa_free(text);
    report->shows_all = 1;
    assert_ok(dpa_report_text(report, NULL, &text, NULL));
    assert_non_null(strstr(text, "row7"));
    assert_null(strstr(text, "more:"));
    dpa_free(text);
    dpa_report_free(report);
}

static void infinite_ends_say_so(void **state) {
    (void)state;
    dpa_request request;
    dpa_result result;
    dpa__request_init(&request);
    dpa__result_init(&result, &request);
    result.epsilon_lower = 1.0;
    result.epsilon_upper = INFINITY;
    dpa_report *report = new_report(NAN);
    assert_ok(dpa__report_add(report, &result, NULL));
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
        assert_true(check_number(text) == values[i]);
    }
    char text[40];
    dpa__number_text(1e-5, text, sizeof text);
    assert_string_equal(text, "1e-05");
}

/* Significant digits: without sign, point, exponent and zeros at either end. */
static int digits_of(const char *text) {
    int digits = 0, zeros = 0;
    for (; *text != '\0' && *text != 'e'; ++text) {
        if (*text < '0' || *text > '9' || (*text == '0' && digits == 0)) continue;
        zeros = *text == '0' ? zeros + 1 : 0;
        ++digits;
    }
    return digits - zeros;
}

/* Compared with the slow search over every number of digits. */
static void numbers_are_as_short_as_a_search_finds(void **state) {
    (void)state;
    dpa_rng rng;
    dpa__rng_init(&rng, 1, DPA_PURPOSE_TEST, 0);
    for (int i = 0; i < 20000; ++i) {
        char got[40], want[40];
        double value = dpa__rng_normal(&rng) * pow(10.0, 40.0 * dpa__rng_normal(&rng));
        if (i % 2) { /* a number of few digits */
            (void)dpa__print(want, sizeof want, "%.*g", 1 + i % 16, value);
            value = check_number(want);
        }
        for (int digits = 1; digits <= 17; ++digits) {
            (void)dpa__print(want, sizeof want, "%.*g", digits, value);
            if (check_number(want) == value) break;
        }
        dpa__number_text(value, got, sizeof got);
        assert_true(check_number(got) == value);
        assert_int_equal(digits_of(got), digits_of(want));
    }
}

/* Names and labels come from outside: a page must show them, never run them. */
static void hostile_text_stays_text(void **state) {
    (void)state;
    static const char hostile[] =
        "</script><script>alert(1)</script>\"'<img src=x onerror=alert(1)>\xff";
    dpa_report *report = new_report(1.0);
    dpa_lints lints = {0};
    add_bound(report, "cp", 2.0, DPA_PRIMARY);
    assert_ok(dpa__report_fact_text(report, "label", hostile, NULL));
    assert_ok(dpa__report_input(report, hostile, hostile, NULL));
    assert_ok(dpa__report_invocation(report, hostile, NULL));
    assert_ok(dpa__lints_add(&lints, NULL, "odd", "%s", hostile));
    assert_ok(dpa__report_lints(report, &lints, NULL));
    dpa__lints_free(&lints);
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

/* German numbers have commas, but programs read ours. The locale is made for this test if the
 * system can do that. */
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
    dpa_report *report = new_report(1.27);
    add_bound(report, "cp", 1.25, DPA_PRIMARY);
    for (int i = 0; i < 2; ++i) {
        const int is_set = i == 0 || set_comma_locale(folder);
        assert_ok(dpa_report_json(report, &texts[i][0], NULL));
        assert_ok(dpa_report_html(report, &texts[i][1], NULL));
        if (!is_set) fail_msg("no German locale can be made here: is the package locales there?");
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

/* As few digits as say the share to a thousandth of its distance from 0 or 1. */
static void percents_are_short(void **state) {
    (void)state;
    assert_string_equal(dpa__percent_of(0.95).text, "95%");
    assert_string_equal(dpa__percent_of(0.999).text, "99.9%");
    assert_string_equal(dpa__percent_of(0.0701).text, "7.01%");
    assert_string_equal(dpa__percent_of(0.999999).text, "99.9999%");
    assert_string_equal(dpa__percent_of(NAN).text, "");
}

/* What the page calls a result: its game or command, then its subject or its first two files, each
 * with its last folder. */
static void titles(void **state) {
    (void)state;
    static const struct {
        const char *json, *title;
    } cases[] = {
        {"{\"command\": \"scores\", \"evidence\": {\"game\": \"black-box\"}}", "Black-box game"},
        {"{\"evidence\": {\"game\": \"g\"}, \"subject\": \"a<b\"}", "G game: a&lt;b"},
        {"{\"evidence\": {\"game\": \"g\"}, \"provenance\": {\"inputs\": [{\"path\": \"x.csv\"}]}}",
         "G game: x.csv"},
        {"{\"evidence\": {\"game\": \"g\"}, \"provenance\": {\"inputs\": [{\"path\": \"/a/b/x\"},"
         " {\"path\": \"y\"}]}}",
         "G game: b/x, y"},
        {"{\"evidence\": {\"game\": \"g\"}, \"provenance\": {\"inputs\": [{\"path\": \"x\"},"
         " {\"path\": \"y\"}, {\"path\": \"z\"}, {\"path\": \"w\"}, {\"path\": \"v\"}]}}",
         "G game: x, y and 3 more"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        dpa__text out = {0};
        json_t *result = json_loads(cases[i].json, 0, NULL);
        assert_non_null(result);
        dpa__html_title(&out, result);
        assert_string_equal(out.data, cases[i].title);
        dpa__text_free(&out);
        json_decref(result);
    }
}

/* A name that is too long for its place is cut between two characters, wherever that falls. */
static void names_are_cut_between_characters(void **state) {
    (void)state;
    json_t *result = json_pack("{s:s, s:s, s:s}", "family", "h\u00e9\u20ac\U0001d11ez", "method",
                               "\u00fc", "scope", "step");
    static const char whole[] = "h\u00e9\u20ac\U0001d11ez \u00b7 \u00fc \u00b7 one step";
    assert_non_null(result);
    for (size_t size = 1; size <= sizeof whole; ++size) {
        char out[sizeof whole];
        size_t length = size - 1; /* a byte that goes on with a character is no place to cut */
        while (((unsigned char)whole[length] & 0xc0) == 0x80) --length;
        dpa__result_name(result, out, size);
        if (size == sizeof whole) length = size - 1;
        assert_int_equal(strlen(out), length);
        assert_memory_equal(out, whole, length);
    }
    json_decref(result);
}

/* XML has no control characters but tab and line ends, and no U+FFFE and U+FFFF. */
static void ci_files_are_xml(void **state) {
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {{"a\x01z", "a?z"},
                 {"a\x1fz", "a?z"},
                 {"a\tz", "a\tz"},
                 {"a\nz", "a\nz"},
                 {"a z", "a z"},
                 {"a\xef\xbf\xbez", "a?z"},
                 {"a\xef\xbf\xbfz", "a?z"},
                 {"a\xef\xbf\xbdz", "a\xef\xbf\xbdz"},
                 {"a<&>\"z", "a&lt;&amp;&gt;&quot;z"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        dpa_report *report = new_report(1.0);
        char *xml = NULL;
        add_bound(report, "cp", 2.0, DPA_PRIMARY);
        (void)snprintf(report->verdict.headline, sizeof report->verdict.headline, "%s",
                       cases[i].in);
        assert_ok(dpa_report_junit(report, &xml, NULL));
        if (strstr(xml, cases[i].out) == NULL) fail_msg("case %zu: %s", i, xml);
        dpa_free(xml);
        dpa_report_free(report);
    }
}

static void bad_section_is_refused(void **state) {
    (void)state;
    dpa_error err = {0};
    dpa_report *report = new_report(NAN);
    assert_int_equal(dpa__report_section(report, "roc", "[1, 2", &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "roc is not JSON"));
    assert_ok(dpa__report_section(report, "roc", "[{\"fpr\": 0.5}]", NULL));
    dpa_report_free(report);
    dpa_report_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_by_name),
        cmocka_unit_test(json_has_the_documented_shape),
        cmocka_unit_test(json_has_the_verdict),
        cmocka_unit_test(json_says_why_it_is_inconclusive),
        cmocka_unit_test(every_form_says_the_same),
        cmocka_unit_test(a_table_is_short),
        cmocka_unit_test(infinite_ends_say_so),
        cmocka_unit_test(numbers_are_the_shortest_that_read_back),
        cmocka_unit_test(numbers_are_as_short_as_a_search_finds),
        cmocka_unit_test(hostile_text_stays_text),
        cmocka_unit_test(percents_are_short),
        cmocka_unit_test(titles),
        cmocka_unit_test(names_are_cut_between_characters),
        cmocka_unit_test(ci_files_are_xml),
        cmocka_unit_test(bad_section_is_refused),
        cmocka_unit_test(a_comma_locale_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
