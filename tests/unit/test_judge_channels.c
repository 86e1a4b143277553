/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The judge and canaries with channels of their own: what decides, the effect of the noise in
 * coordinates without a canary, and what cannot be judged this way. */
#include "judged.h"

#include "base/rng.h"

/* Canaries of one run, a Gaussian mechanism with μ = 1. */
static void one_run_scores(dpa_evidence *e) {
    normal_scores(e, 1, 1);
    e->design = DPA_ONE_RUN;
}

/* `common`: deviation of the log of the scale shared by all coordinates of a step; `shared`: of a
 * number that is added to all of them, so that they go up and down together. */
static void add_null_noise(dpa_evidence *e, double common, double shared) {
    enum { STEPS = 60, WIDTH = 80 };
    double *noise = malloc(STEPS * WIDTH * sizeof *noise);
    dpa_rng rng;
    assert_non_null(noise);
    dpa__rng_init(&rng, 5, DPA_PURPOSE_TEST, 0);
    for (size_t t = 0; t < STEPS; ++t) {
        const double scale = exp(common * dpa__rng_normal(&rng));
        const double all = shared > 0 ? shared * dpa__rng_normal(&rng) : 0;
        for (size_t i = 0; i < WIDTH; ++i)
            noise[t * WIDTH + i] = scale * dpa__rng_normal(&rng) + all;
    }
    assert_ok(dpa__evidence_add(e, "null_noise", noise, STEPS * WIDTH, STEPS, NULL));
}

static void channels_show_more_than_guesses(void **state) {
    const dpa_claim low = noise_claim(2, 1, 1), high = noise_claim(1, 1, 1);
    const dpa_protocol p = protocol_of(NULL, "channels"), guesses = protocol_of("gaussian", "");
    dpa_evidence e;
    (void)state;
    one_run_scores(&e);
    dpa_report *by_guesses = judged(&e, NULL, &guesses);
    dpa_report *report = judged(&e, &low, &p);
    const dpa_result *primary = dpa_report_primary(report);
    assert_string_equal(primary->method, "channels");
    assert_string_equal(primary->family, "gaussian");
    assert_true(primary->assumptions & DPA_ASSUME_CHANNELS);
    assert_true(primary->epsilon_lower > 1.3 * dpa_report_primary(by_guesses)->epsilon_lower);
    assert_int_equal(dpa_report_state(report), DPA_REFUTED);
    assert_int_equal(state_of(&e, &high, &p), DPA_NOT_REFUTED);
    dpa_report_free(report);
    dpa_report_free(by_guesses);
    dpa__evidence_clear(&e);
}

static void dependent_noise_falls_back_to_guesses(void **state) {
    const dpa_claim claim = noise_claim(1, 1, 1);
    const dpa_protocol p = protocol_of(NULL, "channels");
    (void)state;
    for (int is_dependent = 0; is_dependent < 2; ++is_dependent) {
        dpa_evidence e;
        one_run_scores(&e);
        add_null_noise(&e, is_dependent ? 0.5 : 0, 0);
        dpa_report *report = judged(&e, &claim, &p);
        assert_string_equal(dpa_report_primary(report)->method,
                            is_dependent ? "recursion" : "channels");
        assert_true((fact_of(report, "noise_energy_p") < 1e-4) == is_dependent);
        dpa_report_free(report);
        dpa__evidence_clear(&e);
    }
}

static void expect_lines(const dpa_report *report, const char *words) {
    if (strstr(report->lines.data, words) == NULL)
        fail_msg("'%s' does not say '%s'", report->lines.data, words);
}

/* Of several named methods only channels is replaced, and the report says what is wrong with the
 * noise. */
static void only_channels_is_replaced(void **state) {
    const dpa_claim claim = noise_claim(1, 1, 1);
    const dpa_protocol p = protocol_of("gaussian", "channels+recursion"),
                       last = protocol_of("dp", "steinke+channels");
    dpa_evidence e;
    (void)state;
    one_run_scores(&e);
    add_null_noise(&e, 0, 0.5);
    dpa_report *report = judged(&e, &claim, &p);
    assert_true(fact_of(report, "noise_correlation_p") < fact_of(report, "noise_energy_p"));
    expect_lines(report, "is correlated from one to the next");
    for (size_t i = 0; i < 2; ++i) {
        assert_int_equal(dpa_report_result(report, i)->role, DPA_PRIMARY);
        assert_string_equal(dpa_report_result(report, i)->method, "recursion");
    }
    dpa_report_free(report);
    dpa__evidence_clear(&e);
    one_run_scores(&e);
    add_null_noise(&e, 0.5, 0);
    report = judged(&e, NULL, &last);
    expect_lines(report, "changes its scale from step to step");
    assert_string_equal(dpa_report_result(report, 0)->method, "steinke");
    assert_string_equal(dpa_report_result(report, 1)->method, "recursion");
    assert_int_equal(dpa_report_result(report, 1)->role, DPA_PRIMARY);
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

static void what_has_no_channels(void **state) {
    const dpa_protocol p = protocol_of("gaussian", "channels");
    const double row[6] = {1, -1, 2, 0, 1, 3};
    dpa_report *report = NULL;
    dpa_error err = {0};
    dpa_evidence e;
    (void)state;
    guess_evidence(&e, 1000, 200, 190);
    assert_int_equal(dpa_judge(&e, NULL, &p, &report, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "members and of non-members"));
    dpa__evidence_clear(&e);
    one_run_scores(&e); /* noise that is not a matrix */
    assert_ok(dpa_evidence_copy(&e, "null_noise", row, 6, NULL));
    assert_int_equal(dpa_judge(&e, NULL, &p, &report, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "steps by coordinates"));
    dpa__evidence_clear(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(channels_show_more_than_guesses),
                                       cmocka_unit_test(dependent_noise_falls_back_to_guesses),
                                       cmocka_unit_test(only_channels_is_replaced),
                                       cmocka_unit_test(what_has_no_channels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
