/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a claim promises in the terms of the evidence, and what a step says about the training,
 * compared with the accountant. */
#include "judged.h"

/* ── promises ────────────────────────────────────────────────────────────────────────── */

static void what_noise_promises(void **state) {
    (void)state;
    dpa_evidence e;
    dpa__case c;
    dpa_claim claim = noise_claim(1.1, 0.05, 200);
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    opened(&e, &claim, NULL, &c);
    assert_absolute(c.promise.epsilon, accounted(1.1, 0.05, 200, DPA_ADD_REMOVE, 1e-5).upper, 1e-6);
    assert_true(isnan(c.promise.step_epsilon));
    claim.delta = 1e-7; /* the claim's δ applies to all */
    opened(&e, &claim, NULL, &c);
    assert_true(c.protocol.request.delta == 1e-7);
    assert_absolute(c.promise.epsilon, accounted(1.1, 0.05, 200, DPA_ADD_REMOVE, 1e-7).upper, 1e-6);
    claim.replace_one = 1;
    opened(&e, &claim, NULL, &c);
    const double replaced = accounted(1.1, 0.05, 200, DPA_REPLACE_ONE, 1e-7).upper;
    assert_absolute(c.promise.epsilon, replaced, 1e-6);
    assert_true(replaced > 1.3 * accounted(1.1, 0.05, 200, DPA_ADD_REMOVE, 1e-7).upper);
    assert_non_null(strstr(c.test.family, "replace-one"));
}

/* One of K options means replace-one: the same noise promises less. */
static void options_are_replace_one(void **state) {
    (void)state;
    dpa_evidence e;
    dpa__case c;
    const dpa_claim claim = noise_claim(1.5, 0.1, 100);
    dpa__evidence_init(&e, DPA_EVIDENCE_GUESSES);
    e.design = DPA_ONE_RUN;
    e.training = (dpa_training_facts){
        .q = 0.1, .steps = 100, .sigma = 1.5, .rate = 1, .participations = NAN, .replace_one = 1};
    opened(&e, &claim, NULL, &c);
    assert_absolute(c.promise.epsilon, accounted(1.5, 0.1, 100, DPA_REPLACE_ONE, 1e-5).upper, 1e-6);
    assert_int_equal(c.claim.replace_one, 1);
    e.training.replace_one = 0;
    opened(&e, &claim, NULL, &c);
    assert_absolute(c.promise.epsilon, accounted(1.5, 0.1, 100, DPA_ADD_REMOVE, 1e-5).upper, 1e-6);
    assert_int_equal(c.claim.replace_one, 0);
}

/* A training of one step has a noise too. */
static void one_step_is_a_training(void **state) {
    (void)state;
    dpa_evidence e;
    dpa__case c;
    const dpa_claim claim = epsilon_claim(1);
    dpa__evidence_init(&e, DPA_EVIDENCE_GUESSES);
    e.design = DPA_ONE_RUN;
    e.training =
        (dpa_training_facts){.q = 0.5, .steps = 1, .sigma = 2, .rate = 1, .participations = NAN};
    opened(&e, &claim, NULL, &c);
    /* never more noise than ε = 1 needs: that would convict who kept to it */
    const dpa_interval kept = accounted(c.promise.sigma, 0.5, 1, DPA_ADD_REMOVE, 1e-5);
    assert_true(kept.lower >= 1 && kept.upper < 1.002);
    e.training.steps = 0; /* not known */
    opened(&e, &claim, NULL, &c);
    assert_true(isnan(c.promise.sigma));
}

/* Options that name no claim apply to the claim of the file. */
static void neighbours_of_the_claim_in_the_file(void **state) {
    (void)state;
    dpa_evidence e;
    dpa__case c;
    dpa_claim said;
    dpa_claim_init(&said);
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    e.claim = noise_claim(1.1, 0.05, 200);
    opened(&e, &said, NULL, &c);
    assert_absolute(c.promise.epsilon, accounted(1.1, 0.05, 200, DPA_ADD_REMOVE, 1e-5).upper, 1e-6);
    said.replace_one = 1;
    opened(&e, &said, NULL, &c);
    const double replaced = accounted(1.1, 0.05, 200, DPA_REPLACE_ONE, 1e-5).upper;
    assert_absolute(c.promise.epsilon, replaced, 1e-6);
}

/* What would be overlooked is refused, with the next step. */
static void parts_of_no_claim(void **state) {
    (void)state;
    dpa_evidence e;
    dpa_error err = {0};
    dpa_protocol p = protocol_of(NULL, NULL);
    dpa_claim claim = epsilon_claim(1);
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    assert_ok(dpa_protocol_check(&p, &claim, &e, &err));
    claim.q = 0.1;
    assert_int_equal(dpa_protocol_check(&p, &claim, &e, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "give claim-sigma"));
    claim.q = 1;
    claim.steps = 2;
    assert_int_equal(dpa_protocol_check(&p, &claim, &e, &err), DPA_BAD_ARGUMENT);
    assert_ok(dpa_protocol_set(&p, "must-detect", "3", NULL));
    claim.steps = 1;
    assert_ok(dpa_protocol_check(&p, &claim, &e, &err));
    claim.epsilon = claim.delta = NAN;
    assert_int_equal(dpa_protocol_check(&p, &claim, &e, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "there is no claim"));
    e.claim = epsilon_claim(1); /* the file has one */
    assert_ok(dpa_protocol_check(&p, &claim, &e, &err));
}

static void another_delta(void **state) {
    (void)state;
    dpa_evidence e;
    dpa__case c;
    dpa_error err = {0};
    dpa_claim claim = epsilon_claim(1);
    dpa_protocol p = protocol_of(NULL, NULL);
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    claim.delta = 1e-3;
    assert_ok(dpa_protocol_set(&p, "delta", "1e-5", NULL));
    assert_int_equal(dpa_protocol_check(&p, &claim, &e, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "cannot be compared"));
    assert_ok(dpa_protocol_set(&p, "delta", "1e-2", NULL)); /* (ε,δ) implies (ε,δ′) for δ′ > δ */
    opened(&e, &claim, &p, &c);
    assert_true(c.protocol.request.delta == 1e-2);
    opened(&e, &claim, NULL, &c);
    assert_true(c.protocol.request.delta == 1e-3);
}

/* ── copies of a record ──────────────────────────────────────────────────────────────── */

/* ε and δ for k records by going from one to the next, and the noise by how far k records move the
 * sum. */
static void what_copies_promise(void **state) {
    (void)state;
    dpa_evidence e;
    dpa__case c;
    dpa_claim claim = epsilon_claim(0.7);
    claim.delta = 1e-6;
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    e.training.records = 5;
    opened(&e, &claim, NULL, &c);
    double delta = 0;
    for (int i = 0; i < 5; ++i) delta = exp(0.7) * delta + 1e-6;
    assert_absolute(c.promise.epsilon, 3.5, 1e-12);
    assert_absolute(c.protocol.request.delta, delta, 1e-9 * delta);
    assert_string_equal(c.test.family, "dp");
    claim = noise_claim(2, 1, 1);
    e.training.records = 4;
    opened(&e, &claim, NULL, &c);
    const dpa_interval single = accounted(0.5, 1, 1, DPA_ADD_REMOVE, 1e-5);
    assert_absolute(c.promise.epsilon, single.upper, 0.02 * single.upper);
    assert_true(c.promise.epsilon >= single.lower && c.protocol.request.delta == 1e-5);
    /* sampled: between one record and all four at once */
    claim = noise_claim(2, 0.25, 1);
    opened(&e, &claim, NULL, &c);
    assert_true(c.promise.epsilon > accounted(2, 0.25, 1, DPA_ADD_REMOVE, 1e-5).upper);
    assert_true(c.promise.epsilon < single.lower);
    assert_string_equal(c.test.family, "dp");
}

/* δ for several records is never below its formula: it is raised by more than its own rounding. */
static void what_copies_promise_is_rounded_up(void **state) {
    (void)state;
    for (uint64_t records = 2; records <= 40; ++records) {
        dpa_evidence e;
        dpa__case c;
        dpa_claim claim = epsilon_claim(0.1 + 0.003 * (double)records);
        claim.delta = 1e-6;
        dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
        e.training.records = records;
        opened(&e, &claim, NULL, &c);
        const long double one = claim.epsilon, all = one * (long double)records;
        const long double exact = 1e-6L * expm1l(all) / expm1l(one);
        assert_true(c.protocol.request.delta >= exact);
        assert_true(c.protocol.request.delta <= exact * (1 + 1e-11L));
    }
}

/* A protocol is registered before anybody knows of copies: it names the δ of one record. */
static void copies_as_registered(void **state) {
    (void)state;
    dpa_evidence e;
    dpa__case c;
    char *alone = NULL, *many = NULL;
    dpa_claim claim = epsilon_claim(0.7);
    claim.delta = 1e-6;
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    dpa_protocol p = protocol_of(NULL, NULL);
    assert_ok(dpa_protocol_text(&p, &claim, &e, &alone, NULL));
    e.training.records = 5;
    assert_ok(dpa_protocol_text(&p, &claim, &e, &many, NULL));
    assert_string_equal(alone, many);
    free(alone);
    free(many);
    /* another δ is that of one record, too */
    assert_ok(dpa_protocol_set(&p, "delta", "1e-4", NULL));
    opened(&e, &claim, &p, &c);
    const double grown = 1e-4 * expm1(3.5) / expm1(0.7);
    assert_absolute(c.protocol.request.delta, grown, 1e-9 * grown);
    assert_ok(dpa_protocol_text(&p, &claim, &e, &many, NULL));
    assert_non_null(strstr(many, "\n \"delta\": 0.0001,"));
    free(many);
}

/* A mechanism that just keeps its promise, observed through four copies of a record. */
static void copies_at_the_truth(void **state) {
    (void)state;
    dpa_evidence e;
    normal_scores(&e, 4, 3); /* σ = 3, moved by 4 */
    const struct {
        uint64_t records;
        dpa_claim claim;
        dpa_state state;
    } cases[] = {
        {4, noise_claim(3, 1, 1), DPA_NOT_REFUTED},
        {4, noise_claim(4.5, 1, 1), DPA_REFUTED},
        {1, noise_claim(3, 1, 1), DPA_REFUTED}, /* one record cannot move it so far */
        {4, epsilon_claim(accounted(3, 1, 1, DPA_ADD_REMOVE, 1e-5).upper), DPA_NOT_REFUTED},
        {4, epsilon_claim(0.1), DPA_REFUTED}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        e.training.records = cases[i].records;
        dpa_report *report = judged(&e, &cases[i].claim, NULL);
        assert_int_equal(dpa_report_state(report), cases[i].state);
        if (cases[i].records > 1) expect_words(report, "4 records at once");
        dpa_report_free(report);
    }
    dpa__evidence_clear(&e);
}

static void claims_that_say_nothing_about_copies(void **state) {
    (void)state;
    dpa_evidence e;
    dpa_error err = {0};
    const dpa_protocol p = protocol_of(NULL, NULL);
    dpa_claim claim = epsilon_claim(8);
    claim.delta = 1e-5;
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    e.training.records = 3;
    assert_int_equal(dpa_protocol_check(&p, &claim, &e, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "take fewer copies"));
    claim = noise_claim(1, 1, 1);
    claim.replace_one = 1;
    assert_int_equal(dpa_protocol_check(&p, &claim, &e, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "3 copies of a record"));
    /* what plan registers for one record is no family of a sampled group */
    const dpa_protocol one = protocol_of("subsampled-gaussian:q=0.5,steps=4", NULL);
    claim = noise_claim(3, 0.5, 4);
    assert_int_equal(dpa_protocol_check(&one, &claim, &e, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "take --family dp"));
    e.training.records = 1;
    assert_ok(dpa_protocol_check(&one, &claim, &e, NULL));
}

/* ── from a step to the training ─────────────────────────────────────────────────────── */

static void a_step_speaks_about_the_training(void **state) {
    (void)state;
    dpa_evidence e;
    step_evidence(&e, 0.8, 0.1, 50);
    const double truth = accounted(0.8, 0.1, 50, DPA_ADD_REMOVE, 1e-5).upper;
    const dpa_claim claims[] = {epsilon_claim(truth), noise_claim(0.8, 0.1, 50)};
    for (size_t i = 0; i < 2; ++i) {
        dpa_report *report = judged(&e, &claims[i], NULL);
        const dpa_result *whole = dpa_report_primary(report);
        const dpa_result *step = row_of(report, "gaussian", "rank");
        assert_int_equal(dpa_report_state(report), DPA_NOT_REFUTED);
        assert_int_equal(whole->scope, DPA_SCOPE_TRAINING);
        assert_int_equal(step->scope, DPA_SCOPE_STEP);
        assert_int_equal(step->role, DPA_SHOWN);
        assert_true(whole->assumptions & DPA_ASSUME_SAME_NOISE);
        const double most = fact_of(report, "sigma_at_most");
        assert_true(most > 1 / step->parameter_lower); /* rounded up, and hardly */
        assert_relative(most, 1 / step->parameter_lower, 1.5e-9);
        assert_true(most > 0.8);
        assert_absolute(whole->epsilon_lower, accounted(most, 0.1, 50, DPA_ADD_REMOVE, 1e-5).lower,
                        1e-6);
        /* the noise that the claim stands for is never more than was promised */
        const double claimed = fact_of(report, "claimed_sigma");
        assert_true(claimed <= 0.8);
        assert_relative(claimed, 0.8, 2e-3);
        assert_true(accounted(claimed, 0.1, 50, DPA_ADD_REMOVE, 1e-5).upper >= truth - 1e-6);
        dpa_report_free(report);
    }
    dpa__evidence_clear(&e);
    step_evidence(&e, 0.4, 0.1, 50); /* half the noise that was promised */
    for (size_t i = 0; i < 2; ++i) {
        dpa_report *report = judged(&e, &claims[i], NULL);
        assert_int_equal(dpa_report_state(report), DPA_REFUTED);
        assert_true(report->verdict.epsilon_lower > truth);
        assert_int_equal(report->verdict.scope, DPA_SCOPE_TRAINING);
        dpa_report_free(report);
    }
    dpa__evidence_clear(&e);
}

/* A bound for any mechanism is turned into the noise of the step with this ε, never used as ε
 * itself; a bound in a family without noise says nothing about the training. */
static void a_step_in_other_families(void **state) {
    (void)state;
    dpa_evidence e;
    step_evidence(&e, 0.8, 0.1, 50);
    const dpa_claim claim = noise_claim(0.8, 0.1, 50);
    const dpa_protocol any = protocol_of("dp", NULL), other = protocol_of("laplace", NULL);
    dpa_report *report = judged(&e, &claim, &any);
    const dpa_result *step = row_of(report, "dp", "scan");
    const double most = fact_of(report, "sigma_at_most");
    assert_true(step->epsilon_lower > 0);
    assert_relative(dpa_gaussian_epsilon(1 / most, 1e-5), step->epsilon_lower, 2e-3);
    assert_absolute(dpa_report_primary(report)->epsilon_lower,
                    accounted(most, 0.1, 50, DPA_ADD_REMOVE, 1e-5).lower, 1e-6);
    assert_int_equal(dpa_report_state(report), DPA_NOT_REFUTED);
    assert_string_equal(dpa__result_conditional(dpa_report_primary(report)),
                        "family-subsampled-gaussian");
    assert_true(isnan(report->verdict.detect_worst));
    dpa_report_free(report);
    report = judged(&e, &claim, &other);
    assert_int_equal(dpa_report_state(report), DPA_INCONCLUSIVE);
    expect_words(report, "says nothing about the noise of a step");
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

/* With replace-one the same noise promises less, in every number of the verdict. */
static void a_step_of_replace_one(void **state) {
    (void)state;
    dpa_evidence e;
    step_evidence(&e, 0.8, 0.1, 50);
    const double truth = accounted(0.8, 0.1, 50, DPA_REPLACE_ONE, 1e-5).upper;
    dpa_claim claims[] = {epsilon_claim(truth), noise_claim(0.8, 0.1, 50)};
    for (size_t i = 0; i < 2; ++i) {
        claims[i].replace_one = 1;
        dpa_report *report = judged(&e, &claims[i], NULL);
        const dpa_result *whole = dpa_report_primary(report);
        assert_relative(fact_of(report, "claimed_sigma"), 0.8, 2e-3);
        assert_absolute(
            whole->epsilon_lower,
            accounted(fact_of(report, "sigma_at_most"), 0.1, 50, DPA_REPLACE_ONE, 1e-5).lower,
            1e-6);
        assert_non_null(strstr(whole->family, "replace-one"));
        assert_true(report->verdict.detect_gaussian > truth);
        dpa_report_free(report);
    }
    dpa__evidence_clear(&e);
}

static void a_step_can_be_claimed_itself(void **state) {
    (void)state;
    dpa_evidence e;
    step_evidence(&e, 0.8, 0.1, 50);
    dpa_claim claim = epsilon_claim(dpa_gaussian_epsilon(1 / 0.8, 1e-5));
    claim.scope = DPA_SCOPE_STEP;
    dpa_report *report = judged(&e, &claim, NULL);
    assert_int_equal(dpa_report_state(report), DPA_NOT_REFUTED);
    assert_int_equal(dpa_report_primary(report)->scope, DPA_SCOPE_STEP);
    assert_true(report->verdict.p_value > 0.05);
    expect_words(report, "of one step");
    dpa_report_free(report);
    claim.epsilon = dpa_gaussian_epsilon(0.9, 1e-5);
    report = judged(&e, &claim, NULL);
    assert_int_equal(dpa_report_state(report), DPA_REFUTED);
    assert_true(report->verdict.p_value <= 0.05);
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

/* With a bare ε for the training and a step without sampling rate, nothing can be said. */
static void a_step_of_an_unknown_training(void **state) {
    (void)state;
    dpa_evidence e;
    normal_scores(&e, 1, 0.1);
    e.scope = DPA_SCOPE_STEP;
    const dpa_claim claim = epsilon_claim(3);
    dpa_report *report = judged(&e, &claim, NULL);
    assert_int_equal(dpa_report_state(report), DPA_INCONCLUSIVE);
    expect_words(report, "--claim-scope step");
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_noise_promises),
        cmocka_unit_test(options_are_replace_one),
        cmocka_unit_test(one_step_is_a_training),
        cmocka_unit_test(neighbours_of_the_claim_in_the_file),
        cmocka_unit_test(parts_of_no_claim),
        cmocka_unit_test(another_delta),
        cmocka_unit_test(what_copies_promise),
        cmocka_unit_test(what_copies_promise_is_rounded_up),
        cmocka_unit_test(copies_as_registered),
        cmocka_unit_test(copies_at_the_truth),
        cmocka_unit_test(claims_that_say_nothing_about_copies),
        cmocka_unit_test(a_step_speaks_about_the_training),
        cmocka_unit_test(a_step_in_other_families),
        cmocka_unit_test(a_step_of_replace_one),
        cmocka_unit_test(a_step_can_be_claimed_itself),
        cmocka_unit_test(a_step_of_an_unknown_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
