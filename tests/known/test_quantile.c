/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two regressions of the quantile attack against optima of other programs: the pinball loss as
 * a linear program by HiGHS (scipy 1.11 linprog), the normal form by BFGS and Newton on numerical
 * Hessians (gradient below 1e-14). */
#include "check.h"

#include "attack/regression.h"

enum { ROWS = 60, COLUMNS = 4 };
static double x[ROWS * COLUMNS], y[ROWS];
static const dpa__design design = {ROWS, COLUMNS, x};

static int make(void **state) {
    (void)state;
    static const double slope[] = {1.0, 1.0, -2.0, 0.5};
    for (int i = 0; i < ROWS; ++i) {
        double *row = x + COLUMNS * i;
        row[0] = 1.0;
        for (int j = 0; j < COLUMNS - 1; ++j) row[j + 1] = sin(1.7 * i + 2.3 * j + 0.1 * i * j);
        y[i] = exp(0.5 * row[1]) * sin(0.9 * i * i + 0.3);
        for (int c = 0; c < COLUMNS; ++c) y[i] += slope[c] * row[c];
    }
    return 0;
}

static double pinball(const double *b, double level, double ridge) {
    double sum = 0.0;
    for (size_t i = 0; i < ROWS; ++i) {
        const double r = y[i] - dpa__row_times(&design, i, b);
        sum += r >= 0.0 ? level * r : (level - 1.0) * r;
    }
    for (size_t c = 1; c < COLUMNS; ++c) sum += 0.5 * ROWS * ridge * b[c] * b[c];
    return sum;
}

static void pinball_is_the_linear_program(void **state) {
    (void)state;
    static const struct {
        double level, optimum, b[COLUMNS];
    } known[] = {
        {0.05, 3.22758357621, {-0.0384772715579, 0.45908242329, -1.88285760099, 0.426435926925}},
        {0.5, 20.1671670531, {0.794475280125, 0.64406540392, -1.84080750135, 0.115238289212}},
        {0.9, 6.14768000859, {2.00883429947, 1.50174280169, -2.0408174334, 0.45577729625}},
        {0.99, 0.630406686678, {2.08034593855, 1.50330396869, -1.99508178756, 0.489072214067}},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; ++k) {
        double b[COLUMNS];
        dpa__fit_quality quality;
        assert_ok(dpa__pinball_fit(&design, y, known[k].level, 0.0, 1, b, &quality, NULL));
        assert_absolute(pinball(b, known[k].level, 0.0), known[k].optimum, 1e-8);
        assert_true(quality.gap < 1e-10);
        for (int c = 0; c < COLUMNS; ++c) assert_absolute(b[c], known[k].b[c], 1e-7);
    }
}

/* Moving any weight either way increases the loss. For a convex loss this shows the optimum along
 * the axes, and the certificate covers the other directions. */
static void ridge_is_optimal(void **state) {
    (void)state;
    static const double ridges[] = {1e-6, 0.05, 3.0}, levels[] = {0.1, 0.5, 0.97};
    for (int k = 0; k < 9; ++k) {
        const double ridge = ridges[k / 3], level = levels[k % 3];
        double b[COLUMNS];
        dpa__fit_quality quality;
        assert_ok(dpa__pinball_fit(&design, y, level, ridge, 1, b, &quality, NULL));
        const double best = pinball(b, level, ridge);
        for (int c = 0; c < COLUMNS; ++c)
            for (int way = -1; way <= 1; way += 2) {
                const double kept = b[c];
                b[c] += 1e-3 * way;
                assert_true(pinball(b, level, ridge) > best - 1e-8);
                b[c] = kept;
            }
    }
}

static void normal_is_the_likelihood(void **state) {
    (void)state;
    static const struct {
        double ridge, b[COLUMNS], g[COLUMNS];
    } known[] = {
        {0.0,
         {1.05208450007, 0.923358669715, -1.77305117748, 0.328174805204},
         {-0.394926835839, 0.688598153601, -0.143902692302, 0.108943819154}},
        {0.05,
         {1.01559285765, 0.868556488279, -1.72610545634, 0.321600797722},
         {-0.391206238011, 0.653863811482, -0.139005048393, 0.0918340012485}},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; ++k) {
        double b[COLUMNS], g[COLUMNS];
        dpa__fit_quality quality;
        assert_ok(dpa__scaled_normal_fit(&design, y, known[k].ridge, 1, b, g, &quality, NULL));
        for (int c = 0; c < COLUMNS; ++c) {
            assert_absolute(b[c], known[k].b[c], 1e-5);
            assert_absolute(g[c], known[k].g[c], 1e-5);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pinball_is_the_linear_program),
                                       cmocka_unit_test(ridge_is_optimal),
                                       cmocka_unit_test(normal_is_the_likelihood)};
    return cmocka_run_group_tests(tests, make, NULL);
}
