/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits of one rate: the quick test "does the upper limit reach this rate?" agrees with the limit
 * itself, for both kinds of limit, at the ends and for large counts; and the limits of a rectangle
 * share the error as documented. */
#include "check.h"

#include "estimate/rates/rates.h"
#include "math/dist.h"

static void reaches_is_the_limit(void **state) {
    (void)state;
    static const dpa__limit limits[] = {DPA__CLOPPER_PEARSON, DPA__JEFFREYS};
    static const uint64_t sizes[] = {1, 2, 7, 100, 100000};
    static const double ps[] = {0.3, 0.05, 0.025, 1e-6};
    for (int l = 0; l < 2; ++l)
        for (size_t s = 0; s < 5; ++s)
            for (uint64_t k = 0; k <= sizes[s]; k += 1 + sizes[s] / 7)
                for (size_t i = 0; i < 4; ++i) {
                    const double limit = dpa__rate_upper(limits[l], k, sizes[s], ps[i]);
                    const int below =
                        dpa__rate_upper_reaches(limits[l], k, sizes[s], ps[i], limit * (1 - 1e-9));
                    const int above = dpa__rate_upper_reaches(limits[l], k, sizes[s], ps[i],
                                                              fmin(1, limit * (1 + 1e-9)));
                    assert_true(below);
                    assert_int_equal(above, k == sizes[s]); /* that limit is 1 */
                }
}

/* One-sided: both upper limits at p/2. Two-sided: four limits at p/4. */
static void rectangle_shares_the_error(void **state) {
    (void)state;
    const dpa_counts c = {3, 47, 5, 75};
    const dpa__rectangle one = dpa__rectangle_of(&c, DPA__CLOPPER_PEARSON, 0.1, 1);
    const dpa__rectangle two = dpa__rectangle_of(&c, DPA__JEFFREYS, 0.1, 2);
    assert_true(one.fnr[0] == 0 && one.fpr[0] == 0);
    /* the definition of a limit: at that rate, so few errors have the stated probability */
    assert_relative(dpa__binom_cdf(3, 50, one.fnr[1], DPA_LOWER), 0.05, 1e-9);
    assert_relative(dpa__binom_cdf(5, 80, one.fpr[1], DPA_LOWER), 0.05, 1e-9);
    assert_relative(dpa__beta_cdf(two.fnr[1], 3.5, 47.5, DPA_UPPER), 0.025, 1e-9);
    assert_relative(dpa__beta_cdf(two.fpr[0], 5.5, 75.5, DPA_LOWER), 0.025, 1e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reaches_is_the_limit),
        cmocka_unit_test(rectangle_shares_the_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
