/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exact test of counts: its order, its certified supremum and its level against plain
 * enumeration of every outcome; known answers; extremes; scores with two values. */
#include "check.h"

#include "estimate/ranks/scan.h"
#include "estimate/rates/exact.h"
#include "estimate/rates/rates.h"
#include "estimate/scores.h"
#include "math/dist.h"

static dpa_request request_of(double delta, const char *family) {
    dpa_request request;
    dpa__request_init(&request);
    request.delta = delta;
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    (void)snprintf(request.method, sizeof request.method, "exact");
    return request;
}

static dpa_result bound_of(dpa_counts counts, const dpa_request *request) {
    dpa_results results = {0};
    assert_ok(dpa__estimate_counts(&counts, request, &results, NULL));
    assert_int_equal(results.count, 1);
    const dpa_result result = results.items[0];
    dpa__results_free(&results);
    return result;
}

/* A null hypothesis with everything that enumeration needs. */
typedef struct hypothesis {
    dpa_curve *curve;
    dpa__edge edge;
    double epsilon, delta;
} hypothesis;

static hypothesis dp_hypothesis(double epsilon, double delta) {
    hypothesis h = {.epsilon = epsilon, .delta = delta};
    assert_ok(dpa_curve_dp(epsilon, delta, &h.curve, NULL));
    h.edge = dpa__edge_dp(h.curve, epsilon, delta, 0);
    return h;
}

static hypothesis gaussian_hypothesis(double mu) {
    hypothesis h = {.epsilon = -1};
    assert_ok(dpa_curve_gaussian(mu, &h.curve, NULL));
    h.edge = dpa__edge_of(h.curve, 0);
    return h;
}

/* ── the order ─────────────────────────────────────────────────────────────────────────────── */

static double plain_log(double k, double rate) {
    return k == 0 ? 0 : k * log(rate);
}

static double log_likelihood(const dpa__outcome *o, double x, double y) {
    return plain_log(o->a, x) + plain_log(o->n1 - o->a, 1 - x) + plain_log(o->b, y) +
           plain_log(o->n0 - o->b, 1 - y);
}

static double plain_ratio(const dpa__edge *edge, const dpa__outcome *o) {
    double most = -HUGE_VAL;
    const double x = o->a / o->n1, y = o->b / o->n0;
    if (x >= dpa__edge_fnr(edge, y)) return 0;
    for (int i = 0; i <= 200000; ++i) {
        const double v = i / 200000.0;
        most = fmax(most, log_likelihood(o, dpa__edge_fnr(edge, v), v));
    }
    for (size_t i = 0; edge->pieces > 0 && i <= edge->pieces; ++i) /* corners are on no grid */
        most = fmax(most, log_likelihood(o, edge->level[i], edge->corner[i]));
    return log_likelihood(o, x, y) - most;
}

static void check_ratio(const dpa__edge *edge, double tolerance) {
    for (double a = 0; a <= 20; a += 4)
        for (double b = 0; b <= 15; b += 3) {
            const dpa__outcome o = {20, 15, a, b}, more = {20, 15, a + 1, b};
            const double ratio = dpa__edge_ratio(edge, &o);
            assert_absolute(ratio, plain_ratio(edge, &o), tolerance);
            assert_true(a == 20 || dpa__edge_ratio(edge, &more) <= ratio + 1e-9);
        }
}

static void test_order(void **state) {
    (void)state;
    hypothesis h = dp_hypothesis(1, 0.02);
    check_ratio(&h.edge, 1e-7);
    const dpa__edge turned = dpa__edge_dp(h.curve, 1, 0.02, 1);
    check_ratio(&turned, 1e-7);
    dpa_curve_free(h.curve);
    h = dp_hypothesis(0, 0);
    check_ratio(&h.edge, 1e-7);
    dpa_curve_free(h.curve);
    h = gaussian_hypothesis(1.3);
    check_ratio(&h.edge, 1e-7);
    dpa_curve_free(h.curve);
}

/* ── the level ─────────────────────────────────────────────────────────────────────────────── */

enum { MOST = 41 };

/* The outcomes that reject, by the exact test and by the rectangle of two limits. */
static void rejections(const hypothesis *h, size_t n1, size_t n0, double p,
                       unsigned char exact[MOST][MOST], unsigned char rectangle[MOST][MOST]) {
    for (size_t a = 0; a <= n1; ++a)
        for (size_t b = 0; b <= n0; ++b) {
            const dpa__outcome o = {(double)n1, (double)n0, (double)a, (double)b};
            double value;
            assert_ok(dpa__exact_supremum(&h->edge, &h->edge, &o, dpa__edge_ratio(&h->edge, &o),
                                          0.02 * p, p, &value, NULL));
            exact[a][b] = value <= p * (1 + 1e-12);
            const double x = dpa__cp_upper((double)a, (double)n1, p / 2);
            const double y = dpa__cp_upper((double)b, (double)n0, p / 2);
            rectangle[a][b] = x < dpa_curve_fnr(h->curve, y);
        }
}

static double chance(unsigned char set[MOST][MOST], size_t n1, size_t n0, double x, double y) {
    double sum = 0;
    for (size_t a = 0; a <= n1; ++a)
        for (size_t b = 0; b <= n0; ++b)
            if (set[a][b])
                sum += exp(dpa__binom_log_pmf((double)a, (double)n1, x) +
                           dpa__binom_log_pmf((double)b, (double)n0, y));
    return sum;
}

static void check_level(const hypothesis *h, size_t n1, size_t n0, double *waste) {
    static unsigned char exact[MOST][MOST], rectangle[MOST][MOST];
    double unused[2] = {0, 0};
    rejections(h, n1, n0, 0.05, exact, rectangle);
    for (int i = 1; i < 200; ++i) {
        const double y = i / 200.0, x = dpa_curve_fnr(h->curve, y);
        const double error = chance(exact, n1, n0, x, y);
        assert_true(error <= 0.05);
        /* if a rate is nearly 0 or 1, no test can use up its level */
        if (x < 0.02 || y < 0.02) continue;
        unused[0] += 0.05 - error;
        unused[1] += 0.05 - chance(rectangle, n1, n0, x, y);
    }
    *waste = unused[0] / unused[1];
}

static void test_level_by_enumeration(void **state) {
    double waste;
    (void)state;
    hypothesis h = dp_hypothesis(1, 1e-5);
    check_level(&h, 40, 40, &waste);
    assert_true(waste < 0.5);
    check_level(&h, 12, 40, &waste);
    check_level(&h, 1, 5, &waste);
    dpa_curve_free(h.curve);
    h = dp_hypothesis(0.3, 0.05);
    check_level(&h, 25, 30, &waste);
    assert_true(waste < 0.5);
    dpa_curve_free(h.curve);
    h = dp_hypothesis(0, 0);
    check_level(&h, 30, 30, &waste);
    assert_true(waste < 0.5);
    dpa_curve_free(h.curve);
    h = gaussian_hypothesis(1);
    check_level(&h, 20, 20, &waste);
    assert_true(waste < 0.6);
    dpa_curve_free(h.curve);
}

/* The interval's upper end is below the truth with at most half of the error. */
static void test_upper_end_by_enumeration(void **state) {
    enum { N = 8 };
    dpa_request request = request_of(0.01, "dp");
    double upper[N + 1][N + 1];
    (void)state;
    request.sides = 2;
    request.confidence = 0.8;
    for (uint64_t a = 0; a <= N; ++a)
        for (uint64_t b = 0; b <= N; ++b) {
            const dpa_result r = bound_of((dpa_counts){a, N - a, b, N - b}, &request);
            assert_true(r.epsilon_lower <= r.epsilon_upper);
            upper[a][b] = r.epsilon_upper;
        }
    for (int i = 0; i < 60; ++i) {
        const double x = 0.02 + 0.96 * (i % 10) / 9, y = 0.02 + 0.96 * (i / 10) / 5;
        dpa__model model;
        double truth, missed = 0;
        assert_ok(dpa__model_open("dp", 0.01, &model, NULL));
        assert_ok(dpa__model_locate(&model, x, y, -1, &truth, NULL));
        for (int a = 0; a <= N; ++a)
            for (int b = 0; b <= N; ++b)
                if (upper[a][b] < truth)
                    missed += exp(dpa__binom_log_pmf(a, N, x) + dpa__binom_log_pmf(b, N, y));
        assert_true(missed <= 0.1);
        dpa__model_close(&model);
    }
}

/* ── answers ───────────────────────────────────────────────────────────────────────────────── */

static void test_known(void **state) {
    dpa_request request = request_of(1e-5, "dp");
    (void)state;
    /* methods.md, section 14: .98 with γ */
    assert_absolute(bound_of((dpa_counts){76, 24, 4, 96}, &request).epsilon_lower, 0.98, 0.0051);
    /* the same for a thousand times the counts: near the plug-in log(.24/.04) = 1.79 from below */
    const double many = bound_of((dpa_counts){76000, 24000, 4000, 96000}, &request).epsilon_lower;
    assert_between(many, 1.75, 1.79);
}

static void test_claim(void **state) {
    const dpa_counts counts = {76, 24, 4, 96};
    dpa_request request = request_of(1e-5, "dp");
    double p;
    (void)state;
    assert_true(isnan(bound_of(counts, &request).p_value));
    request.claim_epsilon = 0.5;
    const double strong = bound_of(counts, &request).p_value;
    assert_between(strong, 0.001, 0.05);
    request.claim_epsilon = 1;
    assert_between(bound_of(counts, &request).p_value, 0.05, 0.2);
    assert_ok(dpa__exact_p_value_dp(&counts, INFINITY, 0, &request, &p, NULL));
    assert_true(p == 1);
    request = request_of(1e-5, "gaussian");
    request.claim_epsilon = 1;
    assert_between(bound_of(counts, &request).p_value, 0.001, 0.05);
}

static void test_extremes(void **state) {
    dpa_request request = request_of(1e-5, "dp");
    (void)state;
    assert_true(bound_of((dpa_counts){0, 1, 0, 1}, &request).epsilon_lower == 0);
    assert_true(bound_of((dpa_counts){1, 0, 1, 0}, &request).epsilon_lower == 0);
    assert_true(bound_of((dpa_counts){50, 50, 50, 50}, &request).epsilon_lower == 0);
    /* all of 1000 right: at most log of what 0.05 of (1−y)^1000 allows */
    const double perfect = bound_of((dpa_counts){0, 1000, 0, 1000}, &request).epsilon_lower;
    assert_between(perfect, 5.81, log(1000 / 1.4));
    const double large = bound_of((dpa_counts){0, 1000000, 0, 1000000}, &request).epsilon_lower;
    assert_between(large, perfect + 6, perfect + 7);
    dpa_results results = {0};
    dpa_error err;
    const dpa_counts beyond = {0, 1000001, 0, 5};
    assert_int_equal(dpa__estimate_counts(&beyond, &request, &results, &err), DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "10^6"));
    dpa__results_free(&results);
}

static void test_two_valued_scores(void **state) {
    double in[100], out[100];
    dpa_lints lints = {0};
    dpa_scores scores;
    dpa_results results = {0};
    dpa_request request = request_of(1e-5, "dp");
    (void)state;
    for (int i = 0; i < 100; ++i) {
        in[i] = i < 24 ? 2.5 : -1;
        out[i] = i < 4 ? 2.5 : -1;
    }
    const double want = bound_of((dpa_counts){76, 24, 4, 96}, &request).epsilon_lower;
    (void)snprintf(request.method, sizeof request.method, "scan");
    assert_ok(dpa__scores_from(in, 100, out, 100, &scores, NULL));
    assert_ok(dpa__scores_prepare_here(&scores, &lints, NULL));
    assert_ok(dpa__estimate_scores(&scores, &request, &results, NULL));
    assert_true(results.items[0].epsilon_lower == want);
    assert_true(results.items[0].has_counts && results.items[0].counts.tp == 24);
    dpa__results_free(&results);
    dpa__lints_free(&lints);
    dpa__scores_free(&scores);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_level_by_enumeration),
        cmocka_unit_test(test_upper_end_by_enumeration),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_claim),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_two_valued_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
