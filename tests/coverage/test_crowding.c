/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The corrected estimate for a crowded model: one release of canaries, clients and noise with known
 * epsilon, where the canaries are a tenth and a quarter of the dimension. */
#include "canaries.h"

#include "base/rng.h"
#include "estimate/cosines/cosine.h"
#include "tradeoff/tradeoff.h"

enum { DIM = 4096, MOST = 1024, RUNS = 30 };
static const double delta = 1e-6;

typedef struct outcome {
    double plain, corrected; /* means over the runs */
} outcome;

/* `clients`: the squared length of the clients' part, relative to that of a canary. */
static outcome simulate(dpa_direction direction, size_t count, double sigma, double clients) {
    static double norm[MOST], cosine[MOST];
    static float release[DIM];
    outcome sum = {0, 0};
    for (size_t i = 0; i < MOST; ++i) norm[i] = 1.0;
    for (uint64_t run = 0; run < RUNS; ++run) {
        dpa_canaries *canaries = test_canaries(direction, 100 + run, DIM, count, 0, 1, NULL);
        dpa_rng rng;
        dpa_cosine_fit fit;
        dpa_cosine_estimate e;
        dpa__rng_init(&rng, run, DPA_PURPOSE_TEST, 3);
        for (size_t i = 0; i < DIM; ++i)
            release[i] =
                (float)(sigma * dpa__rng_normal(&rng) + (i < 100 ? sqrt(clients) / 10 : 0));
        assert_ok(dpa__canaries_sum_f32(canaries, norm, release, NULL, NULL));
        const dpa_vector v = {.f32 = release, .dim = DIM};
        assert_ok(dpa__canaries_cosines(canaries, &v, NULL, cosine, NULL, NULL));
        assert_ok(dpa__cosine_fit_sample(cosine, count, &fit, NULL));
        assert_ok(dpa__cosines_mean(&fit, DIM, delta, 0.95, &e, NULL));
        sum.plain += e.epsilon / RUNS;
        assert_ok(dpa__cosines_corrected(&fit, DIM, (double)count, clients, delta, 0.95, &e, NULL));
        sum.corrected += e.epsilon / RUNS;
        dpa__canaries_free(canaries);
    }
    return sum;
}

static void bias_is_small(void **state) {
    (void)state;
    static const dpa_direction all[] = {DPA_DIRECTION_SPHERE, DPA_DIRECTION_SIGNS,
                                        DPA_DIRECTION_HADAMARD};
    for (size_t d = 0; d < 3; ++d)
        for (int large = 0; large < 2; ++large)
            for (int busy = 0; busy < 2; ++busy) {
                const size_t count = large ? 1000 : DIM / 10;
                const double truth = 13.6, sigma = 1.0 / dpa_gaussian_mu(truth, delta);
                const double clients = busy ? 400.0 : 0.0;
                const outcome o = simulate(all[d], count, sigma, clients);
                (void)printf("direction %zu, k = %zu, clients %g: mean %.3f, corrected %.3f, truth "
                             "%.3f\n",
                             d, count, clients, o.plain, o.corrected, truth);
                assert_true(o.plain < 0.85 * truth);
                assert_absolute(o.corrected, truth, 0.05 * truth);
            }
}

/* Without crowding the corrected estimate equals `mean`; if only crowding is left, it says
 * nothing. */
static void ends(void **state) {
    (void)state;
    const dpa_cosine_fit fit = {100, 0.02, 0.01};
    dpa_cosine_estimate e, m;
    assert_ok(dpa__cosines_mean(&fit, 10000, 1e-5, 0.9, &m, NULL));
    assert_ok(dpa__cosines_corrected(&fit, 10000, 0.0, 0.0, 1e-5, 0.9, &e, NULL));
    assert_true(e.epsilon == m.epsilon);
    assert_relative(e.lower, m.lower, 1e-12);
    assert_relative(e.upper, m.upper, 1e-12);
    assert_ok(dpa__cosines_corrected(&fit, 10000, 100.0, 0.0, 1e-5, 0.9, &e, NULL));
    assert_true(e.lower < e.epsilon && e.epsilon < e.upper && e.epsilon > m.epsilon);
    assert_relative(1.0 / (e.mean * e.mean), 0.25 - 0.01, 1e-12);
    assert_ok(dpa__cosines_corrected(&fit, 10000, 2400.0, 0.0, 1e-5, 0.9, &e, NULL));
    assert_true(isnan(e.epsilon));
    assert_absolute(dpa__cosines_crowd(&fit, 2000.0, 400.0), 0.96, 1e-12);
    assert_int_equal(dpa__cosines_corrected(&fit, 10000, -1.0, 0.0, 1e-5, 0.9, &e, NULL),
                     DPA_BAD_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bias_is_small),
        cmocka_unit_test(ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
