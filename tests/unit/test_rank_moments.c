/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mean and deviation of Mann–Whitney's U: closed forms without a leak and for the (ε,0) curve, and
 * the normal law's own integral for the Gaussian mechanism. A separate test, because a wrong
 * deviation makes the searches of test_rank.c very long. */
#include "check.h"

#include "estimate/ranks/rank.h"
#include "math/dist.h"

static dpa__member member_of(const char *family, double t, dpa__model *model) {
    dpa__member member;
    assert_ok(dpa__model_open(family, 1e-5, model, NULL));
    assert_ok(dpa__member_open(model, t, &member, NULL));
    return member;
}

static void moments_of(const dpa__member *member, double m, double n, double *mean,
                       double *variance) {
    double deviation;
    assert_ok(dpa__rank_moments(member, m, n, mean, &deviation, NULL));
    *variance = deviation * deviation;
}

/* Without a leak: mn/2 and mn(m+n+1)/12. */
static void no_leak(void **state) {
    (void)state;
    static const double sizes[][2] = {{1, 1}, {5, 9}, {40, 3}, {1000, 2000}};
    dpa__model gaussian;
    dpa__member none = member_of("gaussian", 0, &gaussian);
    dpa__member even = {.kind = DPA__MODEL_CURVES};
    assert_ok(dpa_curve_dp(0, 0, &even.curve, NULL));
    for (int i = 0; i < 4; ++i) {
        const double m = sizes[i][0], n = sizes[i][1];
        double mean, variance;
        moments_of(&none, m, n, &mean, &variance);
        assert_relative(mean, m * n / 2, 1e-11);
        assert_relative(variance, m * n * (m + n + 1) / 12, 1e-10);
        moments_of(&even, m, n, &mean, &variance);
        assert_relative(mean, m * n / 2, 1e-11);
        assert_relative(variance, m * n * (m + n + 1) / 12, 1e-10);
    }
    dpa__member_close(&even);
    dpa__member_close(&none);
    dpa__model_close(&gaussian);
}

/* The curve of (ε,0): g = 1 − f is kx up to c = 1/(1+k) and 1 − (1−x)/k from there on. */
static void two_lines(void **state) {
    (void)state;
    const double k = exp(1.3), c = 1 / (1 + k), m = 7, n = 11;
    /* ∫ of the two lines, of their squares and of 2(1−x)g, by parts at the corner (c, 1−c) */
    const double area = k * c * c / 2 + (1 - c) - (1 - c) * (1 - c) / (2 * k);
    const double two_in = k * k * c * c * c / 3 + (1 - c) - (1 - c) * (1 - c) / k +
                          (1 - c) * (1 - c) * (1 - c) / (3 * k * k);
    const double two_out = k * (c * c - 2 * c * c * c / 3) + (1 - c) * (1 - c) -
                           2 * (1 - c) * (1 - c) * (1 - c) / (3 * k);
    dpa__member member = {.kind = DPA__MODEL_CURVES};
    double mean, variance;
    assert_ok(dpa_curve_dp(1.3, 0, &member.curve, NULL));
    moments_of(&member, m, n, &mean, &variance);
    assert_relative(mean, m * n * area, 1e-10);
    assert_relative(variance,
                    m * n *
                        (area * (1 - area) + (m - 1) * (two_in - area * area) +
                         (n - 1) * (two_out - area * area)),
                    1e-8);
    dpa__member_close(&member);
}

/* A Gaussian shift: one pair wins with Φ(μ/√2); two wins of one score by the trapezoid rule. */
static void shift(void **state) {
    (void)state;
    const double mu = 1.2, m = 6, n = 10, h = 1e-3;
    const double area = dpa__norm_cdf(mu / sqrt(2), DPA_LOWER);
    double two = 0, mean, variance;
    for (double x = -9; x <= 9; x += h)
        two += h * exp(dpa__norm_log_pdf(x)) * pow(dpa__norm_cdf(mu - x, DPA_LOWER), 2);
    dpa__model model;
    dpa__member member = member_of("gaussian", mu, &model);
    moments_of(&member, m, n, &mean, &variance);
    assert_relative(mean, m * n * area, 1e-12);
    assert_relative(variance, m * n * (area * (1 - area) + (m + n - 2) * (two - area * area)),
                    1e-9);
    dpa__member_close(&member);
    dpa__model_close(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_leak),
        cmocka_unit_test(two_lines),
        cmocka_unit_test(shift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
