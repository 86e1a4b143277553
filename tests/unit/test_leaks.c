/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leaks of points against a slow recomputation, the promises of the selections, and the designs of
 * membership. */
#include "check.h"

#include "attack/attack.h"
#include "base/rng.h"

enum { MODELS = 40, POINTS = 30 };

/* Point p shifts by p/10 deviations if it is in; point 7 shifts far. Every model has half of the
 * points. */
static dpa_signals leaky(void) {
    dpa_signals s = {
        DPA_SIGNAL_LOGIT,        MODELS, POINTS, malloc(sizeof(double) * MODELS * POINTS),
        malloc(MODELS * POINTS), 1};
    dpa_rng rng;
    assert_true(s.signal != NULL && s.member != NULL);
    dpa__rng_init(&rng, 3, DPA_PURPOSE_TEST, 0);
    for (size_t m = 0; m < MODELS; ++m) {
        uint8_t *member = s.member + m * POINTS;
        dpa__membership_half(11, m, POINTS, member);
        for (size_t p = 0; p < POINTS; ++p) {
            const double moved = p == 7 ? 12.0 : 0.1 * (double)p;
            s.signal[m * POINTS + p] = dpa__rng_normal(&rng) + moved * member[p];
        }
    }
    return s;
}

/* Tries every threshold on every model, in order. */
static dpa_leak slow_leak(const double *score, const uint8_t *member, size_t count, size_t stride,
                          double delta) {
    dpa_leak leak = {.accuracy = 0.5};
    double sum[2] = {0, 0};
    for (size_t i = 0; i < count; ++i) {
        sum[member[i * stride]] += score[i * stride];
        leak.in += member[i * stride];
    }
    leak.out = count - leak.in;
    leak.gap = sum[1] / (double)leak.in - sum[0] / (double)leak.out;
    for (size_t t = 0; t < count; ++t) {
        const double threshold = score[t * stride];
        size_t fn = 0, fp = 0;
        for (size_t i = 0; i < count; ++i) {
            const int yes = score[i * stride] >= threshold;
            fn += member[i * stride] && !yes;
            fp += !member[i * stride] && yes;
        }
        if (fn == 0 && fp == leak.out) continue; /* all are called members */
        const double tpr = 1 - (double)fn / (double)leak.in;
        const double tnr = 1 - (double)fp / (double)leak.out;
        const double fnr = ((double)fn + 0.5) / ((double)leak.in + 1);
        const double fpr = ((double)fp + 0.5) / ((double)leak.out + 1);
        leak.accuracy = fmax(leak.accuracy, 0.5 * (tpr + tnr));
        leak.epsilon = fmax(leak.epsilon, log((1 - delta - fpr) / fnr));
        leak.epsilon = fmax(leak.epsilon, log((1 - delta - fnr) / fpr));
    }
    return leak;
}

/* The roles say which models were tested: each is attacked by itself, with all other tested models
 * left out of the fit. */
static void one_split_against_brute_force(void **state) {
    (void)state;
    dpa_signals s = leaky();
    dpa_leak leaks[POINTS];
    dpa_model_role roles[MODELS];
    dpa_leak_opts opts;
    static double score[MODELS * POINTS];
    static uint8_t member[MODELS * POINTS];
    size_t tested[MODELS], tests = 0;
    dpa__leak_opts_init(&opts);
    opts.how.variance = DPA_VARIANCE_POINT;
    opts.delta = 0.01;
    assert_ok(dpa__leaks_measure(&s, &opts, leaks, roles, NULL));
    for (size_t m = 0; m < MODELS; ++m)
        if (roles[m] == DPA_ROLE_TEST) tested[tests++] = m;
    assert_int_equal(tests, 8); /* 20 % of 40 */
    for (size_t i = 0; i < tests; ++i) {
        dpa_attack_opts alone = opts.how;
        alone.target = tested[i];
        alone.exclude = tested;
        alone.exclude_count = tests;
        assert_ok(dpa__attack_run(DPA_ATTACK_LIRA, &s, &alone, score + i * POINTS, NULL));
        memcpy(member + i * POINTS, s.member + tested[i] * POINTS, POINTS);
    }
    for (size_t p = 0; p < POINTS; ++p) {
        const dpa_leak want = slow_leak(score + p, member + p, tests, POINTS, opts.delta);
        assert_int_equal(leaks[p].point, p);
        assert_int_equal(leaks[p].in, want.in);
        assert_int_equal(leaks[p].out, want.out);
        assert_relative(leaks[p].accuracy, want.accuracy, 1e-13);
        assert_relative(leaks[p].epsilon, want.epsilon, 1e-13);
        assert_relative(leaks[p].gap, want.gap, 1e-9);
    }
    dpa__signals_free(&s);
}

/* The share of models that test is rounded; one model at least tests, and one is fitted to. */
static void shares_of_test_models(void **state) {
    (void)state;
    static const struct {
        double share;
        size_t tests;
    } known[] = {{0.001, 1}, {0.26, 10}, {0.5, 20}, {0.97, 39}, {0.999, 39}};
    dpa_signals s = leaky();
    for (size_t k = 0; k < sizeof known / sizeof *known; ++k) {
        dpa_leak leaks[POINTS];
        dpa_model_role roles[MODELS];
        dpa_leak_opts opts;
        size_t tests = 0;
        dpa__leak_opts_init(&opts);
        opts.attack = DPA_ATTACK_LOSS; /* needs no fit */
        opts.test_share = known[k].share;
        assert_ok(dpa__leaks_measure(&s, &opts, leaks, roles, NULL));
        for (size_t m = 0; m < MODELS; ++m) tests += roles[m] == DPA_ROLE_TEST;
        assert_int_equal(tests, known[k].tests);
    }
    dpa__signals_free(&s);
}

static void every_model_is_tested_once(void **state) {
    (void)state;
    dpa_signals s = leaky();
    dpa_leak leaks[POINTS];
    dpa_model_role roles[MODELS];
    dpa_leak_opts opts;
    static const size_t kept[] = {3, 39};
    dpa__leak_opts_init(&opts);
    opts.every_model = 1;
    opts.how.exclude = kept;
    opts.how.exclude_count = 2;
    assert_ok(dpa__leaks_measure(&s, &opts, leaks, roles, NULL));
    for (size_t m = 0; m < MODELS; ++m)
        assert_int_equal(roles[m], m == 3 || m == 39 ? DPA_ROLE_KEPT : DPA_ROLE_TEST);
    for (size_t p = 0; p < POINTS; ++p) {
        size_t in = 0;
        for (size_t m = 0; m < MODELS; ++m) in += m != 3 && m != 39 ? s.member[m * POINTS + p] : 0U;
        assert_int_equal(leaks[p].in, in);
        assert_int_equal(leaks[p].in + leaks[p].out, MODELS - 2);
    }
    assert_true(leaks[7].accuracy == 1.0 && leaks[0].accuracy < 0.8);
    dpa__signals_free(&s);
}

/* Models kept for the audit may contain anything: the selection must not look at them. */
static void kept_models_are_not_seen(void **state) {
    (void)state;
    dpa_signals s = leaky();
    dpa_leak before[POINTS], after[POINTS];
    dpa_leak_opts opts;
    static const size_t kept[] = {0, 5, 17};
    dpa__leak_opts_init(&opts);
    opts.how.exclude = kept;
    opts.how.exclude_count = 3;
    assert_ok(dpa__leaks_measure(&s, &opts, before, NULL, NULL));
    for (size_t i = 0; i < 3; ++i)
        for (size_t p = 0; p < POINTS; ++p) {
            s.signal[kept[i] * POINTS + p] = (double)NAN;
            s.member[kept[i] * POINTS + p] ^= 1;
        }
    assert_ok(dpa__leaks_measure(&s, &opts, after, NULL, NULL));
    assert_memory_equal(before, after, sizeof before);
    dpa__signals_free(&s);
}

static void selections(void **state) {
    (void)state;
    /* weights 0.9, 0.6, 0.9, NaN, 0.7, 0.6; mean 0.74 */
    const dpa_leak leaks[] = {
        {0, 4, 4, 0.9, 1.0, 2.0}, {1, 4, 4, 0.6, 0.5, 1.0},
        {2, 4, 4, 0.9, 2.0, 3.0}, {3, 8, 0, (double)NAN, (double)NAN, (double)NAN},
        {4, 4, 4, 0.7, 0.5, 1.0}, {5, 4, 4, 0.6, 0.5, 1.0}};
    size_t got[6];
    dpa_error err = {0};
    const dpa_weight accuracy = DPA_WEIGHT_ACCURACY;
    assert_ok(dpa__challenges_select(leaks, 6, DPA_CHALLENGE_WORST, accuracy, 1, got, 5, NULL));
    const size_t worst[] = {2, 0, 4, 1, 5};
    assert_memory_equal(got, worst, sizeof worst);
    assert_ok(
        dpa__challenges_select(leaks, 6, DPA_CHALLENGE_WORST, DPA_WEIGHT_EPSILON, 1, got, 5, NULL));
    const size_t epsilon[] = {2, 0, 1, 4, 5};
    assert_memory_equal(got, epsilon, sizeof epsilon);
    assert_ok(dpa__challenges_select(leaks, 6, DPA_CHALLENGE_AVERAGE, accuracy, 1, got, 3, NULL));
    assert_true(got[0] == 4 && got[1] == 1 && got[2] == 5);
    assert_int_equal(
        dpa__challenges_select(leaks, 6, DPA_CHALLENGE_WORST, accuracy, 1, got, 6, &err),
        DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "only 5"));
    assert_int_equal(
        dpa__challenges_select(leaks, 6, DPA_CHALLENGE_RANDOM, accuracy, 1, got, 7, &err),
        DPA_BAD_ARGUMENT);
    assert_int_equal(
        dpa__challenges_select(leaks, 6, DPA_CHALLENGE_RANDOM, accuracy, 1, got, 0, &err),
        DPA_BAD_ARGUMENT);
}

/* Random challenges: every point equally often, whatever its weight. */
static void random_challenges_are_uniform(void **state) {
    (void)state;
    dpa_leak leaks[5] = {{0}};
    unsigned count[5] = {0};
    for (size_t p = 0; p < 5; ++p) leaks[p] = (dpa_leak){.point = p, .accuracy = (double)p};
    for (uint64_t seed = 0; seed < 5000; ++seed) {
        size_t got[2];
        assert_ok(dpa__challenges_select(leaks, 5, DPA_CHALLENGE_RANDOM, DPA_WEIGHT_ACCURACY, seed,
                                         got, 2, NULL));
        assert_true(got[0] != got[1]);
        count[got[0]]++;
        count[got[1]]++;
    }
    for (size_t p = 0; p < 5; ++p) assert_true(count[p] > 1850 && count[p] < 2150);
}

static void designs(void **state) {
    (void)state;
    enum { N = 31, RUNS = 4000 };
    uint8_t member[N], again[N];
    unsigned in[N] = {0}, together = 0, coins = 0, same = 0;
    for (uint64_t m = 0; m < RUNS; ++m) {
        size_t size = 0;
        dpa__membership_half(4, m, N, member);
        dpa__membership_half(4, m, N, again);
        assert_memory_equal(member, again, sizeof member);
        for (size_t p = 0; p < N; ++p) {
            in[p] += member[p];
            size += member[p];
        }
        assert_int_equal(size, N / 2);
        together += member[0] & member[30];
        const int coin = dpa__membership_leave_one_out(4, m, N, 12, member);
        assert_int_equal(member[12], coin);
        for (size_t p = 0; p < N; ++p) assert_true(p == 12 || member[p] == 1);
        coins += (unsigned)coin;
        dpa_rng halves; /* whose stream the coins have nothing to do with */
        dpa__rng_init(&halves, 4, DPA_PURPOSE_MEMBERSHIP, m);
        same += (dpa__rng_u32(&halves) & 1U) == (unsigned)coin;
    }
    /* 15/31 of 4000 within five deviations of 32; pairs 15·14/(31·30) of 4000, deviation 27 */
    for (size_t p = 0; p < N; ++p) assert_true(fabs(in[p] - RUNS * 15 / 31.0) < 160);
    assert_true(fabs(together - RUNS * 15 * 14 / 930.0) < 135);
    assert_true(fabs(coins - RUNS / 2.0) < 160);
    assert_true(fabs(same - RUNS / 2.0) < 160);
    dpa__membership_half(5, 0, N, again);
    dpa__membership_half(4, 0, N, member);
    assert_memory_not_equal(member, again, sizeof member);
}

static void refusals(void **state) {
    (void)state;
    dpa_signals s = leaky();
    dpa_leak leaks[POINTS];
    dpa_error err = {0};
    dpa_leak_opts opts;
    size_t all[MODELS];
    for (size_t m = 0; m < MODELS; ++m) all[m] = m;
    dpa__leak_opts_init(&opts);
    for (int missing = 0; missing < 3; ++missing) {
        dpa_signals part = s;
        if (missing == 0) part.models = 0;
        if (missing == 1) part.points = 0;
        if (missing == 2) part.member = NULL;
        assert_int_equal(dpa__leaks_measure(&part, &opts, leaks, NULL, &err), DPA_BAD_ARGUMENT);
        assert_non_null(strstr(err.text, "signals with membership are needed"));
    }
    opts.test_share = 0.0;
    assert_int_equal(dpa__leaks_measure(&s, &opts, leaks, NULL, &err), DPA_BAD_ARGUMENT);
    opts.test_share = 0.5;
    opts.delta = 1.0;
    assert_int_equal(dpa__leaks_measure(&s, &opts, leaks, NULL, &err), DPA_BAD_ARGUMENT);
    opts.delta = 0.0;
    opts.how.exclude = all;
    opts.how.exclude_count = MODELS - 1;
    assert_int_equal(dpa__leaks_measure(&s, &opts, leaks, NULL, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "1 models are left"));
    all[0] = MODELS;
    assert_int_equal(dpa__leaks_measure(&s, &opts, leaks, NULL, &err), DPA_BAD_ARGUMENT);
    opts.how.exclude_count = 0;
    s.signal[4 * POINTS + 9] = (double)NAN;
    assert_int_equal(dpa__leaks_measure(&s, &opts, leaks, NULL, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "model 4, point 9"));
    dpa__signals_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_split_against_brute_force),
        cmocka_unit_test(shares_of_test_models),
        cmocka_unit_test(every_model_is_tested_once),
        cmocka_unit_test(kept_models_are_not_seen),
        cmocka_unit_test(selections),
        cmocka_unit_test(random_challenges_are_uniform),
        cmocka_unit_test(designs),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
