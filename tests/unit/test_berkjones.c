/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The level of the Berk–Jones band: published values, a direct integral for small n, and the table
 * against the recursion. */
#include "check.h"

#include "estimate/rates/berkjones.h"
#include "math/dist.h"

static double crossing(size_t n, double gamma) {
    double out = NAN;
    assert_ok(dpa__berkjones_crossing(n, gamma, &out, NULL));
    return out;
}

/* Steck's formula by hand: for two points, Pr[U_(1) ≥ a, U_(2) ≥ b] = (1−a)² − (b−a)². */
static void two_points(void **state) {
    (void)state;
    for (double gamma = 1e-6; gamma < 0.5; gamma *= 3) {
        const double a = dpa__beta_quantile(gamma, 1, 2, DPA_LOWER);
        const double b = dpa__beta_quantile(gamma, 2, 1, DPA_LOWER);
        assert_absolute(crossing(2, gamma), 1 - ((1 - a) * (1 - a) - (b - a) * (b - a)), 1e-14);
    }
    assert_relative(crossing(1, 0.125), 0.125, 1e-14);
}

/* Pr[U_(i) ≥ a_i for all i] = n!·∫…∫ over a_i ≤ u_1 < … < u_n ≤ 1, by polynomial integration from
 * the inside: an independent algorithm, good for small n (its terms alternate). */
static double stay_by_polynomials(size_t n, double gamma) {
    double c[16] = {1}; /* Q(u) = Σ c_k u^k: the integral over u_1 < … < u_i < u */
    double factorial = 1;
    for (size_t i = 1; i <= n; ++i) {
        const double a = dpa__beta_quantile(gamma, (double)i, (double)(n - i) + 1, DPA_LOWER);
        double at_a = 0;
        for (size_t k = i; k > 0; --k) c[k] = c[k - 1] / (double)k;
        for (size_t k = i; k > 0; --k) at_a = (at_a + c[k]) * a;
        c[0] = -at_a;
        factorial *= (double)i;
    }
    double sum = 0;
    for (size_t k = 0; k <= n; ++k) sum += c[k];
    return factorial * sum;
}

static void small_samples(void **state) {
    (void)state;
    for (size_t n = 1; n <= 10; ++n)
        for (double gamma = 1e-3; gamma < 0.3; gamma *= 2)
            assert_absolute(crossing(n, gamma), 1 - stay_by_polynomials(n, gamma), 1e-9);
}

static void printed_levels(void **state) {
    (void)state;
    static const struct {
        size_t n;
        double gamma, digits;
    } known[] = {{10, 0.00794338, 5e-9},
                 {100, 0.00246093, 6e-9},
                 {1000, 0.00121695, 6e-9},
                 {4000, 0.000901601, 6e-10}};
    for (size_t i = 0; i < 4; ++i) {
        double gamma;
        assert_ok(dpa__berkjones_exact(known[i].n, 0.05, &gamma, NULL));
        assert_absolute(gamma, known[i].gamma, known[i].digits);
    }
}

/* Safe: never above the exact level. Useful: within three percent of it. The crossing probability
 * grows with the level, so the exact level is not needed. Tested off the grid in n and p. */
static void table_is_safe(void **state) {
    (void)state;
    static const size_t sizes[] = {201, 333, 1000, 2601, 5000};
    static const double levels[] = {0.2, 0.05, 0.0253, 0.01, 1e-4};
    for (size_t i = 0; i < 5; ++i)
        for (size_t j = 0; j < 5; ++j) {
            double quick;
            dpa__berkjones_how how;
            assert_ok(dpa__berkjones_level(sizes[i], levels[j], &quick, &how, NULL));
            assert_int_equal(how, DPA__BERKJONES_TABLE);
            assert_true(crossing(sizes[i], quick) <= levels[j]);
            assert_true(crossing(sizes[i], quick / 0.97) > levels[j]);
        }
}

/* Λ is a constant plus a multiple of log n, nearly: every number of the table lies on the line
 * through two others of its column, to 2%. The levels above come from a few of the numbers only. */
static void table_is_smooth(void **state) {
    (void)state;
    for (size_t column = 0; column < DPA__BERKJONES_COLUMNS; ++column)
        for (size_t row = 0; row < DPA__BERKJONES_ROWS; ++row) {
            const size_t last = DPA__BERKJONES_ROWS - 1;
            const size_t middle = row == 0 ? 1 : row == last ? last - 1 : row;
            const double before = (double)dpa__berkjones_table[middle - 1][column];
            const double here = (double)dpa__berkjones_table[middle][column];
            const double after = (double)dpa__berkjones_table[middle + 1][column];
            if (row == 0)
                assert_relative(before, 2 * here - after, 0.02);
            else if (row == last)
                assert_relative(after, 2 * here - before, 0.02);
            else
                assert_relative(here, 0.5 * (before + after), 0.02);
        }
}

/* One evaluation of the recursion past the last row: the crossing probability at the extrapolated
 * level is below the level asked for. */
static void extrapolation_is_safe(void **state) {
    (void)state;
    double gamma, before = 1;
    dpa__berkjones_how how;
    assert_ok(dpa__berkjones_level(110000, 0.05, &gamma, &how, NULL));
    assert_int_equal(how, DPA__BERKJONES_EXTRAPOLATED);
    assert_between(crossing(110000, gamma), 0.05 * 0.94, 0.05);
    /* falls in n up to ten million and beyond */
    for (size_t n = 100; n < 40000000; n = n * 5 / 4) {
        assert_ok(dpa__berkjones_level(n, 0.0253, &gamma, &how, NULL));
        assert_true(gamma < before * 1.02);
        assert_true(gamma > 0.0253 / (double)n);
        before = gamma;
    }
    /* outside the table: the union bound */
    assert_ok(dpa__berkjones_level(5000, 1e-12, &gamma, &how, NULL));
    assert_int_equal(how, DPA__BERKJONES_UNION);
    assert_relative(gamma, 1e-12 / 5000, 1e-12);
    assert_int_equal(dpa__berkjones_level(0, 0.05, &gamma, &how, NULL), DPA_INTERNAL);
}

/* A boundary of one step is a binomial tail, however far it lies from the diagonal and however high
 * the step is. */
static void one_step(void **state) {
    enum { N = 3000 };
    static double a[N];
    static const double ends[] = {0.01, 0.3, 0.5, 0.9};
    static const size_t places[] = {1, 60, 900, 1500, 2690, 3000};
    (void)state;
    for (size_t e = 0; e < 4; ++e)
        for (size_t p = 0; p < 6; ++p) {
            double crossing;
            for (size_t i = 0; i < N; ++i) a[i] = i + 1 < places[p] ? 0 : ends[e];
            assert_ok(dpa__crossing(N, a, &crossing, NULL));
            assert_absolute(crossing, dpa__binom_cdf((double)places[p] - 1, N, ends[e], DPA_UPPER),
                            1e-10);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_points),      cmocka_unit_test(small_samples),
        cmocka_unit_test(printed_levels),  cmocka_unit_test(table_is_safe),
        cmocka_unit_test(table_is_smooth), cmocka_unit_test(extrapolation_is_safe),
        cmocka_unit_test(one_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
