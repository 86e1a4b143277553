/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Log-space sums at the extremes: zeros, infinities, cancellation, and sums that lose everything
 * without compensation. */
#include "check.h"

#include "base/rng.h"
#include "math/logspace.h"

static void add(void **state) {
    (void)state;
    assert_relative(dpa__log_add(log(3), log(4)), log(7), 1e-15);
    assert_relative(dpa__log_add(1000, 1000), 1000 + log(2), 1e-15);
    assert_relative(dpa__log_add(-1e5, -1e5 - 1), -1e5 + log1p(exp(-1)), 1e-15);
    assert_true(dpa__log_add(-INFINITY, -INFINITY) == -HUGE_VAL);
    assert_true(dpa__log_add(-INFINITY, 5) == 5);
    assert_true(dpa__log_add(INFINITY, -INFINITY) == HUGE_VAL);
    assert_true(dpa__log_add(INFINITY, INFINITY) == HUGE_VAL);
    assert_true(isnan(dpa__log_add(NAN, 1)));
    assert_true(isnan(dpa__log_add(1, NAN)));
}

static void subtract(void **state) {
    (void)state;
    assert_relative(dpa__log_sub(log(7), log(4)), log(3), 1e-15);
    /* e^(2^-40) − 1 */
    assert_relative(dpa__log_sub(0x1p-40, 0), log(expm1(0x1p-40)), 1e-15);
    assert_true(dpa__log_sub(5, 5) == -HUGE_VAL);
    assert_true(dpa__log_sub(5, -INFINITY) == 5);
    assert_true(dpa__log_sub(-INFINITY, -INFINITY) == -HUGE_VAL);
    assert_true(isnan(dpa__log_sub(4, 5)));
    assert_true(isnan(dpa__log_sub(NAN, 5)));
    assert_true(dpa__log_sub(INFINITY, 5) == HUGE_VAL);
}

static void one_minus(void **state) {
    (void)state;
    assert_relative(dpa__log1m_exp(-1e-20), -20 * log(10), 1e-15);
    assert_relative(dpa__log1m_exp(-50), -exp(-50), 1e-15);
    assert_relative(dpa__log1m_exp(-M_LN2), -M_LN2, 1e-15);
    assert_true(dpa__log1m_exp(0) == -HUGE_VAL);
    assert_true(dpa__log1m_exp(-INFINITY) == 0);
    assert_true(isnan(dpa__log1m_exp(1e-300)));
}

static void one_plus(void **state) {
    (void)state;
    for (double x = -745; x < 745; x += 0.37) {
        const long double want = x > 0 ? x + log1pl(expl(-(long double)x)) : log1pl(expl(x));
        assert_relative(dpa__log1p_exp(x), (double)want, 4e-16);
    }
    assert_true(dpa__log1p_exp(INFINITY) == HUGE_VAL);
    assert_true(dpa__log1p_exp(-INFINITY) == 0);
}

static void sum_of_logs(void **state) {
    (void)state;
    double terms[1001];
    for (int i = 0; i < 1001; ++i) terms[i] = -1e4 - i * M_LN2;
    assert_relative(dpa__log_sum(terms, 1001), -1e4 + M_LN2, 1e-15);
    const double zeros[] = {-INFINITY, -INFINITY}, with_nan[] = {1, NAN}, huge[] = {INFINITY, 0};
    assert_true(dpa__log_sum(zeros, 2) == -HUGE_VAL);
    assert_true(dpa__log_sum(zeros, 0) == -HUGE_VAL);
    assert_true(isnan(dpa__log_sum(with_nan, 2)));
    assert_true(dpa__log_sum(huge, 2) == HUGE_VAL);
}

static void logit(void **state) {
    (void)state;
    assert_true(dpa__logit(0.5) == 0);
    assert_true(dpa__logit(0) == -HUGE_VAL);
    assert_true(dpa__logit(1) == HUGE_VAL);
    assert_true(isnan(dpa__logit(1.1)));
    assert_true(isnan(dpa__logit(NAN)));
    assert_relative(dpa__logit(1e-300), -300 * log(10), 1e-15);
    assert_relative(dpa__logit(0.5 + 0x1p-50), 0x1p-48, 1e-14);
    for (double p = 0.01; p < 1; p += 0.0137) {
        const long double exact = p;
        assert_relative(dpa__logit(p), (double)logl(exact / (1 - exact)), 1e-15);
    }
}

static void compensation(void **state) {
    (void)state;
    dpa__sum sum = {0};
    const double terms[] = {1, 1e100, 1, -1e100};
    for (int i = 0; i < 4; ++i) dpa__sum_add(&sum, terms[i]);
    assert_true(dpa__sum_get(&sum) == 2);
    sum = (dpa__sum){0};
    for (int i = 0; i < 1000000; ++i) dpa__sum_add(&sum, 0.1);
    assert_relative(dpa__sum_get(&sum), 100000.00000000000555, 1e-16);
    dpa__sum_add(&sum, INFINITY);
    dpa__sum_add(&sum, 1);
    assert_true(dpa__sum_get(&sum) == HUGE_VAL);
    dpa__sum_add(&sum, NAN);
    assert_true(isnan(dpa__sum_get(&sum)));
}

static void logarithms(void **state) {
    (void)state;
    enum { COUNT = 1003 };
    double x[COUNT], got[COUNT], again;
    dpa_rng rng;
    dpa__rng_init(&rng, 1, DPA_PURPOSE_TEST, 0);
    for (int round = 0; round < 200; ++round) {
        for (int i = 0; i < COUNT; ++i) {
            const double u = dpa__rng_uniform(&rng);
            x[i] = round % 3 == 0   ? exp(1400 * u - 700)
                   : round % 3 == 1 ? 0.02 + 3 * u
                                    : 1 + ldexp(u - 0.5, -(int)dpa__rng_below(&rng, 52));
        }
        dpa__logs(x, COUNT, got);
        for (int i = 0; i < COUNT; ++i) {
            const long double exact = logl((long double)x[i]);
            assert_true(fabsl(got[i] - exact) <= 0x1p-52L * fabsl(exact));
            again = x[i]; /* alone as among others, in place as beside it */
            dpa__logs(&again, 1, &again);
            assert_true(again == got[i]);
        }
    }
    double one = 1;
    dpa__logs(&one, 1, &one);
    assert_true(one == 0);
    dpa__logs(x, 0, got);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(add),          cmocka_unit_test(subtract),    cmocka_unit_test(one_minus),
        cmocka_unit_test(one_plus),     cmocka_unit_test(sum_of_logs), cmocka_unit_test(logit),
        cmocka_unit_test(compensation), cmocka_unit_test(logarithms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
