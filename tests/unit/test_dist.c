/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distributions: closed forms, ends of the domain, arguments outside of it, and no output. */
#include "check.h"

#include <fcntl.h>

#include "base/rng.h"
#include "math/dist.h"

static void closed_forms(void **state) {
    (void)state;
    for (double x = 0.01; x < 1; x += 0.07) {
        assert_relative(dpa__beta_cdf(x, 1, 5, DPA_UPPER), pow(1 - x, 5), 1e-14);
        assert_relative(dpa__beta_cdf(x, 7, 1, DPA_LOG_LOWER), 7 * log(x), 1e-14);
        assert_relative(dpa__beta_cdf(x, 0.5, 0.5, DPA_LOWER), M_2_PI * asin(sqrt(x)), 1e-14);
        assert_relative(dpa__gamma_cdf(x, 1, 2, DPA_LOG_UPPER), -x / 2, 1e-14);
        assert_relative(dpa__t_cdf(-x, 1, DPA_LOWER), 0.5 - atan(x) / M_PI, 1e-14);
        assert_relative(dpa__norm_cdf(x, DPA_UPPER), 0.5 * erfc(x / sqrt(2)), 1e-14);
        assert_relative(dpa__chisq_quantile(x, 2, DPA_UPPER), -2 * log(x), 1e-14);
        assert_relative(dpa__t_quantile(x, 2, DPA_LOWER), (2 * x - 1) / sqrt(2 * x * (1 - x)),
                        1e-13);
    }
    assert_relative(dpa__norm_log_pdf(3), -4.5 - 0.5 * log(2 * M_PI), 1e-15);
    assert_relative(dpa__binom_log_pmf(2, 5, 0.25), log(10 * 27.0 / 1024), 1e-14);
}

static void ends(void **state) {
    (void)state;
    assert_true(dpa__norm_quantile(0, DPA_LOWER) == -HUGE_VAL);
    assert_true(dpa__norm_quantile(0, DPA_LOG_LOWER) == HUGE_VAL);
    assert_true(dpa__norm_quantile(-INFINITY, DPA_LOG_UPPER) == HUGE_VAL);
    assert_true(dpa__norm_quantile(0.5, DPA_LOWER) == 0);
    assert_true(dpa__norm_log_interval(2, 2) == -HUGE_VAL);
    assert_true(dpa__norm_log_interval(-INFINITY, INFINITY) == 0);
    assert_true(isnan(dpa__norm_log_interval(3, 2)));
    assert_relative(dpa__norm_log_interval(3, INFINITY), dpa__norm_cdf(3, DPA_LOG_UPPER), 1e-15);
    assert_relative(dpa__norm_log_interval(-INFINITY, -3), dpa__norm_cdf(3, DPA_LOG_UPPER), 1e-15);
    assert_true(dpa__beta_cdf(0, 2, 3, DPA_LOWER) == 0);
    assert_true(dpa__beta_cdf(1, 2, 3, DPA_LOG_UPPER) == -HUGE_VAL);
    assert_true(dpa__beta_cdf(-1, 2, 3, DPA_LOG_UPPER) == 0);
    assert_true(dpa__beta_quantile(0, 2, 3, DPA_LOWER) == 0);
    assert_true(dpa__beta_quantile(1, 2, 3, DPA_LOWER) == 1);
    assert_true(dpa__beta_quantile(0, 2, 3, DPA_LOG_UPPER) == 0);
    assert_true(dpa__beta_log_pdf(0, 0.5, 3) == HUGE_VAL);
    assert_true(dpa__beta_log_pdf(1, 2, 3) == -HUGE_VAL);
    assert_true(dpa__gamma_quantile(0, 2, 3, DPA_UPPER) == HUGE_VAL);
    assert_true(dpa__gamma_quantile(0, 2, 3, DPA_LOWER) == 0);
    assert_true(dpa__t_quantile(0.5, 3, DPA_UPPER) == 0);
    assert_true(dpa__t_quantile(0, 3, DPA_UPPER) == HUGE_VAL);
    assert_relative(dpa__t_quantile(0.1, INFINITY, DPA_UPPER), dpa__norm_quantile(0.1, DPA_UPPER),
                    1e-15);
    /* Pr[|T| > t] ≈ t^-f·const: beyond the range of 1/t² */
    assert_relative(log(dpa__t_quantile(1e-200, 1, DPA_UPPER)), 200 * log(10) - log(M_PI), 1e-14);
}

static void binomial_ends(void **state) {
    (void)state;
    assert_true(dpa__binom_cdf(-1, 10, 0.5, DPA_LOWER) == 0);
    assert_true(dpa__binom_cdf(-1, 10, 0.5, DPA_LOG_UPPER) == 0);
    assert_true(dpa__binom_cdf(10, 10, 0.5, DPA_LOWER) == 1);
    assert_true(dpa__binom_cdf(10, 10, 0.5, DPA_LOG_UPPER) == -HUGE_VAL);
    assert_true(dpa__binom_cdf(0, 0, 0.5, DPA_LOWER) == 1);
    assert_true(dpa__binom_cdf(3, 10, 0, DPA_LOWER) == 1);
    assert_true(dpa__binom_cdf(3, 10, 1, DPA_LOWER) == 0);
    assert_relative(dpa__binom_cdf(0.9999999999, 1, 0.25, DPA_LOWER), 0.75, 1e-15);
    assert_true(dpa__binom_log_pmf(2.5, 10, 0.5) == -HUGE_VAL);
    assert_true(dpa__binom_log_pmf(11, 10, 0.5) == -HUGE_VAL);
    assert_true(isnan(dpa__binom_cdf(2, 9.5, 0.5, DPA_LOWER)));
    assert_true(isnan(dpa__binom_cdf(2, 10, 1.5, DPA_LOWER)));
    assert_true(isnan(dpa__binom_log_pmf(NAN, 10, 0.5)));
}

static void limits_of_rates(void **state) {
    (void)state;
    assert_true(dpa__cp_lower(0, 10, 0.05) == 0);
    assert_true(dpa__cp_upper(10, 10, 0.05) == 1);
    assert_true(dpa__jeffreys_lower(0, 10, 0.05) == 0);
    assert_true(dpa__jeffreys_upper(10, 10, 0.05) == 1);
    /* no success, or only successes: closed forms */
    const double sizes[] = {1, 10, 1e3, 1e6, 1e9}, levels[] = {0.5, 0.05, 1e-12, 1e-300};
    for (int i = 0; i < 5; ++i) {
        for (int j = 0; j < 4; ++j) {
            const double n = sizes[i], p = levels[j];
            assert_relative(dpa__cp_upper(0, n, p), n == 1 ? 1 - p : -expm1(log(p) / n), 1e-14);
            assert_relative(dpa__cp_lower(n, n, p), pow(p, 1 / n), 1e-13);
        }
    }
    static const double bad[][3] = {{-1, 10, 0.05}, {11, 10, 0.05},    {1, 0, 0.05}, {1, -3, 0.05},
                                    {1, 10, 1.5},   {1, 10, -0.5},     {1, 10, NAN}, {NAN, 10, 0.5},
                                    {1, NAN, 0.5},  {1, INFINITY, 0.5}};
    static double (*const limit[])(double, double, double) = {
        dpa__cp_lower, dpa__cp_upper, dpa__jeffreys_lower, dpa__jeffreys_upper};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i)
        for (size_t k = 0; k < 4; ++k)
            assert_true(isnan(limit[k](bad[i][0], bad[i][1], bad[i][2])));
    for (size_t k = 0; k < 4; ++k) { /* both ends of a level are levels */
        assert_true(limit[k](3, 10, 0) == (k % 2 ? 1 : 0));
        assert_true(limit[k](3, 10, 1) == (k % 2 ? 0 : 1));
    }
    assert_true(isnan(dpa__cp_lower(-1, 10, 0.05)));
    assert_true(isnan(dpa__cp_upper(11, 10, 0.05)));
    assert_true(isnan(dpa__jeffreys_lower(1, 0, 0.05)));
    assert_true(isnan(dpa__jeffreys_upper(1, 10, 1.5)));
    assert_true(isnan(dpa__jeffreys_upper(1, NAN, 0.5)));
}

static void outside(void **state) {
    (void)state;
    const double bad[] = {NAN, -1, 0, INFINITY};
    for (int i = 0; i < 4; ++i) {
        assert_true(isnan(dpa__beta_cdf(0.5, bad[i], 1, DPA_LOWER)));
        assert_true(isnan(dpa__beta_quantile(0.5, 1, bad[i], DPA_LOWER)));
        assert_true(isnan(dpa__beta_log_pdf(0.5, 1, bad[i])));
        assert_true(isnan(dpa__gamma_cdf(0.5, bad[i], 1, DPA_LOWER)));
        assert_true(isnan(dpa__gamma_quantile(0.5, 1, bad[i], DPA_LOWER)));
        assert_true(isnan(dpa__chisq_quantile(0.5, bad[i], DPA_LOWER)));
        if (i < 3) assert_true(isnan(dpa__t_cdf(0.5, bad[i], DPA_LOWER)));
        if (i < 3) assert_true(isnan(dpa__t_quantile(0.5, bad[i], DPA_LOWER)));
    }
    assert_true(isnan(dpa__norm_cdf(NAN, DPA_LOWER)));
    assert_true(isnan(dpa__norm_quantile(-0.1, DPA_LOWER)));
    assert_true(isnan(dpa__norm_quantile(0.1, DPA_LOG_LOWER)));
    assert_true(isnan(dpa__norm_quantile(NAN, DPA_LOWER)));
    assert_true(isnan(dpa__beta_cdf(NAN, 1, 1, DPA_LOWER)));
    assert_true(isnan(dpa__beta_log_pdf(1.5, 1, 1)));
    assert_true(isnan(dpa__beta_quantile(1.5, 1, 1, DPA_UPPER)));
    assert_true(isnan(dpa__gamma_quantile(1.5, 1, 1, DPA_UPPER)));
}

/* One call of everything at shapes from 1e-3 to 1e9 and levels down to 1e-300 or e^-1e10. */
static int wild_call(dpa_rng *rng) {
    const double a = pow(10, -3 + 12 * dpa__rng_uniform(rng));
    const double b = dpa__rng_uniform(rng) < 0.3 ? 0.5 : pow(10, -3 + 12 * dpa__rng_uniform(rng));
    const dpa__tail tail = (dpa__tail)dpa__rng_below(rng, 4);
    const int is_log = tail == DPA_LOG_LOWER || tail == DPA_LOG_UPPER;
    const double u = dpa__rng_uniform(rng);
    const double p = is_log ? -pow(10, -10 + 20 * u) : pow(10, -300 * u * u);
    const double x = fmin(a / (a + b) * exp(dpa__rng_normal(rng)), 1);
    const double results[] = {
        dpa__beta_cdf(x, a, b, tail),
        dpa__beta_quantile(p, a, b, tail),
        dpa__beta_log_pdf(x, a, b),
        dpa__gamma_cdf(a * exp(u), a, 1, tail),
        dpa__gamma_quantile(p, a, 1, tail),
        dpa__t_cdf(dpa__rng_normal(rng) / u, a, tail),
        dpa__t_quantile(p, a, tail),
        dpa__norm_quantile(p, tail),
        dpa__binom_cdf(floor(a * u), floor(a), x, tail),
        dpa__chisq_quantile(p, a, tail),
    };
    int bad = 0;
    for (size_t i = 0; i < sizeof results / sizeof results[0]; ++i) bad += isnan(results[i]);
    return bad;
}

/* nmath prints a warning when it doubts its result; the library must never call it there. Standard
 * output and error go to a file meanwhile. */
static void silence(void **state) {
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    (void)fflush(NULL);
    const int out = dup(STDOUT_FILENO), error = dup(STDERR_FILENO);
    (void)dup2(fileno(file), STDOUT_FILENO);
    (void)dup2(fileno(file), STDERR_FILENO);
    dpa_rng rng;
    dpa__rng_init(&rng, 1, DPA_PURPOSE_TEST, 0);
    int bad = 0;
    for (int i = 0; i < 50000; ++i) bad += wild_call(&rng);
    bad += dpa__binom_log_pmf(2.5, 10, 0.5) != -HUGE_VAL; /* no count */
    (void)fflush(NULL);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(error, STDERR_FILENO);
    const off_t printed = lseek(fileno(file), 0, SEEK_END);
    (void)fclose(file);
    (void)close(out);
    (void)close(error);
    assert_int_equal(printed, 0);
    assert_int_equal(bad, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_forms),  cmocka_unit_test(ends),
        cmocka_unit_test(binomial_ends), cmocka_unit_test(limits_of_rates),
        cmocka_unit_test(outside),       cmocka_unit_test(silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
