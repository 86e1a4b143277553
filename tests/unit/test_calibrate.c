/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibration: the value just meets the target; what cannot be met is reported. */
#include "check.h"

#include "account/account.h"

static const dpa_phase base = {DPA_GAUSSIAN, 1, 0.01, 1000};

static double calibrated(const dpa_phase *phases, size_t count, dpa_calibrate_what what,
                         double epsilon, double delta) {
    double value = NAN;
    dpa_interval achieved = {NAN, NAN};
    dpa_error err;
    if (dpa_calibrate(phases, count, what, epsilon, delta, NULL, &value, &achieved, &err) != DPA_OK)
        fail_msg("%s", err.text);
    assert_true(achieved.upper <= epsilon);
    assert_true(achieved.lower <= achieved.upper);
    return value;
}

static double upper_at(dpa_phase phase, double delta) {
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.delta = delta;
    dpa_account *account = NULL;
    dpa_interval e;
    dpa_error err;
    assert_ok(dpa_account_new(&phase, 1, &opts, &account, &err));
    assert_ok(dpa_account_epsilon(account, delta, &e, &err));
    dpa_account_free(account);
    return e.upper;
}

/* The answer is certified and within the tolerance of the target. */
static void meets_target(void **state) {
    (void)state;
    const double targets[] = {0.1, 1, 8};
    for (size_t k = 0; k < 3; ++k) {
        dpa_phase p = base;
        p.sigma = calibrated(&base, 1, DPA_CALIBRATE_SIGMA, targets[k], 1e-5);
        assert_between(upper_at(p, 1e-5), targets[k] * 0.998 - 2e-4, targets[k] + 2e-4);
        p = base;
        p.q = calibrated(&base, 1, DPA_CALIBRATE_Q, targets[k], 1e-6);
        assert_between(upper_at(p, 1e-6), targets[k] * 0.998 - 2e-4, targets[k] + 2e-4);
    }
}

/* σ for the Gaussian mechanism has a closed form to compare with. */
static void plain_gaussian(void **state) {
    (void)state;
    const dpa_phase p = {DPA_GAUSSIAN, 1, 1, 4};
    const double sigma = calibrated(&p, 1, DPA_CALIBRATE_SIGMA, 2, 1e-5);
    assert_between(sigma * dpa_gaussian_mu(2, 1e-5) / 2, 1, 1.001);
}

/* One more step would be too many. */
static void steps(void **state) {
    (void)state;
    const double most = calibrated(&base, 1, DPA_CALIBRATE_STEPS, 1, 1e-5);
    dpa_phase p = base;
    p.steps = (uint64_t)most + 2;
    assert_true(upper_at(p, 1e-5) > 1);
    assert_between(most, 240, 260);
}

/* Other phases stay unchanged; for randomized response ε₀ is lowered, not raised. */
static void other_phases(void **state) {
    (void)state;
    const dpa_phase both[] = {base, {DPA_GAUSSIAN, 4, 1, 1}};
    const double with = calibrated(both, 2, DPA_CALIBRATE_SIGMA, 2, 1e-5);
    assert_true(with > calibrated(&base, 1, DPA_CALIBRATE_SIGMA, 2, 1e-5));
    const dpa_phase answer = {DPA_RANDOMIZED_RESPONSE, 1, 1, 1};
    assert_between(calibrated(&answer, 1, DPA_CALIBRATE_SIGMA, 0.5, 1e-9), 0.4995, 0.5);
}

/* Laplace noise, by hand and by other accountants: 13.55 and 47 steps. */
static void laplace(void **state) {
    (void)state;
    const dpa_phase noise = {DPA_LAPLACE, 1, 1, 20}, many = {DPA_LAPLACE, 25, 1, 1};
    assert_between(calibrated(&noise, 1, DPA_CALIBRATE_SIGMA, 1, 1e-4), 13.54, 13.56);
    assert_between(calibrated(&many, 1, DPA_CALIBRATE_STEPS, 1, 1e-5), 47, 47);
}

/* A grid too small to decide: the answer is safe and says that a better one may exist. */
static void unjudged(void **state) {
    (void)state;
    const dpa_phase leaky = {DPA_GAUSSIAN, 0.3, 0.5, 1};
    dpa_account_opts opts;
    dpa_account_opts_init(&opts);
    opts.max_grid = 4096;
    opts.tolerance = 1e-7;
    opts.absolute = 1e-9;
    dpa_calibration found;
    dpa_error err;
    assert_ok(
        dpa__calibrate_whole(&leaky, 1, DPA_CALIBRATE_STEPS, 5000, 1e-5, &opts, &found, &err));
    assert_true(found.epsilon.upper <= 5000);
    assert_true(found.unjudged > found.value);
    assert_true(found.unjudged_epsilon.lower <= 5000 && found.unjudged_epsilon.upper > 5000);
    assert_ok(dpa__calibrate_whole(&leaky, 1, DPA_CALIBRATE_STEPS, 50, 1e-5, NULL, &found, &err));
    assert_true(isnan(found.unjudged));
}

static void refused(dpa_phase phase, dpa_calibrate_what what, double epsilon, double delta,
                    const char *words) {
    double value;
    dpa_interval achieved;
    dpa_error err = {0};
    assert_int_equal(dpa_calibrate(&phase, 1, what, epsilon, delta, NULL, &value, &achieved, &err),
                     DPA_BAD_ARGUMENT);
    if (strstr(err.text, words) == NULL) fail_msg("'%s' does not say '%s'", err.text, words);
}

static void errors(void **state) {
    (void)state;
    refused(base, DPA_CALIBRATE_SIGMA, 0, 1e-5, "target epsilon");
    refused(base, DPA_CALIBRATE_SIGMA, NAN, 1e-5, "target epsilon");
    refused(base, DPA_CALIBRATE_SIGMA, INFINITY, 1e-5, "target epsilon");
    refused(base, DPA_CALIBRATE_SIGMA, 1, 0, "delta");
    refused(base, (dpa_calibrate_what)9, 1, 1e-5, "sigma, q, steps");
    refused((dpa_phase){DPA_SHUFFLED, 1, 1, 1}, DPA_CALIBRATE_Q, 1, 1e-5, "q cannot");
    refused(base, DPA_CALIBRATE_STEPS, 1e-3, 1e-5, "cannot be reached");
    dpa_phase p = base;
    p.q = 7;
    refused(p, DPA_CALIBRATE_SIGMA, 1, 1e-5, "q is 7");
    const dpa_phase both[] = {base, {DPA_GAUSSIAN, 0.5, 1, 1}};
    double value;
    dpa_error err;
    assert_int_equal(dpa_calibrate(both, 2, DPA_CALIBRATE_SIGMA, 1, 1e-5, NULL, &value, NULL, &err),
                     DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "cannot be reached"));
    assert_int_equal(dpa_calibrate(NULL, 0, DPA_CALIBRATE_SIGMA, 1, 1e-5, NULL, &value, NULL, &err),
                     DPA_BAD_ARGUMENT);
}

/* Where even the leakiest value is private enough, it is the answer; where even the most private
 * one is not, the sentence names it. */
static void ends_of_ranges(void **state) {
    (void)state;
    const dpa_phase quiet = {DPA_GAUSSIAN, 1e9, 1, 1, NULL};
    double value = 0;
    dpa_interval e;
    dpa_error err = {0};
    assert_ok(dpa_calibrate(&quiet, 1, DPA_CALIBRATE_STEPS, 1, 1e-5, NULL, &value, &e, &err));
    assert_true(value == 1e12); /* μ = 1e-3 */
    assert_relative(e.upper, dpa_gaussian_epsilon(1e-3, 1e-5), 1e-9);
    assert_ok(dpa_calibrate(&quiet, 1, DPA_CALIBRATE_Q, 1, 1e-5, NULL, &value, &e, &err));
    assert_true(value == 1);
    const dpa_phase loud = {DPA_GAUSSIAN, 1e-3, 1, 1, NULL};
    assert_int_equal(
        dpa_calibrate(&loud, 1, DPA_CALIBRATE_STEPS, 0.5, 1e-5, NULL, &value, &e, &err),
        DPA_BAD_ARGUMENT);
    assert_non_null(
        strstr(err.text, "epsilon 0.5 at delta 1e-05 cannot be reached: even with steps 1 it is"));
    const dpa_phase many = {DPA_GAUSSIAN, 1, 1, 1000000000000, NULL};
    assert_int_equal(
        dpa_calibrate(&many, 1, DPA_CALIBRATE_SIGMA, 1e-7, 1e-12, NULL, &value, &e, &err),
        DPA_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "even with sigma 1e+09 it is in"));
    const dpa_phase shuffled = {DPA_SHUFFLED, 1, 0.1, 1, NULL}, pair = {DPA_PAIR, 1, 1, 1, NULL};
    assert_int_equal(dpa_calibrate(&shuffled, 1, DPA_CALIBRATE_Q, 1, 1e-5, NULL, &value, &e, &err),
                     DPA_BAD_ARGUMENT);
    assert_string_equal(err.text, "q cannot be calibrated: batches are shuffled");
    assert_int_equal(dpa_calibrate(&pair, 1, DPA_CALIBRATE_SIGMA, 1, 1e-5, NULL, &value, &e, &err),
                     DPA_BAD_ARGUMENT);
    assert_string_equal(err.text, "sigma cannot be calibrated: a dominating pair has none");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_of_ranges), cmocka_unit_test(meets_target),
        cmocka_unit_test(plain_gaussian), cmocka_unit_test(laplace),
        cmocka_unit_test(unjudged),       cmocka_unit_test(steps),
        cmocka_unit_test(other_phases),   cmocka_unit_test(errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
