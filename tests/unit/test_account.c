/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The accountant's interface: every bad option and phase, answers in closed form, extremes. */
#include "check.h"

#include "account/handle.h"
#include "account/pair.h"

static const dpa_phase gaussian = {DPA_GAUSSIAN, 1, 0.01, 1000};

static dpa_account_opts defaults(void) {
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    return opts;
}

static void refuses(const dpa_phase *phases, size_t count, dpa_account_opts opts,
                    const char *word) {
    dpa_account *account = (dpa_account *)1;
    dpa_error err = {0};
    assert_int_equal(dpa_account_new(phases, count, &opts, &account, &err), DPA_BAD_ARGUMENT);
    assert_null(account);
    if (strstr(err.text, word) == NULL) fail_msg("'%s' does not name %s", err.text, word);
}

static void bad_options(void **state) {
    (void)state;
    const double bad_delta[] = {0, 1, -1, 2, NAN, INFINITY};
    for (size_t k = 0; k < 6; ++k) {
        dpa_account_opts opts = defaults();
        opts.delta = bad_delta[k];
        refuses(&gaussian, 1, opts, "delta");
    }
    const double bad_tolerance[] = {-1e-3, 1, NAN, INFINITY};
    for (size_t k = 0; k < 4; ++k) {
        dpa_account_opts opts = defaults();
        opts.tolerance = bad_tolerance[k];
        refuses(&gaussian, 1, opts, "tolerance");
        opts = defaults();
        if (bad_tolerance[k] == 1) continue;
        opts.absolute = bad_tolerance[k];
        refuses(&gaussian, 1, opts, "absolute");
    }
    dpa_account_opts opts = defaults();
    opts.tolerance = opts.absolute = 0;
    refuses(&gaussian, 1, opts, "both 0");
    opts = defaults();
    opts.max_grid = 100;
    refuses(&gaussian, 1, opts, "max_grid");
    opts.max_grid = (size_t)1 << 40;
    refuses(&gaussian, 1, opts, "max_grid");
    opts = defaults();
    opts.adjacency = (dpa_adjacency)7;
    refuses(&gaussian, 1, opts, "adjacency");
    opts = defaults();
    opts.group = 0;
    refuses(&gaussian, 1, opts, "group");
}

static void bad_phases(void **state) {
    (void)state;
    refuses(NULL, 0, defaults(), "no phase");
    refuses(&gaussian, 0, defaults(), "no phase");
    dpa_phase p[2] = {gaussian, gaussian};
    const double bad_sigma[] = {0, -1, NAN, INFINITY, 1e-9, 1e300};
    for (size_t k = 0; k < 6; ++k) {
        p[1] = gaussian;
        p[1].sigma = bad_sigma[k];
        refuses(p, 2, defaults(), "phase 2: sigma");
    }
    const double bad_q[] = {0, -0.1, 1.1, NAN};
    for (size_t k = 0; k < 4; ++k) {
        p[1] = gaussian;
        p[1].q = bad_q[k];
        refuses(p, 2, defaults(), "phase 2: q");
    }
    p[1] = gaussian;
    p[1].steps = 0;
    refuses(p, 2, defaults(), "phase 2: steps");
    p[1] = (dpa_phase){DPA_LAPLACE, 1, 0.5, 3};
    dpa_account_opts replaced = defaults();
    replaced.adjacency = DPA_REPLACE_ONE;
    refuses(p, 2, replaced, "only Gaussian noise");
    p[1] = (dpa_phase){DPA_PAIR, 1, 1, 3};
    refuses(p, 2, defaults(), "pair is missing");
    p[1] = (dpa_phase){DPA_RANDOMIZED_RESPONSE, 0, 1, 3};
    refuses(p, 2, defaults(), "phase 2: epsilon");
    p[1].mechanism = (dpa_mechanism)9;
    refuses(p, 2, defaults(), "mechanism");
}

static dpa_account *made(const dpa_phase *phases, size_t count, const dpa_account_opts *opts) {
    dpa_account *account = NULL;
    dpa_error err;
    if (dpa_account_new(phases, count, opts, &account, &err) != DPA_OK) fail_msg("%s", err.text);
    return account;
}

static dpa_interval epsilon_at(const dpa_account *account, double delta) {
    dpa_interval out;
    dpa_error err;
    assert_ok(dpa_account_epsilon(account, delta, &out, &err));
    assert_true(out.lower <= out.upper);
    return out;
}

/* Without sampling the closed form answers: μ² = Σ steps/σ², with twice the sensitivity for
 * replace-one. */
static void closed_form(void **state) {
    (void)state;
    const dpa_phase p[] = {{DPA_GAUSSIAN, 2, 1, 3}, {DPA_GAUSSIAN, 0.5, 1, 2}};
    dpa_account_opts opts = defaults();
    dpa_account *account = made(p, 2, &opts);
    const double mu = sqrt(3 / 4.0 + 2 / 0.25);
    const double deltas[] = {1e-300, 1e-5, 0.1};
    for (size_t k = 0; k < 3; ++k) {
        const dpa_interval e = epsilon_at(account, deltas[k]);
        assert_relative(e.lower, dpa_gaussian_epsilon(mu, deltas[k]), 2e-12);
        assert_relative(e.upper, dpa_gaussian_epsilon(mu, deltas[k]), 2e-12);
    }
    dpa_interval out;
    dpa_error err;
    assert_ok(dpa__account_mu(account, 1e-5, &out, &err));
    assert_between(mu, out.lower, out.upper);
    assert_ok(dpa_account_delta(account, 3, &out, &err));
    assert_between(exp(dpa__gaussian_log_delta(mu, 3)), out.lower, out.upper);
    assert_ok(dpa_account_fnr(account, 0.1, &out, &err));
    assert_true(out.upper - out.lower < 1e-11);
    dpa_account_free(account);
    opts.adjacency = DPA_REPLACE_ONE;
    account = made(p, 2, &opts);
    assert_relative(epsilon_at(account, 1e-5).upper, dpa_gaussian_epsilon(2 * mu, 1e-5), 2e-12);
    dpa_account_free(account);
}

static void edges(void **state) {
    (void)state;
    dpa_account *account = made(&gaussian, 1, NULL);
    assert_true(isinf(epsilon_at(account, 0).lower));
    assert_true(epsilon_at(account, 1).upper == 0);
    dpa_interval out;
    dpa_error err;
    assert_ok(dpa_account_delta(account, INFINITY, &out, &err));
    assert_true(out.upper == 0);
    assert_ok(dpa_account_delta(account, 0, &out, &err));
    assert_between(out.lower, 0.1, 0.2); /* the total variation distance */
    assert_true(out.upper - out.lower < 1e-3);
    assert_int_equal(dpa_account_delta(account, -1, &out, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa_account_delta(account, NAN, &out, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa_account_epsilon(account, NAN, &out, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa_account_epsilon(account, 1.5, &out, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa_account_fnr(account, -0.1, &out, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__account_mu(account, 0, &out, &err), DPA_BAD_ARGUMENT);
    dpa_curve *curve;
    assert_int_equal(dpa_account_curve(account, 0, &curve, &err), DPA_BAD_ARGUMENT);
    assert_true(account->coarse.h > 0 && account->transform > 0);
    assert_ok(dpa_account_fnr(account, 0, &out, &err));
    assert_true(out.upper == 1 && out.lower > 1 - 1e-12);
    assert_ok(dpa_account_fnr(account, 1, &out, &err));
    assert_true(out.lower == 0 && out.upper == 0);
    dpa_account_free(account);
    dpa_account_free(NULL);
}

static dpa_interval of_group(dpa_phase phase, unsigned group, dpa_adjacency adjacency) {
    dpa_account_opts opts = defaults();
    opts.group = group;
    opts.adjacency = adjacency;
    dpa_account *account = made(&phase, 1, &opts);
    const dpa_interval e = epsilon_at(account, 1e-5);
    dpa_account_free(account);
    return e;
}

static void same(dpa_interval a, dpa_interval b) {
    assert_true(a.lower <= b.upper && b.lower <= a.upper);
    assert_relative(a.upper, b.upper, 1e-3);
}

/* A group of k moves the noise's mean k times as far, gives k answers, and is in a batch in
 * binomial parts: with q = 1/2 and two records the means 0, 1, 2 have weights ¼, ½, ¼. */
static void groups(void **state) {
    (void)state;
    const dpa_phase noise = {DPA_GAUSSIAN, 6, 1, 4, NULL}, near = {DPA_GAUSSIAN, 2, 1, 4, NULL};
    same(of_group(noise, 3, DPA_ADD_REMOVE), of_group(near, 1, DPA_ADD_REMOVE));
    same(of_group(noise, 3, DPA_REPLACE_ONE), of_group(near, 1, DPA_REPLACE_ONE));
    const dpa_phase laplace = {DPA_LAPLACE, 8, 1, 5, NULL}, closer = {DPA_LAPLACE, 4, 1, 5, NULL};
    same(of_group(laplace, 2, DPA_ADD_REMOVE), of_group(closer, 1, DPA_ADD_REMOVE));
    same(of_group(closer, 1, DPA_REPLACE_ONE), of_group(laplace, 4, DPA_ADD_REMOVE));
    const dpa_phase answer = {DPA_RANDOMIZED_RESPONSE, 0.3, 1, 4, NULL};
    dpa_phase answers = answer;
    answers.steps = 12;
    same(of_group(answer, 3, DPA_ADD_REMOVE), of_group(answers, 1, DPA_ADD_REMOVE));
    const dpa_phase sampled = {DPA_GAUSSIAN, 3, 0.5, 6, NULL};
    const double mean[] = {0, 1, 2}, weight[] = {0.25, 0.5, 0.25}, zero = 0, one = 1;
    dpa_pair *pair;
    dpa_error err;
    assert_ok(dpa__pair_gaussians(3, mean, weight, 3, &zero, &one, 1, &pair, &err));
    const dpa_phase mixture = {DPA_PAIR, 1, 1, 6, pair};
    same(of_group(sampled, 2, DPA_ADD_REMOVE), of_group(mixture, 1, DPA_ADD_REMOVE));
    dpa_account_opts opts = defaults();
    opts.group = 2;
    refuses(&mixture, 1, opts, "group: known for noise without sampling, and for up to 1000");
    dpa_pair_free(pair);
    const dpa_phase odd = {DPA_LAPLACE, 3, 0.5, 6, NULL};
    refuses(&odd, 1, opts, "group: known for noise");
    opts.group = 1001;
    refuses(&sampled, 1, opts, "group: known for noise");
    opts.group = 2;
    opts.adjacency = DPA_REPLACE_ONE;
    refuses(&sampled, 1, opts, "group: known for noise");
}

/* Every range lets its ends in, and its error names it. */
static void ranges(void **state) {
    (void)state;
    static const struct {
        dpa_mechanism mechanism;
        double sigma, q;
        uint64_t steps;
        const char *words;
    } bad[] = {
        {DPA_GAUSSIAN, 9.9e-4, 1, 1, "sigma is 0.00099; it must be in [0.001, 1e9]"},
        {DPA_GAUSSIAN, 1.1e9, 1, 1, "sigma is 1.1e+09"},
        {DPA_SHUFFLED, 9.9e-4, 0.1, 1, "sigma is 0.00099; it must be in [0.001, 1e9]"},
        {DPA_LAPLACE, 9e-6, 1, 1, "phase 1: scale is 9e-06; it must be in [1e-5, 1e9]"},
        {DPA_LAPLACE, 2e9, 1, 1, "scale is 2e+09"},
        {DPA_LAPLACE, 0, 1, 1, "phase 1: scale is 0; it must be above 0 and finite"},
        {DPA_RANDOMIZED_RESPONSE, 9e-10, 1, 1, "epsilon is 9e-10; it must be in [1e-9, 1e5]"},
        {DPA_RANDOMIZED_RESPONSE, 1.1e5, 1, 1, "epsilon is 110000"},
        {DPA_GAUSSIAN, 1, 9e-31, 1, "q is 9e-31; it must be in [1e-30, 1]"},
        {DPA_GAUSSIAN, 1, 1, 1000000000001, "steps is 1000000000001; it must be in [1, 1e12]"}};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; ++k) {
        const dpa_phase p = {bad[k].mechanism, bad[k].sigma, bad[k].q, bad[k].steps, NULL};
        refuses(&p, 1, defaults(), bad[k].words);
    }
    const dpa_phase good[] = {{DPA_GAUSSIAN, 1e-3, 1, 1, NULL},
                              {DPA_GAUSSIAN, 1e9, 1, 1000000000000, NULL},
                              {DPA_LAPLACE, 1e9, 1, 1, NULL},
                              {DPA_RANDOMIZED_RESPONSE, 1e-9, 1, 1, NULL}};
    for (size_t k = 0; k < 4; ++k) dpa_account_free(made(&good[k], 1, NULL));
    dpa_account_opts opts = defaults();
    opts.group = 1000001;
    refuses(&gaussian, 1, opts, "group is 1000001; it must be 1 to 1000000 records");
    opts = defaults();
    opts.max_grid = 4095;
    refuses(&gaussian, 1, opts, "max_grid is 4095; it must be in [4096, 2^28]");
    opts.max_grid = ((size_t)1 << 28) + 1;
    refuses(&gaussian, 1, opts, "max_grid is 268435457");
}

/* Pure mechanisms: δ = 0 gives the sum of the ε₀, and nothing is above it. */
static void pure(void **state) {
    (void)state;
    const dpa_phase p[] = {{DPA_LAPLACE, 2, 1, 3}, {DPA_RANDOMIZED_RESPONSE, 0.25, 1, 4}};
    dpa_account *account = made(p, 2, NULL);
    assert_absolute(epsilon_at(account, 0).upper, 2.5, 1e-12);
    assert_true(epsilon_at(account, 1e-280).upper <= 2.5);
    dpa_interval out;
    dpa_error err;
    assert_ok(dpa_account_delta(account, 2.5, &out, &err));
    assert_true(out.upper == 0);
    dpa_account_free(account);
}

/* A grid that is too small is reported, with the interval that was reached. */
static void too_small(void **state) {
    (void)state;
    dpa_account_opts opts = defaults();
    opts.max_grid = 4096;
    opts.tolerance = opts.absolute = 1e-9;
    dpa_account *account;
    dpa_error err = {0};
    assert_int_equal(dpa_account_new(&gaussian, 1, &opts, &account, &err), DPA_NUMERIC);
    assert_non_null(strstr(err.text, "max_grid"));
}

/* Splitting a phase or reordering phases changes nothing that matters. */
static void phases_add_up(void **state) {
    (void)state;
    const dpa_phase split[] = {{DPA_GAUSSIAN, 1, 0.01, 400},
                               {DPA_GAUSSIAN, 2, 1, 2},
                               {DPA_GAUSSIAN, 1, 0.01, 600},
                               {DPA_RANDOMIZED_RESPONSE, 0.3, 1, 5}};
    const dpa_phase joined[] = {{DPA_RANDOMIZED_RESPONSE, 0.3, 1, 5},
                                {DPA_GAUSSIAN, 1, 0.01, 1000},
                                {DPA_GAUSSIAN, 2 / sqrt(2), 1, 1}};
    dpa_account *a = made(split, 4, NULL), *b = made(joined, 3, NULL);
    const dpa_interval x = epsilon_at(a, 1e-5), y = epsilon_at(b, 1e-5);
    assert_true(x.lower <= y.upper && y.lower <= x.upper);
    assert_true(x.upper - x.lower <= 1e-3 * x.upper);
    dpa_account *alone = made(&gaussian, 1, NULL);
    assert_true(epsilon_at(alone, 1e-5).upper < x.lower);
    dpa_account_free(alone);
    dpa_account_free(a);
    dpa_account_free(b);
}

static void cross_checks(void **state) {
    (void)state;
    const dpa_phase laplace = {DPA_LAPLACE, 1, 1, 10}, answer = {DPA_RANDOMIZED_RESPONSE, 1, 1, 10};
    const dpa_phase all[] = {gaussian, laplace, answer};
    for (size_t k = 0; k < 3; ++k) {
        dpa_account *account = made(&all[k], 1, NULL);
        const double ours = epsilon_at(account, 1e-5).lower;
        assert_true(dpa__account_rdp_epsilon(&all[k], 1, 1e-5) > ours);
        dpa_account_free(account);
    }
    assert_true(isnan(dpa__account_gdp_epsilon(all, 3, 1e-5)));
    assert_true(isfinite(dpa__account_rdp_epsilon(all, 3, 1e-5)));
    assert_true(isnan(dpa__account_rdp_epsilon(all, 3, 0)));
    assert_true(isnan(dpa__account_rdp_epsilon(all, 0, 1e-5)));
    assert_true(isnan(dpa__account_gdp_epsilon(all, 1, 1)));
    const dpa_phase plain = {DPA_GAUSSIAN, 1, 1, 1};
    assert_relative(dpa__account_gdp_epsilon(&plain, 1, 1e-5), dpa_gaussian_epsilon(1, 1e-5),
                    1e-12);
    assert_between(dpa__account_rdp_epsilon(&plain, 1, 1e-5), dpa_gaussian_epsilon(1, 1e-5), 4.8);
}

/* A table has the same intervals as single queries, up to the tilt used for each. */
static void tables(void **state) {
    (void)state;
    const dpa_phase p = {DPA_GAUSSIAN, 1, 0.02, 300};
    dpa_account_opts opts = defaults();
    dpa_account *account = NULL;
    dpa_error err;
    assert_ok(dpa_account_new(&p, 1, &opts, &account, &err));
    const double deltas[] = {1e-9, 1, 1e-3, 1e-5, 0, 3e-4, 1e-40};
    const double epsilons[] = {3, 0, 0.5, INFINITY, 1};
    dpa_interval table[7], one;
    assert_ok(dpa__account_epsilons(account, deltas, 7, table, &err));
    for (size_t k = 0; k < 7; ++k) {
        assert_ok(dpa_account_epsilon(account, deltas[k], &one, &err));
        if (isinf(one.upper)) {
            assert_true(isinf(table[k].upper));
            continue;
        }
        assert_relative(table[k].lower, one.lower, 1e-3);
        assert_relative(table[k].upper, one.upper, 1e-3);
    }
    assert_ok(dpa__account_deltas(account, epsilons, 5, table, &err));
    for (size_t k = 0; k < 5; ++k) {
        assert_ok(dpa_account_delta(account, epsilons[k], &one, &err));
        assert_relative(table[k].lower, one.lower, 1e-3);
        assert_relative(table[k].upper, one.upper, 1e-3);
    }
    const double bad = 2;
    assert_int_equal(dpa__account_epsilons(account, &bad, 1, table, &err), DPA_BAD_ARGUMENT);
    dpa_account_free(account);
}

/* Where there is a closed form a table has it too, to the last digits. */
static void tables_of_closed_forms(void **state) {
    (void)state;
    const dpa_phase p = {DPA_GAUSSIAN, 2, 1, 9};
    dpa_account *account = made(&p, 1, NULL);
    const double deltas[] = {0, 1e-40, 1e-5, 0.3, 1}, epsilons[] = {0, 0.5, 3, INFINITY};
    dpa_interval table[5], one;
    assert_ok(dpa__account_epsilons(account, deltas, 5, table, NULL));
    for (size_t k = 0; k < 5; ++k) {
        assert_ok(dpa_account_epsilon(account, deltas[k], &one, NULL));
        assert_true(table[k].lower == one.lower && table[k].upper == one.upper);
        if (isfinite(one.upper))
            assert_relative(one.upper, dpa_gaussian_epsilon(1.5, deltas[k]), 1e-9);
    }
    assert_ok(dpa__account_deltas(account, epsilons, 4, table, NULL));
    for (size_t k = 0; k < 4; ++k) {
        assert_ok(dpa_account_delta(account, epsilons[k], &one, NULL));
        assert_true(table[k].lower == one.lower && table[k].upper == one.upper);
    }
    dpa_account_free(account);
}

/* Phases are one mechanism only if all of them is the same: then their steps add up. */
static void equal_phases(void **state) {
    (void)state;
    const dpa_phase one = {DPA_LAPLACE, 2, 1, 5},
                    two[] = {{DPA_LAPLACE, 2, 1, 2}, {DPA_LAPLACE, 2, 1, 3}};
    const dpa_phase mixed[] = {{DPA_GAUSSIAN, 2, 1, 2}, {DPA_LAPLACE, 2, 1, 3}};
    const dpa_phase apart[] = {{DPA_GAUSSIAN, 2, 1, 2}, {DPA_LAPLACE, 2.0000001, 1, 3}};
    const dpa_phase rates[] = {{DPA_GAUSSIAN, 2, 0.5, 2}, {DPA_GAUSSIAN, 2, 0.25, 3}};
    const dpa_phase alike = {DPA_GAUSSIAN, 2, 0.5, 5};
    dpa_account *a = made(&one, 1, NULL), *b = made(two, 2, NULL);
    assert_true(epsilon_at(a, 1e-3).upper == epsilon_at(b, 1e-3).upper);
    dpa_account_free(a);
    dpa_account_free(b);
    a = made(mixed, 2, NULL);
    b = made(apart, 2, NULL);
    assert_relative(epsilon_at(a, 1e-3).upper, epsilon_at(b, 1e-3).upper, 2e-3);
    dpa_account_free(a);
    dpa_account_free(b);
    a = made(rates, 2, NULL);
    b = made(&alike, 1, NULL);
    assert_true(epsilon_at(a, 1e-3).upper < 0.9 * epsilon_at(b, 1e-3).lower);
    dpa_account_free(a);
    dpa_account_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_of_closed_forms),
                                       cmocka_unit_test(equal_phases),
                                       cmocka_unit_test(bad_options),
                                       cmocka_unit_test(bad_phases),
                                       cmocka_unit_test(tables),
                                       cmocka_unit_test(closed_form),
                                       cmocka_unit_test(edges),
                                       cmocka_unit_test(pure),
                                       cmocka_unit_test(too_small),
                                       cmocka_unit_test(phases_add_up),
                                       cmocka_unit_test(cross_checks),
                                       cmocka_unit_test(groups),
                                       cmocka_unit_test(ranges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
