/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every method on small fixed evidence, and plans of most methods: the numbers as they were when
 * the tests of each method were last looked at (recorded.txt). Right or wrong is for those tests;
 * this one sees that no number changes unseen. DPA_RECORD=1 prints the table. */
#include "known/table.h"

#include "estimate/cosines/cosine.h"
#include "estimate/losses/epsilon_star.h"
#include "estimate/one_run/one_run.h"
#include "estimate/plan/power.h"
#include "estimate/scores.h"
#include "math/dist.h"

enum { MOST = 2000, NUMBERS = 4 };

typedef struct line {
    char key[128];
    double number[NUMBERS];
} line;

static line recorded[MOST];
static size_t lines, seen;
static double tolerance = 1e-7; /* relative; rounding of other processors is far below */
static dpa_error err;

static int load(void **state) {
    (void)state;
    FILE *file = known_open("recorded.txt");
    char text[400];
    while (fgets(text, sizeof text, file) != NULL && lines < MOST) {
        line *l = &recorded[lines];
        char *rest = strchr(text, '|');
        if (text[0] == '#' || rest == NULL) continue;
        *rest++ = '\0';
        (void)snprintf(l->key, sizeof l->key, "%.127s", text);
        for (int i = 0; i < NUMBERS; ++i) {
            rest += strspn(rest, " ");
            l->number[i] = check_number(rest);
            rest += strcspn(rest, " \n");
        }
        ++lines;
    }
    (void)fclose(file);
    return 0;
}

static int is_near(double got, double want) {
    if (isnan(want)) return isnan(got);
    return got == want || fabs(got - want) <= tolerance * fmax(fabs(want), 1e-3);
}

static void check(const char *key, double a, double b, double c, double d) {
    const double got[NUMBERS] = {a, b, c, d};
    if (getenv("DPA_RECORD") != NULL) {
        (void)printf("%s|%.12g %.12g %.12g %.12g\n", key, a, b, c, d);
        return;
    }
    for (size_t k = 0; k < lines; ++k) {
        if (strcmp(recorded[k].key, key) != 0) continue;
        for (int i = 0; i < NUMBERS; ++i)
            if (!is_near(got[i], recorded[k].number[i]))
                fail_msg("%s: number %d is %.12g, was %.12g", key, i + 1, got[i],
                         recorded[k].number[i]);
        ++seen;
        return;
    }
    fail_msg("%s is not in recorded.txt", key);
}

static dpa_request request_of(const char *family, const char *method, double delta, int sides) {
    dpa_request r;
    dpa__request_init(&r);
    (void)snprintf(r.family, sizeof r.family, "%s", family);
    (void)snprintf(r.method, sizeof r.method, "%s", method);
    r.delta = delta;
    r.sides = sides;
    r.claim_epsilon = 0.7;
    r.threads = 1;
    return r;
}

static void check_results(const char *what, const dpa_results *results) {
    for (size_t i = 0; i < results->count; ++i) {
        const dpa_result *r = &results->items[i];
        char key[128];
        (void)snprintf(key, sizeof key, "%.30s %.25s %.20s %.15s %zu", what, r->family, r->method,
                       r->select, i);
        check(key, isnan(r->epsilon) ? r->epsilon_lower : r->epsilon, r->epsilon_upper,
              r->parameter_lower, r->p_value);
    }
}

static void counts(void **state) {
    (void)state;
    static const dpa_counts tables[] = {{.fn = 8, .tp = 92, .fp = 10, .tn = 90},
                                        {.fn = 0, .tp = 50, .fp = 0, .tn = 50},
                                        {.fn = 30, .tp = 20, .fp = 25, .tn = 25},
                                        {.fn = 300, .tp = 200, .fp = 5, .tn = 1995}};
    for (size_t t = 0; t < 4; ++t)
        for (int sides = 1; sides <= 2; ++sides)
            for (int k = 0; k < 3; ++k) {
                static const double deltas[] = {0, 1e-5, 0.05};
                if (sides == 2 && (t % 3 == 0 || k != 1)) continue; /* takes seconds */
                dpa_request r = request_of("", "", deltas[k], sides);
                dpa_results results = {0};
                char what[64];
                (void)snprintf(what, sizeof what, "counts %zu sides %d delta %d", t, sides, k);
                assert_ok(dpa__estimate_counts(&tables[t], &r, &results, &err));
                check_results(what, &results);
                dpa__results_free(&results);
            }
}

/* Quantiles of N(0,1) and N(1.1,0.9²), in disorder; some are the same. */
static dpa_scores scores_of(size_t n) {
    dpa_scores s;
    double *x = malloc(2 * n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; ++i) {
        const double u = ((double)(i * 37 % n) + 0.5) / (double)n;
        const double z = dpa__norm_quantile(u, DPA_LOWER);
        x[i] = i % 5 == 0 ? round(2 * (1.1 + 0.9 * z)) / 2 : 1.1 + 0.9 * z;
        x[n + i] = i % 5 == 0 ? round(2 * z) / 2 : z;
    }
    assert_ok(dpa__scores_from(x, n, x + n, n, &s, &err));
    free(x);
    dpa_lints lints = {0};
    assert_ok(dpa__scores_prepare_here(&s, &lints, &err));
    dpa__lints_free(&lints);
    return s;
}

static void scores(void **state) {
    (void)state;
    static const char *const methods[] = {"rank", "rank:slope", "scan", "cp", "jeffreys", "bayes"};
    static const char *const families[] = {"dp", "gaussian", "laplace"};
    dpa_scores s = scores_of(101);
    for (size_t m = 0; m < 6; ++m)
        for (size_t f = 0; f < 3; ++f) {
            if (m < 2 && f == 0) continue; /* ranks are not for dp */
            dpa_request r = request_of(families[f], methods[m], 1e-5, 1);
            dpa_results results = {0};
            assert_ok(dpa__estimate_scores(&s, &r, &results, &err));
            check_results("scores", &results);
            dpa__results_free(&results);
        }
    static const char *const selects[] = {"max", "split", "simultaneous", "fixed:0.8"};
    for (size_t k = 0; k < 4; ++k)
        for (size_t f = 0; f < 3; ++f) {
            dpa_request r = request_of(families[f], "cp", 0.01, 2);
            dpa_results results = {0};
            (void)snprintf(r.select, sizeof r.select, "%s", selects[k]);
            if (dpa__estimate_scores(&s, &r, &results, &err) != DPA_OK)
                fail_msg("%s: %s", selects[k], err.text);
            check_results("selected", &results);
            dpa__results_free(&results);
        }
    dpa_quality q;
    const dpa_request r = request_of("dp", "", 1e-5, 2);
    assert_ok(dpa__scores_quality(&s, &r, &q, &err));
    check("quality auc", q.auc.value, q.auc.lower, q.auc.upper, q.threshold);
    check("quality accuracy", q.accuracy.value, q.accuracy.lower, q.accuracy.upper, 0);
    for (int i = 0; i < DPA_LOW_FPRS; ++i) {
        char key[40];
        (void)snprintf(key, sizeof key, "quality tpr %d", i);
        check(key, q.fpr[i], q.tpr[i].value, q.tpr[i].lower, q.tpr[i].upper);
    }
    dpa__scores_free(&s);
}

static void one_run(void **state) {
    (void)state;
    static const dpa_one_run games[] = {
        {1000, 2, 100, 92}, {300, 2, 300, 190}, {60, 2, 12, 12}, {400, 5, 80, 60}};
    static const char *const methods[] = {"", "steinke", "recursion", "pointwise"};
    static const char *const families[] = {"dp", "gaussian", "laplace"};
    for (size_t g = 0; g < 4; ++g)
        for (size_t m = 0; m < 4; ++m)
            for (size_t f = 0; f < 3; ++f) {
                if ((m == 1 && f > 0) || (m == 3 && f == 0)) continue;
                if (g == 3 && m % 2 == 1) continue; /* for two options only */
                dpa_request r = request_of(families[f], methods[m], 1e-5, 1);
                dpa_result out;
                char key[80];
                (void)snprintf(key, sizeof key, "one run %zu %s %s", g, methods[m], families[f]);
                if (dpa__one_run_bound(&games[g], 1, DPA_GUESSES_FIXED, &r, &out, &err) != DPA_OK)
                    fail_msg("%s: %s", key, err.text);
                check(key, out.epsilon_lower, out.parameter_lower, out.p_value, out.confidence);
            }
}

static void cosines(void **state) {
    (void)state;
    enum { COUNT = 120 };
    double in[COUNT], out[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        const double z = dpa__norm_quantile((i * 37 % COUNT + 0.5) / COUNT, DPA_LOWER);
        in[i] = (2.2 + 1.05 * z) / 100;
        out[i] = (0.1 + 0.97 * z) / 100;
    }
    for (int k = 0; k < 3; ++k) {
        dpa_cosines c = {.observed = in, .observed_count = COUNT, .dim = 10000};
        if (k == 1) c.direction = DPA_DIRECTION_SIGNS;
        if (k == 2) {
            c.unobserved = out;
            c.unobserved_count = COUNT - 7;
        }
        dpa_request r = request_of("", "", 1e-5, 1);
        dpa_results results = {0};
        dpa_lints lints = {0};
        char what[20];
        (void)snprintf(what, sizeof what, "cosines %d", k);
        assert_ok(dpa__cosines_results(&c, &r, &results, &lints, &err));
        check_results(what, &results);
        dpa__results_free(&results);
        dpa__lints_free(&lints);
    }
}

static void losses(void **state) {
    (void)state;
    enum { COUNT = 150 };
    static const char *const methods[] = {"binormal", "empirical", "normal",
                                          "tail",     "mixture",   "simultaneous"};
    double train[COUNT], heldout[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        const double z = dpa__norm_quantile((i * 37 % COUNT + 0.5) / COUNT, DPA_LOWER);
        train[i] = -1.5 + z + 0.1 * z * z;
        heldout[i] = 0.2 + 1.3 * z;
    }
    dpa_losses l;
    tolerance = 1e-4; /* fits end where they no longer gain */
    assert_ok(dpa__losses_new(train, COUNT, heldout, COUNT - 11, &l, &err));
    for (size_t m = 0; m < sizeof methods / sizeof methods[0]; ++m) {
        dpa_request r = request_of("", methods[m], 0.01, 1);
        dpa_star_opts opts;
        dpa_results results = {0};
        dpa_lints lints = {0};
        dpa__star_opts_init(&opts);
        opts.bootstrap = 20;
        assert_ok(dpa__star_results(&l, &opts, &r, &results, &lints, &err));
        check_results("losses", &results);
        dpa__results_free(&results);
        dpa__lints_free(&lints);
    }
    dpa__losses_free(&l);
    tolerance = 1e-7;
}

/* What an audit would need. Methods that simulate long are left to `coverage`. */
static void plans(void **state) {
    (void)state;
    static const struct {
        dpa_plan_game game;
        const char *method, *family;
        uint64_t n;
    } asked[] = {{DPA_PLAN_RUNS, "cp", "dp", 60},
                 {DPA_PLAN_RUNS, "cp", "gaussian", 40},
                 {DPA_PLAN_RUNS, "jeffreys", "dp", 50},
                 {DPA_PLAN_RUNS, "exact", "dp", 25},
                 {DPA_PLAN_RUNS, "exact", "gaussian", 20},
                 {DPA_PLAN_RUNS, "rank", "gaussian", 30},
                 {DPA_PLAN_RUNS, "rank", "laplace", 30},
                 {DPA_PLAN_STEPS, "cp", "gaussian", 400},
                 {DPA_PLAN_STEPS, "rank", "gaussian", 300},
                 {DPA_PLAN_ONE_RUN, "steinke", "dp", 200},
                 {DPA_PLAN_ONE_RUN, "recursion", "gaussian", 150},
                 {DPA_PLAN_ONE_RUN, "either", "dp", 200},
                 {DPA_PLAN_COSINES, "mean", "gaussian", 60},
                 {DPA_PLAN_COSINES, "mean-and-deviation", "gaussian", 80},
                 {DPA_PLAN_COSINES, "jeffreys", "dp", 400}};
    for (size_t k = 0; k < sizeof asked / sizeof asked[0]; ++k) {
        dpa_plan p;
        dpa_plan_answer at;
        double most;
        char key[80];
        dpa__plan_init(&p);
        p.game = asked[k].game;
        p.method = asked[k].method;
        p.family = asked[k].family;
        p.claim_epsilon = 1;
        p.truth_epsilon = 3;
        p.threads = 1;
        if (p.game == DPA_PLAN_STEPS) {
            p.q = 0.1;
            p.steps = 50;
        }
        (void)snprintf(key, sizeof key, "plan %d %s %s", (int)p.game, p.method, p.family);
        if (dpa__ask_power(&p, asked[k].n, &at, &err) != DPA_OK) fail_msg("%s: %s", key, err.text);
        check(key, at.power, at.error, at.threshold, (double)at.guesses);
        (void)snprintf(key, sizeof key, "most %d %s %s", (int)p.game, p.method, p.family);
        assert_ok(dpa__ask_most(&p, asked[k].n, &most, &err));
        check(key, most, 0, 0, 0);
    }
    static const char *const families[] = {"dp", "gaussian", "laplace"};
    for (int f = 0; f < 3; ++f) {
        double a, b;
        char key[40];
        assert_ok(dpa__plan_ceiling(families[f], 20, 1e-5, 0.95, &a, &err));
        assert_ok(dpa__plan_ceiling(families[f], 1000, 1e-3, 0.99, &b, &err));
        (void)snprintf(key, sizeof key, "ceiling %s", families[f]);
        check(key, a, b, 0, 0);
    }
}

static int all_were_seen(void **state) {
    (void)state;
    if (getenv("DPA_RECORD") != NULL || seen == lines) return 0;
    print_error("%zu of %zu lines of recorded.txt were seen\n", seen, lines);
    return 1;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts),  cmocka_unit_test(scores),
                                       cmocka_unit_test(one_run), cmocka_unit_test(cosines),
                                       cmocka_unit_test(losses),  cmocka_unit_test(plans)};
    return cmocka_run_group_tests(tests, load, all_were_seen);
}
