/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams: known answers of Philox4x32-10, independence of the order of use, shape of the laws. */
#include "check.h"

#include "base/rng.h"
#include "dpaudit/status.h"

/* Random123's published vector for a zero counter and a zero key. */
static void known_answer(void **state) {
    (void)state;
    static const uint32_t want[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    dpa_rng rng;
    dpa__rng_init(&rng, 0, DPA_PURPOSE_TEST, 0);
    for (int i = 0; i < 4; ++i) assert_int_equal(dpa__rng_u32(&rng), want[i]);
}

static void streams_differ(void **state) {
    (void)state;
    dpa_rng a, b, c;
    dpa__rng_init(&a, 7, DPA_PURPOSE_CANARY, 1);
    dpa__rng_init(&b, 7, DPA_PURPOSE_CANARY, 2);
    dpa__rng_init(&c, 7, DPA_PURPOSE_NOISE, 1);
    const uint64_t x = dpa__rng_u64(&a);
    assert_true(x != dpa__rng_u64(&b));
    assert_true(x != dpa__rng_u64(&c));
    dpa__rng_init(&a, 7, DPA_PURPOSE_CANARY, 1);
    assert_true(x == dpa__rng_u64(&a));
}

static void index_uses_all_bits(void **state) {
    (void)state;
    dpa_rng a, b;
    dpa__rng_init(&a, 1, DPA_PURPOSE_CANARY, 5);
    dpa__rng_init(&b, 1, DPA_PURPOSE_CANARY, 5 + (UINT64_C(1) << 55));
    assert_true(dpa__rng_u64(&a) != dpa__rng_u64(&b));
}

static void moments(void **state) {
    (void)state;
    enum { N = 1000000 };
    dpa_rng rng;
    dpa__rng_init(&rng, 42, DPA_PURPOSE_TEST, 3);
    double sum = 0, square = 0, fourth = 0, uniform = 0;
    for (int i = 0; i < N; ++i) {
        const double z = dpa__rng_normal(&rng);
        sum += z;
        square += z * z;
        fourth += z * z * z * z;
        const double u = dpa__rng_uniform(&rng);
        assert_true(u > 0 && u < 1);
        uniform += u;
    }
    /* five standard errors */
    assert_absolute(sum / N, 0.0, 5e-3);
    assert_absolute(square / N, 1.0, 5 * sqrt(2.0 / N));
    assert_absolute(fourth / N, 3.0, 5 * sqrt(96.0 / N));
    assert_absolute(uniform / N, 0.5, 5 * sqrt(1.0 / 12 / N));
}

/* The largest and the smallest word that can be drawn. */
static void uniform_is_open(void **state) {
    (void)state;
    dpa_rng rng;
    dpa__rng_init(&rng, 1, DPA_PURPOSE_TEST, 0);
    memset(rng.block, 0xff, sizeof rng.block);
    rng.used = 0;
    assert_true(dpa__rng_uniform(&rng) == 1.0 - 0x1p-53);
    memset(rng.block, 0, sizeof rng.block);
    rng.used = 0;
    assert_true(dpa__rng_uniform(&rng) == 0x1p-54);
}

static void below_is_uniform(void **state) {
    (void)state;
    dpa_rng rng;
    dpa__rng_init(&rng, 9, DPA_PURPOSE_TEST, 0);
    int seen[7] = {0};
    for (int i = 0; i < 70000; ++i) ++seen[dpa__rng_below(&rng, 7)];
    for (int i = 0; i < 7; ++i) assert_between(seen[i], 9500, 10500);
    assert_int_equal(dpa__rng_below(&rng, 1), 0);
}

/* Of 3·2^62 numbers a third is below 2^62; without draws that are made again it would be half. */
static void large_ranges_are_uniform(void **state) {
    (void)state;
    enum { DRAWS = 20000 };
    const uint64_t quarter = UINT64_C(1) << 62;
    dpa_rng rng;
    size_t third[3] = {0};
    dpa__rng_init(&rng, 3, DPA_PURPOSE_TEST, 5);
    for (int i = 0; i < DRAWS; ++i) {
        const uint64_t x = dpa__rng_below(&rng, 3 * quarter);
        assert_true(x < 3 * quarter);
        ++third[x / quarter];
    }
    for (size_t k = 0; k < 3; ++k) /* five deviations */
        assert_absolute((double)third[k], DRAWS / 3.0, 5 * sqrt(DRAWS * 2.0 / 9));
}

/* Normal numbers come in pairs from two uniform ones (Box and Muller). */
static void normals_are_pairs(void **state) {
    (void)state;
    dpa_rng rng, same;
    dpa__rng_init(&rng, 4, DPA_PURPOSE_TEST, 6);
    dpa__rng_init(&same, 4, DPA_PURPOSE_TEST, 6);
    for (int i = 0; i < 100; ++i) {
        const double radius = sqrt(-2 * log(dpa__rng_uniform(&same)));
        const double angle = 2 * M_PI * dpa__rng_uniform(&same);
        assert_absolute(dpa__rng_normal(&rng), radius * cos(angle), 1e-13);
        assert_absolute(dpa__rng_normal(&rng), radius * sin(angle), 1e-13);
    }
}

static void shuffle_is_a_permutation(void **state) {
    (void)state;
    size_t index[100];
    int seen[100] = {0};
    for (size_t i = 0; i < 100; ++i) index[i] = i;
    dpa_rng rng;
    dpa__rng_init(&rng, 9, DPA_PURPOSE_SPLIT, 0);
    dpa__rng_shuffle(&rng, index, 100);
    for (size_t i = 0; i < 100; ++i) ++seen[index[i]];
    for (size_t i = 0; i < 100; ++i) assert_int_equal(seen[i], 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answer),        cmocka_unit_test(streams_differ),
        cmocka_unit_test(index_uses_all_bits), cmocka_unit_test(moments),
        cmocka_unit_test(below_is_uniform),    cmocka_unit_test(large_ranges_are_uniform),
        cmocka_unit_test(normals_are_pairs),   cmocka_unit_test(shuffle_is_a_permutation),
        cmocka_unit_test(uniform_is_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
