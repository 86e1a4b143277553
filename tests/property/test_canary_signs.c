/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Are signs as good as directions on the sphere? Fair and independent coins, and cosines of absent
 * canaries that Anderson and Darling cannot tell from N(0, 1/d) for d = 10⁴ to 10⁶. Seeds are
 * fixed; unless stated otherwise, a correct generator exceeds each limit with probability of about
 * one in a million. */
#include "canaries.h"

#include "base/rng.h"
#include "estimate/cosines/cosine.h"
#include "evidence/canary.h"

enum { CANARIES = 64, CHUNKS = 500 };

static double fraction(uint64_t ones, double coins) {
    return ((double)ones - 0.5 * coins) / (0.5 * sqrt(coins));
}

/* 65 million coins: counts heads, and how often two neighbours differ: in a word (positions 64
 * apart), in the next word (adjacent positions), across chunks and across canaries. */
static void coins_are_fair(void **state) {
    (void)state;
    static dpa__signs last_canary[CHUNKS];
    uint64_t heads = 0, inside = 0, beside = 0, chunks = 0, canaries = 0;
    for (uint64_t i = 0; i < CANARIES; ++i) {
        dpa__canary_stream stream;
        dpa__signs before = {{0}};
        dpa__canary_stream_init(&stream, 9, i);
        for (size_t c = 0; c < CHUNKS; ++c) {
            dpa__signs now;
            dpa__signs_make(&stream, c * DPA__CHUNK, &now);
            for (size_t l = 0; l < DPA__SIGN_WORDS; ++l) {
                const uint32_t w = now.word[l], next = now.word[(l + 1) % DPA__SIGN_WORDS];
                heads += (uint64_t)__builtin_popcount(w);
                inside += (uint64_t)__builtin_popcount((w ^ w >> 1) & ~(UINT32_C(1) << 31));
                beside += (uint64_t)__builtin_popcount(w ^ next);
                chunks += c > 0 ? (uint64_t)__builtin_popcount(w ^ before.word[l]) : 0;
                canaries += i > 0 ? (uint64_t)__builtin_popcount(w ^ last_canary[c].word[l]) : 0;
            }
            before = last_canary[c] = now;
        }
    }
    const double all = (double)CANARIES * CHUNKS * DPA__CHUNK;
    const double z[] = {fraction(heads, all), fraction(inside, all * 31 / 32),
                        fraction(beside, all), fraction(chunks, all * (CHUNKS - 1) / CHUNKS),
                        fraction(canaries, all * (CANARIES - 1) / CANARIES)};
    for (size_t i = 0; i < sizeof z / sizeof z[0]; ++i) {
        print_message("coin statistic %zu: %.2f\n", i, z[i]);
        assert_true(fabs(z[i]) < 5.0);
    }
}

/* Models of normals, and models whose layers differ in scale by a factor of a hundred, as trained
 * ones do. */
static void fill(float *model, size_t dim, int layered) {
    dpa_rng rng;
    dpa__rng_init(&rng, 3, DPA_PURPOSE_TEST, dim);
    for (size_t i = 0; i < dim; ++i) {
        const double size = layered && i < dim / 100 ? 100.0 : 1.0;
        model[i] = (float)(size * dpa__rng_normal(&rng));
    }
}

static void check_null(const float *model, size_t dim, size_t count) {
    dpa_canaries *canaries = test_canaries(DPA_DIRECTION_SIGNS, 5, dim, count, 0, 1, NULL);
    double *cosine = calloc(count, sizeof *cosine), statistic, p, sum = 0.0, square = 0.0;
    assert_non_null(cosine);
    const dpa_vector v = {.f32 = model, .dim = dim};
    assert_ok(dpa__canaries_cosines(canaries, &v, NULL, cosine, NULL, NULL));
    assert_ok(dpa__anderson_darling(cosine, count, &statistic, &p, NULL));
    for (size_t i = 0; i < count; ++i) {
        sum += cosine[i];
        square += cosine[i] * cosine[i];
    }
    const double k = (double)count, d = (double)dim;
    print_message("d = %zu, %zu cosines: A2 = %.3f (p = %.3f), mean %.2f, variance %.2f\n", dim,
                  count, statistic, p, sum * sqrt(d / k), (square * d / k - 1.0) / sqrt(2.0 / k));
    assert_true(p > 1e-3); /* one in a thousand for each */
    assert_absolute(sum * sqrt(d / k), 0.0, 5.0);
    assert_absolute(square * d / k, 1.0, 5.0 * sqrt(2.0 / k));
    dpa__canaries_free(canaries);
    free(cosine);
}

static void absent_cosines_are_normal(void **state) {
    (void)state;
    static const size_t dims[] = {10000, 100000, 1000000}, counts[] = {20000, 5000, 1000};
    for (size_t n = 0; n < sizeof dims / sizeof dims[0]; ++n)
        for (int layered = 0; layered < 2; ++layered) {
            float *model = calloc(dims[n], sizeof *model);
            assert_non_null(model);
            fill(model, dims[n], layered);
            check_null(model, dims[n], counts[n]);
            free(model);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coins_are_fair),
        cmocka_unit_test(absent_cosines_are_normal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
