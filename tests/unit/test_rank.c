/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranks: the fast search against the definition of the p-value, monotone coupling, moments, ties,
 * invariance. */
#include "check.h"
#include "prepared.h"

#include "base/rng.h"
#include "estimate/ranks/rank.h"
#include "estimate/scores.h"
#include "math/dist.h"

static const char *const families[] = {"gaussian", "laplace", "subsampled-gaussian:q=0.3,steps=2"};

static dpa__model model_of(const char *family) {
    dpa__model model;
    assert_ok(dpa__model_open(family, 1e-5, &model, NULL));
    return dpa__model_directed(&model); /* ranks know which runs are without the record */
}

static void draw(uint64_t seed, double mu, double *in, size_t m, double *out, size_t n) {
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_TEST, 0);
    for (size_t i = 0; i < m; ++i) in[i] = mu + dpa__rng_normal(&rng);
    for (size_t j = 0; j < n; ++j) out[j] = dpa__rng_normal(&rng);
}

/* The p-value by definition: counts the statistics of all replicates at t, and takes the upper
 * 99.9% limit of their share. */
static double p_value(const dpa__model *model, const dpa__rank_draws *draws, const double *weights,
                      double observed, double t) {
    double scratch[64];
    dpa__member member;
    double reached = 0;
    assert_ok(dpa__member_open(model, t, &member, NULL));
    for (size_t b = 0; b < draws->replicates; ++b)
        reached +=
            dpa__rank_simulated(draws, b, &member, weights, scratch) >= observed * (1 - 1e-12);
    dpa__member_close(&member);
    return dpa__beta_quantile(0.001, reached + 1, (double)draws->replicates - reached, DPA_UPPER);
}

static void bound_is_the_inverted_p_value(void **state) {
    (void)state;
    double in[30], out[25], *weights;
    draw(3, 0.9, in, 30, out, 25); /* a sampled step cannot show much more */
    dpa_scores s = prepared(in, 30, out, 25);
    for (int f = 0; f < 3; ++f) {
        dpa__model model = model_of(families[f]);
        dpa_request request;
        dpa_result result;
        dpa__request_init(&request);
        assert_ok(dpa__rank_run("rank", &model, &s, &request, &result, NULL));
        assert_true(result.epsilon_lower > 0);
        const double sigma_or_t = result.parameter_lower;
        const double t = f == 2 ? 1 / sigma_or_t : sigma_or_t;
        dpa__rank_draws draws;
        assert_ok(dpa__rank_draw(&model, 30, 25, 19999, request.seed, &draws, NULL));
        assert_ok(dpa__rank_weights(DPA__RANK_AUC, &model, 0, 25, &weights, NULL));
        const double u = dpa__rank_statistic(&s, weights);
        assert_true(p_value(&model, &draws, weights, u, t * (1 - 1e-7)) <= 0.05);
        assert_true(p_value(&model, &draws, weights, u, t * (1 + 1e-7)) > 0.05);
        assert_true(p_value(&model, &draws, weights, u, 0.5 * t) <= 0.05);
        assert_true(p_value(&model, &draws, weights, u, 2 * t) > 0.05);
        free(weights);
        dpa__rank_draws_free(&draws);
        dpa__model_close(&model);
    }
    dpa__scores_free(&s);
}

static void statistics_grow_with_t(void **state) {
    (void)state;
    for (int f = 0; f < 3; ++f)
        for (int kind = 0; kind < 2; ++kind) {
            dpa__model model = model_of(families[f]);
            dpa__rank_draws draws;
            double *weights, scratch[15], last[50];
            assert_ok(dpa__rank_draw(&model, 12, 15, 50, 9, &draws, NULL));
            assert_ok(dpa__rank_weights((dpa__rank_score)kind, &model, 1, 15, &weights, NULL));
            for (int b = 0; b < 50; ++b) last[b] = -1e300;
            for (double t = 0; t < 4; t += 0.25) {
                dpa__member member;
                assert_ok(dpa__member_open(&model, t, &member, NULL));
                for (size_t b = 0; b < 50; ++b) {
                    const double now = dpa__rank_simulated(&draws, b, &member, weights, scratch);
                    assert_true(now >= last[b] - 1e-9);
                    last[b] = now;
                }
                dpa__member_close(&member);
            }
            free(weights);
            dpa__rank_draws_free(&draws);
            dpa__model_close(&model);
        }
}

/* Deciding by every k-th draw agrees with deciding by all, at values near the statistic and far
 * away, whether or not the stride divides the size. */
static void reaches_as_the_whole_does(void **state) {
    (void)state;
    static const size_t sizes[][2] = {{1, 1}, {1, 9}, {12, 15}, {300, 301}, {150, 400}};
    for (int f = 0; f < 3; ++f)
        for (int k = 0; k < 10; ++k) {
            const size_t m = sizes[k / 2][0], n = sizes[k / 2][1];
            dpa__model model = model_of(families[f]);
            dpa__rank_draws draws, whole;
            dpa__member member;
            double *weights, scratch[400];
            assert_ok(dpa__rank_draw(&model, m, n, 20, 9, &draws, NULL));
            assert_ok(dpa__rank_draw(&model, m, n, 20, 9, &whole, NULL));
            assert_ok(dpa__rank_weights((dpa__rank_score)(k % 2), &model, 1, n, &weights, NULL));
            assert_ok(dpa__member_open(&model, 0.7, &member, NULL));
            const double scale = (double)m * (weights[0] - weights[n]);
            for (size_t b = 0; b < 20; ++b) {
                const double t = dpa__rank_simulated(&whole, b, &member, weights, scratch);
                for (double away = 1e-12; away < 1; away *= 4) {
                    const double by = away * scale;
                    assert_true(!dpa__rank_reaches(&draws, b, &member, weights, t + by, scratch));
                    assert_true(dpa__rank_reaches(&draws, b, &member, weights, t - by, scratch));
                }
                assert_true(dpa__rank_reaches(&draws, b, &member, weights, t, scratch));
            }
            dpa__member_close(&member);
            free(weights);
            dpa__rank_draws_free(&draws);
            dpa__rank_draws_free(&whole);
            dpa__model_close(&model);
        }
}

/* The simulated law of U* has the mean and deviation given by the integrals. */
static void moments(void **state) {
    (void)state;
    enum { B = 20000, M = 9, N = 14 };
    for (int f = 0; f < 3; ++f)
        for (double t = 0; t < 2; t += 0.9) {
            dpa__model model = model_of(families[f]);
            dpa__rank_draws draws;
            dpa__member member;
            double *weights, scratch[N], sum = 0, squares = 0, mean, deviation;
            assert_ok(dpa__rank_draw(&model, M, N, B, 4, &draws, NULL));
            assert_ok(dpa__rank_weights(DPA__RANK_AUC, &model, 0, N, &weights, NULL));
            assert_ok(dpa__member_open(&model, t, &member, NULL));
            for (size_t b = 0; b < B; ++b) {
                const double u = dpa__rank_simulated(&draws, b, &member, weights, scratch);
                sum += u;
                squares += u * u;
            }
            assert_ok(dpa__rank_moments(&member, M, N, &mean, &deviation, NULL));
            const double m = sum / B, d = sqrt(squares / B - m * m);
            assert_absolute(m, mean, 5 * deviation / sqrt(B));
            assert_relative(d, deviation, 0.03);
            if (t == 0) assert_relative(mean, 0.5 * M * N, 1e-9);
            if (t == 0) assert_relative(deviation, sqrt(M * N * (M + N + 1) / 12.0), 1e-9);
            dpa__member_close(&member);
            free(weights);
            dpa__rank_draws_free(&draws);
            dpa__model_close(&model);
        }
}

static double run(const char *method, const dpa_scores *s) {
    dpa__model model = model_of("gaussian");
    dpa_request request;
    dpa_result result;
    dpa__request_init(&request);
    assert_ok(dpa__rank_run(method, &model, s, &request, &result, NULL));
    dpa__model_close(&model);
    return result.epsilon_lower;
}

static void ties_count_against(void **state) {
    (void)state;
    double in[80], out[80], *weights;
    const double a[] = {1, 2, 2, 3}, b[] = {0, 2, 2};
    dpa__model model = model_of("gaussian");
    dpa_scores s = prepared(a, 4, b, 3);
    assert_ok(dpa__rank_weights(DPA__RANK_AUC, &model, 0, 3, &weights, NULL));
    assert_true(dpa__rank_statistic(&s, weights) == 1 + 1 + 1 + 3);
    free(weights);
    dpa__scores_free(&s);
    /* rounding scores can only lose */
    draw(8, 1.5, in, 80, out, 80);
    s = prepared(in, 80, out, 80);
    const double fine = run("rank", &s);
    dpa__scores_free(&s);
    /* a monotone change of scale changes nothing */
    for (int i = 0; i < 80; ++i) in[i] = exp(3 * in[i]), out[i] = exp(3 * out[i]);
    s = prepared(in, 80, out, 80);
    assert_true(run("rank", &s) == fine);
    dpa__scores_free(&s);
    for (int i = 0; i < 80; ++i) in[i] = floor(log(in[i]) / 3), out[i] = floor(log(out[i]) / 3);
    s = prepared(in, 80, out, 80);
    assert_true(run("rank", &s) < fine);
    assert_true(run("rank:slope", &s) >= 0);
    dpa__scores_free(&s);
}

/* The p-value of a claim is 5% at the bound and less below it; the same with the normal law. */
static void claims(void **state) {
    (void)state;
    enum { SMALL = 500, LARGE = 12000 };
    double *in = malloc(2 * LARGE * sizeof *in), *out = in + LARGE;
    for (size_t n = SMALL; n <= LARGE; n += LARGE - SMALL) {
        draw(31, 1, in, n, out, n);
        dpa_scores s = prepared(in, n, out, n);
        dpa__model model = model_of("gaussian");
        dpa_request request;
        dpa_result result;
        dpa__request_init(&request);
        assert_ok(dpa__rank_run("rank", &model, &s, &request, &result, NULL));
        assert_true(result.p_value != result.p_value); /* no claim, no p-value */
        request.claim_epsilon = result.epsilon_lower;
        assert_ok(dpa__rank_run("rank", &model, &s, &request, &result, NULL));
        assert_absolute(result.p_value, 0.05, 0.001);
        request.claim_epsilon = 0.5 * result.epsilon_lower;
        assert_ok(dpa__rank_run("rank", &model, &s, &request, &result, NULL));
        assert_between(result.p_value, 0, 0.01);
        dpa__scores_free(&s);
        dpa__model_close(&model);
    }
    free(in);
}

/* The change from the simulated p-value to the normal law is smooth: compares the same scores and
 * one more. */
static void normal_law_is_close(void **state) {
    (void)state;
    enum { N = 999 };
    double *in = malloc(2 * (N + 1) * sizeof *in), *out = in + N + 1;
    draw(21, 1, in, N + 1, out, N + 1);
    dpa_scores s = prepared(in, N, out, N), more = prepared(in, N + 1, out, N + 1);
    const double simulated = run("rank", &s), normal = run("rank", &more);
    assert_absolute(normal, simulated, 0.1);
    assert_true(normal != simulated);
    dpa__scores_free(&s);
    dpa__scores_free(&more);
    free(in);
}

/* Its level where it takes over, by draws: at most 5%, and not nearly as low as half of it. */
static void normal_law_holds_its_level(void **state) {
    (void)state;
    enum { N = 1000, AUDITS = 4000 };
    static const struct {
        const char *family;
        double t;
    } rows[] = {{"gaussian", 0}, {"gaussian", 2}, {"laplace", 1}};
    double *weights, scratch[N];
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
        dpa__model model = model_of(rows[r].family);
        dpa__member member;
        dpa__rank_draws draws;
        double mean, deviation;
        size_t refuted = 0;
        assert_ok(dpa__member_open(&model, rows[r].t, &member, NULL));
        assert_ok(dpa__rank_moments(&member, N, N, &mean, &deviation, NULL));
        assert_ok(dpa__rank_weights(DPA__RANK_AUC, &model, 0, N, &weights, NULL));
        assert_ok(dpa__rank_draw(&model, N, N, AUDITS, 7, &draws, NULL));
        const double least =
            mean + 0.5 + deviation * dpa__norm_quantile(dpa__rank_normal_level(0.05), DPA_UPPER);
        for (size_t b = 0; b < AUDITS; ++b)
            refuted += dpa__rank_simulated(&draws, b, &member, weights, scratch) > least;
        /* three deviations of 4000 audits at 5% are 1% */
        const double level = (double)refuted / AUDITS;
        print_message("%s, t = %g: level %.2f%%\n", rows[r].family, rows[r].t, 100 * level);
        assert_between(level, 0.03, 0.06);
        dpa__rank_draws_free(&draws);
        free(weights);
        dpa__member_close(&member);
        dpa__model_close(&model);
    }
    assert_int_equal(dpa__rank_replicates(DPA__RANK_AUC, 0.05, N, N), 0);
    assert_true(dpa__rank_replicates(DPA__RANK_AUC, 0.05, N - 1, N) > 0);
    assert_true(dpa__rank_replicates(DPA__RANK_SLOPE, 0.05, N, N) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_is_the_inverted_p_value),
        cmocka_unit_test(statistics_grow_with_t),
        cmocka_unit_test(reaches_as_the_whole_does),
        cmocka_unit_test(moments),
        cmocka_unit_test(ties_count_against),
        cmocka_unit_test(normal_law_is_close),
        cmocka_unit_test(normal_law_holds_its_level),
        cmocka_unit_test(claims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
