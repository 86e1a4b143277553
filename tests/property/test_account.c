/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The accountant against closed forms and against itself: the grid alone (DPA_KEEP) must reproduce
 * what is known exactly; answers are ordered, inverse to each other and monotone in every
 * parameter. */
#include "check.h"

#include "account/handle.h"

static dpa_account *made(dpa_phase phase, double delta, double tolerance, dpa_adjacency adjacency) {
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.delta = delta;
    opts.tolerance = tolerance;
    opts.absolute = tolerance / 10;
    opts.adjacency = adjacency;
    dpa_account *account = NULL;
    dpa_error err;
    if (dpa__account_new(&phase, 1, &opts, DPA_KEEP, &account, &err) != DPA_OK)
        fail_msg("%s", err.text);
    return account;
}

static dpa_interval epsilon_at(const dpa_account *account, double delta) {
    dpa_interval e;
    dpa_error err;
    assert_ok(dpa_account_epsilon(account, delta, &e, &err));
    assert_true(e.lower <= e.upper);
    return e;
}

static void contains(dpa_interval e, double truth, double room) {
    assert_true(e.lower <= truth * (1 + room) && e.upper >= truth * (1 - room));
}

/* q = 1 on the grid: the interval contains the closed form, and is as narrow as rounding over so
 * many steps allows. */
static void composed_gaussian(void **state) {
    (void)state;
    const struct {
        double sigma, delta, tolerance;
        uint64_t steps;
    } cases[] = {{2, 1e-5, 2e-9, 1},
                 {3, 1e-5, 1e-8, 7},
                 {10, 1e-8, 1e-7, 40},
                 {40, 1e-5, 1e-6, 1000},
                 {5, 1e-100, 1e-7, 10}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
        const dpa_phase p = {DPA_GAUSSIAN, cases[k].sigma, 1, cases[k].steps};
        dpa_account *account = made(p, cases[k].delta, cases[k].tolerance, DPA_ADD_REMOVE);
        const double mu = sqrt((double)p.steps) / p.sigma;
        const dpa_interval e = epsilon_at(account, cases[k].delta);
        const double truth = dpa_gaussian_epsilon(mu, cases[k].delta);
        contains(e, truth, 1e-13);
        assert_true(e.upper - e.lower <= cases[k].tolerance * fmax(truth, 0.1));
        dpa_account_free(account);
    }
}

/* Replace-one: sensitivity 2 without sampling. */
static void replaced_gaussian(void **state) {
    (void)state;
    const dpa_phase p = {DPA_GAUSSIAN, 6, 1, 5};
    dpa_account *account = made(p, 1e-6, 1e-5, DPA_REPLACE_ONE);
    contains(epsilon_at(account, 1e-6), dpa_gaussian_epsilon(2 * sqrt(5) / 6, 1e-6), 1e-13);
    dpa_account_free(account);
}

/* A step's hull of both directions from f_q, the Gaussian curve of μ diluted by q: f_q up to
 * Φ(−μ/2), a line of slope −1, the inverse of f_q. */
static double hull_fnr(const dpa_curve *f, double mu, double fpr) {
    const double low = 0.5 * erfc(mu / sqrt(8)), high = dpa_curve_fnr(f, low);
    if (fpr <= low) return dpa_curve_fnr(f, fpr);
    return fpr <= high ? low + (high - fpr) : dpa_curve_fpr(f, fpr);
}

/* One step is the mixture's closed form: ε, δ and the curve. */
static void one_step(void **state) {
    (void)state;
    const double qs[] = {1e-4, 0.01, 0.3, 0.9}, sigmas[] = {0.4, 1, 5};
    for (size_t i = 0; i < 4; ++i)
        for (size_t j = 0; j < 3; ++j) {
            const dpa_phase p = {DPA_GAUSSIAN, sigmas[j], qs[i], 1};
            dpa_account *account = made(p, 1e-6, 1e-4, DPA_ADD_REMOVE);
            dpa_curve *whole = NULL, *exact = NULL;
            dpa_error err;
            assert_ok(dpa_curve_gaussian(1 / sigmas[j], &whole, &err));
            assert_ok(dpa__curve_diluted(whole, qs[i], &exact, &err));
            const double deltas[] = {1e-2, 1e-6, 1e-9};
            for (size_t k = 0; k < 3; ++k)
                contains(epsilon_at(account, deltas[k]), dpa_curve_epsilon(exact, deltas[k]),
                         1e-11);
            for (double fpr = 1e-6; fpr < 1; fpr *= 3) {
                dpa_interval fnr;
                assert_ok(dpa_account_fnr(account, fpr, &fnr, &err));
                const double truth = hull_fnr(exact, 1 / sigmas[j], fpr);
                assert_true(fnr.lower <= truth + 1e-15 && fnr.upper >= truth - 1e-15);
                assert_true(fnr.upper - fnr.lower < 5e-3); /* ε is what was promised */
            }
            dpa_curve_free(exact);
            dpa_curve_free(whole);
            dpa_account_free(account);
        }
}

/* ε(δ(ε)) comes back, and δ falls with ε. */
static void inverse(void **state) {
    (void)state;
    const dpa_phase p = {DPA_GAUSSIAN, 0.8, 0.02, 300};
    dpa_account *account = made(p, 1e-5, 1e-3, DPA_ADD_REMOVE);
    dpa_interval before = {1, 1};
    dpa_error err;
    for (double epsilon = 0.1; epsilon < 9; epsilon += 0.7) {
        dpa_interval delta;
        assert_ok(dpa_account_delta(account, epsilon, &delta, &err));
        assert_true(delta.lower > 0 && delta.lower <= delta.upper);
        assert_true(delta.upper < before.upper && delta.lower < before.lower);
        before = delta;
        const dpa_interval low = epsilon_at(account, delta.upper);
        const dpa_interval high = epsilon_at(account, delta.lower);
        assert_true(low.lower <= epsilon * (1 + 1e-9) && high.upper >= epsilon * (1 - 1e-9));
        assert_absolute(low.upper, epsilon, 1e-2);
        assert_absolute(high.lower, epsilon, 1e-2);
    }
    dpa_account_free(account);
}

/* More noise, rarer sampling or fewer steps are never less private. */
static void monotone(void **state) {
    (void)state;
    const dpa_phase p = {DPA_GAUSSIAN, 1, 0.02, 200};
    dpa_account *base = made(p, 1e-5, 1e-3, DPA_ADD_REMOVE);
    const dpa_interval e = epsilon_at(base, 1e-5);
    const dpa_phase safer[] = {{DPA_GAUSSIAN, 1.05, 0.02, 200},
                               {DPA_GAUSSIAN, 1, 0.019, 200},
                               {DPA_GAUSSIAN, 1, 0.02, 190}};
    for (size_t k = 0; k < 3; ++k) {
        dpa_account *account = made(safer[k], 1e-5, 1e-3, DPA_ADD_REMOVE);
        assert_true(epsilon_at(account, 1e-5).upper < e.lower);
        dpa_account_free(account);
    }
    dpa_account *replaced = made(p, 1e-5, 1e-3, DPA_REPLACE_ONE);
    assert_true(epsilon_at(replaced, 1e-5).lower > e.upper);
    dpa_account_free(replaced);
    dpa_account_free(base);
}

/* The lower curve is below the upper one everywhere, both are convex and symmetric, and δ read off
 * the curves is what the accountant says. */
static void curves(void **state) {
    (void)state;
    const dpa_phase phases[] = {{DPA_GAUSSIAN, 1, 0.01, 1000},
                                {DPA_GAUSSIAN, 3, 1, 9},
                                {DPA_LAPLACE, 2, 1, 4},
                                {DPA_RANDOMIZED_RESPONSE, 0.4, 1, 6}};
    for (size_t k = 0; k < 4; ++k) {
        dpa_account *account = made(phases[k], 1e-5, 1e-3, DPA_ADD_REMOVE);
        dpa_curve *low = NULL, *high = NULL;
        dpa_error err;
        assert_ok(dpa_account_curve(account, -1, &low, &err));
        assert_ok(dpa_account_curve(account, 1, &high, &err));
        for (double fpr = 1e-9; fpr < 1; fpr *= 1.7) {
            const double below = dpa_curve_fnr(low, fpr), above = dpa_curve_fnr(high, fpr);
            if (!(below <= above)) fail_msg("case %zu fpr %g: %.17g > %.17g", k, fpr, below, above);
            assert_true(above - below < 2e-3);
            assert_absolute(dpa_curve_fpr(low, below), fpr, 1e-6);
        }
        for (double epsilon = 0; epsilon < 1.5; epsilon += 0.25) {
            dpa_interval delta;
            assert_ok(dpa_account_delta(account, epsilon, &delta, &err));
            assert_true(dpa_curve_delta(low, epsilon) >= delta.lower * (1 - 1e-9));
            assert_true(dpa_curve_delta(high, epsilon) <= delta.upper * (1 + 1e-9));
            assert_absolute(dpa_curve_delta(low, epsilon), delta.upper, 1e-3);
        }
        dpa_curve_free(low);
        dpa_curve_free(high);
        dpa_account_free(account);
    }
}

/* A tighter tolerance gives an interval that overlaps with the wider one, and is as narrow as
 * asked.
 */
static void tolerances(void **state) {
    (void)state;
    const dpa_phase p = {DPA_GAUSSIAN, 0.7, 0.005, 2000};
    dpa_interval all = {0, INFINITY};
    for (double tolerance = 0.1; tolerance > 1e-6; tolerance /= 10) {
        dpa_account *account = made(p, 1e-5, tolerance, DPA_ADD_REMOVE);
        const dpa_interval e = epsilon_at(account, 1e-5);
        assert_true(e.upper - e.lower <= tolerance * e.upper);
        all.lower = fmax(all.lower, e.lower);
        all.upper = fmin(all.upper, e.upper);
        assert_true(all.lower <= all.upper);
        dpa_account_free(account);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(composed_gaussian), cmocka_unit_test(replaced_gaussian),
        cmocka_unit_test(one_step),          cmocka_unit_test(inverse),
        cmocka_unit_test(monotone),          cmocka_unit_test(curves),
        cmocka_unit_test(tolerances)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
