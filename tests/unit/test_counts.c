/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts: ratio intervals by hand, δ at ε and back, the posterior as a function, extremes, the
 * registry. */
#include "check.h"

#include "estimate/rates/posterior.h"
#include "estimate/rates/ratio.h"
#include "estimate/registry.h"
#include "estimate/scores.h"
#include "math/dist.h"
#include "tradeoff/tradeoff.h"

static dpa_request request_of(const char *family, const char *method, double delta) {
    dpa_request request;
    dpa__request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "%s", family);
    (void)snprintf(request.method, sizeof request.method, "%s", method);
    request.delta = delta;
    return request;
}

static dpa_result one(const dpa_counts *counts, const dpa_request *request) {
    dpa_results results = {0};
    dpa_error err = {0};
    if (dpa__estimate_counts(counts, request, &results, &err) != DPA_OK) fail_msg("%s", err.text);
    assert_int_equal(results.count, 1);
    const dpa_result result = results.items[0];
    dpa__results_free(&results);
    return result;
}

/* Each interval satisfies the equation that defines it. */
static void ratios(void **state) {
    (void)state;
    const double a = 30, m = 100, b = 12, n = 80, p = 0.025, z = 1.959963984540054;
    const double centre = log(a / m / (b / n)), se = sqrt(1 / a - 1 / m + 1 / b - 1 / n);
    const dpa__log_ratio katz = dpa__ratio_limits(DPA__KATZ_LOG, a, m, b, n, p);
    assert_relative(katz.lower, centre - z * se, 1e-12);
    assert_relative(katz.upper, centre + z * se, 1e-12);
    const dpa__log_ratio sinh_ = dpa__ratio_limits(DPA__INVERSE_SINH, a, m, b, n, p);
    assert_relative(2 * sinh(0.5 * (sinh_.upper - centre)), z * se, 1e-12);
    assert_relative(2 * sinh(0.5 * (centre - sinh_.lower)), z * se, 1e-12);
    const dpa__log_ratio half = dpa__ratio_limits(DPA__ADJUSTED_LOG, 0, m, b, n, p);
    assert_relative(0.5 * (half.lower + half.upper), log(0.5 / (m + 0.5) / (12.5 / (n + 0.5))),
                    1e-12);
    const dpa__log_ratio bailey = dpa__ratio_limits(DPA__BAILEY, a, m, b, n, p);
    for (int side = 0; side < 2; ++side) { /* Fieller's equation for cube roots */
        const double r = exp(((side ? bailey.upper : bailey.lower) - centre) / 3);
        assert_relative((1 - r) * (1 - r), z * z / 9 * ((1 - a / m) / a + r * r * (1 - b / n) / b),
                        1e-10);
    }
    assert_true(bailey.lower < centre && bailey.upper > centre);
    const dpa__log_ratio none = dpa__ratio_limits(DPA__KATZ_LOG, 0, m, b, n, p);
    assert_true(none.lower != none.lower);
}

/* All methods agree on a large sample and have a known order on a small one. */
static void methods_agree(void **state) {
    (void)state;
    static const char *const all[] = {"cp",           "jeffreys", "bayes",       "katz",
                                      "adjusted-log", "bailey",   "inverse-sinh"};
    const dpa_counts large = {40000000, 60000000, 10000000, 90000000};
    const double truth = log(6);
    for (size_t i = 0; i < 7; ++i) {
        const dpa_request request = request_of("dp", all[i], 0);
        assert_between(one(&large, &request).epsilon_lower, truth - 2e-3, truth);
    }
    const dpa_counts small = {8, 32, 3, 37};
    const dpa_request cp = request_of("dp", "cp", 0), jeffreys = request_of("dp", "jeffreys", 0),
                      bayes = request_of("dp", "bayes", 0);
    assert_true(one(&small, &cp).epsilon_lower < one(&small, &jeffreys).epsilon_lower);
    assert_true(one(&small, &jeffreys).epsilon_lower < one(&small, &bayes).epsilon_lower);
}

/* If ε is the bound at δ₀, the δ that belongs to ε is δ₀ again. */
static void delta_and_back(void **state) {
    (void)state;
    static const char *const methods[] = {"cp", "jeffreys", "bayes"};
    static const char *const families[] = {"dp", "gaussian", "laplace"};
    const dpa_counts counts = {20, 80, 10, 90};
    for (int f = 0; f < 3; ++f)
        for (int m = 0; m < 3; ++m) {
            const dpa_request request = request_of(families[f], methods[m], 0.01);
            const double epsilon = one(&counts, &request).epsilon_lower;
            double delta;
            assert_ok(dpa__delta_at_epsilon(&counts, &request, families[f], methods[m], epsilon,
                                            &delta, NULL));
            assert_relative(delta, 0.01, f == 2 ? 1e-4 : 1e-8);
            assert_ok(dpa__delta_at_epsilon(&counts, &request, families[f], methods[m], 30, &delta,
                                            NULL));
            assert_between(delta, 0, 1e-9);
        }
    double delta;
    const dpa_request request = request_of("dp", "cp", 0.01);
    assert_int_equal(dpa__delta_at_epsilon(&counts, &request, "dp", "katz", 1, &delta, NULL),
                     DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__delta_at_epsilon(&counts, &request, "dp", "cp", -1, &delta, NULL),
                     DPA_BAD_ARGUMENT);
}

/* The density integrates to the distribution; the mean lies between the quartiles and fits the
 * density. */
static void posterior_function(void **state) {
    (void)state;
    enum { POINTS = 400 };
    static const char *const families[] = {"dp", "gaussian", "laplace"};
    const dpa_counts counts = {30, 70, 20, 80};
    for (int f = 0; f < 3; ++f) {
        const dpa_request request = request_of(families[f], "bayes", 0.01);
        dpa__posterior_point p[POINTS];
        double atom, mean, low, high, area = 0, first = 0;
        assert_ok(dpa__posterior_curve(&counts, &request, families[f], p, POINTS, &atom, NULL));
        /* two points are its ends, one its middle */
        dpa__posterior_point few[2];
        assert_ok(dpa__posterior_curve(&counts, &request, families[f], few, 2, &atom, NULL));
        assert_relative(few[0].epsilon, p[0].epsilon, 1e-12);
        assert_relative(few[1].epsilon, p[POINTS - 1].epsilon, 1e-12);
        assert_ok(dpa__posterior_curve(&counts, &request, families[f], few, 1, &atom, NULL));
        assert_between(few[0].epsilon, p[POINTS / 2 - 1].epsilon, p[POINTS / 2].epsilon);
        for (int i = 1; i < POINTS; ++i) {
            const double width = p[i].epsilon - p[i - 1].epsilon;
            assert_true(width > 0 && p[i].cumulative >= p[i - 1].cumulative);
            area += 0.5 * width * (p[i].density + p[i - 1].density);
            first +=
                0.5 * width * (p[i].density * p[i].epsilon + p[i - 1].density * p[i - 1].epsilon);
        }
        assert_absolute(area, p[POINTS - 1].cumulative - p[0].cumulative, 1e-4);
        assert_ok(dpa__posterior_mean(&counts, &request, families[f], &mean, NULL));
        assert_absolute(mean, first, 0.01);
        assert_ok(dpa__posterior_epsilon(&counts, &request, families[f], 0.25, &low, NULL));
        assert_ok(dpa__posterior_epsilon(&counts, &request, families[f], 0.75, &high, NULL));
        assert_between(mean, low, high);
    }
}

/* Zero counts, one run, a billion runs, δ near its ends: always a number, between those of its
 * neighbours. */
static void extremes(void **state) {
    (void)state;
    static const dpa_counts cases[] = {{0, 1, 0, 1},
                                       {1, 0, 1, 0},
                                       {0, 1000000000, 0, 1000000000},
                                       {500000000, 500000000, 0, 1000000000},
                                       {0, 1000000000, 1, 0},
                                       {1000000000, 0, 0, 1000000000}};
    static const double deltas[] = {0, 1e-300, 1e-5, 0.5, 0.999};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c)
        for (size_t d = 0; d < 5; ++d)
            for (int sides = 1; sides <= 2; ++sides) {
                dpa_request request = request_of("", "", deltas[d]);
                dpa_results results = {0};
                dpa_error err = {0};
                request.sides = sides;
                if (dpa__estimate_counts(&cases[c], &request, &results, &err) != DPA_OK)
                    fail_msg("case %zu delta %g: %s", c, deltas[d], err.text);
                for (size_t i = 0; i < results.count; ++i) {
                    const dpa_result *r = &results.items[i];
                    if (r->kind == DPA_ESTIMATE) continue;
                    if (!(r->epsilon_lower >= 0) ||
                        (sides == 2 && !(r->epsilon_upper >= r->epsilon_lower)))
                        fail_msg("%s %s case %zu delta %g: [%g, %g]", r->family, r->method, c,
                                 deltas[d], r->epsilon_lower, r->epsilon_upper);
                }
                dpa__results_free(&results);
            }
}

static void registry(void **state) {
    (void)state;
    assert_true(dpa__estimator_count() >= 9);
    assert_null(dpa__estimator_at(dpa__estimator_count()));
    for (size_t i = 0; i < dpa__estimator_count(); ++i) {
        const dpa_estimator *e = dpa__estimator_at(i);
        const unsigned far = e->what & (DPA_FROM_GUESSES | DPA_FROM_COSINES | DPA_FROM_LOSSES);
        assert_true(e->name[0] && e->summary[0] && (far || e->families[0]));
        assert_ptr_equal(far ? &dpa__registry_for(far, e->name, NULL)->about
                             : &dpa__registry_find(e->name, NULL)->about,
                         e);
        assert_true((e->what & (DPA_GIVES_BOUND | DPA_GIVES_ESTIMATE)) != 0);
    }
    assert_null(dpa__registry_find("", NULL));
}

/* What follows the colon of a name is a flavour that the method has, or the name is unknown. */
static void flavours(void **state) {
    (void)state;
    dpa_error err;
    assert_int_equal(dpa__registry_flavour("rank"), 0);
    assert_int_equal(dpa__registry_flavour("rank:auc"), 0);
    assert_int_equal(dpa__registry_flavour("rank:slope"), 1);
    assert_ptr_equal(dpa__registry_find("rank:slope", NULL), dpa__registry_find("rank", NULL));
    assert_null(dpa__registry_find("rank:steep", &err));
    assert_non_null(strstr(err.text, "'rank:steep' is none of rank, scan"));
    assert_null(dpa__registry_find("scan:auc", NULL));
    assert_null(dpa__registry_find("cp:auc", NULL));
}

static void lists(void **state) {
    (void)state;
    assert_true(dpa__list_asks("", "cp")); /* nothing named: everything */
    assert_true(dpa__list_asks("cp", "cp"));
    assert_true(dpa__list_asks("exact+cp", "cp"));
    assert_false(dpa__list_asks("exact+cp", "c"));
    assert_false(dpa__list_asks("cp", "cp+exact"));
    assert_true(dpa__list_asks("points:a+b.csv+gaussian", "points:a+b.csv"));
    assert_true(dpa__list_asks("points:a+b.csv+gaussian", "gaussian"));
    assert_int_equal(dpa__list_count("points:a+b.csv+gaussian"), 2);
    assert_int_equal(dpa__list_count("rank:slope+cp"), 2);
    assert_true(dpa__list_asks("rank:slope+cp", "cp"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratios),         cmocka_unit_test(methods_agree),
        cmocka_unit_test(delta_and_back), cmocka_unit_test(posterior_function),
        cmocka_unit_test(extremes),       cmocka_unit_test(registry),
        cmocka_unit_test(flavours),       cmocka_unit_test(lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
