/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mixtures by EM, the exact ε between them, and the Kolmogorov–Smirnov test: against mpmath, exact
 * integers, quadrature and closed forms. */
#include "check.h"

#include "estimate/losses/epsilon_star.h"
#include "math/dist.h"
#include "math/logspace.h"
#include "tradeoff/tradeoff.h"

static void draw(const dpa_mixture *m, uint64_t seed, double *x, size_t count) {
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_TEST, 1);
    for (size_t i = 0; i < count; ++i) x[i] = dpa__mixture_draw(m, &rng);
}

static const dpa_mixture two = {
    .count = 2, .weight = {0.3, 0.7}, .mean = {-2.0, 1.0}, .deviation = {0.5, 1.0}};

/* Exponentials and logarithms of a block, compared with libm's. */
static void block_functions(void **state) {
    (void)state;
    double x[DPA__BLOCK], y[DPA__BLOCK];
    for (int round = 0; round < 250; ++round) {
        for (size_t i = 0; i < DPA__BLOCK; ++i) {
            const double t = (double)round / 250 + (double)i / (250.0 * DPA__BLOCK);
            x[i] = round % 2 ? -t : -700 * t; /* fine near 0, and all the way down */
            y[i] = exp(36 * t) > 1 ? exp(36 * t) : 1;
        }
        double e[DPA__BLOCK], l[DPA__BLOCK];
        memcpy(e, x, sizeof e);
        memcpy(l, y, sizeof l);
        dpa__block_exp(e);
        dpa__logs(l, DPA__BLOCK, l);
        for (size_t i = 0; i < DPA__BLOCK; ++i) {
            assert_true(fabs(e[i] - exp(x[i])) <= 4e-16 * exp(x[i]));
            assert_true(fabs(l[i] - log(y[i])) <= 4e-16 * fmax(log(y[i]), 0.1));
        }
    }
    for (size_t i = 0; i < DPA__BLOCK; ++i) x[i] = i % 2 ? -1e300 : -0.0;
    dpa__block_exp(x);
    for (size_t i = 0; i < DPA__BLOCK; ++i) assert_true(i % 2 ? x[i] < 1e-303 : x[i] == 1);
}

/* One block of the expectation step, compared with the same sums computed point by point with
 * libm. */
static void block_is_the_sum(void **state) {
    (void)state;
    double x[DPA__BLOCK], weight[DPA__BLOCK], likelihood = 0;
    const dpa__mixture_terms t = {.count = 3,
                                  .centre = 0.4,
                                  .mean = {-2, 1, 30},
                                  .scale = {2, 1, 100},
                                  .log_factor = {-1, -0.5, -3}};
    dpa__moments sum[3] = {{0}}, known[3] = {{0}};
    draw(&two, 1, x, DPA__BLOCK);
    for (size_t i = 0; i < DPA__BLOCK; ++i) {
        double term[3], total = 0;
        weight[i] = (double)(i % 4);
        for (size_t j = 0; j < 3; ++j) {
            const double z = (x[i] - t.mean[j]) * t.scale[j];
            total += term[j] = exp(t.log_factor[j] - 0.5 * z * z);
        }
        for (size_t j = 0; j < 3; ++j) {
            const double r = weight[i] * term[j] / total, d = x[i] - t.centre;
            known[j].weight += r;
            known[j].first += r * d;
            known[j].second += r * d * d;
        }
        likelihood += weight[i] * log(total);
    }
    assert_relative(dpa__mixture_block(&t, x, weight, sum), likelihood, 1e-13);
    for (size_t j = 0; j < 2; ++j) {
        assert_relative(sum[j].weight, known[j].weight, 1e-13);
        assert_absolute(sum[j].first, known[j].first, 1e-12);
        assert_relative(sum[j].second, known[j].second, 1e-13);
    }
    assert_true(sum[2].weight < 1e-290);
}

static void likelihood_never_falls(void **state) {
    (void)state;
    enum { N = 3000, STEPS = 300 };
    static double x[N];
    double trace[STEPS];
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        draw(&two, seed, x, N);
        if (seed == 5) /* many equal points, so that the variance floor takes effect */
            for (size_t i = 0; i < N / 2; ++i) x[i] = 0.25;
        const dpa__weighted sample = {x, NULL, N, N};
        for (size_t k = 2; k <= DPA_MIXTURE_MAX; k += 6) {
            dpa_mixture m;
            assert_ok(dpa__mixture_start(&sample, k, seed, &m, NULL));
            assert_ok(dpa__mixture_em(&sample, &m, STEPS, trace, NULL, NULL));
            assert_true(m.iterations > 1);
            for (unsigned i = 1; i < m.iterations; ++i)
                assert_true(trace[i] >= trace[i - 1] - 1e-10 * fabs(trace[i]));
        }
    }
}

/* The likelihood is the sum of log densities, and at the fit its derivative with respect to every
 * mean is zero. */
static void fit_is_stationary(void **state) {
    (void)state;
    enum { N = 20000 };
    static double x[N];
    dpa_mixture_opts opts;
    dpa_mixture m;
    draw(&two, 9, x, N);
    dpa__mixture_opts_init(&opts);
    assert_ok(dpa__mixture_fit(x, N, &opts, &m, NULL));
    assert_int_equal(m.count, 2); /* BIC finds the number that made the data */
    assert_true(m.converged);
    for (size_t j = 0; j < 2; ++j) {
        assert_absolute(m.weight[j], two.weight[j], 0.02);
        assert_absolute(m.mean[j], two.mean[j], 0.05);
        assert_absolute(m.deviation[j], two.deviation[j], 0.05);
    }
    double sum = 0.0, slope[2] = {0, 0};
    for (size_t i = 0; i < N; ++i) {
        const double log_pdf = dpa__mixture_log_pdf(&m, x[i]);
        sum += log_pdf;
        for (size_t j = 0; j < 2; ++j) {
            const double z = (x[i] - m.mean[j]) / m.deviation[j];
            slope[j] +=
                exp(log(m.weight[j]) - log(m.deviation[j]) + dpa__norm_log_pdf(z) - log_pdf) * z;
        }
    }
    assert_relative(sum, m.log_likelihood, 1e-11);
    assert_relative(m.bic, -2.0 * sum + 5.0 * log(N), 1e-11);
    for (int j = 0; j < 2; ++j) assert_absolute(slope[j] / N, 0.0, 1e-3);
}

/* A weight of two equals having the point twice. */
static void weights_are_repetitions(void **state) {
    (void)state;
    enum { N = 500 };
    static double x[N], twice[2 * N];
    static uint32_t weight[N];
    draw(&two, 11, x, N);
    size_t n = 0;
    for (size_t i = 0; i < N; ++i) {
        weight[i] = (uint32_t)(i % 3);
        for (uint32_t r = 0; r < weight[i]; ++r) twice[n++] = x[i];
    }
    const dpa__weighted a = {x, weight, N, (double)n}, b = {twice, NULL, n, (double)n};
    dpa_mixture p = two, q = two;
    assert_ok(dpa__mixture_em(&a, &p, 20, NULL, NULL, NULL));
    assert_ok(dpa__mixture_em(&b, &q, 20, NULL, NULL, NULL));
    for (size_t j = 0; j < 2; ++j) assert_relative(p.mean[j], q.mean[j], 1e-12);
    assert_relative(p.log_likelihood, q.log_likelihood, 1e-12);
}

static void same_seed_same_fit(void **state) {
    (void)state;
    enum { N = 1000 };
    static double x[N];
    dpa_mixture_opts opts;
    dpa_mixture a, b;
    draw(&two, 12, x, N);
    dpa__mixture_opts_init(&opts);
    opts.components = 7;
    assert_ok(dpa__mixture_fit(x, N, &opts, &a, NULL));
    assert_ok(dpa__mixture_fit(x, N, &opts, &b, NULL));
    assert_true(dpa__mixture_equal(&a, &b));
    for (size_t j = 1; j < a.count; ++j) assert_true(a.mean[j - 1] <= a.mean[j]);
}

/* k-means++: the first centre is any point, the next one drawn by squared distance. Of the points
 * 0, 2 and 3.9, the start ends with {0, 2} together if and only if it drew 2 and 3.9. */
static void starts_by_squared_distance(void **state) {
    (void)state;
    enum { SEEDS = 4000 };
    const double value[] = {0, 2, 3.9};
    const uint32_t weight[2][3] = {{1, 1, 1}, {3, 1, 2}};
    for (size_t w = 0; w < 2; ++w) {
        const double n[] = {weight[w][0], weight[w][1], weight[w][2]};
        const double total = n[0] + n[1] + n[2];
        const dpa__weighted sample = {value, w == 0 ? NULL : weight[w], 3, total};
        const double from_2 = n[2] * 1.9 * 1.9 / (n[0] * 2 * 2 + n[2] * 1.9 * 1.9);
        const double from_3_9 = n[1] * 1.9 * 1.9 / (n[0] * 3.9 * 3.9 + n[1] * 1.9 * 1.9);
        const double expected = (n[1] * from_2 + n[2] * from_3_9) / total;
        size_t together = 0;
        for (uint64_t seed = 0; seed < SEEDS; ++seed) {
            dpa_mixture m;
            assert_ok(dpa__mixture_start(&sample, 2, seed, &m, NULL));
            assert_int_equal(m.count, 2);
            const double high = fmax(m.mean[0], m.mean[1]), low = fmin(m.mean[0], m.mean[1]);
            const int first = low > 0.1; /* {0, 2} and 3.9, or 0 and {2, 3.9} */
            const double upper = (2 * n[1] + 3.9 * n[2]) / (n[1] + n[2]);
            assert_absolute(low, first ? 2 * n[1] / (n[0] + n[1]) : 0, 1e-12);
            assert_absolute(high, first ? 3.9 : upper, 1e-12);
            const size_t top = m.mean[1] > m.mean[0];
            assert_relative(m.weight[top], ((first ? 0 : n[1]) + n[2] + 1) / (total + 2), 1e-12);
            together += (size_t)first;
        }
        assert_absolute((double)together / SEEDS, expected,
                        4 * sqrt(expected * (1 - expected) / SEEDS));
    }
}

static void few_points(void **state) {
    (void)state;
    const double equal[] = {1, 1, 1}, pair[] = {0, 1, 0, 1, 1};
    dpa_mixture_opts opts;
    dpa_mixture m;
    dpa__mixture_opts_init(&opts);
    assert_int_equal(dpa__mixture_fit(equal, 3, &opts, &m, NULL), DPA_BAD_INPUT);
    assert_int_equal(dpa__mixture_fit(equal, 0, &opts, &m, NULL), DPA_BAD_INPUT);
    opts.components = 5; /* two distinct points: two components */
    assert_ok(dpa__mixture_fit(pair, 5, &opts, &m, NULL));
    assert_int_equal(m.count, 2);
    assert_true(isfinite(m.log_likelihood) && m.deviation[0] > 0.0);
    opts.components = 21;
    assert_int_equal(dpa__mixture_fit(pair, 5, &opts, &m, NULL), DPA_BAD_ARGUMENT);
}

/* ε over all events: one component each is the closed form; more, by mpmath with 30 digits. */
static void all_events(void **state) {
    (void)state;
    static const double row[][5] = {{1, 1, 0, 1, 1e-5},      {0, 1, 0, 1.3, 1e-5},
                                    {-0.7, 0.9, 0, 1, 1e-6}, {0.1, 1, 0, 1, 1e-3},
                                    {5, 1, 0, 1.1, 1e-9},    {0.5, 1, 0, 1, 1e-300}};
    dpa_loss_fit fit = {.low = 0, .high = 1};
    double epsilon, error;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; ++i) {
        fit.train = (dpa_mixture){1, {1}, {row[i][0]}, {row[i][1]}, 0, 0, 0, 1};
        fit.heldout = (dpa_mixture){1, {1}, {row[i][2]}, {row[i][3]}, 0, 0, 0, 1};
        assert_ok(dpa__mixture_epsilon(&fit, row[i][4], &epsilon, &error, NULL));
        assert_relative(
            epsilon,
            dpa__two_gaussians_epsilon(row[i][0], row[i][1], row[i][2], row[i][3], row[i][4]),
            1e-9);
        assert_true(error < 1e-6);
    }
    fit.train = (dpa_mixture){2, {0.3, 0.7}, {0, 2}, {1, 0.5}, 0, 0, 0, 1};
    fit.heldout = (dpa_mixture){2, {0.5, 0.5}, {0.5, 2.5}, {1, 0.7}, 0, 0, 0, 1};
    assert_ok(dpa__fit_epsilon(&fit, 1e-5, &epsilon, &error, NULL));
    assert_absolute(epsilon, 6.9264449218688, 1e-9);
    assert_true(error < 1e-8);
    dpa_star star;
    assert_ok(dpa__star_fitted(&fit, 1e-5, &star, NULL));
    assert_true(star.epsilon <= epsilon);
    fit.train = (dpa_mixture){1, {1}, {0}, {1}, 0, 0, 0, 1};
    fit.heldout = (dpa_mixture){2, {0.9, 0.1}, {0, 3}, {1, 0.3}, 0, 0, 0, 1};
    assert_ok(dpa__fit_epsilon(&fit, 1e-3, &epsilon, &error, NULL));
    assert_absolute(epsilon, 3.7900646698391, 1e-9);
    /* δ = 0: with the same widest component there is no simple answer; with different ones no
     * bound */
    assert_ok(dpa__fit_epsilon(&fit, 0.0, &epsilon, &error, NULL));
    assert_true(isnan(epsilon));
    fit.heldout.deviation[0] = 1.5;
    assert_ok(dpa__fit_epsilon(&fit, 0.0, &epsilon, &error, NULL));
    assert_true(epsilon == HUGE_VAL);
}

/* The supremum over thresholds of mixtures: a scan, as for normals. */
static void mixture_supremum(void **state) {
    (void)state;
    enum { STEPS = 400000 };
    const double delta = 1e-4;
    const dpa_loss_fit fit = {0,
                              1,
                              {3, {0.2, 0.3, 0.5}, {-3, 0, 1}, {0.2, 1, 2}, 0, 0, 0, 1},
                              {3, {0.25, 0.25, 0.5}, {-2.8, 0, 1}, {0.25, 1.5, 1.8}, 0, 0, 0, 1}};
    double best = 1.0;
    for (int i = 0; i <= STEPS; ++i) {
        const double c = -9.0 + 19.0 * i / STEPS;
        const dpa__rates4 r = {dpa__mixture_upper(&fit.train, c), dpa__mixture_lower(&fit.train, c),
                               dpa__mixture_upper(&fit.heldout, c),
                               dpa__mixture_lower(&fit.heldout, c)};
        dpa_star_ratio which;
        if (!(r.fpr > delta && r.tnr > delta && r.tpr > delta && r.fnr > delta)) continue;
        best = fmax(best, dpa__star_ratio(&r, delta, &which));
    }
    dpa_star star;
    assert_ok(dpa__star_fitted(&fit, delta, &star, NULL));
    assert_true(star.epsilon >= log(best) - 1e-12);
    assert_absolute(star.epsilon, log(best), 2e-4); /* the optimum is at an end of the interval */
}

static void law(void **state) {
    (void)state;
    for (double x = -6; x <= 6; x += 0.5) {
        assert_relative(dpa__mixture_upper(&two, x) + dpa__mixture_lower(&two, x), 1.0, 1e-14);
        assert_relative(exp(dpa__mixture_log_interval(&two, x, x + 1e-4)),
                        1e-4 * exp(dpa__mixture_log_pdf(&two, x + 5e-5)), 1e-6);
    }
    static const double level[] = {1e-300, 1e-9, 0.01, 0.3, 0.5, 0.9, 1.0 - 1e-9};
    for (size_t i = 0; i < sizeof level / sizeof level[0]; ++i) {
        double x;
        assert_ok(dpa__mixture_upper_quantile(&two, level[i], &x, NULL));
        assert_relative(dpa__mixture_upper(&two, x), level[i], 1e-11);
    }
}

/* Exact p-values 2 Σ (−1)^(j−1) C(2n, n−jh)/C(2n, n) from integers (Python); the first rows agree
 * with scipy.stats.ks_2samp(method='exact'). */
static void kolmogorov_smirnov(void **state) {
    (void)state;
    static const struct {
        size_t n, h;
        double p;
    } row[] = {{5, 1, 1.0},
               {5, 3, 0.35714285714285715},
               {10, 5, 0.16782134274394336},
               {100, 10, 0.7020569828664881},
               {100, 20, 0.03638428787491733},
               {1000, 43, 0.3136800387320582},
               {1000, 61, 0.048397150791812456},
               {1000, 200, 6.613121661800439e-18},
               {300, 100, 3.7096528097393305e-15}};
    static double x[1000], y[1000];
    double statistic, p;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; ++i) {
        for (size_t j = 0; j < row[i].n; ++j) {
            x[j] = (double)(row[i].n - j); /* not sorted */
            y[j] = (double)j + (double)row[i].h + 0.5;
        }
        assert_ok(dpa__ks_two_sample(x, y, row[i].n, &statistic, &p, NULL));
        assert_relative(statistic, (double)row[i].h / (double)row[i].n, 1e-15);
        assert_relative(p, row[i].p, 1e-10);
    }
    for (size_t j = 0; j < 10; ++j) x[j] = y[j] = 3.0;
    assert_ok(dpa__ks_two_sample(x, y, 10, &statistic, &p, NULL));
    assert_true(statistic == 0.0 && p == 1.0);
    assert_int_equal(dpa__ks_two_sample(x, y, 0, &statistic, &p, NULL), DPA_BAD_ARGUMENT);
}

/* A sample of the fitted mixture is not rejected; one component for two distant modes is. */
static void goodness(void **state) {
    (void)state;
    enum { N = 4000 };
    static double x[N], y[N];
    const size_t sizes[] = {100, 1000};
    dpa_goodness row[2];
    dpa_losses l;
    const dpa_mixture apart = {2, {0.5, 0.5}, {-6, 1}, {0.5, 1}, 0, 0, 0, 1};
    draw(&apart, 21, x, N);
    draw(&apart, 22, y, N);
    assert_ok(dpa__losses_new(x, N, y, N, &l, NULL));
    for (int side = 0; side < 2; ++side) {
        assert_ok(dpa__losses_goodness(&l, side, 4, 1, sizes, 2, row, NULL));
        assert_true(row[1].p_value > 0.01 && row[1].samples == 1000 && row[1].heldout == side);
        assert_ok(dpa__losses_goodness(&l, side, 1, 1, sizes, 2, row, NULL));
        assert_true(row[1].p_value < 1e-6);
    }
    const size_t many[] = {2001}, down[] = {200, 100};
    assert_int_equal(dpa__losses_goodness(&l, 0, 1, 1, many, 1, row, NULL), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__losses_goodness(&l, 0, 1, 1, down, 2, row, NULL), DPA_BAD_ARGUMENT);
    dpa__losses_free(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_functions),
        cmocka_unit_test(block_is_the_sum),
        cmocka_unit_test(likelihood_never_falls),
        cmocka_unit_test(fit_is_stationary),
        cmocka_unit_test(weights_are_repetitions),
        cmocka_unit_test(same_seed_same_fit),
        cmocka_unit_test(starts_by_squared_distance),
        cmocka_unit_test(few_points),
        cmocka_unit_test(all_events),
        cmocka_unit_test(mixture_supremum),
        cmocka_unit_test(law),
        cmocka_unit_test(kolmogorov_smirnov),
        cmocka_unit_test(goodness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
