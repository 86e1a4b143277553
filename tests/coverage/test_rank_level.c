/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often ranks refute a true claim with the default seed: finds the least U that the command
 * refutes through the public call, then draws U under the claim. The quick test uses 30 + 30;
 * `full` the sizes of docs/coverage.md, with errors below 0.1% (some minutes). */
#include "check.h"

#include <string.h>

#include "dpaudit/rng.h"
#include "dpaudit/scores.h"
#include "dpaudit/tradeoff.h"
#include "prepared.h"

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
    dpa_request_init(&request); /* the default seed */
    request.claim_epsilon = epsilon;
    (void)snprintf(request.family, sizeof request.family, "gaussian");
    (void)snprintf(request.method, sizeof request.method, "rank");
    dpa_scores scores = prepared(in, members, out, nonmembers);
    assert_ok(dpa_estimate_scores(&scores, &request, &results, NULL));
    const double p = results.items[0].p_value;
    dpa_results_free(&results);
    dpa_scores_free(&scores);
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

/* Draws U of one pair of samples under the claim. */
static double draw(dpa_rng *rng, size_t members, size_t nonmembers, double mu, double *in,
                   double *out) {
    double u = 0;
    size_t below = 0;
    for (size_t i = 0; i < members; ++i) in[i] = mu + dpa_rng_normal(rng);
    for (size_t j = 0; j < nonmembers; ++j) out[j] = dpa_rng_normal(rng);
    qsort(in, members, sizeof *in, rising);
    qsort(out, nonmembers, sizeof *out, rising);
    for (size_t i = 0; i < members; ++i) {
        while (below < nonmembers && out[below] < in[i]) ++below;
        u += (double)below;
    }
    return u;
}

static void check(size_t members, size_t nonmembers, double epsilon, int audits) {
    double *in = malloc(members * sizeof *in), *out = malloc(nonmembers * sizeof *out);
    const double mu = dpa_gaussian_mu(epsilon, 1e-5);
    const double least = least_refuted(members, nonmembers, epsilon);
    int refuted = 0;
    dpa_rng rng;
    assert_true(in != NULL && out != NULL);
    dpa_rng_init(&rng, 23, DPA_PURPOSE_TEST, (uint64_t)members);
    for (int a = 0; a < audits; ++a)
        refuted += draw(&rng, members, nonmembers, mu, in, out) >= least;
    const double share = refuted / (double)audits, error = sqrt(share * (1 - share) / audits);
    print_message("| %zu + %zu | %g | %d | %.3f | %.3f |\n", members, nonmembers, epsilon, audits,
                  100 * share, 100 * error);
    assert_true(error < 1e-3);
    assert_true(share <= 0.0505);
    assert_true(share >= 0.04); /* the level is used up */
    free(in);
    free(out);
}

static void test_levels(void **state) {
    (void)state;
    check(30, 30, 1, is_full ? 400000 : 60000);
    if (!is_full) return;
    check(30, 30, 4.377, 400000);
    check(100, 100, 1, 400000);
    check(100, 100, 4.377, 400000);
    check(30, 1000, 1, 100000);
    check(30, 1000, 4.377, 100000);
    check(1000, 1000, 1, 200000);
    check(1000, 1000, 4.377, 200000);
    check(7000, 7000, 1, 60000);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels)};
    is_full = argc > 1 && strcmp(argv[1], "full") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
