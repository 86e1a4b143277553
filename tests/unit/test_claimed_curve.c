/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The p-value of a claim in a family of curves: every method that decides has one, it crosses the
 * allowed error where the bound is, and it is that of the claimed curve itself. */
#include "check.h"
#include "prepared.h"

#include "base/rng.h"
#include "estimate/ranks/rank.h"
#include "estimate/ranks/scan.h"
#include "estimate/rates/exact.h"
#include "estimate/rates/rates.h"
#include "estimate/registry.h"

#define SAMPLED "subsampled-gaussian:q=0.3,steps=2"

static dpa_request request_of(const char *method, const char *family, double claim) {
    dpa_request request;
    dpa__request_init(&request);
    request.claim_epsilon = claim;
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    (void)snprintf(request.method, sizeof request.method, "%s", method);
    return request;
}

enum { N = 150 };

/* Sampled steps: the record is in about half of the runs, with little noise. */
static dpa_scores drawn(void) {
    double in[N], out[N];
    dpa_rng rng;
    dpa__rng_init(&rng, 5, DPA_PURPOSE_TEST, 0);
    for (int i = 0; i < N; ++i) {
        in[i] = dpa__rng_normal(&rng) + (dpa__rng_uniform(&rng) < 0.5 ? 3 : 0);
        out[i] = dpa__rng_normal(&rng);
    }
    return prepared(in, N, out, N);
}

static dpa_result judged_scores(const dpa_scores *scores, const char *method, const char *family,
                                double claim) {
    const dpa_request request = request_of(method, family, claim);
    dpa_results results = {0};
    assert_ok(dpa__estimate_scores(scores, &request, &results, NULL));
    assert_true(results.count >= 1);
    const dpa_result result = results.items[0];
    dpa__results_free(&results);
    return result;
}

static dpa_result judged_counts(const char *family, double claim) {
    const dpa_request request = request_of("exact", family, claim);
    const dpa_counts counts = {.fn = 45, .tp = 55, .fp = 6, .tn = 94};
    dpa_results results = {0};
    assert_ok(dpa__estimate_counts(&counts, &request, &results, NULL));
    const dpa_result result = results.items[0];
    dpa__results_free(&results);
    return result;
}

/* A claim below the bound is refuted by its p-value too, one well above is not. */
static void crosses_where_the_bound_is(void **state) {
    static const char *const methods[] = {"rank", "rank:slope", "scan", "exact"};
    static const char *const families[] = {"laplace", SAMPLED};
    dpa_scores scores = drawn();
    (void)state;
    for (size_t m = 0; m < 4; ++m)
        for (size_t f = 0; f < 2; ++f) {
            const int is_counts = m == 3;
            dpa_result r = is_counts ? judged_counts(families[f], NAN)
                                     : judged_scores(&scores, methods[m], families[f], NAN);
            const double bound = r.epsilon_lower;
            assert_true(isnan(r.p_value) && bound > 0);
            static const double times[] = {0.6, 0.97, 1.4};
            for (size_t i = 0; i < 3; ++i) {
                const double claim = times[i] * bound;
                r = is_counts ? judged_counts(families[f], claim)
                              : judged_scores(&scores, methods[m], families[f], claim);
                if (m == 1 && i == 1) continue; /* the claim sets the slopes, and so the bound */
                assert_true((r.p_value <= 0.05) == (i < 2));
                assert_true(m == 1 || r.epsilon_lower == bound);
            }
        }
    dpa__scores_free(&scores);
}

/* Just around the bound, where its grid has not every claim: p ≤ 0.05 exactly when the bound is
 * above the claim. */
static void agrees_with_the_bound(void **state) {
    static const char *const methods[] = {"rank", "scan", "exact"};
    static const char *const families[] = {"gaussian", "dp", "dp"};
    static const double times[] = {0.99, 0.998, 1, 1.002, 1.01};
    dpa_scores scores = drawn();
    (void)state;
    for (size_t m = 0; m < 3; ++m) {
        const dpa_result plain = m == 2 ? judged_counts(families[m], NAN)
                                        : judged_scores(&scores, methods[m], families[m], NAN);
        for (size_t i = 0; i < 5; ++i) {
            const double claim = times[i] * plain.epsilon_lower;
            const dpa_result r = m == 2 ? judged_counts(families[m], claim)
                                        : judged_scores(&scores, methods[m], families[m], claim);
            if (i == 2 && m == 0) continue; /* no grid: equal to the last digit, either way */
            assert_true((r.p_value <= 0.05) == (r.epsilon_lower > claim));
        }
    }
    dpa__scores_free(&scores);
}

/* The same number as asking for the curve of the claimed mechanism by name. */
static void is_that_of_the_curve(void **state) {
    dpa_scores scores = drawn();
    const dpa_request request = request_of("scan", SAMPLED, NAN);
    dpa__model model;
    dpa_curve *curve;
    double epsilon, p;
    (void)state;
    assert_ok(dpa__model_open(SAMPLED, request.delta, &model, NULL));
    const dpa__model directed = dpa__model_directed(&model);
    const double t = 1 / 0.3;
    assert_ok(dpa__model_epsilon(&model, t, request.delta, -1, &epsilon, NULL));
    assert_ok(dpa__model_curve(&directed, t, &curve, NULL));
    assert_ok(dpa__scan_p_value(&scores, curve, &request, &p, NULL));
    assert_between(p, 0.001, 0.999);
    assert_absolute(judged_scores(&scores, "scan", SAMPLED, epsilon).p_value, p, 2e-3);
    assert_ok(dpa__rank_p_value(&scores, curve, &request, &p, NULL));
    assert_absolute(judged_scores(&scores, "rank", SAMPLED, epsilon).p_value, p, 0.01);
    dpa_curve_free(curve);
    dpa__model_close(&model);
    dpa__scores_free(&scores);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(crosses_where_the_bound_is),
                                       cmocka_unit_test(agrees_with_the_bound),
                                       cmocka_unit_test(is_that_of_the_curve)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
