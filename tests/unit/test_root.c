/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Roots: the bracket contains the root and has both its values, and the work is bounded for any
 * function. */
#include "check.h"

#include "math/root.h"

static double power_minus(double x, void *user) {
    return exp(x) - *(const double *)user;
}
static double jump(double x, void *user) {
    return x < *(const double *)user ? -1 : 1;
}
static double falling(double x, void *user) {
    return *(const double *)user - x * x * x;
}
static double log_of(double x, void *user) {
    return x <= 0 ? -HUGE_VAL : log(x) - *(const double *)user;
}
static double steep(double x, void *user) {
    return tanh((x - *(const double *)user) * 1e8);
}
static double flat(double x, void *user) {
    const double z = x - *(const double *)user;
    return z * z * z * z * z * z * z * z * z;
}
static double overflowing(double x, void *user) {
    return x < *(const double *)user ? -HUGE_VAL : HUGE_VAL;
}
static double no_number(double x, void *user) {
    (void)user;
    return x > 0 ? NAN : -1;
}

/* Checks that the bracket is valid, contains the root and is as narrow as asked; returns the number
 * of evaluations. */
static size_t check_root(dpa__fn fn, double parameter, double lower, double upper, double root,
                         double absolute, double relative) {
    dpa__bracket b;
    assert_ok(dpa__root(fn, &parameter, lower, upper, absolute, relative, &b, NULL));
    assert_between(root, b.lower, b.upper);
    const double width = fmax(absolute, relative * fabs(root));
    if (nextafter(b.lower, b.upper) < b.upper) assert_true(b.upper - b.lower <= width);
    assert_true(fn(b.lower, &parameter) == b.fn_lower);
    assert_true(fn(b.upper, &parameter) == b.fn_upper);
    assert_true((b.fn_lower <= 0) != (b.fn_upper <= 0) || b.fn_lower == 0 || b.fn_upper == 0);
    return b.evaluations;
}

static void smooth(void **state) {
    (void)state;
    assert_true(check_root(power_minus, 10, 0, 5, log(10), 1e-12, 0) <= 12);
    assert_true(check_root(falling, 8, 0, 100, 2, 1e-12, 0) <= 25);
    assert_true(check_root(flat, 0.25, -1, 1, 0.25, 1e-3, 0) <= 60);
}

static double squared(double x, void *user) {
    return x <= 0 ? -*(const double *)user : x * x - *(const double *)user;
}
static double normal_tail(double x, void *user) {
    return erfc(x) - *(const double *)user;
}
static double endless(double x, void *user) {
    return x >= 3 ? HUGE_VAL : x <= -3 ? -HUGE_VAL : atanh(x / 3) - *(const double *)user;
}

/* Interpolation earns its keep: over many smooth functions, so many evaluations each as a mean. */
static void smooth_functions_take_few_evaluations(void **state) {
    (void)state;
    static const struct {
        dpa__fn fn;
        double lower, upper, mean;
    } cases[] = {{power_minus, -5, 5, 12.9},
                 {falling, 0, 5, 13.05},
                 {squared, 0, 1e4, 20.75},
                 {normal_tail, -1, 6, 11.75},
                 {log_of, 1e-9, 1e9, 22.85},
                 {endless, -3, 3, 10.65},
                 {normal_tail, -HUGE_VAL, HUGE_VAL, 30.8},
                 {log_of, 0, HUGE_VAL, 30.1},
                 {endless, -HUGE_VAL, 1e300, 39.3}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
        size_t total = 0;
        for (int i = 1; i <= 100; ++i) {
            double level = i / 101.0;
            dpa__bracket b;
            assert_ok(dpa__root(cases[k].fn, &level, cases[k].lower, cases[k].upper, 1e-13, 1e-13,
                                &b, NULL));
            assert_true(b.upper - b.lower <= fmax(1e-13, 1e-13 * fabs(b.upper)));
            total += b.evaluations;
        }
        assert_true((double)total / 100 <= cases[k].mean);
    }
}

static void rough(void **state) {
    (void)state;
    const double at[] = {-1e300, -3, -1e-200, 1e-300, 1e-9, 0.1, 7e5, 1e299};
    for (int i = 0; i < 8; ++i) {
        const size_t jumps = check_root(jump, at[i], -1.7e308, 1.7e308, at[i], 0, 0);
        const size_t infinite = check_root(overflowing, at[i], -HUGE_VAL, HUGE_VAL, at[i], 0, 0);
        assert_true(jumps <= 260 && infinite <= 260);
    }
    for (int e = -300; e <= 300; e += 60) {
        double level = e;
        dpa__bracket b;
        assert_ok(dpa__root(log_of, &level, 0, 1e300, 0, 1e-12, &b, NULL));
        assert_relative(b.lower, exp(e), 2e-12);
        assert_true(b.evaluations <= 260);
    }
    assert_true(check_root(steep, 0.3, -1e9, 1e10, 0.3, 0, 1e-14) <= 260);
    /* a relative goal far below the absolute range costs little when an absolute one is given */
    assert_true(check_root(jump, 1e-30, 0, 1, 1e-30, 1e-9, 0) <= 60);
}

/* With tolerances of zero: two neighbouring doubles, or the zero itself. */
static void to_the_last_bit(void **state) {
    (void)state;
    double root = 10;
    dpa__bracket b;
    assert_ok(dpa__root(power_minus, &root, -50, 50, 0, 0, &b, NULL));
    assert_true(b.lower == b.upper || nextafter(b.lower, 100) == b.upper);
    assert_ok(dpa__root(jump, &root, 0, 50, 0, 0, &b, NULL));
    assert_true(b.upper == 10 && nextafter(b.lower, 100) == 10);
}

static void ends(void **state) {
    (void)state;
    double zero = 0, eight = 8;
    dpa__bracket b;
    assert_ok(dpa__root(flat, &zero, 0, 5, 0, 0, &b, NULL));
    assert_true(b.lower == 0 && b.upper == 0 && b.fn_lower == 0);
    assert_ok(dpa__root(falling, &eight, -5, 2, 0, 0, &b, NULL));
    assert_true(b.lower == 2 && b.upper == 2);
    dpa_error err = {0};
    assert_int_equal(dpa__root(falling, &eight, 3, 9, 0, 0, &b, &err), DPA_NUMERIC);
    assert_true(b.lower == 3 && b.upper == 9 && err.text[0] != 0);
    assert_int_equal(dpa__root(falling, &eight, 9, 3, 0, 0, &b, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__root(falling, &eight, NAN, 3, 0, 0, &b, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__root(falling, &eight, 0, 3, -1, 0, &b, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__root(no_number, NULL, -1, 3, 0, 0, &b, &err), DPA_NUMERIC);
    assert_int_equal(dpa__root(falling, &eight, 2, 2, 0, 0, &b, &err), DPA_OK);
}

static int is_above(double x, void *user) {
    return x >= *(const double *)user;
}

static void predicate(void **state) {
    (void)state;
    const double at[] = {-1e300, -1, -1e-310, 5e-324, 1e-200, 0.3, 1, 1e9, 1e308};
    dpa__bracket b;
    for (int i = 0; i < 9; ++i) {
        double level = at[i];
        assert_ok(dpa__bisect(is_above, &level, -HUGE_VAL, HUGE_VAL, 0, 0, &b, NULL));
        assert_true(b.upper == level && nextafter(b.lower, HUGE_VAL) == level);
        assert_true(b.fn_lower < 0 && b.fn_upper > 0);
        assert_true(b.evaluations <= 68);
    }
    double level = 0.3;
    assert_ok(dpa__bisect(is_above, &level, 0, 1, 1e-6, 0, &b, NULL));
    assert_true(b.upper - b.lower <= 1e-6 && b.evaluations <= 30);
    assert_between(level, b.lower, b.upper);
    assert_int_equal(dpa__bisect(is_above, &level, 0.5, 1, 0, 0, &b, NULL), DPA_NUMERIC);
    assert_int_equal(dpa__bisect(is_above, &level, 0, 0.2, 0, 0, &b, NULL), DPA_NUMERIC);
    assert_int_equal(dpa__bisect(is_above, &level, 1, 0, 0, 0, &b, NULL), DPA_BAD_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smooth), cmocka_unit_test(smooth_functions_take_few_evaluations),
        cmocka_unit_test(rough),  cmocka_unit_test(to_the_last_bit),
        cmocka_unit_test(ends),   cmocka_unit_test(predicate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
