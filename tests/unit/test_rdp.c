/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rényi divergences against their defining integrals, and what follows from them. */
#include "check.h"

#include "account/account.h"

/* log E_Q[(dP/dQ)^order]/(order − 1) of one Poisson-sampled Gaussian step, by Simpson's rule. */
static double sampled_gaussian(double sigma, double q, double order) {
    enum { CELLS = 200000 };
    const double from = -40 * sigma - 10, to = 40 * sigma + 10 + order * 2, h = (to - from) / CELLS;
    long double sum = 0;
    for (int i = 0; i <= CELLS; ++i) {
        const double z = from + h * i;
        const long double ratio =
            1 - (long double)q + q * expl((2 * (long double)z - 1) / (2 * sigma * sigma));
        const long double log_term = order * logl(ratio) - (long double)z * z / (2 * sigma * sigma);
        sum += (i == 0 || i == CELLS ? 1 : i % 2 ? 4 : 2) * expl(log_term);
    }
    const long double scale = h / 3 / (sigma * sqrtl(8 * atanl(1)));
    return (double)(logl(sum * scale) / (order - 1));
}

static void gaussian(void **state) {
    (void)state;
    static const double cases[][3] = {{1, 0.1, 2},      {1, 0.1, 7},   {2, 0.3, 1.5},
                                      {0.8, 0.01, 3.7}, {4, 0.5, 9.3}, {1.5, 0.02, 16},
                                      {3, 0.9, 1.1}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
        const dpa_phase p = {DPA_GAUSSIAN, cases[k][0], cases[k][1], 3, NULL};
        assert_relative(dpa__account_rdp(&p, 1, cases[k][2]),
                        3 * sampled_gaussian(cases[k][0], cases[k][1], cases[k][2]), 1e-9);
    }
    const dpa_phase whole = {DPA_GAUSSIAN, 2, 1, 5, NULL};
    assert_relative(dpa__account_rdp(&whole, 1, 2.5), 5 * 2.5 / 8, 1e-14);
}

/* From the densities of Laplace noise, and from the two answers. */
static void others(void **state) {
    (void)state;
    enum { CELLS = 100000 };
    static const double orders[] = {1.5, 2, 8};
    for (size_t k = 0; k < 3; ++k) {
        const double a = orders[k], b = 1.5, e = 0.7;
        const dpa_phase laplace = {DPA_LAPLACE, b, 1, 1, NULL};
        /* P around 0, Q around 1: constant ratios outside [0, 1], an exponential between them */
        const double left = 0.5 * exp((a - 1) / b), right = 0.5 * exp(-a / b);
        double middle = 0;
        for (int i = 0; i <= CELLS; ++i) {
            const double x = (double)i / CELLS;
            const double term = exp((-a * x - (1 - a) * (1 - x)) / b) / (2 * b);
            middle += (i == 0 || i == CELLS ? 1 : i % 2 ? 4 : 2) * term / (3.0 * CELLS);
        }
        assert_relative(dpa__account_rdp(&laplace, 1, a), log(left + middle + right) / (a - 1),
                        1e-10);
        const dpa_phase answer = {DPA_RANDOMIZED_RESPONSE, e, 1, 1, NULL};
        const double yes = 1 / (1 + exp(-e)), no = 1 - yes;
        const double both = pow(yes, a) * pow(no, 1 - a) + pow(no, a) * pow(yes, 1 - a);
        assert_relative(dpa__account_rdp(&answer, 1, a), log(both) / (a - 1), 1e-12);
        const dpa_phase all[2] = {laplace, answer};
        assert_relative(dpa__account_rdp(all, 2, a),
                        dpa__account_rdp(all, 1, a) + dpa__account_rdp(all + 1, 1, a), 1e-14);
    }
}

static double converted(double rdp, double order, double delta) {
    return rdp + log((order - 1) / order) - (log(delta) + log(order)) / (order - 1);
}

/* The best of the orders that are given, and of all of them for zCDP. */
static void conversions(void **state) {
    (void)state;
    const double orders[] = {1, 2, 4, 16, 64}, rdp[] = {0, 0.1, 0.2, 0.8, 3.2};
    double best = INFINITY;
    for (size_t k = 1; k < 5; ++k) best = fmin(best, converted(rdp[k], orders[k], 1e-5));
    assert_relative(dpa__rdp_epsilon(orders, rdp, 5, 1e-5), best, 1e-14);
    assert_relative(dpa__rdp_epsilon(orders + 2, rdp + 2, 1, 1e-5), converted(0.2, 4, 1e-5), 1e-14);
    assert_true(isinf(dpa__rdp_epsilon(orders, rdp, 1, 1e-5))); /* order 1 says nothing here */
    const double nothing = NAN, below = -1;
    assert_true(isinf(dpa__rdp_epsilon(orders + 1, &nothing, 1, 1e-5)));
    assert_true(isinf(dpa__rdp_epsilon(orders + 1, &below, 1, 1e-5)));
    assert_true(dpa__rdp_epsilon(orders + 4, rdp, 1, 0.9) == 0); /* never below 0 */
    assert_true(isnan(dpa__rdp_epsilon(orders, rdp, 5, 0)));
    assert_true(isnan(dpa__rdp_epsilon(orders, rdp, 5, 1)));
    static const double rhos[] = {1e-4, 0.01, 0.5, 8};
    for (size_t k = 0; k < 4; ++k) {
        double least = INFINITY;
        for (double order = 1.0001; order < 1e6; order = 1 + (order - 1) * 1.0005)
            least = fmin(least, converted(rhos[k] * order, order, 1e-6));
        const double ours = dpa__zcdp_epsilon(rhos[k], 1e-6);
        assert_true(ours >= least * (1 - 1e-6));
        assert_relative(ours, least, 1e-4);
    }
    assert_true(dpa__zcdp_epsilon(0, 1e-5) == 0);
    assert_true(isnan(dpa__zcdp_epsilon(-1, 1e-5)) && isnan(dpa__zcdp_epsilon(NAN, 1e-5)));
    assert_true(isnan(dpa__zcdp_epsilon(1, 0)) && isnan(dpa__zcdp_epsilon(1, 1)));
}

/* Orders from 1.1 to 1e5: a little above the best of a fine search. */
static void best_order(void **state) {
    (void)state;
    static const struct {
        dpa_phase phase;
        double delta;
    } cases[] = {{{DPA_GAUSSIAN, 4, 1, 10, NULL}, 1e-5},
                 {{DPA_GAUSSIAN, 0.9, 1, 20, NULL}, 1e-6},
                 {{DPA_GAUSSIAN, 100, 1, 2, NULL}, 1e-9},
                 {{DPA_LAPLACE, 20, 1, 5, NULL}, 1e-7}};
    for (size_t k = 0; k < 4; ++k) {
        double least = INFINITY;
        for (double order = 1.05; order < 1e5; order = 1 + (order - 1) * 1.01)
            least = fmin(least, converted(dpa__account_rdp(&cases[k].phase, 1, order), order,
                                          cases[k].delta));
        const double ours = dpa__account_rdp_epsilon(&cases[k].phase, 1, cases[k].delta);
        assert_between(ours, least * (1 - 2e-3), least * (1 + 6e-3));
    }
}

static void unknown(void **state) {
    (void)state;
    const dpa_phase good = {DPA_GAUSSIAN, 1, 0.5, 3, NULL}, pair = {DPA_PAIR, 1, 1, 3, NULL};
    dpa_phase bad = good;
    assert_true(isnan(dpa__account_rdp(&good, 1, 1)) && isnan(dpa__account_rdp(&good, 0, 2)));
    assert_true(isnan(dpa__account_rdp(&pair, 1, 2)));
    bad.q = 0;
    assert_true(isnan(dpa__account_rdp(&bad, 1, 2)));
    bad.q = 1.5;
    assert_true(isnan(dpa__account_rdp(&bad, 1, 2)));
    bad = good;
    bad.sigma = 0;
    assert_true(isnan(dpa__account_rdp(&bad, 1, 2)));
    /* the central limit: μ² = Σ steps·q²(e^(1/σ²) − 1), exact without sampling */
    const dpa_phase both[2] = {{DPA_GAUSSIAN, 2, 0.1, 50, NULL}, {DPA_GAUSSIAN, 4, 1, 3, NULL}};
    const double mu = sqrt(50 * 0.01 * expm1(0.25) + 3.0 / 16);
    assert_relative(dpa__account_gdp_epsilon(both, 2, 1e-5), dpa_gaussian_epsilon(mu, 1e-5), 1e-13);
    const dpa_phase tiny = {DPA_GAUSSIAN, 1e-3, 0.5, 3, NULL};
    assert_true(isinf(dpa__account_gdp_epsilon(&tiny, 1, 1e-5)));
    assert_true(isnan(dpa__account_gdp_epsilon(&pair, 1, 1e-5)));
    assert_true(isnan(dpa__account_gdp_epsilon(both, 0, 1e-5)));
    assert_true(isnan(dpa__account_gdp_epsilon(both, 2, 0)));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gaussian), cmocka_unit_test(others),
                                       cmocka_unit_test(conversions), cmocka_unit_test(best_order),
                                       cmocka_unit_test(unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
