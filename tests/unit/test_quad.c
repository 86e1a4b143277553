/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quadrature: the rules are exact on polynomials, the error estimate covers the error on difficult
 * integrands, and failures are reported. */
#include "check.h"

#include "math/dist.h"
#include "math/quad.h"

typedef struct power {
    double exponent;
} power;

static double power_of(double x, void *user) {
    return pow(x, ((const power *)user)->exponent);
}

/* Kronrod's 21 points are exact up to degree 3·10 + 1, one call each. */
static void exact_on_polynomials(void **state) {
    (void)state;
    const double ends[] = {-1, 1};
    for (int degree = 0; degree <= 31; ++degree) {
        power p = {degree};
        dpa__quad q;
        assert_ok(dpa__integrate(power_of, &p, ends, 2, INFINITY, 0, 21, &q, NULL));
        assert_int_equal(q.evaluations, 21);
        assert_absolute(q.value, degree % 2 ? 0 : 2.0 / (degree + 1), 1e-15);
    }
    power beyond = {32};
    dpa__quad q;
    assert_ok(dpa__integrate(power_of, &beyond, ends, 2, INFINITY, 0, 21, &q, NULL));
    assert_true(fabs(q.value - 2.0 / 33) > 1e-13);
}

static void gauss_legendre(void **state) {
    (void)state;
    double node[64], weight[64];
    for (size_t n = 1; n <= 64; ++n) {
        dpa__gauss_legendre(n, node, weight);
        for (size_t degree = 0; degree < 2 * n; ++degree) {
            double sum = 0;
            for (size_t i = 0; i < n; ++i) sum += weight[i] * pow(node[i], (double)degree);
            assert_absolute(sum, degree % 2 ? 0 : 2.0 / (double)(degree + 1), 5e-15);
        }
        for (size_t i = 1; i < n; ++i) assert_true(node[i] > node[i - 1]);
    }
}

/* The value is right, the estimate is not below the true error, and the goal is met. */
static void check_integral(dpa__fn fn, void *user, const double *breaks, size_t count, double want,
                           double relative) {
    dpa__quad q;
    assert_ok(dpa__integrate(fn, user, breaks, count, 0, relative, 200000, &q, NULL));
    assert_between(q.error, fabs(q.value - want) - 4e-16 * fabs(want), relative * fabs(q.value));
}

static double kink(double x, void *user) {
    (void)user;
    return fabs(x - 0.3);
}
static double step(double x, void *user) {
    (void)user;
    return x < 1.0 / 3 ? 1 : 0;
}
static double peak(double x, void *user) {
    (void)user;
    const double z = (x - 0.123) / 1e-8;
    return exp(-0.5 * z * z);
}
static double logarithm(double x, void *user) {
    (void)user;
    return log(x);
}
static double wave(double x, void *user) {
    (void)user;
    return cos(200 * x);
}
static double half_beta(double x, void *user) {
    (void)user;
    return exp(dpa__beta_log_pdf(x, 0.5, 1000.5));
}

static void not_nice(void **state) {
    (void)state;
    const double unit[] = {0, 1}, around[] = {0, 0.123 - 1e-6, 0.123, 0.123 + 1e-6, 1};
    const double tail[] = {0, 1e-3, 1};
    check_integral(kink, NULL, unit, 2, 0.29, 1e-12);
    check_integral(step, NULL, unit, 2, 1.0 / 3, 1e-12);
    /* a peak as wide as 7e8 doubles: its abscissae have 9 digits, the integral hardly more */
    check_integral(peak, NULL, around, 5, 1e-8 * sqrt(2 * M_PI), 1e-9);
    check_integral(logarithm, NULL, unit, 2, -1, 1e-12);
    check_integral(wave, NULL, unit, 2, sin(200) / 200, 1e-10);
    check_integral(half_beta, NULL, tail, 3, 1, 1e-12);
    const double exponents[] = {-0.9, -0.5, -0.1, 0.1, 0.5, 1.5};
    for (int i = 0; i < 6; ++i) {
        power p = {exponents[i]};
        check_integral(power_of, &p, unit, 2, 1 / (1 + exponents[i]), 1e-10);
    }
}

static double normal(double x, void *user) {
    (void)user;
    return exp(dpa__norm_log_pdf(x));
}
static double cauchy(double x, void *user) {
    (void)user;
    return 1 / (1 + x * x);
}

/* The worst panel is halved first, so that hard places cost no more evaluations than these. */
static void evaluations_go_where_the_error_is(void **state) {
    (void)state;
    static const struct {
        dpa__fn fn;
        double breaks[5], relative;
        size_t count, most;
    } cases[] = {{kink, {-1, 0, 0.2, 0.9, 2}, 1e-10, 5, 756},
                 {step, {0, 0.1, 0.2, 0.7, 1}, 1e-9, 5, 1386},
                 {logarithm, {0, 0.5, 1, 2, 3}, 1e-12, 5, 1848},
                 {wave, {0, 1, 2, 2.5, 3}, 1e-11, 5, 3990},
                 {half_beta, {0, 1e-3, 0.1, 0.5, 1}, 1e-11, 5, 3444}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
        dpa__quad q;
        assert_ok(dpa__integrate(cases[k].fn, NULL, cases[k].breaks, cases[k].count, 0,
                                 cases[k].relative, 200000, &q, NULL));
        assert_true(q.evaluations <= cases[k].most);
    }
}

static void infinite_ends(void **state) {
    (void)state;
    const double all[] = {-INFINITY, INFINITY}, right[] = {2, INFINITY}, left[] = {-INFINITY, -2};
    const double pieces[] = {-INFINITY, -5, -5, 0, 7, INFINITY};
    check_integral(normal, NULL, all, 2, 1, 1e-12);
    check_integral(normal, NULL, pieces, 6, 1, 1e-12);
    check_integral(normal, NULL, right, 2, dpa__norm_cdf(2, DPA_UPPER), 1e-12);
    check_integral(normal, NULL, left, 2, dpa__norm_cdf(2, DPA_UPPER), 1e-12);
    check_integral(cauchy, NULL, all, 2, M_PI, 1e-12);
    power p = {-1.1};
    const double one[] = {1, INFINITY};
    check_integral(power_of, &p, one, 2, 10, 1e-9);
}

static double never(double x, void *user) {
    (void)user;
    return x > 0.4 ? NAN : 1;
}

static void failures(void **state) {
    (void)state;
    const double unit[] = {0, 1}, down[] = {1, 0}, inner[] = {0, INFINITY, INFINITY},
                 none[] = {1, 1};
    dpa__quad q;
    dpa_error err = {0};
    power p = {-0.9};
    assert_int_equal(dpa__integrate(power_of, &p, unit, 2, 0, 1e-12, 500, &q, &err), DPA_NUMERIC);
    assert_true(err.text[0] != 0);
    assert_between(q.value, 1, 10);
    assert_true(q.error >= 10 - q.value);
    assert_int_equal(dpa__integrate(never, NULL, unit, 2, 0, 1e-9, 5000, &q, &err), DPA_NUMERIC);
    assert_int_equal(dpa__integrate(kink, NULL, down, 2, 0, 1e-9, 5000, &q, &err),
                     DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "breakpoints must ascend: 0 after 1"));
    assert_int_equal(dpa__integrate(kink, NULL, unit, 1, 0, 1e-9, 5000, &q, &err),
                     DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__integrate(kink, NULL, inner, 3, 0, 1e-9, 5000, &q, &err),
                     DPA_BAD_ARGUMENT);
    assert_ok(dpa__integrate(kink, NULL, none, 2, 0, 1e-9, 5000, &q, &err));
    assert_true(q.value == 0 && q.evaluations == 0);
    /* a goal below the rounding error: gives the best possible value and an error estimate that
     * says so */
    assert_ok(dpa__integrate(normal, NULL, unit, 2, 0, 0, 50000, &q, &err));
    assert_between(q.error, 1e-17, 1e-13);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_on_polynomials),
        cmocka_unit_test(gauss_legendre),
        cmocka_unit_test(not_nice),
        cmocka_unit_test(evaluations_go_where_the_error_is),
        cmocka_unit_test(infinite_ends),
        cmocka_unit_test(failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
