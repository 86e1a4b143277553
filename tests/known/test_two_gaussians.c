/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ε between two Gaussians against 80-digit numbers (scripts/known-tradeoff) and against the shared
 * reference. */
#include "check.h"

#include <jansson.h>

#include "known/table.h"
#include "tradeoff/tradeoff.h"

static void table(void **state) {
    (void)state;
    FILE *file = known_open("two_gaussians.txt");
    double r[6], worst = 0.0;
    int rows = 0;
    for (; known_row(file, r, 6); ++rows) {
        const double got = dpa__two_gaussians_directed(r[0], r[1], r[2], r[3], r[4]);
        if (fabs(got - r[5]) > 1e-11 * r[5])
            print_error("N(%g,%.11g) || N(%g,%.11g), delta %g\n", r[0], r[1], r[2], r[3], r[4]);
        assert_relative(got, r[5], 1e-11);
        /* reflected, and in other units */
        assert_relative(dpa__two_gaussians_directed(-4 * r[0], 4 * r[1], -4 * r[2], 4 * r[3], r[4]),
                        got, 1e-14);
        if (r[5] > 0.0) worst = fmax(worst, fabs(got - r[5]) / r[5]);
    }
    (void)fclose(file);
    assert_int_equal(rows, 120);
    print_message("%d rows: off by %.2g at most (relative)\n", rows, worst);
}

static double number(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

static void shared_reference(void **state) {
    (void)state;
    if (access(check_shared("reference/two-gaussians.json"), R_OK) != 0) skip();
    json_t *root = json_load_file(check_shared("reference/two-gaussians.json"), 0, NULL);
    const json_t *cases = json_object_get(root, "cases"), *one;
    assert_int_equal(json_array_size(cases), 12);
    size_t i;
    json_array_foreach(cases, i, one) {
        assert_relative(dpa__two_gaussians_epsilon(number(one, "mu1"), number(one, "s1"),
                                                   number(one, "mu2"), number(one, "s2"),
                                                   number(one, "delta")),
                        number(one, "epsilon"), 1e-12);
    }
    json_decref(root);
}

/* The equal-variance closed form, and the limit towards it. */
static void equal_variances(void **state) {
    (void)state;
    for (double mu = 1e-4; mu < 1e4; mu *= 7.0) {
        const double want = dpa_gaussian_epsilon(mu, 1e-6);
        assert_relative(dpa__two_gaussians_epsilon(mu, 1.0, 0.0, 1.0, 1e-6), want, 1e-14);
        const double near =
            dpa__two_gaussians_epsilon(mu * 3.0, 3.0, 0.0, 3.0 * (1.0 + 1e-14), 1e-6);
        assert_relative(near, want, 1e-8);
    }
}

static void extremes(void **state) {
    (void)state;
    assert_true(dpa__two_gaussians_epsilon(1, 2, 1, 2, 0.0) == 0.0);
    assert_true(dpa__two_gaussians_epsilon(1, 2, 1, 3, 0.0) == HUGE_VAL);
    assert_true(dpa__two_gaussians_epsilon(1, 2, 0, 2, 0.0) == HUGE_VAL);
    /* The narrower law against the wider one: the privacy loss is bounded, here by log 2. */
    assert_relative(dpa__two_gaussians_directed(0, 1, 0, 2, 0.0), log(2.0), 1e-15);
    assert_relative(dpa__two_gaussians_directed(0, 1, 0, 2, 1e-300), log(2.0), 1e-12);
    assert_true(dpa__two_gaussians_directed(0, 2, 0, 1, 0.0) == HUGE_VAL);
    assert_true(dpa__two_gaussians_epsilon(0, 1, 5, 2, 1.0) == 0.0);
    assert_true(dpa__two_gaussians_epsilon(0, 0, 0, 1, 0.5) == HUGE_VAL);
    assert_true(dpa__two_gaussians_epsilon(0, 0, 0, 0, 0.5) == 0.0);
    assert_true(isnan(dpa__two_gaussians_epsilon(0, -1, 0, 1, 0.5)));
    assert_true(isnan(dpa__two_gaussians_epsilon(NAN, 1, 0, 1, 0.5)));
    assert_true(isnan(dpa__two_gaussians_epsilon(0, 1, 0, 1, -0.5)));
    assert_true(isnan(dpa__two_gaussians_directed(0, 1, 0, 2, 1.5)));
    assert_true(isnan(dpa__two_gaussians_directed(0, 1, 0, NAN, 0.5)));
    assert_true(isnan(dpa__two_gaussians_directed(0, 1, 0, -1, 0.5)));
    assert_true(isnan(dpa__two_gaussians_directed(0, INFINITY, 0, 1, 0.5)));
    assert_true(dpa__two_gaussians_directed(0, 1, 3, 2, 1) == 0);
    /* δ = 0: the wider law has losses without end, if only by a little; the narrower a largest one,
     * at the top of the parabola */
    assert_true(isinf(dpa__two_gaussians_directed(0, 1.1, 0, 1, 0)));
    assert_relative(dpa__two_gaussians_directed(0, 1, 3, 2, 0), 9.0 / (2 * 3) + log(2), 1e-14);
    /* numbers whose squares overflow have an infinite ε */
    assert_true(isinf(dpa__two_gaussians_directed(0, 1e200, 0, 1, 1e-5)));
    assert_true(isinf(dpa__two_gaussians_directed(1e200, 1, 0, 2, 1e-5)));
    assert_true(dpa__two_gaussians_epsilon(1e308, 1, -1e308, 1, 0.5) == HUGE_VAL);
    assert_true(dpa__two_gaussians_epsilon(0, 1e308, 0, 1e-308, 0.5) == HUGE_VAL);
    for (double s = 1e-40; s < 1e41; s *= 1e3)
        for (double m = 1e-40; m < 1e41; m *= 1e4) {
            double before = HUGE_VAL;
            for (double delta = 1e-300; delta < 1.0; delta *= 1e20) {
                const double epsilon = dpa__two_gaussians_epsilon(m, s, 0, 1, delta);
                if (!(epsilon >= 0.0 && epsilon <= before * (1.0 + 1e-14)))
                    print_error("m %g s %g delta %g: %g after %g\n", m, s, delta, epsilon, before);
                assert_true(epsilon >= 0.0 && epsilon <= before * (1.0 + 1e-14));
                before = epsilon;
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
        cmocka_unit_test(shared_reference),
        cmocka_unit_test(equal_variances),
        cmocka_unit_test(extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
