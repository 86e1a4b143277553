/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often the scan and the exact test of counts refute a true (ε,δ) claim, on the extreme curve
 * itself, where it is largest. Neither has a seed that would matter: what the audit refutes is
 * found through the computed law, and how often that happens by another way: 100,000 simulated
 * samples for the scan (scan_draw.c shares no code with the law), all outcomes for counts. The
 * quick test has the smallest sizes; `full` prints the table of docs/coverage.md (about a minute).
 * Ranks are in test_rank_level.c. */
#include "check.h"

#include <string.h>

#include "estimate/ranks/scan.h"
#include "estimate/rates/exact.h"
#include "math/dist.h"

static int is_full;

/* ── the scan ──────────────────────────────────────────────────────────────────────────────── */

typedef struct claim {
    double epsilon, delta;
    dpa_curve *curve;
    dpa__scan_looks looks;
    dpa__scan_null null;
    dpa__scan_counts reach;
} claim;

/* The p-value of this statistic, as an audit with the default seed has it; leaves what reaches it.
 */
static double p_value_of(claim *c, double statistic) {
    enum { DRAWS = 19999 };
    const dpa__scan_law law = {&c->looks, c->curve, 1, 0, 1};
    size_t reached;
    double p;
    dpa__scan_reach(&c->null, statistic, &c->reach);
    assert_ok(dpa__scan_computed(&c->looks, &c->reach, c->epsilon, c->delta, DPA__FINE, &p, NULL));
    if (!isnan(p)) return p;
    assert_ok(dpa__scan_simulate(&law, c->null.count, &c->reach, 0, DRAWS, DRAWS, &reached, NULL));
    return dpa__cp_upper((double)reached, DRAWS, DPA__SCAN_DOUBT);
}

/* The level of one claim: samples that reach a statistic which is refuted. */
static void check_scan(size_t members, size_t nonmembers, double epsilon, double delta,
                       size_t draws) {
    claim c = {.epsilon = epsilon, .delta = delta};
    double low = 0, high = 30;
    size_t reached;
    assert_ok(dpa_curve_dp(epsilon, delta, &c.curve, NULL));
    assert_ok(dpa__scan_looks_open(members, nonmembers, &c.looks, NULL));
    assert_ok(dpa__scan_null_open(&c.looks, c.curve, &c.null, NULL));
    assert_ok(dpa__scan_counts_new(&c.looks, &c.reach, NULL));
    while (high - low > 1e-6) /* the least statistic that is refuted */
        *(p_value_of(&c, 0.5 * (low + high)) <= 0.05 ? &high : &low) = 0.5 * (low + high);
    const double p = p_value_of(&c, high);
    const dpa__scan_law law = {&c.looks, c.curve, 77, 0, 1};
    assert_ok(dpa__scan_simulate(&law, c.null.count, &c.reach, 0, draws, draws, &reached, NULL));
    const double share = (double)reached / (double)draws;
    const double error = sqrt(share * (1 - share) / (double)draws);
    print_message("| scan | %zu + %zu | %g | %g | %.2f | %.2f | %.2f |\n", members, nonmembers,
                  epsilon, delta, 100 * p, 100 * share, 100 * error);
    assert_true(share <= 0.0505 + 2 * error && share <= p + 4 * error);
    /* the level is used up, as far as p-values lie close together */
    assert_true(share >= 0.04);
    dpa__scan_counts_free(&c.reach);
    dpa__scan_null_close(&c.null);
    dpa__scan_looks_close(&c.looks);
    dpa_curve_free(c.curve);
}

static void test_scan(void **state) {
    static const size_t sizes[][2] = {{30, 30}, {100, 100}, {30, 1000}, {1000, 1000}, {7000, 7000}};
    static const double deltas[] = {0, 1e-5, 0.02, 0.05};
    (void)state;
    for (size_t s = 0; s < (is_full ? 5 : 1); ++s)
        for (size_t d = 0; d < 4; ++d)
            check_scan(sizes[s][0], sizes[s][1], 1, deltas[d], is_full ? 100000 : 20000);
}

/* ── counts ────────────────────────────────────────────────────────────────────────────────── */

/* Σ over the outcomes that are refuted, at many places of the edge of (ε,δ)-DP; the largest sum. */
static void check_exact(size_t n1, size_t n0, double epsilon, double delta) {
    enum { PLACES = 199 };
    double level[PLACES] = {0}, worst = 0;
    dpa_curve *curve;
    assert_ok(dpa_curve_dp(epsilon, delta, &curve, NULL));
    const dpa__edge edge = dpa__edge_dp(curve, epsilon, delta, 0);
    for (size_t a = 0; a <= n1; ++a)
        for (size_t b = 0; b <= n0; ++b) {
            const dpa__outcome o = {(double)n1, (double)n0, (double)a, (double)b};
            const double ratio = dpa__edge_ratio(&edge, &o);
            double p;
            if (ratio <= 0) continue; /* nothing speaks against the claim */
            assert_ok(dpa__exact_supremum(&edge, &edge, &o, ratio, 0.001, 0.05, &p, NULL));
            if (p > 0.05 * (1 + 1e-12)) continue;
            for (int i = 0; i < PLACES; ++i) {
                const double y = (i + 1) / (PLACES + 1.0), x = dpa_curve_fnr(curve, y);
                level[i] += exp(dpa__binom_log_pmf((double)a, (double)n1, x) +
                                dpa__binom_log_pmf((double)b, (double)n0, y));
            }
        }
    for (int i = 0; i < PLACES; ++i) worst = fmax(worst, level[i]);
    print_message("| exact | %zu + %zu | %g | %g |  | %.2f | all outcomes |\n", n1, n0, epsilon,
                  delta, 100 * worst);
    assert_true(worst <= 0.05);
    assert_true(worst >= 0.04);
    dpa_curve_free(curve);
}

static void test_exact(void **state) {
    static const double deltas[] = {0, 1e-5, 0.02, 0.05};
    (void)state;
    for (size_t d = 0; d < (is_full ? 4 : 2); ++d) {
        check_exact(30, 30, 1, deltas[d]);
        if (is_full) check_exact(100, 100, 1, deltas[d]);
    }
    if (is_full) check_exact(30, 1000, 1, 1e-5);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scan), cmocka_unit_test(test_exact)};
    is_full = argc > 1 && strcmp(argv[1], "full") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
