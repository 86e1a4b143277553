/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scan's law by a chain over the looks: compared with counted paths where both are possible,
 * with simulated samples beyond; never below them, and hardly above. Also the tail that holds for
 * every curve. */
#include "check.h"

#include "estimate/ranks/scan.h"

/* A test of f_{ε,δ} whose counts reach a value of the statistic against f_{first,δ}. */
typedef struct setting {
    size_t members, nonmembers;
    double first, epsilon, delta, value;
} setting;

typedef struct case_ {
    dpa__scan_looks looks;
    dpa__scan_null null;
    dpa__scan_counts reach;
    dpa_curve *first, *curve;
} case_;

static case_ open_case(const setting *s) {
    case_ c;
    assert_ok(dpa_curve_dp(s->first, s->delta, &c.first, NULL));
    assert_ok(dpa_curve_dp(s->epsilon, s->delta, &c.curve, NULL));
    assert_ok(dpa__scan_looks_open(s->members, s->nonmembers, &c.looks, NULL));
    assert_ok(dpa__scan_null_open(&c.looks, c.first, &c.null, NULL));
    assert_ok(dpa__scan_counts_new(&c.looks, &c.reach, NULL));
    dpa__scan_reach(&c.null, s->value, &c.reach);
    return c;
}

static void close_case(case_ *c) {
    dpa__scan_counts_free(&c->reach);
    dpa__scan_null_close(&c->null);
    dpa__scan_looks_close(&c->looks);
    dpa_curve_free(c->first);
    dpa_curve_free(c->curve);
}

static double chain_of(const case_ *c, const setting *s) {
    double p;
    assert_ok(dpa__scan_chain(&c->looks, &c->reach, s->epsilon, s->delta, &p, NULL));
    return p;
}

static void test_chain_follows_the_paths(void **state) {
    static const setting settings[] = {
        {400, 400, 0, 0, 0, 3.5},          {1000, 1000, 1, 1, 0, 4},
        {1000, 1000, 1, 1, 1e-5, 4},       {1000, 1000, 3, 3, 1e-5, 3.8},
        {1000, 1000, 0.5, 0.5, 0.02, 3.6}, {2000, 2000, 0, 0, 0, 3.8},
        {2000, 2000, 0.2, 0.2, 1e-3, 3},   {3000, 3000, 2, 2, 1e-6, 4},
        {3000, 3000, 4, 4, 0, 3.5},        {600, 3000, 1, 1, 1e-5, 3.7},
        {3000, 600, 1, 1, 1e-5, 3.7},      {1500, 1500, 0.98, 1, 0, 4.2},
        {1500, 1500, 0.5, 0.5, 3e-4, 3.6}, {2000, 2000, 0.2, 0.2, 2.4e-4, 3.4},
        {1000, 1000, 1, 1, 0.05, 3.6}};
    double worst = 0;
    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i) {
        const setting *s = &settings[i];
        case_ c = open_case(s);
        double paths;
        assert_ok(
            dpa__scan_lattice(&c.looks, &c.reach, s->epsilon, s->delta, DPA__COARSE, &paths, NULL));
        const double chain = chain_of(&c, s);
        print_message("%zu + %zu, ε %g, δ %g: paths %.5f, chain %.5f\n", s->members, s->nonmembers,
                      s->epsilon, s->delta, paths, chain);
        assert_true(paths > 0.01 && paths < 0.2);
        assert_true(chain >= paths - 1e-6);
        assert_true(chain <= (1.06 + s->delta) * paths + 2e-5); /* mixing costs more then */
        worst = fmax(worst, chain / paths);
        close_case(&c);
    }
    print_message("the chain is at most %.2f%% above the paths\n", 100 * (worst - 1));
}

static void test_chain_at_large_samples(void **state) {
    enum { DRAWS = 20000 };
    static const setting settings[] = {{100000, 100000, 3, 3, 1e-5, 4},
                                       {1000000, 1000000, 1, 1, 0, 4},
                                       {30000, 30000, 0.5, 0.5, 0.02, 3},
                                       {10000, 80000, 2, 2, 1e-5, 4},
                                       {10000000, 10000000, 0, 0, 0, 3.5}};
    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i) {
        const setting *s = &settings[i];
        case_ c = open_case(s);
        const dpa__scan_law law = {&c.looks, c.curve, 3, 0, 1};
        size_t reached;
        assert_ok(
            dpa__scan_simulate(&law, c.null.count, &c.reach, 0, DRAWS, DRAWS, &reached, NULL));
        const double chain = chain_of(&c, s), share = (double)reached / DRAWS;
        print_message("%zu + %zu, ε %g, δ %g: drawn %.5f, chain %.5f\n", s->members, s->nonmembers,
                      s->epsilon, s->delta, share, chain);
        assert_true(chain > 0.02 && chain < 0.1);
        assert_absolute(chain, share, 4 * sqrt(chain / DRAWS) + 0.03 * chain);
        close_case(&c);
    }
}

/* NaN if the chain would have to skip too much; a value that is always reached has p = 1. */
static void test_limits_of_the_chain(void **state) {
    const setting unequal = {3, 1000000, 1, 1, 0, 2}, easy = {1000, 1000, 1, 1, 0, 0};
    case_ c = open_case(&unequal);
    double p;
    (void)state;
    assert_true(isnan(chain_of(&c, &unequal)));
    close_case(&c);
    c = open_case(&easy);
    assert_ok(dpa__scan_computed(&c.looks, &c.reach, 1, 0, DPA__FINE, &p, NULL));
    assert_true(p == 1);
    close_case(&c);
}

static void test_tail_of_every_curve(void **state) {
    const double values[] = {1, 3, 5, 7, 9};
    double before = 1;
    (void)state;
    for (size_t i = 0; i < 5; ++i) {
        const setting s = {800, 800, 1, 1, 1e-5, values[i]};
        case_ c = open_case(&s);
        double p;
        assert_ok(dpa__scan_lattice(&c.looks, &c.reach, 1, 1e-5, DPA__FINE, &p, NULL));
        const double tail = dpa__scan_tail(&c.looks, values[i]);
        assert_true(tail >= p && tail <= before);
        assert_true(values[i] < 8 || tail < 0.05); /* or nobody is far */
        before = tail;
        close_case(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chain_follows_the_paths),
                                       cmocka_unit_test(test_chain_at_large_samples),
                                       cmocka_unit_test(test_limits_of_the_chain),
                                       cmocka_unit_test(test_tail_of_every_curve)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
