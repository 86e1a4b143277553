/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What makes a verdict inconclusive: assumptions that the data contradict, and insufficient
 * power. */
#include "judged.h"

/* ── doubts ──────────────────────────────────────────────────────────────────────────── */

static void missing_trials(void **state) {
    (void)state;
    dpa_evidence e;
    normal_scores(&e, 2, 1);
    const dpa_claim claim = epsilon_claim(0.5);
    e.planned = 1000;
    e.missing = 50;
    assert_int_equal(state_of(&e, &claim, NULL), DPA_REFUTED);
    e.missing = 51;
    dpa_report *report = judged(&e, &claim, NULL);
    assert_int_equal(dpa_report_state(report), DPA_INCONCLUSIVE);
    expect_words(report, "51 of 1000 trials are missing");
    assert_int_equal(report->verdict.contradicted[0].assumption, DPA_ASSUMPTION_INDEX_ALL_COUNTED);
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

static void unfair_coins(void **state) {
    (void)state;
    double in[606], out[394];
    for (int i = 0; i < 606; ++i) in[i] = 2000 + i;
    for (int i = 0; i < 394; ++i) out[i] = i;
    dpa_evidence e;
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    e.design = DPA_ONE_RUN;
    assert_ok(dpa_evidence_copy(&e, "members", in, 606, NULL));
    assert_ok(dpa_evidence_copy(&e, "nonmembers", out, 394, NULL));
    const dpa_claim claim = epsilon_claim(0.1);
    dpa_report *report = judged(&e, &claim, NULL);
    assert_int_equal(dpa_report_state(report), DPA_INCONCLUSIVE);
    expect_words(report, "every canary was put in or left out by its own fair coin");
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

/* A true claim must not fall because every row was counted three times. */
static void copied_rows(void **state) {
    static const dpa_evidence_design design[] = {DPA_INDEPENDENT_RUNS, DPA_ONE_RUN};
    static const char *const contradicted[] = {"the observations are independent",
                                               "by its own fair coin"};
    (void)state;
    for (int d = 0; d < 2; ++d)
        for (int copies = 1; copies <= 3; ++copies) {
            double in[300], out[300];
            const size_t n = 100 * (size_t)copies;
            for (size_t i = 0; i < n; ++i) {
                in[i] = (double)(i % 100) + 60.5;
                out[i] = (double)(i % 100);
            }
            dpa_evidence e;
            dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
            e.design = design[d];
            assert_ok(dpa_evidence_copy(&e, "members", in, n, NULL));
            assert_ok(dpa_evidence_copy(&e, "nonmembers", out, n, NULL));
            const dpa_claim claim = epsilon_claim(1);
            dpa_report *report = judged(&e, &claim, NULL);
            assert_int_equal(dpa_report_state(report), copies > 1 ? DPA_INCONCLUSIVE : DPA_REFUTED);
            if (copies > 1) expect_words(report, contradicted[d]);
            dpa_report_free(report);
            dpa__evidence_clear(&e);
        }
}

/* The same of guesses that were made already: a hundred, of which four in five are right. */
static void copied_guesses(void **state) {
    (void)state;
    for (int copies = 1; copies <= 2; ++copies) {
        double score[200], right[200];
        const size_t n = 100 * (size_t)copies;
        for (size_t i = 0; i < n; ++i) score[i] = (double)(i % 100), right[i] = i % 5 != 0;
        dpa_evidence e;
        dpa__evidence_init(&e, DPA_EVIDENCE_GUESSES);
        e.design = DPA_ONE_RUN;
        assert_ok(dpa_evidence_copy(&e, "score", score, n, NULL));
        assert_ok(dpa_evidence_copy(&e, "correct", right, n, NULL));
        const dpa_claim claim = epsilon_claim(0.1);
        dpa_report *report = judged(&e, &claim, NULL);
        assert_int_equal(dpa_report_state(report), copies > 1 ? DPA_INCONCLUSIVE : DPA_REFUTED);
        if (copies > 1) expect_words(report, "every score of the right guesses is there 2 times");
        dpa_report_free(report);
        dpa__evidence_clear(&e);
    }
}

/* And of cosines, which the scan takes for canaries with noise of their own: with the final model,
 * with all models, and of absent canaries that are those of the canaries. */
static void copied_cosines(void **state) {
    static const struct {
        const char *in, *none; /* their arrays */
        size_t copies;         /* of both */
        double below;          /* how much smaller the absent ones are */
        const char *words;     /* NULL: nothing is wrong */
    } cases[] = {
        {"final", NULL, 1, 0, NULL},
        {"final", NULL, 2, 0, "every score of the canaries is there 2 times"},
        {"observed", "unobserved", 1, 0.03, NULL},
        {"observed", "unobserved", 2, 0.03, "every score of the canaries is there 2 times"},
        {"observed", "unobserved", 1, 0, "as if one list had been given twice"}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
        double in[200], none[200];
        const size_t n = 100 * cases[k].copies;
        for (size_t i = 0; i < n; ++i) {
            in[i] = 0.01 * (2 + dpa__norm_quantile(((double)(i % 100) + 0.5) / 100, DPA_LOWER));
            none[i] = in[i] - cases[k].below;
        }
        dpa_evidence e;
        dpa__evidence_init(&e, DPA_EVIDENCE_COSINES);
        e.design = DPA_ONE_RUN;
        e.dim = 10000;
        assert_ok(dpa_evidence_copy(&e, cases[k].in, in, n, NULL));
        if (cases[k].none != NULL) assert_ok(dpa_evidence_copy(&e, cases[k].none, none, n, NULL));
        const dpa_claim claim = epsilon_claim(0.5);
        const dpa_protocol p = protocol_of(NULL, "scan");
        dpa_report *report = judged(&e, &claim, &p);
        assert_int_equal(dpa_report_state(report),
                         cases[k].words != NULL ? DPA_INCONCLUSIVE : DPA_REFUTED);
        if (cases[k].words != NULL) expect_words(report, cases[k].words);
        assert_int_equal(report->verdict.contradictions, cases[k].words != NULL);
        dpa_report_free(report);
        dpa__evidence_clear(&e);
    }
}

/* A trainer that ignores its seed is no evidence against a claim. */
static void one_seed_for_all(void **state) {
    (void)state;
    double in[30], out[30];
    for (int i = 0; i < 30; ++i) in[i] = 1.25, out[i] = 0.5;
    dpa_evidence e;
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    assert_ok(dpa_evidence_copy(&e, "members", in, 30, NULL));
    assert_ok(dpa_evidence_copy(&e, "nonmembers", out, 30, NULL));
    const dpa_claim claim = epsilon_claim(1);
    dpa_report *report = judged(&e, &claim, NULL);
    assert_int_equal(dpa_report_state(report), DPA_INCONCLUSIVE);
    expect_words(report, "all of them had one seed");
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

static void one_list_for_both(void **state) {
    (void)state;
    double same[50];
    for (int i = 0; i < 50; ++i) same[i] = i;
    dpa_evidence e;
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    assert_ok(dpa_evidence_copy(&e, "members", same, 50, NULL));
    assert_ok(dpa_evidence_copy(&e, "nonmembers", same, 50, NULL));
    const dpa_claim claim = epsilon_claim(1);
    dpa_report *report = judged(&e, &claim, NULL);
    assert_int_equal(dpa_report_state(report), DPA_INCONCLUSIVE);
    expect_words(report, "as if one list had been given twice");
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

static void reversed_scores(void **state) {
    (void)state;
    dpa_evidence e;
    normal_scores(&e, -2, 1);
    const dpa_claim claim = epsilon_claim(1);
    dpa_report *report = judged(&e, &claim, NULL);
    assert_int_equal(dpa_report_state(report), DPA_INCONCLUSIVE);
    expect_words(report, "a higher score means that the record was in");
    dpa_report_free(report);
    dpa__evidence_clear(&e);
    count_evidence(&e, 90, 10, 90, 10);
    assert_int_equal(state_of(&e, &claim, NULL), DPA_INCONCLUSIVE);
    dpa__evidence_clear(&e);
    count_evidence(&e, 11, 9, 11, 9); /* by chance */
    assert_int_equal(state_of(&e, &claim, NULL), DPA_NOT_REFUTED);
    dpa__evidence_clear(&e);
}

/* ── trials that failed ──────────────────────────────────────────────────────────────── */

static const char *lint_of(const dpa_report *report, const char *code) {
    size_t i;
    json_t *lint;
    json_array_foreach(report->lints, i, lint) {
        if (strcmp(json_string_value(json_object_get(lint, "code")), code) == 0)
            return json_string_value(json_object_get(lint, "text"));
    }
    return NULL;
}

/* This many trainings of each arm failed and have this score; the other scores are normal. */
static void failed_scores(dpa_evidence *e, size_t in, size_t none, double score) {
    dpa__evidence_init(e, DPA_EVIDENCE_SCORES);
    add_normal(e, N, 0.1, 1);
    for (size_t i = 0; i < in; ++i) e->arrays[0].items[i] = score;
    for (size_t i = 0; i < none; ++i) e->arrays[1].items[i] = score;
    e->failed[0] = in;
    e->failed[1] = none;
    assert_ok(dpa_evidence_fact(e, "trials_members", N, NULL));
    assert_ok(dpa_evidence_fact(e, "trials_nonmembers", N, NULL));
}

static void failing_that_depends_on_the_record(void **state) {
    (void)state;
    dpa_evidence e;
    const dpa_claim claim = epsilon_claim(1);
    failed_scores(&e, 100, 50, -INFINITY);
    dpa_report *report = judged(&e, &claim, NULL);
    const char *text = lint_of(report, "failures");
    assert_non_null(text);
    assert_non_null(strstr(text, "100 of 400 trials with the record and in 50 of 400 without it"));
    /* scipy.stats.fisher_exact([[100, 300], [50, 350]]): 7.800224567955755e-06 */
    assert_relative(fact_of(report, "failures_p_value"), 7.800224567955755e-06, 1e-9);
    assert_int_equal(dpa_report_state(report), DPA_NOT_REFUTED); /* said, and decides nothing */
    dpa_report_free(report);
    e.failed[1] = 90; /* by chance */
    report = judged(&e, &claim, NULL);
    assert_null(lint_of(report, "failures"));
    assert_between(fact_of(report, "failures_p_value"), 0.1, 1);
    dpa_report_free(report);
    e.failed[0] = N + 1;
    dpa_error err = {0};
    assert_int_equal(dpa_judge(&e, &claim, NULL, &report, &err), DPA_BAD_INPUT);
    dpa__evidence_clear(&e);
    normal_scores(&e, 0.1, 1); /* none failed: nothing is said */
    report = judged(&e, &claim, NULL);
    assert_true(isnan(fact_of(report, "failures_p_value")));
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

/* Failing members with a score below all others do not invert the attack. */
static void failed_scores_have_no_sign(void **state) {
    (void)state;
    dpa_evidence e;
    const dpa_claim claim = epsilon_claim(1);
    failed_scores(&e, 300, 20, -INFINITY);
    assert_int_equal(state_of(&e, &claim, NULL), DPA_NOT_REFUTED);
    e.failed[0] = e.failed[1] = 0; /* as scores of an attack this is the wrong way round */
    assert_int_equal(state_of(&e, &claim, NULL), DPA_INCONCLUSIVE);
    dpa__evidence_clear(&e);
    failed_scores(&e, N, 0, -INFINITY); /* all of them */
    assert_int_equal(state_of(&e, &claim, NULL), DPA_NOT_REFUTED);
    dpa__evidence_clear(&e);
    failed_scores(&e, 40, 40, -INFINITY); /* and the others are the wrong way round */
    for (size_t i = 40; i < N; ++i) e.arrays[0].items[i] -= 2;
    assert_int_equal(state_of(&e, &claim, NULL), DPA_INCONCLUSIVE);
    dpa__evidence_clear(&e);
}

/* Likewise where a failed training counts as the highest score. */
static void failed_scores_at_the_top(void **state) {
    (void)state;
    dpa_evidence e;
    const dpa_claim claim = epsilon_claim(1);
    failed_scores(&e, 20, 300, INFINITY);
    assert_int_equal(state_of(&e, &claim, NULL), DPA_NOT_REFUTED);
    e.failed[0] = e.failed[1] = 0;
    assert_int_equal(state_of(&e, &claim, NULL), DPA_INCONCLUSIVE);
    dpa__evidence_clear(&e);
    failed_scores(&e, 300, 300, INFINITY); /* the others are the wrong way round */
    for (size_t i = 300; i < N; ++i) e.arrays[0].items[i] -= 2;
    assert_int_equal(state_of(&e, &claim, NULL), DPA_INCONCLUSIVE);
    dpa__evidence_clear(&e);
}

/* A dimension that somebody told is doubted where the cosines scatter otherwise; files of canaries,
 * which have their seed, and games are believed. */
static void a_dimension_that_was_told(void **state) {
    (void)state;
    for (int from = 0; from < 3; ++from) {
        dpa_evidence e;
        double cosines[40];
        for (int i = 0; i < 40; ++i)
            cosines[i] = 0.1 * dpa__norm_quantile((i + 0.5) / 40, DPA_LOWER);
        dpa__evidence_init(&e, DPA_EVIDENCE_COSINES);
        e.design = DPA_ONE_RUN;
        e.dim = 1000; /* they are those of a hundred */
        assert_ok(dpa_evidence_copy(&e, "final", cosines, 40, NULL));
        if (from == 1) assert_ok(dpa_evidence_fact(&e, "canary_seed", 1, NULL));
        if (from == 2) (void)snprintf(e.game, sizeof e.game, "federated");
        dpa_report *report = judged(&e, NULL, NULL);
        assert_int_equal(report->verdict.contradictions, from == 0);
        dpa_report_free(report);
        dpa__evidence_clear(&e);
    }
}

/* Coins of a known rate: canaries are left out until the others are fair, and those decide. Fair
 * coins that are declared unfair raise a doubt. */
static void coins_of_a_known_rate(void **state) {
    (void)state;
    static const size_t counts[][2] = {{606, 394}, {394, 606}, {500, 500}};
    double scores[2][606];
    const dpa_claim claim = epsilon_claim(0.1);
    for (size_t k = 0; k < 3; ++k) {
        dpa_evidence e;
        dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
        e.design = DPA_ONE_RUN;
        e.inclusion_rate = k == 1 ? 0.394 : 0.606;
        for (size_t i = 0; i < 606; ++i)
            scores[0][i] = 2000.0 + (double)i, scores[1][i] = (double)i;
        assert_ok(dpa_evidence_copy(&e, "members", scores[0], counts[k][0], NULL));
        assert_ok(dpa_evidence_copy(&e, "nonmembers", scores[1], counts[k][1], NULL));
        dpa_report *report = judged(&e, &claim, NULL);
        const double left = fact_of(report, "canaries");
        if (k < 2) {
            assert_int_equal(dpa_report_state(report), DPA_REFUTED);
            assert_between(left, 788 - 70, 788 + 70); /* 394 and 606·394/606, five deviations */
        } else {
            assert_int_equal(dpa_report_state(report), DPA_INCONCLUSIVE);
        }
        dpa_report_free(report);
        dpa__evidence_clear(&e);
    }
    dpa_evidence e;
    dpa_error err = {0};
    dpa_report *report = NULL;
    guess_evidence(&e, 100, 50, 40);
    e.inclusion_rate = 0.6;
    assert_int_equal(dpa_judge(&e, &claim, NULL, &report, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "who was in"));
    dpa__evidence_clear(&e);
}

/* The canary never reached the step: the scores show it, and nothing else can be said. */
static void a_canary_that_was_never_in(void **state) {
    (void)state;
    dpa_evidence e;
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    add_normal(&e, N, -0.05, 0.8);
    e.scope = DPA_SCOPE_STEP;
    e.training =
        (dpa_training_facts){.q = 0.1, .steps = 50, .sigma = 0.8, .rate = 1, .participations = NAN};
    const dpa_claim claim = noise_claim(0.8, 0.1, 50);
    dpa_report *report = judged(&e, &claim, NULL);
    assert_int_equal(dpa_report_state(report), DPA_INCONCLUSIVE);
    expect_words(report, "the canary took part in what was observed");
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

/* The AUC has to be below half of what the promised noise shows, for certain, and not above a
 * guess's. Promised σ = 0.8: an AUC of 0.811 if the canary is in every step, so half is 0.656. */
static void a_canary_that_is_hard_to_see(void **state) {
    static const struct {
        size_t count;
        double shift, rate;
        int is_doubted;
    } cases[] = {
        {400, 0.0, 1, 1},     /* 0.50 ± 0.07 */
        {400, 0.30, 1, 0},    /* 0.60 ± 0.07: may be above half */
        {5000, 0.20, 1, 0},   /* 0.57 ± 0.02: below half, but it is seen */
        {1000, 0.0, 0.1, 0},  /* 0.50 ± 0.04; in one step of ten the promise shows 0.531 only */
        {9000, -0.1, 0.1, 1}, /* 0.46 ± 0.01 */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        dpa_evidence e;
        dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
        add_normal(&e, cases[i].count, cases[i].shift, 0.8);
        e.scope = DPA_SCOPE_STEP;
        e.training = (dpa_training_facts){
            .q = 0.1, .steps = 50, .sigma = 0.8, .rate = cases[i].rate, .participations = NAN};
        const dpa_claim claim = noise_claim(0.8, 0.1, 50);
        const dpa_state found = state_of(&e, &claim, NULL);
        if (found != (cases[i].is_doubted ? DPA_INCONCLUSIVE : DPA_NOT_REFUTED))
            fail_msg("case %zu: state %d", i, (int)found);
        dpa__evidence_clear(&e);
    }
}

/* Every member of DP-SGD with q = 0.1 is rejected: the family is wrong, and its last member is no
 * bound. */
static void a_spent_family(void **state) {
    (void)state;
    dpa_evidence e;
    normal_scores(&e, 1, 1);
    const dpa_claim bare = epsilon_claim(1), noise = noise_claim(0.5, 0.1, 1);
    const dpa_protocol p = protocol_of("subsampled-gaussian:q=0.1,steps=1", "rank");
    dpa_report *report = judged(&e, &bare, &p);
    assert_int_equal(dpa_report_state(report), DPA_INCONCLUSIVE);
    expect_words(report, "every member of the family subsampled-gaussian:q=0.1,steps=1");
    dpa_report_free(report);
    const dpa_protocol rank = protocol_of(NULL, "rank");
    report = judged(&e, &noise, &rank); /* the claimed one is among them */
    assert_int_equal(dpa_report_state(report), DPA_REFUTED);
    expect_words(report, "more leaks than any member");
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

/* The same for the mechanism of a file: randomized response of ε = 0.4 cannot give these scores. */
static void a_spent_pair(void **state) {
    (void)state;
    static const char text[] = "{\"p\":[0.6,0.4],\"q\":[0.4,0.6]}";
    char path[64], family[80];
    (void)snprintf(path, sizeof path, "/tmp/dpa_spent_%d.json", (int)getpid());
    (void)snprintf(family, sizeof family, "pair:%s", path);
    assert_ok(dpa__file_write(path, text, sizeof text - 1, NULL));
    dpa_evidence e;
    normal_scores(&e, 1, 1);
    const dpa_claim claim = epsilon_claim(0.3);
    const dpa_protocol p = protocol_of(family, "rank");
    dpa_report *report = judged(&e, &claim, &p);
    assert_int_equal(dpa_report_state(report), DPA_INCONCLUSIVE);
    expect_words(report, "every member of the family");
    dpa_report_free(report);
    dpa__evidence_clear(&e);
    (void)unlink(path);
}

static void what_must_be_seen(void **state) {
    (void)state;
    dpa_evidence e;
    normal_scores(&e, 0.2, 1);
    const dpa_claim claim = epsilon_claim(1);
    dpa_protocol p = protocol_of(NULL, NULL);
    dpa_report *report = judged(&e, &claim, &p);
    const double most = fmax(report->verdict.detect_worst, report->verdict.detect_gaussian);
    assert_int_equal(dpa_report_state(report), DPA_NOT_REFUTED);
    assert_true(isfinite(most) && most > 1);
    dpa_report_free(report);
    p.must_detect = most * 1.001;
    assert_int_equal(state_of(&e, &claim, &p), DPA_NOT_REFUTED);
    p.must_detect = most * 0.999;
    report = judged(&e, &claim, &p);
    assert_int_equal(dpa_report_state(report), DPA_INCONCLUSIVE);
    expect_words(report, "had to be detectable");
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_trials),
        cmocka_unit_test(unfair_coins),
        cmocka_unit_test(copied_rows),
        cmocka_unit_test(copied_guesses),
        cmocka_unit_test(copied_cosines),
        cmocka_unit_test(one_seed_for_all),
        cmocka_unit_test(one_list_for_both),
        cmocka_unit_test(a_dimension_that_was_told),
        cmocka_unit_test(coins_of_a_known_rate),
        cmocka_unit_test(reversed_scores),
        cmocka_unit_test(failing_that_depends_on_the_record),
        cmocka_unit_test(failed_scores_have_no_sign),
        cmocka_unit_test(failed_scores_at_the_top),
        cmocka_unit_test(a_canary_that_was_never_in),
        cmocka_unit_test(a_canary_that_is_hard_to_see),
        cmocka_unit_test(a_spent_family),
        cmocka_unit_test(a_spent_pair),
        cmocka_unit_test(what_must_be_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
