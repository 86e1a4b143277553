/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Canaries of signs: their bits against an oracle over dpa_rng words, cosines against the vectors,
 * rounds, the state file, and the tail that the lower bound uses. */
#include "canaries.h"

#include "base/rng.h"
#include "estimate/cosines/cosine.h"
#include "evidence/canary.h"

enum { SEED = 20241 };

static dpa_canaries *handle(size_t dim, size_t observed, size_t unobserved, unsigned threads,
                            const char *kernel) {
    return test_canaries(DPA_DIRECTION_SIGNS, SEED, dim, observed, unobserved, threads, kernel);
}

/* The sign of every position, from the words of the stream in order: word w of block l in a chunk
 * has positions 16·w + l, and 64 further for each bit from the top. */
static void oracle(uint64_t index, size_t chunks, double *out) {
    dpa_rng rng;
    dpa__rng_init(&rng, SEED, DPA_PURPOSE_CANARY, index);
    for (size_t chunk = 0; chunk < chunks; ++chunk, out += 2048)
        for (size_t l = 0; l < 16; ++l)
            for (size_t w = 0; w < 4; ++w) {
                const uint32_t word = dpa__rng_u32(&rng);
                for (size_t bit = 0; bit < 32; ++bit)
                    out[64 * (31 - bit) + 16 * w + l] = word >> bit & 1 ? -1.0 : 1.0;
            }
}

static void bits_are_those_of_the_stream(void **state) {
    (void)state;
    enum { CHUNKS = 3, DIM = CHUNKS * 2048 - 700 };
    static double want[CHUNKS * 2048], got[DIM];
    static float single[DIM];
    dpa_canaries *canaries = handle(DIM, 4, 0, 1, NULL);
    oracle(3, CHUNKS, want);
    assert_ok(dpa__canaries_make_f64(canaries, 3, 2.0, got, NULL));
    assert_ok(dpa__canaries_make_f32(canaries, 3, 2.0, single, NULL));
    for (size_t i = 0; i < DIM; ++i) {
        assert_true(got[i] == want[i] * (2.0 / sqrt(DIM)));
        assert_true(single[i] == (float)got[i]);
    }
    assert_int_equal(dpa__canaries_direction(canaries), DPA_DIRECTION_SIGNS);
    dpa__canaries_free(canaries);
}

/* Far blocks and indices use the counter's upper words. */
static void far_chunks_have_their_own_bits(void **state) {
    (void)state;
    const uint64_t index = (UINT64_C(3) << 40) + 5, block = (UINT64_C(7) << 32) + 16 * 9;
    dpa__canary_stream stream;
    dpa__signs signs;
    dpa_rng rng;
    dpa__canary_stream_init(&stream, SEED, index);
    dpa__signs_make(&stream, (size_t)(block / 16 * 2048), &signs);
    dpa__rng_init(&rng, SEED, DPA_PURPOSE_CANARY, index);
    rng.counter[0] = (uint32_t)block;
    rng.counter[1] = (uint32_t)(block >> 32);
    for (size_t l = 0; l < 16; ++l)
        for (size_t w = 0; w < 4; ++w) assert_int_equal(signs.word[16 * w + l], dpa__rng_u32(&rng));
}

/* Adds one number after the other in the order that canary_signs.c documents: the same bits. */
static double slow_dot(const double *sign, const float *model) {
    float lane[64] = {0};
    for (size_t i = 0; i < 2048; ++i) lane[i % 64] += (float)sign[i] * model[i];
    for (size_t half = 32; half > 0; half /= 2)
        for (size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
    return (double)lane[0];
}

static void dots_have_the_written_order(void **state) {
    (void)state;
    static float model[2048];
    static double sign[2048];
    dpa__canary_stream stream;
    dpa__signs signs;
    dpa_rng rng;
    dpa__rng_init(&rng, 1, DPA_PURPOSE_TEST, 0);
    for (size_t i = 0; i < 2048; ++i)
        model[i] = (float)(dpa__rng_normal(&rng) * exp(5.0 * dpa__rng_normal(&rng)));
    for (uint64_t canary = 0; canary < 50; ++canary) {
        dpa__canary_stream_init(&stream, SEED, canary);
        dpa__signs_make(&stream, 0, &signs);
        oracle(canary, 1, sign);
        assert_true(dpa__signs_dot(&signs, model) == slow_dot(sign, model));
    }
}

static void cosines_agree_with_vectors(void **state) {
    (void)state;
    static const size_t dims[] = {2, 77, 2048, 5000};
    for (size_t n = 0; n < sizeof dims / sizeof dims[0]; ++n) {
        static double model[5000], c[5000];
        const size_t dim = dims[n];
        double got[9], again[9], square = 0.0;
        dpa_rng rng;
        dpa__rng_init(&rng, 6, DPA_PURPOSE_TEST, n);
        for (size_t i = 0; i < dim; ++i) {
            model[i] = dpa__rng_normal(&rng);
            square += model[i] * model[i];
        }
        const dpa_vector v = {.f64 = model, .dim = dim};
        dpa_canaries *canaries = handle(dim, 7, 2, 2, NULL);
        dpa_canaries *one = handle(dim, 7, 2, 1, "portable");
        assert_ok(dpa__canaries_cosines(canaries, &v, NULL, got, NULL, NULL));
        assert_ok(dpa__canaries_cosines(one, &v, NULL, again, NULL, NULL));
        assert_memory_equal(got, again, sizeof got);
        for (size_t i = 0; i < 9; ++i) {
            double dot = 0.0;
            assert_ok(dpa__canaries_make_f64(canaries, i, 1.0, c, NULL));
            for (size_t k = 0; k < dim; ++k) dot += c[k] * model[k];
            assert_absolute(got[i], dot / sqrt(square), 1e-6 / sqrt((double)dim));
        }
        dpa__canaries_free(canaries);
        dpa__canaries_free(one);
    }
}

/* Sums, rounds one by one and several at once, and the state: signs stay signs. */
static void rounds_and_states(void **state) {
    (void)state;
    enum { DIM = 2048 + 333, COUNT = 11, ROUNDS = 5 };
    static float change[ROUNDS][DIM];
    double norm[COUNT];
    dpa_vector v[ROUNDS];
    dpa_canaries *one = handle(DIM, COUNT - 2, 2, 1, NULL), *loaded = NULL;
    dpa_canaries *many = handle(DIM, COUNT - 2, 2, 3, NULL);
    for (size_t r = 0; r < ROUNDS; ++r) {
        for (size_t i = 0; i < DIM; ++i) change[r][i] = (float)sin((double)(i * (r + 2)));
        for (size_t i = 0; i < COUNT; ++i) norm[i] = i == r ? 20.0 : 0.0;
        assert_ok(dpa__canaries_sum_f32(many, norm, change[r], NULL, NULL));
        v[r] = (dpa_vector){.f32 = change[r], .dim = DIM};
        assert_ok(dpa__canaries_round(one, &v[r], NULL, NULL));
    }
    assert_ok(dpa__canaries_round_many(many, v, NULL, 2, NULL, NULL));
    unsigned char *bytes = NULL;
    size_t size = 0;
    assert_ok(dpa__canaries_encode(many, &bytes, &size, NULL));
    assert_int_equal(bytes[8], 3);
    assert_ok(dpa__canaries_decode("s", bytes, size, NULL, &loaded, NULL));
    assert_int_equal(dpa__canaries_direction(loaded), DPA_DIRECTION_SIGNS);
    assert_ok(dpa__canaries_round_many(loaded, v + 2, NULL, ROUNDS - 2, NULL, NULL));
    assert_memory_equal(dpa__canaries_largest(loaded), dpa__canaries_largest(one),
                        COUNT * sizeof(double));
    /* a canary of norm 20 in a change of norm √(DIM/2) ≈ 34.5 */
    for (size_t i = 0; i < ROUNDS; ++i) assert_true(dpa__canaries_largest(one)[i] > 0.4);
    for (size_t i = ROUNDS; i < COUNT; ++i) assert_true(dpa__canaries_largest(one)[i] < 0.1);
    free(bytes);
    dpa__canaries_free(one);
    dpa__canaries_free(many);
    dpa__canaries_free(loaded);
}

/* Every pattern of 12 signs against vectors that are far from flat: no tail exceeds the limit, and
 * two equal terms at √2 reach it. */
static void tail_holds_for_every_model(void **state) {
    (void)state;
    enum { DIM = 12, ALL = 1 << DIM };
    for (int shape = 0; shape < 6; ++shape) {
        static double cosine[ALL];
        double model[DIM], square = 0.0;
        for (int i = 0; i < DIM; ++i) {
            model[i] = shape == 0 ? 1.0 : shape == 1 ? i < 2 : pow(i + 1.0, -0.5 * (shape - 1));
            square += model[i] * model[i];
        }
        for (int pattern = 0; pattern < ALL; ++pattern) {
            double dot = 0.0;
            for (int i = 0; i < DIM; ++i) dot += pattern >> i & 1 ? -model[i] : model[i];
            cosine[pattern] = dot / sqrt(square * DIM);
        }
        for (int at = 0; at < ALL; at += 7) {
            int above = 0;
            for (int p = 0; p < ALL; ++p) above += cosine[p] >= cosine[at] - 1e-12;
            const double limit = dpa__cosine_signs_log_upper(fmin(1.0, cosine[at]), DIM);
            assert_true(log((double)above / ALL) <= limit + 1e-9);
        }
    }
    assert_relative(exp(dpa__cosine_signs_log_upper(sqrt(2.0 / DIM), DIM)), 0.25, 1e-12);
    assert_true(dpa__cosine_signs_log_upper(0.0, 10) == 0.0);
    assert_true(dpa__cosine_signs_log_upper(-1.0, 10) == 0.0);
    assert_true(isnan(dpa__cosine_signs_log_upper(1.5, 10)));
    /* far out: the normal tail at 30 deviations, times 3.178 (mpmath: −453.16479) */
    assert_absolute(dpa__cosine_signs_log_upper(0.03, 1000000), -453.164786, 1e-5);
}

static void results_say_what_the_canaries_were(void **state) {
    (void)state;
    enum { COUNT = 40 };
    double x[COUNT];
    for (size_t i = 0; i < COUNT; ++i) x[i] = 0.03 + 0.01 * sin((double)i);
    dpa_cosines c = {.observed = x, .observed_count = COUNT, .dim = 10000};
    dpa_request request;
    dpa__request_init(&request);
    dpa_results sphere = {0}, signs = {0};
    dpa_lints lints = {0};
    assert_ok(dpa__cosines_results(&c, &request, &sphere, &lints, NULL));
    c.direction = DPA_DIRECTION_SIGNS;
    assert_ok(dpa__cosines_results(&c, &request, &signs, &lints, NULL));
    assert_int_equal(sphere.count, signs.count);
    for (size_t i = 0; i < signs.count; ++i) {
        const dpa_result *a = &sphere.items[i], *b = &signs.items[i];
        assert_true(a->assumptions & DPA_ASSUME_RANDOM_CANARIES);
        assert_false(b->assumptions & DPA_ASSUME_RANDOM_CANARIES);
        assert_true(b->assumptions & DPA_ASSUME_SIGN_CANARIES);
        if (a->kind == DPA_ESTIMATE) {
            assert_true(a->epsilon == b->epsilon);
        } else { /* a bound that holds for every model costs what the tail there is larger: at most
                    log 3.178 more than the normal one, which is above that of the sphere */
            const double t = a->threshold, cost = dpa__cosine_signs_log_upper(t, c.dim) -
                                                  dpa__cosine_null_log_upper(t, c.dim);
            assert_true(b->epsilon_lower < a->epsilon_lower);
            assert_true(b->epsilon_lower >= a->epsilon_lower - cost - 1e-9);
            assert_true(cost < 1.157 + (double)c.dim * t * t * t * t);
        }
    }
    dpa__results_free(&sphere);
    dpa__results_free(&signs);
    dpa__lints_free(&lints);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_those_of_the_stream),
        cmocka_unit_test(far_chunks_have_their_own_bits),
        cmocka_unit_test(dots_have_the_written_order),
        cmocka_unit_test(cosines_agree_with_vectors),
        cmocka_unit_test(rounds_and_states),
        cmocka_unit_test(tail_holds_for_every_model),
        cmocka_unit_test(results_say_what_the_canaries_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
