/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much the scan shows, how often it is wrong and how often it refutes a false claim; and what
 * the exact test of counts shows, which takes its place for scores of two values. The quick test
 * uses samples of 100 and 30; `full` all sizes up to 10⁵ and 20,000 audits of each level and of the
 * power (about ten minutes), for docs/coverage.md. */
#include "check.h"
#include "prepared.h"

#include <string.h>

#include "base/rng.h"
#include "estimate/ranks/scan.h"
#include "estimate/scores.h"

static int is_full;

typedef enum mechanism { GAUSSIAN, SUBSAMPLED, LEAK, LAPLACE, RESPONSE, ANSWER } mechanism;

static double laplace(dpa_rng *rng) {
    const double u = dpa__rng_uniform(rng) - 0.5;
    return (u < 0 ? 1 : -1) * log1p(-2 * fabs(u));
}

/* `strength` is μ; for SUBSAMPLED μ at rate 0.1; for LEAK the share that leaks; otherwise ε. */
static double score_of(mechanism m, double strength, int is_member, dpa_rng *rng) {
    switch (m) {
    case GAUSSIAN:
        return dpa__rng_normal(rng) + is_member * strength;
    case SUBSAMPLED:
        return dpa__rng_normal(rng) + (is_member && dpa__rng_uniform(rng) < 0.1 ? strength : 0);
    case LEAK:
        return is_member && dpa__rng_uniform(rng) < strength ? 1000 + dpa__rng_uniform(rng)
                                                             : dpa__rng_normal(rng);
    case LAPLACE:
        return laplace(rng) + is_member * strength;
    default: { /* randomized response; RESPONSE has a random order within an answer */
        const double honest = 1 / (1 + exp(-strength));
        const int says = dpa__rng_uniform(rng) < honest ? is_member : !is_member;
        return says + (m == RESPONSE ? 0.5 * dpa__rng_uniform(rng) : 0);
    }
    }
}

static dpa_request request_of(double delta) {
    dpa_request request;
    dpa__request_init(&request);
    request.delta = delta;
    request.threads = 1;
    (void)snprintf(request.family, sizeof request.family, "dp");
    (void)snprintf(request.method, sizeof request.method, "scan");
    return request;
}

/* ── what it shows ─────────────────────────────────────────────────────────────────────────── */

typedef struct row {
    const char *name;
    mechanism mechanism;
    double strength, delta;
    size_t members, nonmembers;
    int audits;
    double least; /* what the mean must show */
} row;

/* The numbers come from 200 audits each; those of 10⁵ take a minute. */
static const row quick[] = {
    {"Gaussian μ 1", GAUSSIAN, 1, 1e-5, 100, 100, 200, 0.96},
    {"Laplace ε 1", LAPLACE, 1, 0, 100, 100, 200, 0.53},
    {"randomized response ε 1", RESPONSE, 1, 0, 100, 100, 200, 0.58},
    {"its answers alone: exact", ANSWER, 1, 0, 100, 100, 200, 0.70},
};
static const row slow[] = {
    {"Gaussian μ 1", GAUSSIAN, 1, 1e-5, 1000, 1000, 400, 1.77},
    {"Gaussian μ 2", GAUSSIAN, 2, 1e-5, 1000, 1000, 400, 3.5},
    {"subsampled q 0.1, μ 4", SUBSAMPLED, 4, 1e-5, 1000, 1000, 400, 2.9},
    {"1% leaks", LEAK, 0.01, 1e-5, 1000, 1000, 400, 0.78},
    {"Laplace ε 1", LAPLACE, 1, 0, 1000, 1000, 400, 0.79},
    {"randomized response ε 1", RESPONSE, 1, 0, 1000, 1000, 400, 0.82},
    {"its answers alone: exact", ANSWER, 1, 0, 1000, 1000, 400, 0.89},
    {"Gaussian μ 1", GAUSSIAN, 1, 1e-5, 30, 1000, 400, 0.8},
    {"Gaussian μ 1", GAUSSIAN, 1, 1e-5, 100000, 100000, 200, 3.03},
};

/* The same answers as a confusion matrix. */
static double bound_of_counts(const dpa_scores *scores, double delta) {
    const dpa_counts counts = dpa__scores_counts(scores, 1);
    dpa_request request = request_of(delta);
    dpa_results results = {0};
    (void)snprintf(request.method, sizeof request.method, "exact");
    assert_ok(dpa__estimate_counts(&counts, &request, &results, NULL));
    const double bound = results.items[0].epsilon_lower;
    dpa__results_free(&results);
    return bound;
}

static double bound_of(const row *r, int audit, double *in, double *out) {
    dpa_rng rng;
    dpa_results results = {0};
    const dpa_request request = request_of(r->delta);
    dpa__rng_init(&rng, 19, DPA_PURPOSE_TEST, (uint64_t)audit + ((uint64_t)r->members << 32));
    for (size_t i = 0; i < r->members; ++i) in[i] = score_of(r->mechanism, r->strength, 1, &rng);
    for (size_t i = 0; i < r->nonmembers; ++i)
        out[i] = score_of(r->mechanism, r->strength, 0, &rng);
    dpa_scores scores = prepared(in, r->members, out, r->nonmembers);
    assert_ok(dpa__estimate_scores(&scores, &request, &results, NULL));
    const double bound = results.items[0].epsilon_lower;
    if (r->mechanism == ANSWER) assert_absolute(bound_of_counts(&scores, r->delta), bound, 1e-12);
    dpa__results_free(&results);
    dpa__scores_free(&scores);
    return bound;
}

static void show(const row *rows, size_t count) {
    for (size_t k = 0; k < count; ++k) {
        const row *r = &rows[k];
        double *in = malloc(r->members * sizeof *in), *out = malloc(r->nonmembers * sizeof *out);
        assert_true(in != NULL && out != NULL);
        double sum = 0, squares = 0;
        for (int a = 0; a < r->audits; ++a) {
            const double bound = bound_of(r, a, in, out);
            sum += bound;
            squares += bound * bound;
        }
        const double mean = sum / r->audits;
        const double error = sqrt((squares / r->audits - mean * mean) / r->audits);
        print_message("| %s | %zu + %zu | %g | %d | %.3f | %.3f | %.2f |\n", r->name, r->members,
                      r->nonmembers, r->delta, r->audits, mean, error, r->least);
        assert_true(mean >= r->least);
        free(in);
        free(out);
    }
}

static void test_means(void **state) {
    (void)state;
    show(quick, sizeof quick / sizeof *quick);
    if (is_full) show(slow, sizeof slow / sizeof *slow);
}

/* ── how often it is wrong ─────────────────────────────────────────────────────────────────── */

/* Samples of the extreme curve itself must be refuted exactly as often as the test may be wrong. */
static double level(size_t members, size_t nonmembers, double epsilon, double delta, int audits) {
    double *in = malloc(members * sizeof *in), *out = malloc(nonmembers * sizeof *out);
    const dpa_request request = request_of(delta);
    dpa_curve *curve;
    int refuted = 0;
    assert_true(in != NULL && out != NULL);
    assert_ok(dpa_curve_dp(epsilon, delta, &curve, NULL));
    for (int a = 0; a < audits; ++a) {
        dpa_rng rng;
        double p;
        dpa__rng_init(&rng, 20, DPA_PURPOSE_TEST, (uint64_t)a + ((uint64_t)members << 32));
        for (size_t i = 0; i < members; ++i) {
            /* a share δ ranks above all non-members; the others rank at false positive rate w */
            const double u = dpa__rng_uniform(&rng), w = dpa__curve_fpr_at_tpr(curve, u);
            in[i] = u <= delta ? 1 + dpa__rng_uniform(&rng) : -w;
        }
        for (size_t j = 0; j < nonmembers; ++j) out[j] = -dpa__rng_uniform(&rng);
        dpa_scores scores = prepared(in, members, out, nonmembers);
        assert_ok(dpa__scan_p_value_dp(&scores, epsilon, delta, &request, &p, NULL));
        refuted += p <= 0.05;
        dpa__scores_free(&scores);
    }
    dpa_curve_free(curve);
    free(in);
    free(out);
    return refuted / (double)audits;
}

static void test_levels(void **state) {
    static const size_t sizes[][2] = {{30, 30}, {100, 100}, {30, 1000}, {1000, 1000}};
    static const double deltas[] = {0, 0.02};
    (void)state;
    const int audits = 20000;
    const double error = sqrt(0.05 * 0.95 / audits);
    for (size_t s = 0; s < (is_full ? 4 : 1); ++s)
        for (size_t d = 0; d < 2; ++d) {
            const double share = level(sizes[s][0], sizes[s][1], 1, deltas[d], audits);
            print_message("| %zu + %zu | 1 | %g | %d | %.2f |\n", sizes[s][0], sizes[s][1],
                          deltas[d], audits, 100 * share);
            assert_true(share <= 0.05 + 2 * error);
            assert_true(share >= 0.04);
        }
}

/* ── how often it refutes a false claim ────────────────────────────────────────────────────── */

/* 300 + 300 runs refute ε ≤ 1 with a power of 80% if the truth is Gaussian noise of ε = 4. */
static void test_power(void **state) {
    enum { N = 300 };
    const double delta = 1e-5, mu = dpa_gaussian_mu(4, delta), wanted = 0.8;
    const int audits = is_full ? 20000 : 400;
    const dpa_request request = request_of(delta);
    int refuted = 0;
    (void)state;
    for (int a = 0; a < audits; ++a) {
        double in[N], out[N], p;
        dpa_rng rng;
        dpa__rng_init(&rng, 21, DPA_PURPOSE_TEST, (uint64_t)a);
        for (size_t i = 0; i < N; ++i) {
            in[i] = score_of(GAUSSIAN, mu, 1, &rng);
            out[i] = score_of(GAUSSIAN, mu, 0, &rng);
        }
        dpa_scores scores = prepared(in, N, out, N);
        assert_ok(dpa__scan_p_value_dp(&scores, 1, delta, &request, &p, NULL));
        refuted += p <= 0.05;
        dpa__scores_free(&scores);
    }
    const double share = refuted / (double)audits, error = sqrt(wanted * (1 - wanted) / audits);
    print_message("| ε ≤ 1, truth ε = 4 (Gaussian) | %d + %d | %d | %.2f | %.2f |\n", N, N, audits,
                  100 * share, 100 * error);
    assert_true(share >= wanted - (is_full ? 0 : 3 * error));
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_means), cmocka_unit_test(test_levels),
                                       cmocka_unit_test(test_power)};
    is_full = argc > 1 && strcmp(argv[1], "full") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
