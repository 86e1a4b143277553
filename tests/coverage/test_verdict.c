/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verdict on true claims, by simulation on five mechanisms with the default protocol: REFUTED
 * in at most 5% plus two standard errors. Also the leak that "would have been detected": audits of
 * exactly that leak refute the claim in about four of five.
 *
 * `test_coverage_verdict full` plays 1000 audits of each (docs/coverage.md has its numbers), the
 * test a few. */
#include "check.h"

#include "account/account.h"
#include "base/rng.h"
#include "estimate/plan/power.h"
#include "judge/judge.h"
#include "tradeoff/tradeoff.h"

enum { MOST = 1000 };
static size_t audits = 60;

typedef struct law {
    const char *name;
    double epsilon, delta; /* both the truth and the claim */
    double (*draw)(dpa_rng *rng, int is_member);
    size_t size;
} law;

static double randomized_response(dpa_rng *rng, int is_member) {
    const double right = exp(1.0) / (1 + exp(1.0));
    const int told = dpa__rng_uniform(rng) < right;
    return told ? is_member : !is_member;
}

static double laplace(dpa_rng *rng, int is_member) {
    const double u = dpa__rng_uniform(rng) - 0.5;
    return is_member - copysign(log1p(-2 * fabs(u)), u);
}

static double gaussian(dpa_rng *rng, int is_member) {
    return dpa__rng_normal(rng) + is_member;
}

static double sampled(dpa_rng *rng, int is_member) {
    const int in = is_member && dpa__rng_uniform(rng) < 0.1;
    return dpa__rng_normal(rng) + 4 * in;
}

/* Reveals one record in fifty; otherwise randomized response. */
static double atom(dpa_rng *rng, int is_member) {
    const double u = dpa__rng_uniform(rng);
    if (u < 0.02) return is_member ? 2 : -1;
    return randomized_response(rng, is_member);
}

static dpa_state judge_one(const law *l, uint64_t audit, const dpa_protocol *protocol) {
    double x[2][MOST];
    dpa_rng rng;
    dpa_evidence e;
    dpa_claim claim;
    dpa_report *report = NULL;
    dpa__rng_init(&rng, 77, DPA_PURPOSE_SIMULATE, audit);
    for (int side = 0; side < 2; ++side)
        for (size_t i = 0; i < l->size; ++i) x[side][i] = l->draw(&rng, side);
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    assert_ok(dpa_evidence_copy(&e, "members", x[1], l->size, NULL));
    assert_ok(dpa_evidence_copy(&e, "nonmembers", x[0], l->size, NULL));
    dpa_claim_init(&claim);
    claim.epsilon = l->epsilon;
    claim.delta = l->delta;
    dpa_protocol bare;
    dpa__protocol_init(&bare);
    if (protocol != NULL) bare = *protocol;
    bare.bare = 1;
    assert_ok(dpa_judge(&e, &claim, &bare, &report, NULL));
    const dpa_state state = dpa_report_state(report);
    dpa_report_free(report);
    dpa__evidence_clear(&e);
    return state;
}

static void true_claims_stand(void **state) {
    (void)state;
    const dpa_phase phase = {DPA_GAUSSIAN, 0.25, 0.1, 1};
    dpa_account_opts opts;
    dpa_account *account = NULL;
    dpa_interval epsilon;
    dpa_account_opts_init(&opts);
    opts.tolerance = 1e-3;
    assert_ok(dpa_account_new(&phase, 1, &opts, &account, NULL));
    assert_ok(dpa_account_epsilon(account, 1e-5, &epsilon, NULL));
    dpa_account_free(account);
    const law laws[] = {{"randomized response", 1, 1e-5, randomized_response, 200},
                        {"Laplace", 1, 1e-5, laplace, 200},
                        {"Gaussian", dpa_gaussian_epsilon(1, 1e-5), 1e-5, gaussian, 200},
                        {"subsampled Gaussian", epsilon.upper, 1e-5, sampled, 200},
                        {"atom of 0.02", 1, 0.02, atom, 200}};
    for (size_t m = 0; m < sizeof laws / sizeof laws[0]; ++m) {
        size_t refuted = 0;
        for (size_t i = 0; i < audits; ++i)
            refuted += judge_one(&laws[m], m * 100000 + i, NULL) == DPA_REFUTED;
        const double share = (double)refuted / (double)audits;
        print_message("%-20s n = %zu: refuted %.4f of %zu\n", laws[m].name, laws[m].size, share,
                      audits);
        assert_true(share <= 0.05 + 2 * sqrt(0.05 * 0.95 / (double)audits));
    }
}

/* ── would have been detected ────────────────────────────────────────────────────────── */

static double leak;
static double leak_delta;

/* The most visible mechanism: f_{ε,δ} itself, with ties broken at random. */
static double extreme(dpa_rng *rng, int is_member) {
    const double u = dpa__rng_uniform(rng), p = exp(leak) / (1 + exp(leak));
    const double noise = dpa__rng_uniform(rng);
    if (u < leak_delta) return is_member ? 3 + noise : -3 - noise;
    const int told = (u - leak_delta) / (1 - leak_delta) < p;
    return (told ? is_member : !is_member) + noise * 0.5;
}

static double too_little_noise(dpa_rng *rng, int is_member) {
    return dpa__rng_normal(rng) + is_member * dpa_gaussian_mu(leak, leak_delta);
}

/* The plan of the same audit must find the same leak, within its own error. */
static void expect_planned(const char *family, double claim, double delta, size_t size,
                           int is_gaussian) {
    dpa_plan plan;
    dpa_plan_leak planned = {NAN, NAN};
    dpa__plan_init(&plan);
    plan.game = DPA_PLAN_RUNS;
    plan.method = family != NULL ? "rank" : "scan";
    plan.family = family != NULL ? family : "dp";
    plan.truth = is_gaussian ? "" : "dp";
    plan.claim_epsilon = claim;
    plan.delta = delta;
    assert_ok(dpa__ask_detectable(&plan, size, 0.8, &planned, NULL));
    print_message("plan: ε = %.4g ± %.2g, would_detect: %.4g\n", planned.epsilon, planned.error,
                  leak);
    assert_relative(leak, planned.epsilon, 0.01 + 4 * planned.error / planned.epsilon);
}

static void expect_power(const char *family, double claim, double delta, size_t size,
                         int is_gaussian) {
    dpa_protocol protocol;
    dpa_evidence e;
    dpa_claim promised;
    dpa_report *report = NULL;
    double zero[MOST] = {0};
    char *json = NULL;
    dpa__protocol_init(&protocol);
    if (family != NULL) assert_ok(dpa_protocol_set(&protocol, "family", family, NULL));
    dpa__evidence_init(&e, DPA_EVIDENCE_SCORES);
    for (size_t i = 0; i < size; ++i) zero[i] = (double)i;
    assert_ok(dpa_evidence_copy(&e, "members", zero, size, NULL));
    assert_ok(dpa_evidence_copy(&e, "nonmembers", zero, size, NULL));
    dpa_claim_init(&promised);
    promised.epsilon = claim;
    promised.delta = delta;
    assert_ok(dpa_judge(&e, &promised, &protocol, &report, NULL));
    assert_ok(dpa_report_json(report, &json, NULL));
    const char *key =
        is_gaussian ? "\"epsilon_gaussian\": " : "\"would_detect\": {\n   \"epsilon\": ";
    const char *at = strstr(json, key);
    assert_non_null(at);
    leak = strtod(at + strlen(key), NULL);
    leak_delta = delta;
    expect_planned(family, claim, delta, size, is_gaussian);
    dpa_free(json);
    dpa_report_free(report);
    dpa__evidence_clear(&e);
    const law l = {"", claim, delta, is_gaussian ? too_little_noise : extreme, size};
    size_t refuted = 0;
    for (size_t i = 0; i < audits; ++i)
        refuted += judge_one(&l, 900000 + i, &protocol) == DPA_REFUTED;
    const double share = (double)refuted / (double)audits;
    print_message("%s claim %g n = %zu: ε = %.3g (%s) refuted in %.3f of %zu\n",
                  family != NULL ? family : "dp", claim, size, leak,
                  is_gaussian ? "too little noise" : "most visible", share, audits);
    /* four standard errors, plus 5 points because the ε itself is known to 2% only */
    assert_between(share, 0.8 - 0.05 - 4 * sqrt(0.16 / (double)audits),
                   0.8 + 0.08 + 4 * sqrt(0.16 / (double)audits));
}

static void what_would_be_detected_is(void **state) {
    (void)state;
    expect_power(NULL, 1, 1e-5, 100, 0);
    expect_power(NULL, 1, 1e-5, 100, 1);
    expect_power(NULL, 1, 1e-5, 1000, 0);
    expect_power(NULL, 0.5, 0.01, 300, 1);
    expect_power("gaussian", 2, 1e-5, 300, 1);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "full") == 0) audits = 1000;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(true_claims_stand),
        cmocka_unit_test(what_would_be_detected_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
