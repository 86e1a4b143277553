/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fisher's test of failures by arm: against tables from R and scipy, against full enumeration with
 * lgamma, at the extremes; and failing slots against failing mechanisms. */
#include "check.h"

#include "base/rng.h"
#include "estimate/failures.h"
#include "run/health.h"

static double test(uint64_t fa, uint64_t a, uint64_t fb, uint64_t b) {
    const dpa__failure_counts counts = {fa, a, fb, b};
    return dpa__failures_test(&counts);
}

static double log_choose(double n, double k) {
    return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0);
}

/* The definition, with logarithms of factorials. */
static double enumerate(uint64_t fa, uint64_t a, uint64_t fb, uint64_t b) {
    const uint64_t k = fa + fb;
    const double all = log_choose((double)(a + b), (double)k);
    const double seen = log_choose((double)a, (double)fa) + log_choose((double)b, (double)fb) - all;
    double sum = 0.0;
    for (uint64_t x = 0; x <= a && x <= k; ++x) {
        if (k - x > b) continue;
        const double p =
            log_choose((double)a, (double)x) + log_choose((double)b, (double)(k - x)) - all;
        if (p <= seen + 1e-7) sum += exp(p);
    }
    return fmin(sum, 1.0);
}

static void known(void **state) {
    (void)state;
    /* Fisher's tea tasting: R, fisher.test(matrix(c(3,1,1,3),2)), p-value = 0.4857 = 34/70. */
    assert_relative(test(3, 4, 1, 4), 34.0 / 70.0, 1e-14);
    /* 2*1/choose(8, 4) */
    assert_relative(test(4, 4, 0, 4), 2.0 / 70.0, 1e-14);
    /* All on one side of unequal arms: only that split is as unlikely, 1/choose(6, 2) = 1/15. */
    assert_relative(test(0, 4, 2, 2), 1.0 / 15.0, 1e-14);
    assert_relative(test(1, 10, 0, 90), 0.1, 1e-14);
}

static void extremes(void **state) {
    (void)state;
    assert_true(test(0, 0, 0, 0) == 1.0);
    assert_true(test(0, 50, 0, 50) == 1.0);
    assert_true(test(50, 50, 50, 50) == 1.0);
    assert_true(test(3, 50, 0, 0) == 1.0);
    assert_true(isnan(test(3, 2, 0, 5)));
    assert_relative(test(500, 1000, 500, 1000), 1.0, 1e-12);
    /* So unlikely that it underflows to 0. */
    assert_true(test(100000, 100000, 0, 100000) == 0.0);
    assert_relative(test(1000, 1000, 990, 1000), enumerate(1000, 1000, 990, 1000), 1e-9);
}

static void enumeration(void **state) {
    (void)state;
    for (uint64_t a = 1; a <= 14; ++a)
        for (uint64_t b = 1; b <= 14; b += 2)
            for (uint64_t fa = 0; fa <= a; ++fa)
                for (uint64_t fb = 0; fb <= b; ++fb) {
                    assert_relative(test(fa, a, fb, b), enumerate(fa, a, fb, b), 1e-9);
                    assert_relative(test(fa, a, fb, b), test(fb, b, fa, a), 1e-12);
                    /* exchanging successes and failures changes nothing */
                    assert_relative(test(fa, a, fb, b), test(a - fa, a, b - fb, b), 1e-12);
                }
    assert_relative(test(5437, 10000, 5200, 10000), enumerate(5437, 10000, 5200, 10000), 1e-7);
}

/* At most 5% of tables are below 0.05 when failing does not depend on the arm. */
static void level(void **state) {
    (void)state;
    enum { TIMES = 20000 };
    int below = 0;
    dpa_rng rng;
    dpa__rng_init(&rng, 1, DPA_PURPOSE_TEST, 0);
    for (int i = 0; i < TIMES; ++i) {
        uint64_t failed[2] = {0, 0};
        for (int j = 0; j < 200; ++j) failed[j % 2] += dpa__rng_uniform(&rng) < 0.37;
        below += test(failed[0], 100, failed[1], 100) <= 0.05;
    }
    assert_between((double)below / TIMES, 0.02, 0.05 + 4 * sqrt(0.05 * 0.95 / TIMES));
}

/* ---- Slots ---- */

static dpa_error err;

/* For a mechanism that fails with this probability on every slot, counts the slots quarantined in
 * `trials`. */
static int taken_out(double rate, int slots, int trials, uint64_t seed) {
    dpa__health *h = NULL;
    dpa_rng rng;
    int found = 0;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_TEST, 1);
    assert_ok(dpa__health_new((size_t)slots, &h, &err));
    for (int i = 0; i < trials; ++i) {
        const int fails = dpa__rng_uniform(&rng) < rate;
        found += dpa__health_note(h, (size_t)(i % slots), (uint64_t)i,
                                  fails ? DPA__END_TRAINER : DPA__END_PLAYED, 0.0);
    }
    free(h);
    return found;
}

static void mechanisms_stay(void **state) {
    (void)state;
    static const double rates[] = {0.0, 0.01, 0.37, 0.9, 1.0};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; ++i)
        for (int slots = 1; slots <= 8; slots *= 2)
            assert_int_equal(taken_out(rates[i], slots, 20000, i), 0);
}

/* Slot 1 of 4 fails everything and always ends first; the others fail sometimes. */
static void broken_slot_goes(void **state) {
    (void)state;
    for (int good = 0; good < 2; ++good) {
        dpa__health *h = NULL;
        const uint64_t *trials;
        int failed = 0, gone = 0;
        assert_ok(dpa__health_new(4, &h, &err));
        for (uint64_t i = 0; i < 400 && !gone; ++i) {
            /* it may not run ahead of the others for ever */
            if (dpa__health_may_start(h, 1, 1, 1.0)) {
                ++failed;
                gone = dpa__health_note(h, 1, 1000 + i, DPA__END_TRAINER, 0.0);
            } else {
                assert_true(failed >= 3);
            }
            if (!gone && i > 50)
                (void)dpa__health_note(h, 2 * (i % 2), i,
                                       good && i % 3 == 0 ? DPA__END_TRAINER : DPA__END_PLAYED,
                                       0.0);
        }
        assert_true(gone);
        assert_in_range(failed, 5, good ? 60 : 20);
        assert_int_equal(dpa__health_row(h, 1, &trials), failed);
        assert_int_equal(trials[0], 1000);
        dpa__health_quarantine(h, 1);
        assert_int_equal(dpa__health_row(h, 1, &trials), 0);
        free(h);
    }
}

static void machines(void **state) {
    (void)state;
    dpa__health *h = NULL;
    assert_ok(dpa__health_new(2, &h, &err));
    assert_int_equal(dpa__health_note(h, 0, 0, DPA__END_MACHINE, 10.0), 0);
    assert_true(dpa__health_may_start(h, 0, 1, 10.0));
    assert_int_equal(dpa__health_note(h, 0, 1, DPA__END_MACHINE, 10.0), 0);
    assert_false(dpa__health_may_start(h, 0, 1, 10.0)); /* a pause */
    assert_true(dpa__health_may_start(h, 0, 1, 50.0));
    assert_int_equal(dpa__health_note(h, 0, 2, DPA__END_MACHINE, 50.0), 0);
    assert_int_equal(dpa__health_note(h, 0, 3, DPA__END_MACHINE, 60.0), 1);
    assert_int_equal(dpa__health_note(h, 1, 3, DPA__END_PLAYED, 60.0), 0);
    free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known),           cmocka_unit_test(extremes),
        cmocka_unit_test(enumeration),     cmocka_unit_test(level),
        cmocka_unit_test(mechanisms_stay), cmocka_unit_test(broken_slot_goes),
        cmocka_unit_test(machines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
