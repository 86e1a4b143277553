/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The judge: which test decides, how the error is shared, and verdicts on known mechanisms. */
#include "base/text.h"
#include "judged.h"

/* ── the rule ────────────────────────────────────────────────────────────────────────── */

static void which_family_decides(void **state) {
    (void)state;
    dpa_evidence e;
    dpa__case c;
    const dpa_claim epsilon = epsilon_claim(1), noise = noise_claim(1.5, 0.25, 10),
                    release = noise_claim(2, 1, 1);
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    opened(&e, &epsilon, NULL, &c);
    assert_string_equal(c.test.family, "dp");
    opened(&e, NULL, NULL, &c);
    assert_string_equal(c.test.family, "dp");
    opened(&e, &noise, NULL, &c);
    assert_string_equal(c.test.family, "subsampled-gaussian:q=0.25,steps=10");
    assert_string_equal(c.test.method, dpa__registry_default(DPA_FROM_SCORES, 0, 0, 0, 2));
    opened(&e, &release, NULL, &c);
    assert_string_equal(c.test.family, "gaussian");
    /* a named family decides, whatever the claim */
    const dpa_protocol named = protocol_of("laplace", NULL);
    opened(&e, &noise, &named, &c);
    assert_string_equal(c.test.family, "laplace");
    /* the training's own description is not assumed for an adversary who sees less than all of it
     * … */
    e.training =
        (dpa_training_facts){.q = 0.5, .steps = 3, .sigma = 1, .rate = 1, .participations = NAN};
    opened(&e, &epsilon, NULL, &c);
    assert_string_equal(c.test.family, "dp");
    /* … but it is for one who sees every step, and for one run */
    e.training.sees_all = 1;
    opened(&e, &epsilon, NULL, &c);
    assert_string_equal(c.test.family, "subsampled-gaussian:q=0.5,steps=3");
    e.training.sees_all = 0;
    e.design = DPA_ONE_RUN;
    opened(&e, &epsilon, NULL, &c);
    assert_string_equal(c.test.family, "subsampled-gaussian:q=0.5,steps=3");
}

static void a_step_has_a_family_of_its_own(void **state) {
    (void)state;
    dpa_evidence e;
    dpa__case c;
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    e.scope = DPA_SCOPE_STEP;
    opened(&e, NULL, NULL, &c);
    assert_string_equal(c.test.family, "gaussian");
    assert_string_equal(c.test.method, dpa__registry_default(DPA_FROM_SCORES, 0, 0, 0, 2));
    e.training.rate = 0.1;
    opened(&e, NULL, NULL, &c);
    assert_string_equal(c.test.family, "subsampled-gaussian:q=0.1,steps=1");
    assert_string_equal(c.test.method, dpa__registry_default(DPA_FROM_SCORES, 0, 1, 0, 2));
}

static void which_method_decides(void **state) {
    (void)state;
    static const struct {
        dpa_evidence_kind kind;
        unsigned source;
    } kinds[] = {{DPA_EVIDENCE_COUNTS, DPA_FROM_COUNTS}, {DPA_EVIDENCE_SCORES, DPA_FROM_SCORES}};
    dpa_evidence e;
    dpa__case c;
    for (size_t i = 0; i < 2; ++i) {
        const char *usual = dpa__registry_default(kinds[i].source, 1, 0, 0, 2);
        dpa_protocol p = protocol_of(NULL, "jeffreys");
        dpa__evidence_init(&e, kinds[i].kind);
        opened(&e, NULL, NULL, &c);
        assert_string_equal(c.test.method, usual);
        opened(&e, NULL, &p, &c); /* a posterior is shown beside it */
        assert_string_equal(c.test.method, usual);
        p.decides_by_posterior = 1;
        opened(&e, NULL, &p, &c);
        assert_string_equal(c.test.method, "jeffreys");
        p = protocol_of(NULL, NULL);
        p.decides_by_posterior = 1;
        opened(&e, NULL, &p, &c);
        assert_string_equal(c.test.method, dpa__registry_posterior());
        p = protocol_of(NULL, "cp+bayes"); /* all methods of a list must be able to decide */
        opened(&e, NULL, &p, &c);
        assert_string_equal(c.test.method, usual);
    }
    dpa__evidence_init(&e, DPA_EVIDENCE_GUESSES);
    e.design = DPA_ONE_RUN;
    opened(&e, NULL, NULL, &c);
    assert_string_equal(c.test.method, dpa__registry_default(DPA_FROM_GUESSES, 1, 0, 0, 2));
    e.options = 4;
    opened(&e, NULL, NULL, &c);
    assert_string_equal(c.test.method, "recursion");
}

/* The order of the families does not matter, and one test works in all of them. */
static void several_families_have_one_default(void **state) {
    (void)state;
    static const char *const families[] = {"dp+gaussian", "gaussian+dp", "laplace+dp+gaussian"};
    dpa_evidence e;
    dpa__case c;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; ++i) {
        const dpa_protocol p = protocol_of(families[i], NULL);
        dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
        opened(&e, NULL, &p, &c);
        assert_string_equal(c.test.method, "scan");
        e.design = DPA_ONE_RUN;
        opened(&e, NULL, &p, &c);
        assert_string_equal(c.test.method, "recursion");
    }
    const dpa_protocol curves = protocol_of("gaussian+laplace", NULL);
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    opened(&e, NULL, &curves, &c);
    assert_string_equal(c.test.method, "rank");
}

static void the_best_on_the_same_data_never_decides(void **state) {
    (void)state;
    dpa_evidence e;
    dpa__case c;
    dpa_protocol p = protocol_of("dp", "cp");
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    assert_ok(dpa_protocol_set(&p, "select", "split", NULL));
    opened(&e, NULL, &p, &c);
    assert_string_equal(c.test.select, "split");
    assert_ok(dpa_protocol_set(&p, "select", "max", NULL));
    opened(&e, NULL, &p, &c);
    assert_string_equal(c.test.select, "");
    normal_scores(&e, 1, 1);
    dpa_report *report = judged(&e, NULL, &p);
    int seen = 0;
    for (size_t i = 0; i < dpa_report_count(report); ++i) {
        const dpa_result *r = dpa_report_result(report, i);
        if (strcmp(r->select, "max") != 0) continue;
        assert_int_equal(r->role, DPA_SHOWN);
        assert_int_equal(dpa__result_guarantee(r), DPA_OPTIMISTIC);
        ++seen;
    }
    assert_true(seen > 0);
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

static void names_are_checked_before_anything(void **state) {
    (void)state;
    static const struct {
        dpa_evidence_kind kind;
        const char *family, *method, *words;
    } bad[] = {{DPA_EVIDENCE_SCORES, NULL, "nonsense", "method: 'nonsense'"},
               {DPA_EVIDENCE_SCORES, "nonsense", NULL, "nonsense"},
               {DPA_EVIDENCE_SCORES, "gaussian+nonsense", NULL, "nonsense"},
               {DPA_EVIDENCE_SCORES, NULL, "cp+nonsense", "nonsense"},
               {DPA_EVIDENCE_COUNTS, NULL, "rank", "needs the scores themselves"},
               {DPA_EVIDENCE_GUESSES, NULL, "cp", "steinke"},
               {DPA_EVIDENCE_COSINES, NULL, "cp", "mean"},
               {DPA_EVIDENCE_SIGNALS, NULL, NULL, "attack"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        const dpa_protocol p = protocol_of(bad[i].family, bad[i].method);
        dpa_evidence e;
        dpa_error err = {0};
        dpa__evidence_init(&e, bad[i].kind);
        assert_int_not_equal(dpa_protocol_check(&p, NULL, &e, &err), DPA_OK);
        if (strstr(err.text, bad[i].words) == NULL)
            fail_msg("'%s' does not say '%s'", err.text, bad[i].words);
    }
    dpa_protocol p = protocol_of(NULL, NULL);
    dpa_evidence e;
    dpa_error err = {0};
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    assert_ok(dpa_protocol_set(&p, "guesses", "100", NULL));
    assert_int_equal(dpa_protocol_check(&p, NULL, &e, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "only one run is guessed"));
}

/* ── verdicts on what is known ───────────────────────────────────────────────────────── */

/* μ = 1, δ = 1e-5: ε is 4.377. A claim of any (ε,δ) must be refuted without assuming a family. */
static void scores_of_a_gaussian(void **state) {
    (void)state;
    dpa_evidence e;
    normal_scores(&e, 1, 1);
    const dpa_claim low = epsilon_claim(0.5), high = epsilon_claim(3), noise = noise_claim(2, 1, 1),
                    truth = noise_claim(1, 1, 1);
    assert_int_equal(state_of(&e, &low, NULL), DPA_REFUTED);
    assert_int_equal(state_of(&e, NULL, NULL), DPA_NO_CLAIM);
    dpa_report *report = judged(&e, &high, NULL);
    /* shown beside it and above the claim, but it does not decide */
    assert_true(row_of(report, "gaussian", "rank")->epsilon_lower > 3);
    assert_int_equal(row_of(report, "gaussian", "rank")->role, DPA_SHOWN);
    assert_int_equal(dpa_report_state(report), DPA_NOT_REFUTED);
    assert_true(report->verdict.detect_worst > 3 && report->verdict.detect_gaussian > 3);
    assert_null(report->verdict.conditional);
    dpa_report_free(report);
    report = judged(&e, &noise, NULL);
    assert_int_equal(dpa_report_state(report), DPA_REFUTED);
    assert_absolute(report->verdict.claim_epsilon, accounted(2, 1, 1, DPA_ADD_REMOVE, 1e-5).upper,
                    1e-6);
    assert_string_equal(report->verdict.conditional, "family-gaussian");
    dpa_report_free(report);
    assert_int_equal(state_of(&e, &truth, NULL), DPA_NOT_REFUTED);
    /* the same claim by its number, and a named family */
    const dpa_protocol gaussian = protocol_of("gaussian", NULL);
    assert_int_equal(state_of(&e, &high, &gaussian), DPA_REFUTED);
    dpa__evidence_clear(&e);
}

/* Randomized response with ε = 1: (ε,0) is tight, and the Gaussian family is wrong for it. */
static void randomized_response_is_not_convicted(void **state) {
    (void)state;
    enum { RUNS = 2000 };
    double in[RUNS], out[RUNS];
    const double p = 1 / (1 + exp(-1.0));
    for (int i = 0; i < RUNS; ++i) {
        in[i] = i < p * RUNS;
        out[i] = i >= p * RUNS;
    }
    dpa_evidence e;
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    assert_ok(dpa_evidence_copy(&e, "members", in, RUNS, NULL));
    assert_ok(dpa_evidence_copy(&e, "nonmembers", out, RUNS, NULL));
    const dpa_claim above = epsilon_claim(1.05), below = epsilon_claim(0.5);
    assert_int_equal(state_of(&e, &above, NULL), DPA_NOT_REFUTED);
    assert_int_equal(state_of(&e, &below, NULL), DPA_REFUTED);
    dpa__evidence_clear(&e);
}

static void counts_of_coins_refute_nothing(void **state) {
    (void)state;
    dpa_evidence e;
    count_evidence(&e, 8, 8, 8, 8);
    const dpa_claim claim = epsilon_claim(0.02);
    dpa_protocol p = protocol_of(NULL, "bayes");
    dpa_report *report = judged(&e, &claim, &p);
    assert_int_equal(dpa_report_state(report), DPA_NOT_REFUTED);
    const dpa_result *bayes = row_of(report, "dp", "bayes");
    assert_true(bayes->epsilon_lower > 0.02);
    assert_int_equal(bayes->role, DPA_SHOWN);
    assert_int_equal(dpa__result_guarantee(bayes), DPA_POSTERIOR);
    dpa_report_free(report);
    assert_ok(dpa_protocol_set(&p, "decide", "posterior", NULL));
    report = judged(&e, &claim, &p);
    assert_int_equal(dpa_report_state(report), DPA_REFUTED);
    expect_words(report, "a posterior probability decides, as asked");
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

/* Whoever lets a posterior decide is told if there is none, instead of a bound of another kind. */
static void only_a_posterior_decides_as_one(void **state) {
    (void)state;
    static const char *const methods[] = {"cp", "exact", "bayes+cp"};
    dpa_evidence counts, guesses;
    dpa_error err = {0};
    const dpa_claim claim = epsilon_claim(1);
    count_evidence(&counts, 2, 8, 2, 8);
    guess_evidence(&guesses, 1000, 200, 190);
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; ++i) {
        dpa_protocol p = protocol_of(NULL, methods[i]);
        assert_ok(dpa_protocol_check(&p, &claim, &counts, &err));
        p.decides_by_posterior = 1;
        assert_int_equal(dpa_protocol_check(&p, &claim, &counts, &err), DPA_BAD_ARGUMENT);
        assert_non_null(strstr(err.text, "leave --decide or --method out"));
    }
    dpa_protocol p = protocol_of(NULL, NULL);
    p.decides_by_posterior = 1;
    assert_ok(dpa_protocol_check(&p, &claim, &counts, &err));
    assert_int_equal(dpa_protocol_check(&p, &claim, &guesses, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "one run has no posterior"));
    dpa__evidence_clear(&counts);
    dpa__evidence_clear(&guesses);
}

static void one_run(void **state) {
    (void)state;
    dpa_evidence e;
    guess_evidence(&e, 1000, 200, 190);
    const dpa_claim low = epsilon_claim(1), high = epsilon_claim(4);
    assert_int_equal(state_of(&e, &low, NULL), DPA_REFUTED);
    assert_int_equal(state_of(&e, &high, NULL), DPA_NOT_REFUTED);
    const dpa_claim noise = noise_claim(2, 1, 1);
    dpa_report *report = judged(&e, &noise, NULL);
    assert_string_equal(dpa_report_primary(report)->family, "gaussian");
    assert_int_equal(dpa_report_state(report), DPA_REFUTED);
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

/* The number of guesses chosen after looking is only shown; the grid decides. */
static void guesses_at_their_best_do_not_decide(void **state) {
    (void)state;
    dpa_evidence e;
    normal_scores(&e, 1, 1);
    e.design = DPA_ONE_RUN;
    dpa_protocol p = protocol_of("dp", NULL);
    assert_ok(dpa_protocol_set(&p, "guesses", "max", NULL));
    dpa_report *report = judged(&e, NULL, &p);
    const dpa_result *primary = dpa_report_primary(report);
    assert_string_equal(primary->select, "auto");
    int seen = 0;
    for (size_t i = 0; i < dpa_report_count(report); ++i) {
        const dpa_result *r = dpa_report_result(report, i);
        if (strcmp(r->select, "max") != 0) continue;
        assert_int_equal(r->role, DPA_SHOWN);
        assert_int_equal(dpa__result_guarantee(r), DPA_OPTIMISTIC);
        assert_true(r->epsilon_lower >= primary->epsilon_lower);
        ++seen;
    }
    assert_int_equal(seen, 1);
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

/* ── a claimed curve ─────────────────────────────────────────────────────────────────── */

static const char *write_curve(double mu) {
    static char path[] = "/tmp/dpaudit-curve-XXXXXX", text[40000];
    size_t used = (size_t)snprintf(text, sizeof text, "fpr,fnr\n");
    const int fd = strstr(path, "XXXXXX") != NULL ? mkstemp(path) : -1;
    if (fd >= 0) (void)close(fd);
    for (int i = 1; i < 1000; ++i) {
        const double fpr = i / 1000.0;
        const double fnr = 0.5 * erfc(-(dpa__norm_quantile(fpr, DPA_UPPER) - mu) / sqrt(2));
        used += (size_t)dpa__print(text + used, sizeof text - used, "%.12f,%.12f\n", fpr, fnr);
    }
    assert_ok(dpa__file_write(path, text, strlen(text), NULL));
    return path;
}

static void a_claimed_curve(void **state) {
    (void)state;
    dpa_evidence e;
    dpa_claim claim;
    normal_scores(&e, 1, 1);
    dpa_claim_init(&claim);
    assert_ok(dpa_claim_set(&claim, "claim-curve", write_curve(0.5), NULL));
    dpa_report *report = judged(&e, &claim, NULL);
    assert_int_equal(dpa_report_state(report), DPA_REFUTED);
    expect_words(report, "from a curve");
    expect_words(report, "more leaks than any member");
    dpa_report_free(report);
    (void)write_curve(1.2);
    assert_int_equal(state_of(&e, &claim, NULL), DPA_NOT_REFUTED);
    (void)unlink(claim.curve);
    dpa__evidence_clear(&e);
}

/* ── sharing the error ───────────────────────────────────────────────────────────────── */

static void lists(void **state) {
    (void)state;
    char item[16];
    assert_true(dpa__shared_confidence(0.95, 1) == 0.95);
    assert_absolute(dpa__shared_confidence(0.95, 4), 0.9875, 1e-15);
    assert_int_equal(dpa__list_count("cp"), 1);
    assert_int_equal(dpa__list_count("dp+gaussian+laplace"), 3);
    assert_true(dpa__list_item("dp+gaussian", 0, item, sizeof item));
    assert_string_equal(item, "dp");
    assert_true(dpa__list_item("dp+gaussian", 1, item, sizeof item));
    assert_string_equal(item, "gaussian");
    assert_false(dpa__list_item("dp+gaussian", 2, item, sizeof item));
    /* a file may have a '+' in its name */
    char family[40];
    assert_int_equal(dpa__list_count("points:a+b.csv"), 1);
    assert_true(dpa__list_item("points:a+b.csv", 0, family, sizeof family));
    assert_string_equal(family, "points:a+b.csv");
    assert_false(dpa__list_item("points:a+b.csv", 1, family, sizeof family));
    assert_int_equal(dpa__list_count("dp+points:a+b.csv+dpx+gaussian"), 3);
    assert_true(dpa__list_item("dp+points:a+b.csv+dpx+gaussian", 1, family, sizeof family));
    assert_string_equal(family, "points:a+b.csv+dpx");
    assert_true(dpa__list_item("dp+points:a+b.csv+dpx+gaussian", 2, family, sizeof family));
    assert_string_equal(family, "gaussian");
    assert_int_equal(dpa__list_count("cp+nonsense"), 2);
}

/* The bound of one family and method alone, at a confidence. */
static double alone(const dpa_evidence *e, const char *family, const char *method,
                    double confidence) {
    dpa_protocol p = protocol_of(family, method);
    p.request.confidence = confidence;
    dpa_report *report = judged(e, NULL, &p);
    const double lower = dpa_report_primary(report)->epsilon_lower;
    dpa_report_free(report);
    return lower;
}

static void families_and_methods_share(void **state) {
    (void)state;
    dpa_evidence e;
    count_evidence(&e, 40, 60, 10, 90);
    dpa_protocol p = protocol_of("dp+gaussian+laplace", "cp");
    dpa_report *report = judged(&e, NULL, &p);
    static const char *const families[] = {"dp", "gaussian", "laplace"};
    for (size_t i = 0; i < 3; ++i) {
        const dpa_result *r = row_of(report, families[i], "cp");
        assert_int_equal(r->role, DPA_PRIMARY);
        assert_true(r->confidence == 0.95); /* together */
        assert_absolute(r->epsilon_lower, alone(&e, families[i], "cp", 1 - 0.05 / 3), 1e-12);
        assert_true(r->epsilon_lower < alone(&e, families[i], "cp", 0.95));
    }
    dpa_report_free(report);
    dpa__evidence_clear(&e);
    guess_evidence(&e, 1000, 200, 190);
    p = protocol_of("dp+gaussian", "recursion");
    report = judged(&e, NULL, &p);
    assert_absolute(row_of(report, "gaussian", "recursion")->epsilon_lower,
                    alone(&e, "gaussian", "recursion", 0.975), 1e-12);
    assert_int_equal(row_of(report, "dp", "recursion")->role, DPA_PRIMARY);
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

/* A file with two groups: all and each group get a third of the error. */
static void groups_share(void **state) {
    (void)state;
    char path[] = "/tmp/dpaudit-groups-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    assert_true(file != NULL && fputs("score,member,site\n", file) >= 0);
    dpa_evidence e, all, half;
    normal_scores(&half, 1.5, 1);
    for (int g = 0; g < 2; ++g)
        for (int m = 0; m < 2; ++m) {
            const dpa_named_array *a = dpa__evidence_find(&half, m ? "members" : "nonmembers");
            for (size_t i = 0; i < N; ++i) {
                char line[64];
                (void)dpa__print(line, sizeof line, "%.17g,%d,%c\n", a->items[i] + g * 1e-7, m,
                                 'a' + g);
                assert_true(fputs(line, file) >= 0);
            }
        }
    assert_int_equal(fclose(file), 0);
    assert_ok(dpa__evidence_scores(path, NULL, 1, &e, NULL));
    assert_ok(dpa__evidence_scores(path, NULL, 1, &all, NULL));
    dpa_protocol p = protocol_of("gaussian", "rank");
    assert_ok(dpa_protocol_set(&p, "group", "site", NULL));
    dpa_report *report = judged(&e, NULL, &p);
    size_t primary = 0;
    for (size_t i = 0; i < dpa_report_count(report); ++i) {
        const dpa_result *r = dpa_report_result(report, i);
        if (r->role != DPA_PRIMARY) continue;
        ++primary;
        assert_true(r->confidence == 0.95);
        const int is_group = strncmp(r->select, "group ", 6) == 0;
        assert_absolute(r->epsilon_lower,
                        alone(is_group ? &half : &all, "gaussian", "rank", 1 - 0.05 / 3), 1e-6);
    }
    assert_int_equal(primary, 3);
    dpa_report_free(report);
    dpa__evidence_clear(&e);
    dpa__evidence_clear(&all);
    dpa__evidence_clear(&half);
    (void)unlink(path);
}

/* ── cosines ─────────────────────────────────────────────────────────────────────────── */

static void cosine_evidence(dpa_evidence *e, int has_rounds) {
    double in[200], out[200];
    for (int i = 0; i < 200; ++i) {
        out[i] = 0.01 * dpa__norm_quantile((i + 0.5) / 200, DPA_LOWER);
        in[i] = out[i] + 0.02;
    }
    dpa__evidence_init(e, DPA_EVIDENCE_COSINES);
    e->design = DPA_ONE_RUN;
    e->dim = 10000;
    assert_ok(dpa_evidence_copy(e, "final", in, 200, NULL));
    if (!has_rounds) return;
    assert_ok(dpa_evidence_copy(e, "observed", in, 200, NULL));
    assert_ok(dpa_evidence_copy(e, "unobserved", out, 200, NULL));
}

static void cosines_estimate(void **state) {
    (void)state;
    dpa_evidence e;
    const dpa_claim claim = epsilon_claim(0.1);
    cosine_evidence(&e, 1);
    dpa_report *report = judged(&e, &claim, NULL);
    assert_int_equal(dpa_report_state(report), DPA_INCONCLUSIVE);
    expect_words(report, "--method scan or --decide posterior lets one decide");
    for (size_t i = 0; i < dpa_report_count(report); ++i)
        assert_int_equal(dpa_report_result(report, i)->role, DPA_SHOWN);
    assert_string_equal(dpa__result_conditional(row_of(report, NULL, "jeffreys")),
                        "independent-channels");
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

/* How the estimates moved is said in a line for up to ten points, and in the report for any number.
 */
static void cosines_on_the_way(void **state) {
    (void)state;
    for (int points = 10; points <= 11; ++points) {
        dpa_evidence e;
        double way[11 * 7];
        for (int i = 0; i < 11; ++i) {
            const double point[7] = {i + 1, 0.02, 0.01, 0.02, 0.01, 0, 0.01};
            memcpy(way + (ptrdiff_t)7 * i, point, sizeof point);
        }
        cosine_evidence(&e, 1);
        assert_ok(dpa_evidence_copy(&e, "trajectory", way, 7 * (size_t)points, NULL));
        assert_ok(dpa_evidence_fact(&e, "checkpoints", points, NULL));
        dpa_report *report = judged(&e, NULL, NULL);
        const json_t *rows = json_object_get(report->sections, "trajectory");
        assert_int_equal(json_array_size(rows), points);
        assert_true((strstr(report->lines.data, "On the way") != NULL) == (points == 10));
        assert_true((strstr(report->lines.data, " after 10 rounds.") != NULL) == (points == 10));
        dpa_report_free(report);
        dpa__evidence_clear(&e);
    }
}

/* The scan has no prior: it decides if it is named, and is shown beside a posterior that decides.
 */
static void cosines_scan(void **state) {
    (void)state;
    dpa_evidence e;
    dpa_protocol named = protocol_of(NULL, "scan"), posterior = protocol_of(NULL, NULL);
    const dpa_claim claim = epsilon_claim(0.1), wide = epsilon_claim(9);
    posterior.decides_by_posterior = 1;
    cosine_evidence(&e, 0);
    dpa_report *report = judged(&e, &claim, &named);
    assert_int_equal(dpa_report_state(report), DPA_REFUTED);
    assert_int_equal(row_of(report, NULL, "scan")->role, DPA_PRIMARY);
    expect_words(report, "with noise of its own for each canary; scan");
    dpa_report_free(report);
    report = judged(&e, &wide, &named);
    assert_int_equal(dpa_report_state(report), DPA_NOT_REFUTED);
    dpa_report_free(report);
    report = judged(&e, &claim, &posterior);
    assert_int_equal(row_of(report, NULL, "scan")->role, DPA_SHOWN);
    assert_int_equal(row_of(report, NULL, "jeffreys")->role, DPA_PRIMARY);
    dpa_report_free(report);
    dpa__evidence_clear(&e);
}

/* Two attackers are considered, so each bound gets half of the error. */
static void cosines_share(void **state) {
    (void)state;
    dpa_evidence both, one;
    dpa_protocol p = protocol_of(NULL, NULL);
    const dpa_claim claim = epsilon_claim(0.1);
    p.decides_by_posterior = 1;
    cosine_evidence(&both, 1);
    cosine_evidence(&one, 0);
    dpa_report *shared = judged(&both, &claim, &p), *single = judged(&one, &claim, &p);
    p.request.confidence = 0.975;
    dpa_report *half = judged(&one, &claim, &p);
    const double got = row_of(shared, NULL, "jeffreys")->epsilon_lower;
    assert_true(got == row_of(half, NULL, "jeffreys")->epsilon_lower);
    assert_true(got < row_of(single, NULL, "jeffreys")->epsilon_lower);
    assert_int_equal(dpa_report_state(shared), DPA_REFUTED);
    expect_words(shared, "a posterior probability decides, as asked");
    dpa_report_free(shared);
    dpa_report_free(single);
    dpa_report_free(half);
    dpa__evidence_clear(&both);
    dpa__evidence_clear(&one);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_family_decides),
        cmocka_unit_test(a_step_has_a_family_of_its_own),
        cmocka_unit_test(which_method_decides),
        cmocka_unit_test(several_families_have_one_default),
        cmocka_unit_test(the_best_on_the_same_data_never_decides),
        cmocka_unit_test(names_are_checked_before_anything),
        cmocka_unit_test(scores_of_a_gaussian),
        cmocka_unit_test(randomized_response_is_not_convicted),
        cmocka_unit_test(counts_of_coins_refute_nothing),
        cmocka_unit_test(only_a_posterior_decides_as_one),
        cmocka_unit_test(one_run),
        cmocka_unit_test(guesses_at_their_best_do_not_decide),
        cmocka_unit_test(a_claimed_curve),
        cmocka_unit_test(lists),
        cmocka_unit_test(families_and_methods_share),
        cmocka_unit_test(groups_share),
        cmocka_unit_test(cosines_estimate),
        cmocka_unit_test(cosines_on_the_way),
        cmocka_unit_test(cosines_scan),
        cmocka_unit_test(cosines_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
