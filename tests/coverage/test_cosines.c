/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often do the intervals of the one-shot estimates hold the truth, and how often does the lower
 * bound exceed it? Simulated cosines of known law; seeded; limits five standard errors below what
 * is promised. */
#include "check.h"

#include "dpaudit/canary.h"
#include "dpaudit/cosines.h"
#include "dpaudit/rng.h"
#include "dpaudit/tradeoff.h"

static dpa_cosine_fit simulate(dpa_rng *rng, size_t count, double mean, double deviation) {
    double x[400];
    dpa_cosine_fit fit;
    for (size_t i = 0; i < count; ++i) x[i] = mean + deviation * dpa_rng_normal(rng);
    assert_ok(dpa_cosine_fit_sample(x, count, &fit, NULL));
    return fit;
}

typedef enum kind { MEAN, BOTH, ROUNDS } kind;

static double covered(kind which, size_t k, double m, double s, int runs) {
    const double d = 1e6, delta = 1e-6, truth = dpa_two_gaussians_epsilon(0, 1, m, s, delta);
    int inside = 0;
    for (int run = 0; run < runs; ++run) {
        dpa_rng rng;
        dpa_cosine_estimate e;
        dpa_rng_init(&rng, 31 + (uint64_t)which, DPA_PURPOSE_SIMULATE, (uint64_t)run);
        const dpa_cosine_fit null = simulate(&rng, k, 0.0, 1.0 / sqrt(d));
        const dpa_cosine_fit seen = simulate(&rng, k, m / sqrt(d), s / sqrt(d));
        if (which == MEAN)
            assert_ok(dpa_cosines_mean(&seen, (size_t)d, delta, 0.9, &e, NULL));
        else if (which == BOTH)
            assert_ok(dpa_cosines_mean_and_deviation(&seen, (size_t)d, delta, 0.9, &e, NULL));
        else
            assert_ok(dpa_cosines_all_iterates(&null, &seen, delta, 0.9, &e, NULL));
        inside += e.lower <= truth * (1 + 1e-9) && truth <= e.upper * (1 + 1e-9);
    }
    print_message("kind %d, k=%zu, m=%g, s=%g, truth %.3f: covered %.3f\n", (int)which, k, m, s,
                  truth, (double)inside / runs);
    return (double)inside / runs;
}

static void intervals_cover(void **state) {
    (void)state;
    enum { RUNS = 300 };
    const double slack = 5.0 * sqrt(0.9 * 0.1 / RUNS);
    /* exact at 90% where |m| is away from 0 */
    assert_between(covered(MEAN, 100, 1.85, 1.0, 10 * RUNS), 0.9 - slack, 0.9 + slack);
    assert_true(covered(MEAN, 100, 0.0, 1.0, 10 * RUNS) >= 0.9 - slack);
    static const double cases[][2] = {{1.85, 1.0}, {0.24, 1.0}, {0.0, 1.0}, {1.0, 1.5}};
    for (size_t c = 0; c < 4; ++c) {
        assert_true(covered(BOTH, 100, cases[c][0], cases[c][1], RUNS) >= 0.9 - slack);
        assert_true(covered(ROUNDS, 100, cases[c][0], cases[c][1], RUNS) >= 0.9 - slack);
    }
}

/* The whole way: canaries in one release of the Gaussian mechanism, cosines, ε_lo by split. */
static void lower_bound_holds(void **state) {
    (void)state;
    enum { DIM = 4096, COUNT = 64, RUNS = 600 };
    static float sum[DIM];
    double cosine[COUNT];
    const double sigma = 1.54, delta = 1e-6, truth = dpa_gaussian_epsilon(1.0 / sigma, delta);
    int split = 0, most = 0, estimate = 0;
    for (int run = 0; run < RUNS; ++run) {
        dpa_canaries_opts opts;
        dpa_canaries *canaries = NULL;
        dpa_rng rng;
        dpa_canaries_opts_init(&opts);
        opts.seed = (uint64_t)run;
        opts.dim = DIM;
        opts.observed = COUNT;
        opts.threads = 1;
        dpa_rng_init(&rng, (uint64_t)run, DPA_PURPOSE_NOISE, 0);
        for (size_t i = 0; i < DIM; ++i) sum[i] = (float)(sigma * dpa_rng_normal(&rng));
        assert_ok(dpa_canaries_new(&opts, &canaries, NULL));
        for (size_t i = 0; i < COUNT; ++i)
            assert_ok(dpa_canaries_add_f32(canaries, i, 1.0, sum, NULL));
        const dpa_vector v = {.f32 = sum, .dim = DIM};
        assert_ok(dpa_canaries_cosines(canaries, &v, NULL, cosine, NULL, NULL));
        dpa_canaries_free(canaries);
        const dpa_cosines c = {.observed = cosine, .observed_count = COUNT, .dim = DIM};
        dpa_cosine_bound b;
        dpa_cosine_fit fit;
        dpa_cosine_estimate e;
        assert_ok(dpa_cosines_lower(&c, "split", delta, 0.95, (uint64_t)run, &b, NULL));
        split += b.epsilon > truth;
        assert_ok(dpa_cosines_lower(&c, "max", delta, 0.95, 1, &b, NULL));
        most += b.epsilon > truth;
        assert_ok(dpa_cosine_fit_sample(cosine, COUNT, &fit, NULL));
        assert_ok(dpa_cosines_mean(&fit, DIM, delta, 0.9, &e, NULL));
        estimate += e.lower <= truth && truth <= e.upper;
    }
    print_message("above the truth: split %d, max %d; interval of mean holds it: %d of %d\n", split,
                  most, estimate, RUNS);
    assert_true(split <= 0.05 * RUNS + 5.0 * sqrt(0.05 * 0.95 * RUNS));
    assert_true(estimate >= 0.9 * RUNS - 5.0 * sqrt(0.9 * 0.1 * RUNS));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_cover),
        cmocka_unit_test(lower_bound_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
