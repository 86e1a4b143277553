/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intervals for ratios of rates, compared with mpmath (30 digits) using the formulas as printed in
 * the papers (Bailey's in his closed form, which is not the one computed here; Katz-log also agrees
 * with scipy.stats.contingency.relative_risk). Zero counts and complete separation. */
#include "check.h"

#include "estimate/rates/ratio.h"
#include "evidence/evidence.h"

static void known(void **state) {
    (void)state;
    static const struct {
        dpa__ratio method;
        dpa_counts counts; /* FN, TP, FP, TN */
        double one_sided, lower, upper;
    } row[] = {
        {DPA__KATZ_LOG,
         {35, 65, 25, 75},
         0.58682656211778974,
         0.53388568623865084,
         1.3771372038162219},
        {DPA__KATZ_LOG, {3, 97, 5, 95}, 2.339875206448086, 2.1797121665909389, 4.7308170392739234},
        {DPA__KATZ_LOG,
         {200, 800, 100, 900},
         1.8909382417314778,
         1.8638703301680417,
         2.2950127531916302},
        {DPA__ADJUSTED_LOG,
         {35, 65, 25, 75},
         0.57889023894112301,
         0.52655294988897365,
         1.3601904310646779},
        {DPA__ADJUSTED_LOG,
         {3, 97, 5, 95},
         2.2761509605621294,
         2.1282188239128334,
         4.4845077340697997},
        {DPA__ADJUSTED_LOG,
         {200, 800, 100, 900},
         1.8870808873666044,
         1.8600855455963701,
         2.2900720642789078},
        {DPA__BAILEY,
         {35, 65, 25, 75},
         0.60119823578156731,
         0.55244144511179051,
         1.4002149095271261},
        {DPA__BAILEY, {3, 97, 5, 95}, 2.5063182651754904, 2.3916112723330824, 5.1151742664881263},
        {DPA__BAILEY,
         {200, 800, 100, 900},
         1.8963126111032042,
         1.8708583378250352,
         2.3027157041276516},
        {DPA__INVERSE_SINH,
         {35, 65, 25, 75},
         0.58888337865925113,
         0.53694782056678188,
         1.3740750694880908},
        {DPA__INVERSE_SINH,
         {3, 97, 5, 95},
         2.3908412102932046,
         2.2533710838242196,
         4.6571581220406426},
        {DPA__INVERSE_SINH,
         {200, 800, 100, 900},
         1.8912162227952209,
         1.8642855712041068,
         2.2945975121555651},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; ++i) {
        double lower, upper;
        assert_true(dpa__ratio_epsilon(row[i].method, &row[i].counts, 0.05, 1, &lower, &upper) ==
                    1);
        assert_relative(lower, row[i].one_sided, 1e-14);
        assert_true(dpa__ratio_epsilon(row[i].method, &row[i].counts, 0.05, 2, &lower, &upper) ==
                    1);
        assert_relative(lower, row[i].lower, 1e-14);
        assert_relative(upper, row[i].upper, 1e-14);
    }
}

static void zero_counts(void **state) {
    (void)state;
    const dpa_counts perfect = {0, 50, 0, 60}, no_fp = {5, 45, 0, 60};
    double lower, upper;
    for (int m = DPA__KATZ_LOG; m <= DPA__INVERSE_SINH; ++m) {
        const int has = dpa__ratio_epsilon((dpa__ratio)m, &perfect, 0.05, 2, &lower, &upper);
        assert_int_equal(has, m == DPA__ADJUSTED_LOG);
        if (has) assert_true(lower > 0 && isfinite(upper));
        /* one ratio is left: a lower bound, and no upper one */
        assert_true(dpa__ratio_epsilon((dpa__ratio)m, &no_fp, 0.05, 2, &lower, &upper) == 1);
        assert_true(lower > 0 && isfinite(lower));
        if (m != DPA__ADJUSTED_LOG) assert_true(upper == HUGE_VAL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known), cmocka_unit_test(zero_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
