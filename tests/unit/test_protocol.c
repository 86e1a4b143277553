/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Protocols: a text that names the test before the data are seen, read back, followed or not. */
#include "judged.h"

/* ── the protocol ────────────────────────────────────────────────────────────────────── */

static char *text_of(const dpa_protocol *p, const dpa_claim *claim, const dpa_evidence *e) {
    char *text = NULL;
    assert_ok(dpa_protocol_text(p, claim, e, &text, NULL));
    return text;
}

/* The text does not depend on the observations, and contains everything that decides. */
static void the_text_names_the_test(void **state) {
    (void)state;
    dpa_evidence empty, full;
    dpa_protocol p = protocol_of("gaussian", "cp");
    const dpa_claim claim = epsilon_claim(2);
    dpa__evidence_init(&empty, DPA_EVIDENCE_SCORES);
    normal_scores(&full, 3, 1);
    char *before = text_of(&p, &claim, &empty), *after = text_of(&p, &claim, &full);
    assert_string_equal(before, after);
    static const char *const keys[][2] = {
        {"delta", "1e-4"},      {"confidence", "0.9"}, {"family", "dp"},
        {"method", "jeffreys"}, {"select", "split"},   {"seed", "2"},
        {"two-sided", ""},      {"must-detect", "3"},  {"decide", "posterior"}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; ++i) {
        dpa_protocol other = p;
        const int of_posteriors = i == 3 || i == 8;
        if (of_posteriors) assert_ok(dpa_protocol_set(&other, "method", "bayes", NULL));
        if (i == 3) other.decides_by_posterior = 1;
        char *first = text_of(&other, &claim, &empty);
        assert_ok(dpa_protocol_set(&other, keys[i][0], keys[i][1], NULL));
        char *second = text_of(&other, &claim, &empty);
        if (strcmp(first, second) == 0) fail_msg("%s changes nothing", keys[i][0]);
        dpa_free(first);
        dpa_free(second);
    }
    const dpa_claim another = epsilon_claim(2.5);
    char *claimed = text_of(&p, &another, &empty);
    assert_string_not_equal(before, claimed);
    dpa_free(claimed);
    p.all = p.curve = p.explain = 1; /* options of display are not part of it */
    char *wished = text_of(&p, &claim, &empty);
    assert_string_equal(before, wished);
    dpa_free(wished);
    dpa_free(before);
    dpa_free(after);
    dpa__evidence_clear(&full);
}

static void registered_and_kept(void **state) {
    (void)state;
    char path[] = "/tmp/dpaudit-protocol-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    dpa_evidence e;
    dpa_protocol p = protocol_of("gaussian", "cp");
    dpa_claim claim = noise_claim(1.25, 0.5, 7), read;
    claim.delta = 1e-6;
    assert_ok(dpa_protocol_set(&p, "confidence", "0.9", NULL));
    assert_ok(dpa_protocol_set(&p, "seed", "18446744073709551615", NULL));
    normal_scores(&e, 1, 1);
    char *text = text_of(&p, &claim, &e);
    assert_ok(dpa__file_write(path, text, strlen(text), NULL));
    dpa_protocol again = protocol_of(NULL, NULL);
    dpa_claim_init(&read);
    assert_ok(dpa_protocol_read(&again, &read, path, NULL));
    assert_true(read.sigma == 1.25 && read.q == 0.5 && read.steps == 7 && read.delta == 1e-6);
    dpa_report *report = judged(&e, &read, &again);
    assert_true(report->verdict.is_registered && report->verdict.is_as_registered);
    assert_string_equal(report->verdict.protocol, again.registered);
    dpa_report_free(report);
    /* what is set by name takes effect, and the audit is then not as registered */
    dpa_protocol other = protocol_of(NULL, NULL);
    assert_int_equal(dpa_protocol_set(&other, "confidence", "0.499", NULL), DPA_BAD_ARGUMENT);
    assert_ok(dpa_protocol_set(&other, "confidence", "0.99", NULL));
    dpa_claim_init(&read);
    assert_ok(dpa_protocol_read(&other, &read, path, NULL));
    assert_true(other.request.confidence == 0.99);
    assert_string_equal(other.request.family, "gaussian");
    report = judged(&e, &read, &other);
    assert_true(report->verdict.is_registered && !report->verdict.is_as_registered);
    assert_non_null(strstr(report->verdict.headline, "NOT AS REGISTERED"));
    dpa_report_free(report);
    /* another claim is another protocol */
    dpa_claim mine = epsilon_claim(1);
    assert_ok(dpa_protocol_read(&again, &mine, path, NULL));
    assert_true(mine.epsilon == 1 && isnan(mine.sigma));
    report = judged(&e, &mine, &again);
    assert_false(report->verdict.is_as_registered);
    dpa_report_free(report);
    dpa_free(text);
    (void)unlink(path);
    dpa__evidence_clear(&e);
}

static void protocols_that_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      "[]",
                                      "{}",
                                      "{\"method\": 1}",
                                      "{\"method\": \"cp\", \"confidence\": 0.2}",
                                      "{\"method\": \"cp\", \"claim\": {\"epsilon\": -1}}"};
    char path[] = "/tmp/dpaudit-protocol-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        dpa_protocol p = protocol_of(NULL, NULL);
        dpa_claim claim;
        dpa_error err = {0};
        dpa_claim_init(&claim);
        assert_ok(dpa__file_write(path, bad[i], strlen(bad[i]), NULL));
        if (dpa_protocol_read(&p, &claim, path, &err) == DPA_OK) fail_msg("%s is taken", bad[i]);
    }
    (void)unlink(path);
    static const char *const keys[][2] = {
        {"guesses", "many"},   {"guesses", ""},      {"guesses", "-1"}, {"decide", "luck"},
        {"must-detect", "-1"}, {"must-detect", "x"}, {"nonsense", "1"}, {"family", NULL}};
    dpa_protocol p = protocol_of(NULL, NULL);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; ++i) {
        dpa_error err = {0};
        if (dpa_protocol_set(&p, keys[i][0], keys[i][1], &err) != DPA_BAD_ARGUMENT)
            fail_msg("%s is taken", keys[i][0]);
        assert_non_null(strstr(err.text, keys[i][0]));
    }
}

/* A file of dpaudit carries claim and protocol: nothing need be repeated, everything can be
 * overridden. */
static void evidence_that_says_it_all(void **state) {
    (void)state;
    dpa_evidence e;
    normal_scores(&e, 1, 1);
    e.claim = epsilon_claim(0.5);
    e.claim.delta = 1e-4;
    e.protocol = strdup("{\"method\": \"cp\", \"family\": \"gaussian\", \"confidence\": 0.9}");
    (void)snprintf(e.source, sizeof e.source, "run.yaml");
    assert_ok(dpa_evidence_fact(&e, "accuracy", 0.75, NULL));
    dpa_report *report = judged(&e, NULL, NULL);
    assert_int_equal(dpa_report_state(report), DPA_REFUTED);
    assert_true(report->verdict.confidence == 0.9 && report->request.delta == 1e-4);
    assert_string_equal(dpa_report_primary(report)->family, "gaussian");
    assert_string_equal(report->subject, "run.yaml");
    assert_true(fact_of(report, "accuracy") == 0.75);
    dpa_report_free(report);
    const dpa_claim mine = epsilon_claim(9);
    dpa_protocol p = protocol_of("dp", NULL);
    report = judged(&e, &mine, &p);
    assert_true(report->verdict.claim_epsilon == 9);
    assert_string_equal(dpa_report_primary(report)->family, "dp");
    assert_true(report->verdict.confidence == 0.9); /* what is not overridden comes from the file */
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

static void evidence_without_its_arrays(void **state) {
    (void)state;
    static const dpa_evidence_kind kinds[] = {DPA_EVIDENCE_COUNTS, DPA_EVIDENCE_SCORES,
                                              DPA_EVIDENCE_GUESSES, DPA_EVIDENCE_COSINES};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
        dpa_evidence e;
        dpa_error err = {0};
        dpa_report *report = NULL;
        dpa__evidence_init(&e, kinds[i]);
        assert_int_equal(dpa_judge(&e, NULL, NULL, &report, &err), DPA_BAD_INPUT);
        assert_null(report);
    }
    static const double bad[][4] = {
        {-1, 1, 1, 1}, {0.5, 1, 1, 1}, {1, 1, NAN, 1}, {1, 1, 1, 1e300}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        dpa_evidence e;
        dpa_error err = {0};
        dpa_report *report = NULL;
        count_evidence(&e, bad[i][0], bad[i][1], bad[i][2], bad[i][3]);
        assert_int_equal(dpa_judge(&e, NULL, NULL, &report, &err), DPA_BAD_ARGUMENT);
        dpa__evidence_clear(&e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_names_the_test),     cmocka_unit_test(registered_and_kept),
        cmocka_unit_test(protocols_that_are_refused),  cmocka_unit_test(evidence_that_says_it_all),
        cmocka_unit_test(evidence_without_its_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
