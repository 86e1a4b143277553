/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of a report on screens of other widths, without Unicode and with colours: lines that are
 * wrapped, names that are shortened. tests/golden has the text of every command at 80 columns. */
#include "check.h"

#include "base/text.h"
#include "judge/case.h"
#include "judge/judge.h"
#include "report/model/model.h"
#include "report/model/report.h"

static void add(dpa_report *report, const char *family, const char *method, double lower,
                dpa_role role) {
    dpa_request request;
    dpa_result result;
    dpa__request_init(&request);
    dpa__result_init(&result, &request);
    (void)snprintf(result.family, sizeof result.family, "%s", family);
    (void)snprintf(result.method, sizeof result.method, "%s", method);
    result.epsilon_lower = lower;
    result.role = role;
    result.assumptions = DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_FAMILY_GAUSSIAN;
    assert_ok(dpa__report_add(report, &result, NULL));
}

static dpa_report *made(double claim_epsilon) {
    dpa_request request;
    dpa_claim claim;
    dpa_report *report = NULL;
    dpa__request_init(&request);
    dpa_claim_init(&claim);
    claim.epsilon = claim_epsilon;
    assert_ok(dpa__report_new("scores", &request, &report, NULL));
    assert_ok(dpa__report_evidence(report, "scores", NULL));
    assert_ok(dpa__report_fact(report, "members", 100, NULL));
    assert_ok(dpa__report_fact(report, "p_value", 0.0625, NULL));
    dpa__verdict_begin(report, &claim, claim_epsilon);
    add(report, "gaussian", "rank", 2.5, DPA_PRIMARY);
    add(report, "subsampled-gaussian:q=0.0125,steps=12345", "cp", 0.125, DPA_SHOWN);
    assert_ok(dpa__report_say(report, NULL, "  a part of it  and what is said about it at length"));
    assert_ok(dpa__report_say(report, NULL, "  short"));
    assert_ok(dpa__verdict_conclude(report, NULL));
    return report;
}

static void has_text(const dpa_report *report, const dpa_text_style *style, const char *wanted) {
    char *text = NULL;
    assert_ok(dpa_report_text(report, style, &text, NULL));
    assert_string_equal(text, wanted);
    dpa_free(text);
}

static void narrow_and_wide(void **state) {
    (void)state;
    dpa_report *report = made(1);
    static const char narrow[] = "REFUTED: the claim ε ≤ 1 (δ = 1e-05)\n"
                                 "does not stand; the leak is at least ε =\n"
                                 "2.5000 at δ = 1e-05 with 95% confidence\n"
                                 "(if the mechanism is gaussian; rank).\n"
                                 "\n"
                                 "dpaudit scores: members 100, p value\n"
                                 "  0.0625, δ 1e-05, confidence 95%\n"
                                 "  (one-sided)\n"
                                 "\n"
                                 "  family        method     ε ≥  standing\n"
                                 "  gaussian      rank    2.5000  ✓ decides\n"
                                 "  subsa...2345  cp      0.1250  if gaussian\n"
                                 "\n"
                                 "  a part of it  and what is said about\n"
                                 "                it at length\n"
                                 "  short\n"
                                 "assumes: the observations are\n"
                                 "         independent: one trained model\n"
                                 "         (or one noisy step) each\n"
                                 "assumes: the mechanism's trade-off curve\n"
                                 "         is that of some Gaussian\n"
                                 "         mechanism\n";
    const dpa_text_style least = {40, 0, 1, 0}, less = {20, 0, 1, 0};
    has_text(report, &least, narrow);
    has_text(report, &less, narrow); /* nobody reads lines of less than 40 columns */
    /* one column more than the table, as many, one less: the longest name gives way */
    static const struct {
        int width;
        const char *row;
    } rows[] = {
        {72, "\n  subsampled-gaussian:q=0.0125,steps=12345  cp      0.1250  if gaussian\n"},
        {71, "\n  subsampled-gaussian:q=0.0125,steps=12345  cp      0.1250  if gaussian\n"},
        {70, "\n  subsampled-gaussia...0.0125,steps=12345  cp      0.1250  if gaussian\n"},
        {60, "\n  subsampled-ga...5,steps=12345  cp      0.1250  if gaussian\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const dpa_text_style style = {rows[i].width, 0, 1, 0};
        char *text = NULL;
        assert_ok(dpa_report_text(report, &style, &text, NULL));
        if (strstr(text, rows[i].row) == NULL) fail_msg("%d columns:\n%s", rows[i].width, text);
        dpa_free(text);
    }
    dpa_report_free(report);
}

static void plain_and_coloured(void **state) {
    (void)state;
    static const char *const colours[] = {"\033[1;31mREFUTED", "\033[1;32mNot refuted",
                                          "\033[1mThe leak is"};
    static const char table[] =
        "  family                                    method  eps >=  standing\n"
        "  gaussian                                  rank    2.5000  decides\n"
        "  subsampled-gaussian:q=0.0125,steps=12345  cp      0.1250  if gaussian\n";
    const double claims[] = {1, 3, (double)NAN};
    const dpa_text_style plain = {100, 0, 0, 0}, coloured = {80, 1, 1, 0};
    for (size_t i = 0; i < 3; ++i) {
        dpa_report *report = made(claims[i]);
        char *text = NULL, *usual = NULL;
        assert_ok(dpa_report_text(report, &coloured, &text, NULL));
        assert_ok(dpa_report_text(report, NULL, &usual, NULL));
        assert_memory_equal(text, colours[i], strlen(colours[i]));
        /* but for the colour of the verdict it is the usual text */
        char *end = strstr(text, "\033[0m");
        assert_non_null(end);
        const size_t start = strcspn(text, "m") + 1, length = (size_t)(end - text) - start;
        assert_memory_equal(text + start, usual, length);
        assert_string_equal(end + 4, usual + length);
        dpa_free(text);
        dpa_free(usual);
        assert_ok(dpa_report_text(report, &plain, &text, NULL));
        if (i == 0) assert_non_null(strstr(text, table));
        dpa_free(text);
        dpa_report_free(report);
    }
}

static void shortened_names(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        int width;
        const char *wanted;
    } cases[] = {
        {"abcdefghij", 64, 10, "abcdefghij"},
        {"abcdefghij", 64, 9, "abc...hij"},
        {"abcdefghij", 64, 8, "abc...ij"},
        {"abcdefghij", 64, 4, "a..."},
        {"abcdefghij", 64, 3, ""},
        {"abcdefghij", 11, 10, "abcdefghij"},
        {"abcdefghij", 10, 10, "abc...hij"},
        {"\u03b1\u03b2\u03b3\u03b4\u03b5\u03b6", 64, 6, "\u03b1\u03b2\u03b3\u03b4\u03b5\u03b6"},
        {"\u03b1\u03b2\u03b3\u03b4\u03b5\u03b6", 64, 5, "\u03b1...\u03b6"},
        {"\u03b1\u03b2\u03b3\u03b4\u03b5\u03b6", 12, 6, "\u03b1\u03b2...\u03b6"},
        {"\u03b1\u03b2\u03b3\u03b4\u03b5\u03b6", 9, 6, "\u03b1...\u03b6"},
        {"\u03b1\u03b2\u03b3\u03b4\u03b5\u03b6", 7, 6, "\u03b1..."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char out[64];
        dpa__shorten(out, cases[i].size, cases[i].text, cases[i].width);
        assert_string_equal(out, cases[i].wanted);
    }
    assert_int_equal(dpa__shown_width("a\u03b1\u20ac"), 3);
}

/* A name takes 63 columns at most, however wide the screen is. */
static void longest_name(void **state) {
    (void)state;
    static const char *const digits = "0123456789";
    const dpa_text_style wide = {200, 0, 1, 0};
    for (int length = 63; length <= 64; ++length) {
        dpa_request request;
        dpa_report *report = NULL;
        char family[80] = "", *text = NULL;
        for (int i = 0; i < length; ++i) family[i] = digits[i % 10];
        dpa__request_init(&request);
        assert_ok(dpa__report_new("scores", &request, &report, NULL));
        add(report, family, "cp", 1, DPA_PRIMARY);
        assert_ok(dpa_report_text(report, &wide, &text, NULL));
        if (length == 64)
            memcpy(family, "012345678901234567890123456789...456789012345678901234567890123", 64);
        const char *at = strstr(text, family);
        if (at == NULL || at[63] != ' ') fail_msg("%d:\n%s", length, text);
        dpa_free(text);
        dpa_report_free(report);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(narrow_and_wide),
        cmocka_unit_test(plain_and_coloured),
        cmocka_unit_test(shortened_names),
        cmocka_unit_test(longest_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
