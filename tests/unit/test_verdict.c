/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From results and their roles to state and headline: which results may decide, what prevents a
 * decision, and that the sentence agrees with the state. */
#include "check.h"

#include "judge/case.h"

static dpa_report *new_report(double claim_epsilon) {
    dpa_request request;
    dpa_claim claim;
    dpa_report *report = NULL;
    dpa__request_init(&request);
    dpa_claim_init(&claim);
    claim.epsilon = claim_epsilon;
    assert_ok(dpa__report_new("scores", &request, &report, NULL));
    dpa__verdict_begin(report, &claim, claim_epsilon);
    return report;
}

/* A bound that may decide, for any mechanism, about the whole training; tests modify it. */
static dpa_result bound(double lower) {
    dpa_request request;
    dpa_result r;
    dpa__request_init(&request);
    dpa__result_init(&r, &request);
    (void)snprintf(r.family, sizeof r.family, "dp");
    (void)snprintf(r.method, sizeof r.method, "cp");
    r.epsilon_lower = lower;
    r.p_value = 0.25;
    r.role = DPA_PRIMARY;
    r.assumptions = DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_FAMILY_DP;
    return r;
}

static dpa_state concluded(dpa_report *report, const dpa_result *result) {
    if (result != NULL) assert_ok(dpa__report_add(report, result, NULL));
    assert_ok(dpa__verdict_conclude(report, NULL));
    return dpa_report_state(report);
}

static void expect_words(const dpa_report *report, const char *words) {
    if (strstr(report->verdict.headline, words) == NULL)
        fail_msg("'%s' does not say '%s'", report->verdict.headline, words);
}

static void expect_no_words(const dpa_report *report, const char *words) {
    if (strstr(report->verdict.headline, words) != NULL)
        fail_msg("'%s' says '%s'", report->verdict.headline, words);
}

/* ── who decides ─────────────────────────────────────────────────────────────────────── */

static void only_the_primary_row_decides(void **state) {
    (void)state;
    dpa_report *report = new_report(1.27);
    dpa_result shown = bound(3);
    shown.role = DPA_SHOWN;
    assert_ok(dpa__report_add(report, &shown, NULL));
    const dpa_result low = bound(1.2), high = bound(1.5);
    assert_int_equal(concluded(report, &low), DPA_NOT_REFUTED);
    assert_true(dpa_report_primary(report)->epsilon_lower == 1.2);
    assert_true(report->verdict.epsilon_lower == 1.2);
    expect_words(report, "Not refuted: the claim ε ≤ 1.27 (δ = 1e-05)");
    expect_words(report, "which does not prove it");
    expect_words(report, "at least ε = 1.2000 at δ = 1e-05 with 95% confidence");
    expect_words(report, "(for any mechanism; cp)");
    assert_int_equal(concluded(report, &high), DPA_REFUTED);
    assert_true(dpa_report_primary(report)->epsilon_lower == 1.5);
    expect_words(report, "REFUTED: the claim ε ≤ 1.27");
    expect_words(report, "at least ε = 1.5000");
    dpa_report_free(report);
}

static void equal_is_not_above(void **state) {
    (void)state;
    dpa_report *report = new_report(1.5);
    const dpa_result same = bound(1.5), above = bound(nextafter(1.5, 2));
    assert_int_equal(concluded(report, &same), DPA_NOT_REFUTED);
    assert_int_equal(concluded(report, &above), DPA_REFUTED);
    dpa_report_free(report);
}

/* A number without a confidence refutes nothing, whatever its role and size. */
static void what_cannot_decide(void **state) {
    (void)state;
    dpa_result rows[5];
    for (size_t i = 0; i < 5; ++i) rows[i] = bound(9);
    rows[0].kind = DPA_ESTIMATE; /* `valid` is 1 by default */
    rows[0].epsilon = 9;
    rows[1].valid = 0;
    rows[2].assumptions |= DPA_ASSUME_BAYES_PRIOR;
    rows[3].assumptions |= DPA_ASSUME_ONE_INSTANCE;
    rows[4].scope = DPA_SCOPE_MODEL;
    for (size_t i = 0; i < 5; ++i) {
        dpa_report *report = new_report(1);
        assert_int_equal(concluded(report, &rows[i]), DPA_INCONCLUSIVE);
        expect_words(report, "INCONCLUSIVE about the claim ε ≤ 1");
        expect_words(report, i < 3 ? "no bound at a confidence was made"
                                   : "this one model says nothing about the mechanism");
        dpa_report_free(report);
    }
}

static void a_posterior_decides_when_asked(void **state) {
    (void)state;
    dpa_result row = bound(9);
    row.assumptions |= DPA_ASSUME_BAYES_PRIOR;
    dpa_report *report = new_report(1);
    report->verdict.is_posterior = 1;
    assert_int_equal(concluded(report, &row), DPA_REFUTED);
    expect_words(report, "with 95% posterior probability");
    expect_words(report, "a posterior probability decides, as asked");
    dpa_report_free(report);
    /* … and even then neither an estimate nor the number of one model does */
    row.scope = DPA_SCOPE_MODEL;
    report = new_report(1);
    report->verdict.is_posterior = 1;
    assert_int_equal(concluded(report, &row), DPA_INCONCLUSIVE);
    dpa_report_free(report);
    row = bound(9);
    row.kind = DPA_ESTIMATE;
    report = new_report(1);
    report->verdict.is_posterior = 1;
    assert_int_equal(concluded(report, &row), DPA_INCONCLUSIVE);
    dpa_report_free(report);
}

/* A bound on a step says nothing about a claim for the training, nor the other way round. */
static void another_scope_does_not_refute(void **state) {
    (void)state;
    static const dpa_scope scopes[] = {DPA_SCOPE_TRAINING, DPA_SCOPE_STEP, DPA_SCOPE_PARTICIPATION};
    for (size_t claimed = 0; claimed < 3; ++claimed)
        for (size_t found = 0; found < 3; ++found) {
            dpa_report *report = new_report(1);
            dpa_result row = bound(9);
            report->verdict.claim.scope = scopes[claimed];
            row.scope = scopes[found];
            assert_int_equal(concluded(report, &row),
                             claimed == found ? DPA_REFUTED : DPA_INCONCLUSIVE);
            assert_int_equal(report->verdict.scope, scopes[found]);
            dpa_report_free(report);
        }
}

static void one_of_several_is_enough(void **state) {
    (void)state;
    dpa_report *report = new_report(1);
    dpa_result rows[3] = {bound(0.5), bound(NAN), bound(2)};
    for (size_t i = 0; i < 3; ++i) assert_ok(dpa__report_add(report, &rows[i], NULL));
    assert_int_equal(concluded(report, NULL), DPA_REFUTED);
    assert_true(report->verdict.epsilon_lower == 2);
    dpa_report_free(report);
    /* NaN is never the strongest, in any position, and decides nothing */
    report = new_report(1);
    rows[0] = bound(NAN), rows[1] = bound(0.25), rows[2] = bound(NAN);
    for (size_t i = 0; i < 3; ++i) assert_ok(dpa__report_add(report, &rows[i], NULL));
    assert_int_equal(concluded(report, NULL), DPA_NOT_REFUTED);
    assert_true(report->verdict.epsilon_lower == 0.25);
    dpa_report_free(report);
}

/* The verdict carries the fields of the deciding row, not of another one. */
static void the_verdict_is_the_primary_rows(void **state) {
    (void)state;
    dpa_report *report = new_report(1);
    dpa_result row = bound(2), other = bound(7);
    row.confidence = 0.99;
    row.p_value = 0.003;
    row.assumptions = DPA_ASSUME_INDEPENDENT_RUNS | DPA_ASSUME_FAMILY_LAPLACE;
    other.role = DPA_SHOWN;
    assert_ok(dpa__report_add(report, &other, NULL));
    assert_int_equal(concluded(report, &row), DPA_REFUTED);
    const dpa__verdict *v = &report->verdict;
    assert_true(v->epsilon_lower == 2 && v->confidence == 0.99 && v->p_value == 0.003);
    assert_int_equal(v->assumptions, row.assumptions);
    assert_string_equal(v->conditional, "family-laplace");
    expect_words(report, "with 99% confidence");
    expect_words(report, "(if the mechanism is dp; cp)");
    dpa_report_free(report);
}

/* ── what stops a decision ───────────────────────────────────────────────────────────── */

static void a_contradicted_assumption_stops_it(void **state) {
    (void)state;
    static const double found[] = {9, 0.5};
    for (size_t i = 0; i < 2; ++i) {
        dpa_report *report = new_report(1);
        const dpa_result row = bound(found[i]);
        dpa__verdict_contradict(report, DPA_ASSUMPTION_INDEX_ONE_RUN_CANARIES, "%d of 1000 in",
                                606);
        assert_int_equal(concluded(report, &row), DPA_INCONCLUSIVE);
        expect_words(report, "the data contradict that every canary was put in or left out");
        expect_words(report, "606 of 1000 in");
        expect_no_words(report, "REFUTED");
        dpa_report_free(report);
    }
}

static void contradictions_are_kept_up_to_four(void **state) {
    (void)state;
    dpa_report *report = new_report(1);
    for (unsigned i = 0; i < 9; ++i) dpa__verdict_contradict(report, i, "reason %u", i);
    assert_int_equal(report->verdict.contradictions, DPA__CONTRADICTIONS);
    assert_string_equal(report->verdict.contradicted[3].reason, "reason 3");
    assert_int_equal(report->verdict.contradicted[3].assumption, 3);
    dpa_report_free(report);
}

static void an_obstacle_stops_it(void **state) {
    (void)state;
    dpa_report *report = new_report(1);
    const dpa_result row = bound(9);
    (void)snprintf(report->verdict.obstacle, sizeof report->verdict.obstacle, "not comparable");
    assert_int_equal(concluded(report, &row), DPA_INCONCLUSIVE);
    expect_words(report, ": not comparable.");
    dpa_report_free(report);
    report = new_report(1);
    dpa_result shown = bound(9);
    shown.role = DPA_SHOWN;
    assert_int_equal(concluded(report, &shown), DPA_INCONCLUSIVE);
    expect_words(report, "no test that could decide applies to this evidence");
    dpa_report_free(report);
}

/* The power that was asked for: the harder of the two alternatives counts. */
static void must_detect(void **state) {
    (void)state;
    static const struct {
        double worst, gaussian, must;
        dpa_state want;
    } cases[] = {
        {1.5, 3, NAN, DPA_NOT_REFUTED},         {1.5, 3, 3, DPA_NOT_REFUTED},
        {1.5, 3, 2.9, DPA_INCONCLUSIVE},        {NAN, 3, 3, DPA_NOT_REFUTED},
        {1.5, NAN, 1.4, DPA_INCONCLUSIVE},      {NAN, NAN, 100, DPA_INCONCLUSIVE},
        {1.5, INFINITY, 100, DPA_INCONCLUSIVE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        dpa_report *report = new_report(1);
        const dpa_result low = bound(0.5), high = bound(2);
        report->verdict.detect_worst = cases[i].worst;
        report->verdict.detect_gaussian = cases[i].gaussian;
        report->verdict.must_detect = cases[i].must;
        assert_int_equal(concluded(report, &low), cases[i].want);
        if (cases[i].want == DPA_INCONCLUSIVE) expect_words(report, "had to be detectable");
        /* a refutation stands, however weak the audit */
        assert_int_equal(concluded(report, &high), DPA_REFUTED);
        dpa_report_free(report);
    }
}

/* ── the sentence ────────────────────────────────────────────────────────────────────── */

static void what_it_would_have_seen(void **state) {
    (void)state;
    dpa_report *report = new_report(1);
    const dpa_result row = bound(0.5);
    report->verdict.detect_worst = 1.6;
    report->verdict.detect_gaussian = 5.42;
    assert_int_equal(concluded(report, &row), DPA_NOT_REFUTED);
    expect_words(report, "It would have detected ε = 1.6 of the most visible kind and ε = 5.42 "
                         "from too little Gaussian noise (power 80%).");
    report->verdict.detect_worst = INFINITY;
    report->verdict.detect_gaussian = NAN;
    assert_int_equal(concluded(report, NULL), DPA_NOT_REFUTED);
    expect_words(report, "It would have detected no leak of the most visible kind (power 80%).");
    report->verdict.detect_worst = NAN;
    report->verdict.detect_gaussian = INFINITY;
    assert_int_equal(concluded(report, NULL), DPA_NOT_REFUTED);
    expect_words(report, "It would have detected no leak from too little Gaussian noise");
    report->verdict.detect_gaussian = NAN;
    assert_int_equal(concluded(report, NULL), DPA_NOT_REFUTED);
    expect_no_words(report, "would have");
    dpa_report_free(report);
}

static void zero_is_nothing_shown(void **state) {
    (void)state;
    dpa_report *report = new_report(NAN);
    assert_int_equal(concluded(report, NULL), DPA_NO_CLAIM);
    expect_words(report, "No result");
    dpa_result optimistic = bound(2);
    optimistic.valid = 0;
    optimistic.role = DPA_SHOWN;
    assert_int_equal(concluded(report, &optimistic), DPA_NO_CLAIM);
    expect_words(report, "No valid bound");
    dpa_result estimate = bound(NAN);
    estimate.kind = DPA_ESTIMATE;
    estimate.epsilon = 3.25;
    estimate.role = DPA_SHOWN;
    estimate.scope = DPA_SCOPE_MODEL;
    assert_int_equal(concluded(report, &estimate), DPA_NO_CLAIM);
    expect_words(report, "Estimated ε = 3.25 of this one model at δ = 1e-05 (cp)");
    const dpa_result zero = bound(0), some = bound(0.75);
    assert_int_equal(concluded(report, &zero), DPA_NO_CLAIM);
    expect_words(report, "Nothing is shown with 95% confidence, which does not mean private");
    assert_int_equal(concluded(report, &some), DPA_NO_CLAIM);
    expect_words(report, "The leak is at least ε = 0.7500");
    dpa_report_free(report);
}

/* Several models: the headline says how many, and which of their numbers it shows. */
static void models_are_counted(void **state) {
    (void)state;
    static const double epsilon[] = {3.25, 1.5, 2.0};
    dpa_report *report = new_report(NAN), *bounds = new_report(NAN), *none = new_report(NAN);
    for (int i = 0; i < 3; ++i) {
        dpa_result estimate = bound(NAN), lower = bound(epsilon[i]), zero = bound(0);
        estimate.kind = DPA_ESTIMATE;
        estimate.epsilon = epsilon[i];
        estimate.role = DPA_SHOWN;
        estimate.scope = lower.scope = zero.scope = DPA_SCOPE_MODEL;
        assert_int_equal(concluded(report, &estimate), DPA_NO_CLAIM);
        assert_int_equal(concluded(bounds, &lower), DPA_NO_CLAIM);
        assert_int_equal(concluded(none, &zero), DPA_NO_CLAIM);
    }
    dpa_result slice = bound(9); /* for a group of records: shown, but not a model of its own */
    slice.scope = DPA_SCOPE_MODEL;
    slice.role = DPA_SHOWN;
    assert_int_equal(concluded(bounds, &slice), DPA_NO_CLAIM);
    expect_words(report, "Estimated ε = 2.25 on average over 3 models, 1.5 to 3.25, at δ = 1e-05 "
                         "(cp): an estimate");
    expect_words(bounds, "The leak of the leakiest of these 3 models is at least ε = 3.2500");
    expect_words(none, "Nothing is shown of these 3 models with 95% confidence");
    dpa_report_free(report);
    dpa_report_free(bounds);
    dpa_report_free(none);
}

static void the_scope_is_said(void **state) {
    (void)state;
    static const struct {
        dpa_scope scope;
        const char *words;
    } cases[] = {{DPA_SCOPE_STEP, "the leak of one step is at least"},
                 {DPA_SCOPE_PARTICIPATION, "the leak of one client's rounds is at least"},
                 {DPA_SCOPE_TRAINING, "the leak is at least"}};
    for (size_t i = 0; i < 3; ++i) {
        dpa_report *report = new_report(1);
        dpa_result row = bound(2);
        report->verdict.claim.scope = row.scope = cases[i].scope;
        assert_int_equal(concluded(report, &row), DPA_REFUTED);
        expect_words(report, cases[i].words);
        if (cases[i].scope == DPA_SCOPE_STEP) expect_words(report, "(δ = 1e-05) of one step does");
        dpa_report_free(report);
    }
}

/* The claim is stated as it was made: σ, a curve, its own δ. */
static void the_claim_is_said_as_it_was_made(void **state) {
    (void)state;
    dpa_report *report = new_report(4.377);
    const dpa_result row = bound(2);
    report->verdict.claim.sigma = 1.25;
    report->verdict.claim.delta = 1e-6;
    assert_int_equal(concluded(report, &row), DPA_NOT_REFUTED);
    expect_words(report, "the claim ε ≤ 4.377 (δ = 1e-06, from noise σ = 1.25)");
    report->verdict.claim.sigma = NAN;
    (void)snprintf(report->verdict.claim.curve, DPA_CURVE_PATH_SIZE, "curve.csv");
    assert_int_equal(concluded(report, NULL), DPA_NOT_REFUTED);
    expect_words(report, "(δ = 1e-06, from a curve)");
    dpa_report_free(report);
}

static void names_of_states(void **state) {
    (void)state;
    assert_string_equal(dpa_state_name(DPA_NO_CLAIM), "no-claim");
    assert_string_equal(dpa_state_name(DPA_NOT_REFUTED), "not-refuted");
    assert_string_equal(dpa_state_name(DPA_REFUTED), "refuted");
    assert_string_equal(dpa_state_name(DPA_INCONCLUSIVE), "inconclusive");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_primary_row_decides),
        cmocka_unit_test(equal_is_not_above),
        cmocka_unit_test(what_cannot_decide),
        cmocka_unit_test(a_posterior_decides_when_asked),
        cmocka_unit_test(another_scope_does_not_refute),
        cmocka_unit_test(one_of_several_is_enough),
        cmocka_unit_test(the_verdict_is_the_primary_rows),
        cmocka_unit_test(a_contradicted_assumption_stops_it),
        cmocka_unit_test(contradictions_are_kept_up_to_four),
        cmocka_unit_test(an_obstacle_stops_it),
        cmocka_unit_test(must_detect),
        cmocka_unit_test(what_it_would_have_seen),
        cmocka_unit_test(zero_is_nothing_shown),
        cmocka_unit_test(models_are_counted),
        cmocka_unit_test(the_scope_is_said),
        cmocka_unit_test(the_claim_is_said_as_it_was_made),
        cmocka_unit_test(names_of_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
