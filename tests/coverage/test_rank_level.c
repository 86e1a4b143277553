/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often ranks refute a true claim with the default seed: finds the least U that the command
 * refutes through the public call, then finds how often U reaches it under the claim. The quick
 * test uses 30 + 30; `full` the sizes of docs/coverage.md, with errors of about 0.02% (some
 * minutes). */
#include "check.h"

#include <complex.h>
#include <string.h>

#include "base/rng.h"
#include "estimate/scores.h"
#include "prepared.h"
#include "tradeoff/tradeoff.h"

static int is_full;

/* Makes scores with Mann–Whitney statistic u: each member in turn is placed above as many
 * non-members as still needed. */
static double p_value_of(size_t members, size_t nonmembers, double u, double epsilon) {
    double *in = malloc(members * sizeof *in), *out = malloc(nonmembers * sizeof *out);
    dpa_results results = {0};
    dpa_request request;
    assert_true(in != NULL && out != NULL);
    for (size_t j = 0; j < nonmembers; ++j) out[j] = (double)j;
    for (size_t i = 0; i < members; ++i) {
        const double above = fmin(u, (double)nonmembers);
        in[i] = above - 0.5;
        u -= above;
    }
    dpa__request_init(&request); /* the default seed */
    request.claim_epsilon = epsilon;
    (void)snprintf(request.family, sizeof request.family, "gaussian");
    (void)snprintf(request.method, sizeof request.method, "rank");
    dpa_scores scores = prepared(in, members, out, nonmembers);
    assert_ok(dpa__estimate_scores(&scores, &request, &results, NULL));
    const double p = results.items[0].p_value;
    dpa__results_free(&results);
    dpa__scores_free(&scores);
    free(in);
    free(out);
    return p;
}

static double least_refuted(size_t members, size_t nonmembers, double epsilon) {
    double low = 0, high = (double)members * (double)nonmembers;
    while (high - low > 1) {
        const double middle = floor(0.5 * (low + high));
        *(p_value_of(members, nonmembers, middle, epsilon) <= 0.05 ? &high : &low) = middle;
    }
    return high;
}

static int rising(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ── the law of U under the claim ──────────────────────────────────────────────────────────── */

static double normal_below(double x) {
    return 0.5 * erfc(-x / sqrt(2));
}

/* U and its projection nΣΦ(X_i) + mΣΦ(μ−Y_j) − mnΦ(μ/√2), which is close to U and a sum of
 * independent terms, so that its law can be computed. */
typedef struct pair {
    double u, projection;
} pair;

static pair draw(dpa_rng *rng, size_t members, size_t nonmembers, double mu, double *in,
                 double *out) {
    const double m = (double)members, n = (double)nonmembers;
    pair p = {0, -m * n * normal_below(mu / sqrt(2))};
    size_t below = 0;
    for (size_t i = 0; i < members; ++i) {
        in[i] = mu + dpa__rng_normal(rng);
        p.projection += n * normal_below(in[i]);
    }
    for (size_t j = 0; j < nonmembers; ++j) {
        out[j] = dpa__rng_normal(rng);
        p.projection += m * normal_below(mu - out[j]);
    }
    qsort(in, members, sizeof *in, rising);
    qsort(out, nonmembers, sizeof *out, rising);
    for (size_t i = 0; i < members; ++i) {
        while (below < nonmembers && out[below] < in[i]) ++below;
        p.u += (double)below;
    }
    return p;
}

static double complex turn(double angle) {
    return CMPLX(cos(angle), sin(angle));
}

/* The characteristic function of Φ(μ+Z) at s, by the trapezoidal rule. By symmetry it is also that
 * of Φ(μ−Y). */
static double complex of_one(double s, double mu) {
    const double h = 0.05;
    double complex sum = 0;
    for (double z = -9; z <= 9; z += h)
        sum += h / sqrt(2 * M_PI) * exp(-0.5 * z * z) * turn(s * normal_below(mu + z));
    return sum;
}

/* Pr[projection ≥ u] by Gil-Pelaez's inversion. Beyond eight deviations the characteristic function
 * is below 1e-13. */
static double projection_above(size_t members, size_t nonmembers, double mu, double u) {
    const double m = (double)members, n = (double)nonmembers, theta = normal_below(mu / sqrt(2));
    /* the variance of Φ(μ+Z), by its second moment */
    double square = 0, integral = 0;
    for (double z = -9; z <= 9; z += 0.05)
        square += 0.05 / sqrt(2 * M_PI) * exp(-0.5 * z * z) * pow(normal_below(mu + z) - theta, 2);
    const double deviation = sqrt(m * n * (m + n) * square), h = 0.02 / deviation;
    for (double s = 0.5 * h; s * deviation < 8; s += h) {
        const double complex whole = cpow(of_one(n * s, mu) * turn(-n * s * theta), m) *
                                     cpow(of_one(m * s, mu) * turn(-m * s * theta), n);
        integral += h * cimag(turn(-s * (u - m * n * theta)) * whole) / s;
    }
    return 0.5 + integral / M_PI;
}

/* How often U reaches what is refuted: the computed probability of the projection, and the
 * simulated difference, whose error is a fraction of that of a share. */
static void check(size_t members, size_t nonmembers, double epsilon, int audits) {
    double *in = malloc(members * sizeof *in), *out = malloc(nonmembers * sizeof *out);
    const double mu = dpa_gaussian_mu(epsilon, 1e-5);
    const double least = least_refuted(members, nonmembers, epsilon), limit = least - 0.5;
    double more = 0, fewer = 0;
    dpa_rng rng;
    assert_true(in != NULL && out != NULL);
    dpa__rng_init(&rng, 23, DPA_PURPOSE_TEST, (uint64_t)members);
    for (int a = 0; a < audits; ++a) {
        const pair p = draw(&rng, members, nonmembers, mu, in, out);
        more += p.u >= least && p.projection < limit;
        fewer += p.u < least && p.projection >= limit;
    }
    const double n = audits, difference = (more - fewer) / n;
    const double error = sqrt(((more + fewer) / n - difference * difference) / n);
    const double share = projection_above(members, nonmembers, mu, limit) + difference;
    print_message("| %zu + %zu | %g | %d | %.3f | %.3f |\n", members, nonmembers, epsilon, audits,
                  100 * share, 100 * error);
    assert_true(error < 1e-3);
    assert_true(share + 2 * error <= 0.0505);
    assert_true(share >= 0.04); /* the level is used up */
    free(in);
    free(out);
}

static void test_levels(void **state) {
    (void)state;
    check(30, 30, 1, is_full ? 200000 : 20000);
    if (!is_full) return;
    check(30, 30, 4.377, 200000);
    check(100, 100, 1, 100000);
    check(100, 100, 4.377, 100000);
    check(30, 1000, 1, 100000);
    check(30, 1000, 4.377, 100000);
    check(1000, 1000, 0.01, 100000); /* the least skewed */
    check(1000, 1000, 1, 100000);
    check(1000, 1000, 4.377, 100000);
    check(1000, 30, 1, 100000);
    check(7000, 7000, 1, 20000);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels)};
    is_full = argc > 1 && strcmp(argv[1], "full") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
