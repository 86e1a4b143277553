/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Estimates from canary cosines against closed forms, mpmath and scipy (numbers printed by
 * mpmath 40 digits and scipy.stats), and brute force over the intervals' regions. */
#include "check.h"

#include "base/rng.h"
#include "base/text.h"
#include "estimate/cosines/cosine.h"
#include "estimate/scores.h"
#include "math/dist.h"
#include "prepared.h"
#include "tradeoff/tradeoff.h"

static void null_law(void **state) {
    (void)state;
    for (double t = -0.95; t < 1.0; t += 0.1) {
        assert_relative(exp(dpa__cosine_null_log_upper(t, 2)), acos(t) / M_PI, 1e-13);
        assert_relative(exp(dpa__cosine_null_log_upper(t, 3)), (1.0 - t) / 2.0, 1e-13);
    }
    assert_relative(dpa__cosine_null_log_upper(0.1, 1000), -7.171907142865178, 1e-13);
    assert_relative(dpa__cosine_null_log_upper(0.3, 1000), -50.286636102408754, 1e-13);
    assert_relative(dpa__cosine_null_log_upper(0.05, 10000), -15.079285794678064, 1e-13);
    assert_relative(dpa__cosine_null_log_upper(0.5, 50), -9.2772112743967458, 1e-13);
    assert_relative(dpa__cosine_null_log_upper(0.0, 7), log(0.5), 1e-14);
    assert_true(isnan(dpa__cosine_null_log_upper(1.5, 7)));
    assert_true(isnan(dpa__cosine_null_log_upper(0.5, 1)));
    /* far out, and in ten million dimensions close to the normal tail */
    assert_true(dpa__cosine_null_log_upper(0.999, 10000000) < -1e7);
    assert_relative(dpa__cosine_null_log_upper(5.0 / sqrt(1e7), 10000000),
                    dpa__norm_cdf(5.0, DPA_LOG_UPPER), 1e-5);
    assert_between(dpa__cosine_null_distance(1000), 1e-5, 1e-3);
    assert_between(dpa__cosine_null_distance(100) / dpa__cosine_null_distance(1000), 9.0, 11.0);
    assert_true(dpa__cosine_null_distance(2) > 0.05);
}

static void anderson_darling(void **state) {
    (void)state;
    double x[60], statistic, p;
    for (int i = 0; i < 60; ++i) x[i] = (0.01 * ((i * i * 37) % 101) - 0.3 * sin(i)) / 2.0;
    assert_ok(dpa__anderson_darling(x, 60, &statistic, &p, NULL));
    assert_relative(statistic, 0.9517271390527569, 1e-9);
    assert_between(p, 0.01, 0.025); /* scipy: critical values 0.894 at 2.5%, 1.063 at 1% for n=60 */
    for (int i = 0; i < 60; ++i) x[i] = 0.25;
    assert_ok(dpa__anderson_darling(x, 60, &statistic, &p, NULL));
    assert_true(isnan(statistic) && isnan(p));
    assert_ok(dpa__anderson_darling(x, 7, &statistic, &p, NULL));
    assert_true(isnan(statistic));
    for (int i = 0; i < 60; ++i) x[i] = i < 30 ? 0.0 : 1.0;
    assert_ok(dpa__anderson_darling(x, 60, &statistic, &p, NULL));
    assert_true(p < 1e-8);
    /* normal quantiles are the most normal sample there is */
    for (int i = 0; i < 60; ++i) x[i] = 0.1 * dpa__norm_quantile((i + 0.5) / 60.0, DPA_LOWER);
    assert_ok(dpa__anderson_darling(x, 60, &statistic, &p, NULL));
    assert_true(p > 0.99);
}

/* σ = 0.541 of the paper's Table 1 is ε = 10.0 at δ = 1e-6: mean cosine 1/(σ√d). */
static void mean_is_the_gaussian_mechanism(void **state) {
    (void)state;
    const size_t d = 10000, k = 100;
    const dpa_cosine_fit fit = {k, 1.0 / 0.541 / 100.0, 0.01};
    dpa_cosine_estimate e;
    assert_ok(dpa__cosines_mean(&fit, d, 1e-6, 0.95, &e, NULL));
    assert_absolute(e.epsilon, 10.0, 0.01);
    assert_relative(e.epsilon, dpa_gaussian_epsilon(1.0 / 0.541, 1e-6), 1e-12);
    assert_relative(e.lower, dpa_gaussian_epsilon(1.0 / 0.541 - 1.959963984540054 / 10, 1e-6),
                    1e-11);
    assert_relative(e.upper, dpa_gaussian_epsilon(1.0 / 0.541 + 1.959963984540054 / 10, 1e-6),
                    1e-11);
    const dpa_cosine_fit nothing = {k, 0.0, 0.01};
    assert_ok(dpa__cosines_mean(&nothing, d, 1e-6, 0.95, &e, NULL));
    assert_true(e.epsilon == 0.0 && e.lower == 0.0 && e.upper > 0.0);
    /* no noise at all: orthogonal canaries, each with cosine 1/√k */
    const dpa_cosine_fit open = {1000, 1.0 / sqrt(1000.0), 1e-6};
    assert_ok(dpa__cosines_mean(&open, 10000000, 1e-6, 0.95, &e, NULL));
    assert_relative(e.epsilon, dpa_gaussian_epsilon(100.0, 1e-6), 1e-11);
    assert_ok(dpa__cosines_mean(&fit, d, 0.0, 0.95, &e, NULL));
    assert_true(isinf(e.epsilon)); /* Gaussian noise gives no pure ε */
}

static void brute_range(double mean, double deviation, double k, double confidence, double delta,
                        double *lower, double *upper) {
    const double a = (1.0 - sqrt(confidence)) / 2.0, z = dpa__norm_quantile(a, DPA_UPPER);
    const double low = dpa__chisq_quantile(a, k - 1, DPA_LOWER);
    const double high = dpa__chisq_quantile(a, k - 1, DPA_UPPER);
    *lower = INFINITY;
    *upper = 0.0;
    for (int i = 0; i <= 150; ++i) {
        const double s = sqrt(k * deviation * deviation / (low + (high - low) * i / 150.0));
        for (int j = -5; j <= 5; ++j) {
            const double m = mean + z * s / sqrt(k) * j / 5.0;
            const double e = dpa__two_gaussians_epsilon(0, 1, m, s, delta);
            *lower = fmin(*lower, e);
            *upper = fmax(*upper, e);
        }
    }
}

static void fitted_deviation(void **state) {
    (void)state;
    static const double cases[][2] = {{1.8, 1.0}, {0.3, 1.1}, {0.5, 0.8}, {3.0, 2.0}, {-0.7, 0.95}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        const dpa_cosine_fit fit = {200, cases[c][0] / 100, cases[c][1] / 100};
        dpa_cosine_estimate e;
        double lower, upper;
        assert_ok(dpa__cosines_mean_and_deviation(&fit, 10000, 1e-5, 0.9, &e, NULL));
        assert_relative(e.epsilon, dpa__two_gaussians_epsilon(0, 1, cases[c][0], cases[c][1], 1e-5),
                        1e-9);
        brute_range(cases[c][0], cases[c][1], 200, 0.9, 1e-5, &lower, &upper);
        assert_true(e.lower <= lower + 1e-9 && e.upper >= upper - 1e-9);
        assert_absolute(e.lower, lower, 0.02 * (1 + lower)); /* the brute grid is coarse */
        assert_relative(e.upper, upper, 1e-6);
    }
    const dpa_cosine_fit one = {1, 0.1, 0.0}, ties = {50, 0.1, 0.0};
    dpa_cosine_estimate e;
    dpa_error err;
    assert_int_equal(dpa__cosines_mean_and_deviation(&one, 100, 1e-5, 0.9, &e, &err),
                     DPA_BAD_INPUT);
    assert_int_equal(dpa__cosines_mean_and_deviation(&ties, 100, 1e-5, 0.9, &e, &err),
                     DPA_BAD_INPUT);
    assert_int_equal(dpa__cosines_mean(&one, 1, 1e-5, 0.9, &e, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__cosines_mean(&one, 10, 1.0, 0.9, &e, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__cosines_mean(&one, 10, 1e-5, 1.0, &e, &err), DPA_BAD_ARGUMENT);
}

/* The paper's Table 2 has 45,800 without noise: such separations must give numbers. */
static void all_iterates(void **state) {
    (void)state;
    const dpa_cosine_fit null = {1000, 0.0015, 0.0001}, seen = {1000, 0.0315, 0.00013};
    dpa_cosine_estimate e;
    assert_ok(dpa__cosines_all_iterates(&null, &seen, 1e-6, 0.95, &e, NULL));
    assert_relative(e.epsilon, dpa__two_gaussians_epsilon(0.0015, 0.0001, 0.0315, 0.00013, 1e-6),
                    1e-9);
    assert_true(e.epsilon > 40000 && e.lower < e.epsilon && e.epsilon < e.upper);
    assert_true(isfinite(e.upper));
    assert_ok(dpa__cosines_all_iterates(&null, &null, 1e-6, 0.95, &e, NULL));
    assert_true(e.epsilon == 0.0 && e.lower == 0.0 && e.upper > 0.0);
}

static void lower_bound(void **state) {
    (void)state;
    const double x[10] = {0.3, 0.2, 0.05, 0.12, 0.4, -0.1, 0.11, 0.5, 0.25, 0.1};
    const double y[10] = {0.0, 0.01, -0.2, 0.3, 0.05, 0.02, -0.1, 0.03, 0.04, 0.06};
    dpa_cosines c = {.observed = x, .observed_count = 10, .dim = 1000};
    dpa_cosine_bound b;
    dpa_error err;
    assert_ok(dpa__cosines_lower(&c, "fixed:0.1", 1e-5, 0.95, 1, &b, NULL));
    assert_int_equal(b.missed, 2);
    assert_relative(b.fnr_upper, 0.4524956369626833, 1e-9);
    assert_relative(b.epsilon, 6.569504029698442, 1e-9);
    c.unobserved = y;
    c.unobserved_count = 10;
    assert_ok(dpa__cosines_lower(&c, "fixed:0.1", 1e-5, 0.95, 1, &b, NULL));
    assert_relative(b.epsilon, 0.2653983360741639, 1e-9);
    c.unobserved = NULL;
    /* `max` is the largest over every observed threshold */
    double most = 0.0;
    for (int i = 0; i < 10; ++i) {
        char select[40];
        (void)dpa__print(select, sizeof select, "fixed:%.17g", x[i]);
        assert_ok(dpa__cosines_lower(&c, select, 1e-5, 0.95, 1, &b, NULL));
        most = fmax(most, b.epsilon);
    }
    assert_ok(dpa__cosines_lower(&c, "max", 1e-5, 0.95, 1, &b, NULL));
    assert_relative(b.epsilon, most, 1e-12);
    assert_ok(dpa__cosines_lower(&c, "split", 1e-5, 0.95, 1, &b, NULL));
    assert_int_equal(b.count, 5);
    /* all thresholds at once: ten cosines are covered jointly at γ = 0.00794338 (methods.md) */
    most = 0.0;
    for (int i = 0; i < 10; ++i) {
        double missed = 0;
        for (int j = 0; j < 10; ++j) missed += x[j] < x[i];
        const double fnr = dpa__cp_upper(missed, 10, 0.00794338);
        const double log_fpr = dpa__cosine_null_log_upper(x[i], c.dim);
        most = fmax(most, log(1 - 1e-5 - exp(log_fpr)) - log(fnr));
        if (fnr < 1 - 1e-5) most = fmax(most, log(1 - 1e-5 - fnr) - log_fpr);
    }
    assert_ok(dpa__cosines_lower(&c, "simultaneous", 1e-5, 0.95, 1, &b, NULL));
    assert_absolute(b.epsilon, most, 1e-5);
    assert_int_equal(dpa__cosines_lower(&c, "fixed:2", 1e-5, 0.95, 1, &b, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__cosines_lower(&c, "fixed:", 1e-5, 0.95, 1, &b, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__cosines_lower(&c, "best", 1e-5, 0.95, 1, &b, &err), DPA_BAD_ARGUMENT);
    c.observed_count = 1;
    assert_int_equal(dpa__cosines_lower(&c, "split", 1e-5, 0.95, 1, &b, &err), DPA_BAD_INPUT);
    c.observed_count = 0;
    assert_int_equal(dpa__cosines_lower(&c, "max", 1e-5, 0.95, 1, &b, &err), DPA_BAD_INPUT);
}

static const dpa_result *find(const dpa_results *results, const char *method) {
    for (size_t i = 0; i < results->count; ++i)
        if (strcmp(results->items[i].method, method) == 0) return &results->items[i];
    return NULL;
}

/* Canaries of other trainings do not crowd a model: pooled ones count by their share per
 * training. */
static void crowd_of_one_run(void **state) {
    (void)state;
    double x[40];
    for (int i = 0; i < 40; ++i)
        x[i] = 0.1 * (1.0 + 0.2 * dpa__norm_quantile((i + 0.5) / 40, DPA_LOWER));
    dpa_cosines c = {.observed = x, .observed_count = 40, .dim = 400};
    dpa_request request;
    dpa_cosine_fit fit;
    dpa__request_init(&request);
    assert_ok(dpa__request_set(&request, "method", "mean-corrected", NULL));
    assert_ok(dpa__cosine_fit_sample(x, 40, &fit, NULL));
    double last = INFINITY;
    for (size_t runs = 0; runs <= 4; runs += 2) {
        dpa_results list = {0};
        dpa_lints lints = {0};
        dpa_cosine_estimate want;
        c.runs = runs;
        assert_ok(dpa__cosines_results(&c, &request, &list, &lints, NULL));
        assert_ok(dpa__cosines_corrected(&fit, 400, runs == 0 ? 40.0 : 40.0 / (double)runs, 0,
                                         request.delta, request.confidence, &want, NULL));
        assert_int_equal(list.count, 1);
        assert_relative(list.items[0].epsilon, want.epsilon, 1e-12);
        assert_true(list.items[0].epsilon < last); /* less crowding, less correction */
        last = list.items[0].epsilon;
        dpa__results_free(&list);
        dpa__lints_free(&lints);
    }
}

static int rising(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The limits of the scan: simulated uniform order statistics fall below the boundary 1 − limit as
 * often as p; the boundary rises; in closed form for one canary, and k·KL − log(1+log i) is the
 * same at every look. */
static void scan_limits(void **state) {
    (void)state;
    enum { MOST = 1500, RUNS = 20000 };
    static const size_t counts[] = {2, 7, 60, MOST};
    static double limit[MOST + 1], u[MOST];
    const double p = 0.05;
    assert_ok(dpa__cosine_scan_limits(1, p, limit, NULL));
    assert_relative(1 - limit[0], p, 2e-4);
    assert_true(limit[1] == 1);
    for (size_t c = 0; c < 4; ++c) {
        const size_t k = counts[c];
        const int runs = k < MOST ? RUNS : RUNS / 10;
        int crossed = 0;
        dpa_rng rng;
        dpa__rng_init(&rng, 5, DPA_PURPOSE_TEST, k);
        assert_ok(dpa__cosine_scan_limits(k, p, limit, NULL));
        for (int run = 0; run < runs; ++run) {
            int is_crossed = 0;
            for (size_t i = 0; i < k; ++i) u[i] = dpa__rng_uniform(&rng);
            qsort(u, k, sizeof *u, rising);
            for (size_t i = 1; i <= k; ++i) is_crossed |= u[i - 1] < 1 - limit[k - i];
            crossed += is_crossed;
        }
        assert_absolute((double)crossed / runs, p, 4.5 * sqrt(p * (1 - p) / runs));
        const double first = (double)k * log(1 / (1 - limit[0])) - log1p(log((double)k));
        for (size_t i = 1; i < k; ++i) {
            const double a = (double)i / (double)k, b = 1 - limit[k - i];
            const double value = (double)k * (a * log(a / b) + (1 - a) * log((1 - a) / (1 - b)));
            assert_true(limit[k - i] >= limit[k - i - 1]);
            if (i < 512) assert_absolute(value - log1p(log((double)i)), first, 1e-6);
        }
    }
    assert_int_equal(dpa__cosine_scan_limits(DPA__COSINE_SCAN_MOST + 1, p, limit, NULL),
                     DPA_BAD_ARGUMENT);
}

/* The bound of the scan is the best of the two inequalities of (ε,δ)-DP over all thresholds; with
 * unobserved canaries it is the scan of two samples. */
static void scan_bound(void **state) {
    (void)state;
    enum { K = 50 };
    double x[K], none[K], limit[K + 1], best = 0;
    dpa_cosine_bound b;
    for (int i = 0; i < K; ++i) {
        none[i] = 0.01 * dpa__norm_quantile((i + 0.5) / K, DPA_LOWER);
        x[i] = none[i] + 0.02;
    }
    const dpa_cosines c = {.observed = x, .observed_count = K, .dim = 10000};
    assert_ok(dpa__cosines_scan(&c, 1e-5, 0.95, &b, NULL));
    assert_ok(dpa__cosine_scan_limits(K, 1.0 - 0.95, limit, NULL));
    for (size_t i = 0; i < K; ++i) {
        const double fpr = exp(dpa__cosine_null_log_upper(x[i], 10000)), fnr = limit[i];
        best = fmax(best, log((1 - 1e-5 - fnr) / fpr));
        best = fmax(best, log((1 - 1e-5 - fpr) / fnr));
    }
    assert_relative(b.epsilon, best, 1e-12);
    assert_true(best > 2);
    dpa_cosines two = c;
    two.unobserved = none;
    two.unobserved_count = K;
    dpa_request request;
    dpa_results here = {0}, there = {0};
    dpa_lints lints = {0};
    dpa__request_init(&request);
    assert_ok(dpa__request_set(&request, "method", "scan", NULL));
    assert_ok(dpa__cosines_results(&two, &request, &here, &lints, NULL));
    dpa_scores scores = prepared(x, K, none, K);
    assert_ok(dpa__request_set(&request, "family", "dp", NULL));
    assert_ok(dpa__estimate_scores(&scores, &request, &there, NULL));
    assert_true(here.items[0].epsilon_lower > 0.5);
    assert_relative(here.items[0].epsilon_lower, there.items[0].epsilon_lower, 1e-12);
    dpa__scores_free(&scores);
    dpa__results_free(&here);
    dpa__results_free(&there);
    dpa__lints_free(&lints);
}

static void results(void **state) {
    (void)state;
    double x[40];
    for (int i = 0; i < 40; ++i)
        x[i] = 0.01 * (1.0 + dpa__norm_quantile((i + 0.5) / 40, DPA_LOWER));
    const dpa_cosines c = {.observed = x, .observed_count = 40, .dim = 10000};
    dpa_request request;
    dpa_results list = {0};
    dpa_lints lints = {0};
    dpa_error err;
    dpa__request_init(&request);
    assert_ok(dpa__cosines_results(&c, &request, &list, &lints, NULL));
    assert_int_equal(list.count, 5); /* mean, mean-corrected, mean-and-deviation, jeffreys, scan */
    assert_true(find(&list, "scan")->kind == DPA_BOUND && find(&list, "scan")->valid);
    assert_true((find(&list, "scan")->assumptions & DPA_ASSUME_BAYES_PRIOR) == 0);
    assert_int_equal(lints.count, 0);
    const dpa_result *mean = find(&list, "mean");
    assert_non_null(mean);
    assert_true(mean->kind == DPA_ESTIMATE && mean->sides == 2);
    assert_relative(mean->epsilon, dpa_gaussian_epsilon(1.0, 1e-5), 1e-9);
    assert_non_null(strstr(mean->note, "not a bound"));
    assert_non_null(find(&list, "mean-and-deviation"));
    assert_true(find(&list, "jeffreys")->kind == DPA_BOUND && find(&list, "jeffreys")->valid);
    assert_string_equal(find(&list, "jeffreys")->select, "split");
    dpa__results_free(&list);
    assert_ok(dpa__request_set(&request, "method", "all-iterates", NULL));
    assert_int_equal(dpa__cosines_results(&c, &request, &list, &lints, &err), DPA_BAD_ARGUMENT);
    dpa_cosines both = c;
    both.unobserved = x;
    both.unobserved_count = 40;
    assert_ok(dpa__cosines_results(&both, &request, &list, &lints, NULL));
    assert_int_equal(list.count, 1);
    assert_true(list.items[0].epsilon == 0.0);
    dpa__results_free(&list);
    /* one canary: the mean, and a lint; all equal: no deviation */
    dpa_cosines one = c;
    one.observed_count = 1;
    request.method[0] = '\0';
    assert_ok(dpa__cosines_results(&one, &request, &list, &lints, NULL));
    assert_int_equal(list.count, 3); /* and the scan */
    assert_true(lints.count >= 1);
    x[3] = 1.5;
    assert_int_equal(dpa__cosines_results(&c, &request, &list, &lints, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "number 4"));
    x[3] = NAN;
    assert_int_equal(dpa__cosines_results(&c, &request, &list, &lints, &err), DPA_BAD_INPUT);
    dpa__results_free(&list);
    dpa__lints_free(&lints);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_law),
        cmocka_unit_test(anderson_darling),
        cmocka_unit_test(mean_is_the_gaussian_mechanism),
        cmocka_unit_test(fitted_deviation),
        cmocka_unit_test(all_iterates),
        cmocka_unit_test(lower_bound),
        cmocka_unit_test(crowd_of_one_run),
        cmocka_unit_test(scan_limits),
        cmocka_unit_test(scan_bound),
        cmocka_unit_test(results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
