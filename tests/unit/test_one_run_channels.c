/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run, independent channels: the theorem by enumeration, simulated trainings (data gradients,
 * momentum, only the end seen), the check of the noise. */
#include "check.h"

#include "base/rng.h"
#include "estimate/one_run/one_run.h"
#include "estimate/ranks/rank.h"
#include "estimate/ranks/scan.h"
#include "prepared.h"

static dpa_rng stream(uint64_t seed, uint64_t index) {
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_TEST, index);
    return rng;
}

/* ── the theorem ───────────────────────────────────────────────────────────────────────────── */

enum { M = 10 };

/* Mann–Whitney's U and the scan, for labels from the top (bit i: place i is a member). */
static void statistics(unsigned labels, double value[2]) {
    double in[M], out[M];
    size_t members = 0, others = 0;
    value[0] = value[1] = 0;
    for (int i = 0; i < M; ++i)
        if (labels >> i & 1)
            in[members++] = -i;
        else {
            value[0] += (double)members;
            out[others++] = -i;
        }
    if (members == 0 || others == 0) return;
    dpa__scan_looks looks;
    dpa__scan_null null;
    dpa__scan_counts counts;
    dpa_curve *curve;
    dpa_scores scores = prepared(in, members, out, others);
    assert_ok(dpa_curve_dp(0.2, 0.01, &curve, NULL));
    assert_ok(dpa__scan_looks_open(members, others, &looks, NULL));
    assert_ok(dpa__scan_null_open(&looks, curve, &null, NULL));
    assert_ok(dpa__scan_counts_new(&looks, &counts, NULL));
    dpa__scan_observe(&looks, &scores, 1, &counts);
    value[1] = dpa__scan_statistic(&null, &counts);
    dpa__scan_counts_free(&counts);
    dpa__scan_null_close(&null);
    dpa__scan_looks_close(&looks);
    dpa_curve_free(curve);
    dpa__scores_free(&scores);
}

static int falling(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static double chance(unsigned labels, const double *lambda) {
    double p = 1;
    for (int i = 0; i < M; ++i) p *= labels >> i & 1 ? lambda[i] : 1 - lambda[i];
    return p;
}

/* Pr[T ≥ c, n₁ members] in any order of the λ is at most that in sorted order, for every c and
 * n₁. */
static void test_theorem_by_enumeration(void **state) {
    enum { ALL = 1 << M };
    static double value[ALL][2];
    (void)state;
    for (unsigned labels = 0; labels < ALL; ++labels) statistics(labels, value[labels]);
    for (uint64_t random = 0; random < 12; ++random) {
        dpa_rng rng = stream(3, random);
        double any[M], sorted[M];
        for (int i = 0; i < M; ++i) any[i] = sorted[i] = dpa__rng_uniform(&rng);
        qsort(sorted, M, sizeof *sorted, falling);
        for (int s = 0; s < 2; ++s)
            for (int members = 1; members < M; ++members)
                for (int c = 1; c < 12; ++c) {
                    const double goal = s == 0 ? 2.2 * c : 0.3 * c;
                    double mixed = 0, best = 0;
                    for (unsigned labels = 0; labels < ALL; ++labels) {
                        if (__builtin_popcount(labels) != members || value[labels][s] < goal)
                            continue;
                        mixed += chance(labels, any);
                        best += chance(labels, sorted);
                    }
                    assert_true(mixed <= best + 1e-13);
                }
    }
}

/* ── trainings ─────────────────────────────────────────────────────────────────────────────── */

typedef struct training {
    int steps;
    double drift;    /* size of the data's gradients, which follow the weights */
    double momentum; /* 0: none */
    int is_subtracted;
} training;

/* One canary per coordinate, in every step; only the last model is seen. μ = √steps/σ. */
static dpa_scores play(const training *t, size_t m, double sigma, uint64_t index) {
    dpa_rng rng = stream(17, index);
    double *in = malloc(m * sizeof *in), *out = malloc(m * sizeof *out);
    size_t members = 0, others = 0;
    for (size_t i = 0; i < m; ++i) {
        const int b = dpa__rng_uniform(&rng) < 0.5;
        double weight = 0, speed = 0, known = 0, known_speed = 0;
        for (int s = 0; s < t->steps; ++s) {
            const double data = t->drift * sin(3 * weight + (double)i) + 0.2 * t->drift;
            speed = t->momentum * speed + b + sigma * dpa__rng_normal(&rng) + data;
            known_speed = t->momentum * known_speed + data;
            weight += speed;
            known += known_speed;
        }
        *(b ? &in[members++] : &out[others++]) = weight - (t->is_subtracted ? known : 0);
    }
    dpa_scores scores = prepared(in, members, out, others);
    free(in);
    free(out);
    return scores;
}

/* How often the true claim is refuted in 60 trainings: at 5%, 12 or more have probability 1e-4. */
static int refuted(const training *t, double sigma) {
    enum { TRAININGS = 60, CANARIES = 100 };
    dpa_curve *curve;
    int count = 0;
    assert_ok(dpa_curve_gaussian(sqrt(t->steps) / sigma, &curve, NULL));
    for (uint64_t i = 0; i < TRAININGS; ++i) {
        dpa_request request;
        double p;
        dpa_scores scores = play(t, CANARIES, sigma, i);
        dpa__request_init(&request);
        request.threads = 1;
        request.confidence = 0.5; /* fewer draws suffice for a p-value near 0.05 */
        assert_ok(dpa__scan_p_value(&scores, curve, &request, &p, NULL));
        count += p <= 0.05;
        dpa__scores_free(&scores);
    }
    dpa_curve_free(curve);
    return count;
}

static void test_trainings(void **state) {
    const training cases[] = {
        {1, 0, 0, 0}, {8, 2, 0, 0}, {8, 2, 0, 1}, {8, 1, 0.9, 0}, {8, 1, 0.9, 1}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c)
        assert_true(refuted(&cases[c], cases[c].steps == 1 ? 1 : 3) < 12);
}

static void test_bound(void **state) {
    const training one = {1, 0, 0, 0};
    dpa_scores scores = play(&one, 1000, 1, 0);
    dpa_request request;
    dpa_result result;
    (void)state;
    dpa__request_init(&request);
    assert_ok(dpa__one_run_channels(&scores, &request, &result, NULL));
    assert_between(result.epsilon_lower, 3, 4.5); /* truth 4.377; guesses show 2.4 */
    assert_true(result.assumptions & DPA_ASSUME_CHANNELS);
    assert_false(result.assumptions & DPA_ASSUME_INDEPENDENT_RUNS);
    (void)snprintf(request.family, sizeof request.family, "dp");
    assert_ok(dpa__one_run_channels(&scores, &request, &result, NULL));
    assert_string_equal(result.method, "scan");
    assert_between(result.epsilon_lower, 0.8, 3);
    dpa__scores_free(&scores);
}

/* ── the check ─────────────────────────────────────────────────────────────────────────────── */

static dpa_channels_check check_noise(uint64_t index, double common_scale, double shared) {
    enum { STEPS = 60, WIDTH = 80 };
    static double noise[STEPS * WIDTH];
    dpa_channels_check check;
    dpa_rng rng = stream(23, index);
    for (int t = 0; t < STEPS; ++t) {
        const double scale = exp(common_scale * dpa__rng_normal(&rng));
        const double same = shared * dpa__rng_normal(&rng);
        for (int i = 0; i < WIDTH; ++i)
            noise[t * WIDTH + i] = scale * (dpa__rng_normal(&rng) + same);
    }
    assert_ok(dpa__one_run_channels_check(noise, STEPS, WIDTH, &check, NULL));
    return check;
}

static void test_check(void **state) {
    int alarms = 0, low = 0;
    dpa_channels_check check;
    dpa_error err;
    const double few[4] = {1, 2, 3, 4};
    (void)state;
    for (uint64_t i = 0; i < 300; ++i) {
        check = check_noise(i, 0, 0);
        alarms += check.is_refuted;
        low += (check.correlation_p < 0.1) + (check.energy_p < 0.1);
    }
    assert_true(alarms <= 4);           /* 0.3 expected */
    assert_true(low > 25 && low < 110); /* 60 expected */
    for (uint64_t i = 0; i < 20; ++i) {
        check = check_noise(i, 0.5, 0);
        assert_true(check.is_refuted && check.energy_p < 1e-4);
        check = check_noise(i, 0, 0.5);
        assert_true(check.is_refuted && check.correlation_p < 1e-4);
    }
    assert_int_equal(dpa__one_run_channels_check(few, 2, 2, &check, &err), DPA_BAD_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_theorem_by_enumeration),
        cmocka_unit_test(test_trainings),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
