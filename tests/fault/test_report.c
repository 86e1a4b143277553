/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every form of a report with its first, second, … allocation failing: it fails as out of memory,
 * or says what it says undisturbed. Not the page: jansson 2.14, which reads its charts, leaves a
 * character out when its buffer cannot grow just then. */
#include "judged.h"

#include "fault/alloc.h"
#include "report/model/report.h"
#include "report/render/html.h"

typedef dpa_status form(const dpa_report *report, char **out, dpa_error *err);

static dpa_status text_form(const dpa_report *report, char **out, dpa_error *err) {
    const dpa_text_style style = {.width = 80, .unicode = 1};
    return dpa_report_text(report, &style, out, err);
}

static dpa_status plot_form(const dpa_report *report, char **out, dpa_error *err) {
    const dpa_text_style style = {.width = 80, .unicode = 1};
    return dpa__report_plot(report, &style, out, err);
}

static void try_form(const dpa_report *report, form *make) {
    char *whole = NULL;
    long refused = 0;
    fault_left = -1;
    assert_ok(make(report, &whole, NULL));
    fault_hits = 1;
    for (long n = 0; fault_hits > 0; ++n) {
        char *out = NULL;
        dpa_error err = {0};
        fault_hits = 0;
        fault_left = n;
        const dpa_status status = make(report, &out, &err);
        fault_left = -1;
        refused += status != DPA_OK;
        if (status == DPA_OK && strcmp(out, whole) != 0) {
            size_t same = 0;
            while (out[same] == whole[same]) ++same;
            fail_msg("allocation %ld failed, and it says '%.60s', not '%.60s'", n, out + same,
                     whole + same);
        }
        if (status != DPA_OK) assert_int_equal(status, DPA_NO_MEMORY);
        if (status != DPA_OK) assert_null(out);
        dpa_free(out);
        assert_true(n < FAULT_MOST);
    }
    assert_true(refused > 0);
    dpa_free(whole);
}

static void forms(void **state) {
    (void)state;
    dpa_evidence evidence;
    const dpa_claim claim = epsilon_claim(1);
    const dpa_protocol protocol = protocol_of("dp", "cp");
    json_set_alloc_funcs(malloc, free); /* the wrapped functions of this program */
    count_evidence(&evidence, 35, 65, 25, 75);
    dpa_report *report = judged(&evidence, &claim, &protocol);
    assert_ok(dpa__report_note(report, NULL, "a note with ε ≤ 1 in it"));
    form *const all[] = {dpa_report_headline, text_form,        plot_form,
                         dpa_report_json,     dpa_report_junit, dpa_report_sarif};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) try_form(report, all[i]);
    dpa_report_free(report);
    dpa__evidence_clear(&evidence);
}

/* The picture of an attack, with the limit of the claim: the curve's memory is the last to fail. */
static void picture(void **state) {
    (void)state;
    dpa_evidence evidence;
    const dpa_claim claim = epsilon_claim(1);
    const dpa_protocol protocol = protocol_of("dp", "scan");
    json_set_alloc_funcs(malloc, free);
    dpa__evidence_init(&evidence, DPA_EVIDENCE_SCORES);
    add_normal(&evidence, 12, 1, 1);
    dpa_report *report = judged(&evidence, &claim, &protocol);
    try_form(report, plot_form);
    dpa_report_free(report);
    dpa__evidence_clear(&evidence);
}

/* A page without memory for its charts says so, and no more. */
static void page(void **state) {
    (void)state;
    dpa__text text = {0};
    json_t *result = json_object();
    fault_left = 0;
    dpa__html_page(&text, &result, NULL, 1);
    fault_left = -1;
    assert_int_equal(text.failed, 1);
    assert_int_equal(text.length, 0);
    dpa__text_free(&text);
    json_decref(result);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms), cmocka_unit_test(picture),
                                       cmocka_unit_test(page)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
