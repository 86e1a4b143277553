/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gaussian closed forms against 80-digit numbers (scripts/known-tradeoff). */
#include "check.h"

#include "known/table.h"
#include "math/dist.h"
#include "tradeoff/tradeoff.h"

static void printed_values(void **state) {
    (void)state;
    assert_absolute(dpa_gaussian_epsilon(1.0, 1e-5), 4.377178095681, 5e-13);
    assert_absolute(dpa_gaussian_epsilon(2.0, 1e-5), 9.997256146434, 5e-13);
}

/* How much ε changes if δ changes by one part in 2⁵³: no method can do better. */
static double condition(double mu, double epsilon) {
    const double step = 1e-4 * epsilon;
    const double slope =
        (dpa__gaussian_log_delta(mu, epsilon) - dpa__gaussian_log_delta(mu, epsilon + step)) / step;
    return 2.3e-16 / slope / epsilon;
}

static void table(void **state) {
    (void)state;
    FILE *file = known_open("gaussian.txt");
    double row[3], worst = 0.0, worst_mu = 0.0;
    int rows = 0;
    for (; known_row(file, row, 3); ++rows) {
        const double mu = row[0], delta = row[1], want = row[2];
        const double got = dpa_gaussian_epsilon(mu, delta);
        if (want == 0.0) {
            assert_true(got == 0.0);
            continue;
        }
        assert_relative(got, want, 1e-13 + 20.0 * condition(mu, want));
        worst = fmax(worst, fabs(got - want) / want);
        const double back = dpa_gaussian_mu(want, delta);
        assert_relative(back, mu, 1e-12);
        worst_mu = fmax(worst_mu, fabs(back - mu) / mu);
    }
    (void)fclose(file);
    assert_int_equal(rows, 117);
    print_message("%d rows: epsilon off by %.2g at most, mu by %.2g (relative)\n", rows, worst,
                  worst_mu);
}

static void extremes(void **state) {
    (void)state;
    assert_true(dpa__gaussian_log_delta(0.0, 0.0) == -HUGE_VAL);
    assert_true(dpa__gaussian_log_delta(1.0, INFINITY) == -HUGE_VAL);
    assert_true(dpa__gaussian_log_delta(INFINITY, 800.0) == 0.0);
    assert_true(isnan(dpa__gaussian_log_delta(-1.0, 1.0)));
    assert_true(isnan(dpa__gaussian_log_delta(1.0, -1.0)));
    assert_true(isnan(dpa__gaussian_log_delta(NAN, 1.0)));
    assert_true(dpa_gaussian_epsilon(1.0, 0.0) == HUGE_VAL);
    assert_true(dpa_gaussian_epsilon(0.0, 0.0) == 0.0);
    assert_true(dpa_gaussian_epsilon(1.0, 1.0) == 0.0);
    assert_true(dpa_gaussian_epsilon(INFINITY, 0.5) == HUGE_VAL);
    assert_true(isnan(dpa_gaussian_epsilon(1.0, 1.5)));
    assert_true(dpa_gaussian_mu(1.0, 0.0) == 0.0);
    assert_true(dpa_gaussian_mu(INFINITY, 0.1) == HUGE_VAL);
    assert_true(dpa_gaussian_mu(1.0, 1.0) == HUGE_VAL);
    assert_true(isnan(dpa_gaussian_mu(-1.0, 0.1)));
    for (double mu = 1e-300; mu < 1e300; mu *= 1e10)
        for (double epsilon = 1e-300; epsilon < 1e300; epsilon *= 1e15) {
            const double value = dpa__gaussian_log_delta(mu, epsilon);
            if (!(value <= 0.0)) print_error("mu %g epsilon %g: %g\n", mu, epsilon, value);
            assert_true(value <= 0.0);
        }
}

/* μ(ε,δ) inverts δ(ε;μ), also for ε zero or tiny. */
static void mu_round_trip(void **state) {
    (void)state;
    static const double epsilons[] = {0.0, 1e-200, 1e-10, 1e-3, 1.0, 30.0, 800.0, 1e6};
    static const double deltas[] = {1e-300, 1e-50, 1e-10, 1e-3, 0.4, 0.99};
    for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; ++i)
        for (size_t j = 0; j < sizeof deltas / sizeof *deltas; ++j) {
            const double mu = dpa_gaussian_mu(epsilons[i], deltas[j]);
            const double back = dpa__gaussian_log_delta(mu, epsilons[i]);
            /* log δ changes by up to x² per relative change of μ */
            assert_absolute(back, log(deltas[j]),
                            1e-14 * (800.0 - 2.0 * log(deltas[j])) + 1e-15 * epsilons[i]);
        }
}

static void mills(void **state) {
    (void)state;
    FILE *file = known_open("mills.txt");
    double row[3];
    int rows = 0;
    for (; known_row(file, row, 3); ++rows) {
        assert_relative(dpa__mills(row[0]), row[1], 1e-14);
        assert_relative(exp(dpa__log_mills(row[0])), row[1], 1e-14);
        assert_relative(dpa__mills_drop(row[0]), row[2], 1e-14);
    }
    (void)fclose(file);
    assert_int_equal(rows, 13);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printed_values), cmocka_unit_test(table), cmocka_unit_test(extremes),
        cmocka_unit_test(mu_round_trip),  cmocka_unit_test(mills),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
