/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The direction of a claimed curve (methods.md, section 12). Members' scores come from runs with
 * the record, false positives from runs without it, so the curve of a sampled step is T(without →
 * with): a true claim is refuted in about 5%. Its inverse would refute it always; the hull of both
 * hardly ever, and misses noise that is too small. The quick test plays a few audits; `full` 1000.
 */
#include "check.h"

#include <string.h>

#include "account/family.h"
#include "base/rng.h"
#include "estimate/ranks/rank.h"
#include "estimate/ranks/scan.h"
#include "estimate/scores.h"
#include "prepared.h"

static int is_full;

enum { MOST = 40000 };

/* One step with noise 1/μ that has its canary with probability q; without it there is noise only.
 */
static dpa_scores play(double q, double mu, size_t n, uint64_t index) {
    static double in[MOST], out[MOST];
    dpa_rng rng;
    dpa__rng_init(&rng, 47, DPA_PURPOSE_TEST, index);
    for (size_t i = 0; i < n; ++i) {
        in[i] = dpa__rng_normal(&rng) + (dpa__rng_uniform(&rng) < q ? mu : 0);
        out[i] = dpa__rng_normal(&rng);
    }
    return prepared(in, n, out, n);
}

static double normal_above(double x) {
    return 0.5 * erfc(x / sqrt(2));
}

/* The step's curve in closed form, as points on it; `is_inverse`: from with to without. */
static dpa_curve *closed_form(double q, double mu, int is_inverse) {
    enum { POINTS = 4000 };
    static double fpr[POINTS], fnr[POINTS];
    dpa_curve *curve;
    for (int i = 0; i < POINTS; ++i) {
        const double x = -9 + (18 + mu) * i / POINTS;
        fpr[i] = normal_above(x);
        fnr[i] = (1 - q) * normal_above(-x) + q * normal_above(mu - x);
    }
    assert_ok(
        dpa_curve_points(is_inverse ? fnr : fpr, is_inverse ? fpr : fnr, POINTS, &curve, NULL));
    return curve;
}

static dpa_family *step_family(double q) {
    char spec[80];
    dpa_family *family;
    (void)snprintf(spec, sizeof spec, "subsampled-gaussian:q=%g,steps=1", q);
    assert_ok(dpa__family_parse(spec, 1e-5, &family, NULL));
    return family;
}

/* ── the curve itself ──────────────────────────────────────────────────────────────────────── */

static void test_curve_against_closed_form(void **state) {
    static const struct { double q, mu; } steps[] = {{0.1, 3}, {0.5, 1}, {0.01, 2}};
    (void)state;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; ++k) {
        const double q = steps[k].q, mu = steps[k].mu;
        dpa_family *family = step_family(q);
        dpa_curve *directed, *hull;
        double apart = 0;
        assert_ok(dpa__family_directed(family, mu, &directed, NULL));
        assert_ok(dpa__family_curve(family, mu, &hull, NULL));
        for (double x = -3; x <= 4 + mu; x += 0.05) {
            const double fpr = normal_above(x);
            const double fnr = (1 - q) * normal_above(-x) + q * normal_above(mu - x);
            const double here = dpa_curve_fnr(directed, fpr);
            if (!(here <= fnr + 1e-12 && here >= fnr - 3e-3))
                fail_msg("q %g mu %g fpr %g: %.9g, closed form %.9g", q, mu, fpr, here, fnr);
            assert_true(dpa_curve_fnr(hull, fpr) <= here + 2e-3);
            apart = fmax(apart, here - dpa_curve_fnr(hull, fpr));
        }
        assert_true(apart > 1e-3); /* the hull is another curve */
        dpa_curve_free(directed);
        dpa_curve_free(hull);
        dpa__family_free(family);
    }
}

/* Many steps: the certified curves of both sides enclose each other, in this direction too, and
 * both ends have the slope of their own direction: the mirrored curve is the inverse. */
static void test_many_steps(void **state) {
    const dpa_phase phase = {DPA_GAUSSIAN, 1.3, 0.1, 100};
    dpa_account_opts opts;
    dpa_account *account;
    dpa_curve *low, *high, *hull;
    double apart = 0;
    (void)state;
    dpa_account_opts_init(&opts);
    assert_ok(dpa_account_new(&phase, 1, &opts, &account, NULL));
    assert_ok(dpa__account_directed(account, -1, &low, NULL));
    assert_ok(dpa__account_directed(account, 1, &high, NULL));
    assert_ok(dpa_account_curve(account, -1, &hull, NULL));
    for (double fpr = 1e-6; fpr < 1; fpr *= 1.3) {
        const double below = dpa_curve_fnr(low, fpr), above = dpa_curve_fnr(high, fpr);
        assert_true(below <= above && above - below < 2e-3);
        assert_true(dpa_curve_fnr(hull, fpr) <= above);
        apart = fmax(apart, below - dpa_curve_fnr(hull, fpr));
    }
    assert_true(apart > 1e-3);
    dpa_curve_free(low);
    dpa_curve_free(high);
    dpa_curve_free(hull);
    dpa_account_free(account);
}

/* ── a true claim ──────────────────────────────────────────────────────────────────────────── */

/* How often each curve is refuted by the scan: right, inverse, hull. */
static void test_true_claim_by_scan(void **state) {
    enum { N = 1000 };
    const int audits = is_full ? 1000 : 60;
    dpa_family *family = step_family(0.1);
    dpa_curve *curves[3];
    int refuted[3] = {0};
    (void)state;
    assert_ok(dpa__family_directed(family, 3, &curves[0], NULL));
    curves[1] = closed_form(0.1, 3, 1);
    assert_ok(dpa__family_curve(family, 3, &curves[2], NULL));
    for (int a = 0; a < audits; ++a) {
        dpa_scores scores = play(0.1, 3, N, (uint64_t)a);
        dpa_request request;
        dpa__request_init(&request);
        for (int i = 0; i < 3; ++i) {
            int is_rejected;
            assert_ok(dpa__scan_rejects(&scores, curves[i], &request, &is_rejected, NULL));
            refuted[i] += is_rejected;
        }
        dpa__scores_free(&scores);
    }
    print_message("| scan | q 0.1, μ 3, one step | %d | %d | %.2f | %.2f | %.2f |\n", N, audits,
                  100.0 * refuted[0] / audits, 100.0 * refuted[1] / audits,
                  100.0 * refuted[2] / audits);
    /* a simulated test rejects 3.55% of true claims on average (docs/methods/scan.md) */
    assert_true(refuted[0] <= audits * 0.05 + 3 * sqrt(audits * 0.05 * 0.95));
    assert_int_equal(refuted[1], audits);
    assert_true(refuted[2] <= refuted[0]);
    for (int i = 0; i < 3; ++i) dpa_curve_free(curves[i]);
    dpa__family_free(family);
}

/* The estimator, as a user asks for it. Returns the largest noise that is not refuted. */
static double noise_at_most(const dpa_scores *scores, const char *method, double q) {
    dpa_request request;
    dpa_results results = {0};
    dpa__request_init(&request);
    (void)snprintf(request.family, sizeof request.family, "subsampled-gaussian:q=%g,steps=1", q);
    (void)snprintf(request.method, sizeof request.method, "%s", method);
    assert_ok(dpa__estimate_scores(scores, &request, &results, NULL));
    const double sigma = results.items[0].parameter_lower;
    dpa__results_free(&results);
    return sigma;
}

static void check_noise(const char *method, double q, double claimed, double true_mu, size_t n,
                        int audits, double least, double most) {
    int refuted = 0;
    for (int a = 0; a < audits; ++a) {
        dpa_scores scores = play(q, true_mu, n, 1000000 + (uint64_t)a);
        refuted += noise_at_most(&scores, method, q) < claimed;
        dpa__scores_free(&scores);
    }
    const double share = (double)refuted / audits;
    print_message("| %s | q %g, σ %g claimed, %.4g true | %zu | %d | %.2f |\n", method, q, claimed,
                  1 / true_mu, n, audits, 100 * share);
    assert_true(share <= most && share >= least);
}

static void test_true_claim_by_rank(void **state) {
    (void)state;
    /* 5% and three standard errors */
    check_noise("rank", 0.1, 1.0 / 3, 3, 1000, is_full ? 1000 : 30, is_full ? 0.03 : 0,
                is_full ? 0.07 : 0.17);
}

/* 8% less noise than claimed in a step that has its canary every second time. Mann–Whitney's U is
 * then 4.3 deviations larger. */
static void test_too_little_noise(void **state) {
    (void)state;
    check_noise("rank", 0.5, 1, 1.08, MOST, is_full ? 100 : 5, is_full ? 0.95 : 0.79, 1);
    if (is_full) check_noise("rank", 0.5, 1, 1, MOST, 100, 0, 0.12);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curve_against_closed_form), cmocka_unit_test(test_many_steps),
        cmocka_unit_test(test_true_claim_by_scan), cmocka_unit_test(test_true_claim_by_rank),
        cmocka_unit_test(test_too_little_noise)};
    is_full = argc > 1 && strcmp(argv[1], "full") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
