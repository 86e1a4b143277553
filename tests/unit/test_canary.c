/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Canary streams: the bits of every kernel, vectors, cosines, rounds, the state file. The oracle is
 * a loop over dpa_rng words with double-precision Box–Muller, independent of the kernels. */
#include "canaries.h"

#include <zlib.h>

#include "base/rng.h"
#include "evidence/canary.h"

enum { SEED = 20240 };
#define KNOWN_BITS 0xfeccc70eU /* of the first run of the portable kernel */

static dpa_canaries *handle(size_t dim, size_t observed, size_t unobserved, unsigned threads,
                            const char *kernel) {
    return test_canaries(DPA_DIRECTION_SPHERE, SEED, dim, observed, unobserved, threads, kernel);
}

static int stop_at_once(void *user, const char *what, double done, double total) {
    (void)what;
    assert_true(done <= total);
    ++*(int *)user;
    return 1;
}

static void oracle_pair(dpa_rng *rng, double *cosine, double *sine) {
    const uint32_t w = dpa__rng_u32(rng);
    const int32_t v = (int32_t)dpa__rng_u32(rng);
    const double r = sqrt(-2.0 * log(((double)(w >> 1) + 0.5) * 0x1p-31));
    const double angle = (double)v * 0x1p-31 * 1.5707963267948966;
    *cosine = (w & 1 ? -1.0 : 1.0) * r * cos(angle);
    *sine = r * sin(angle);
}

static void oracle(uint64_t index, size_t groups, double *out) {
    dpa_rng rng;
    dpa__rng_init(&rng, SEED, DPA_PURPOSE_CANARY, index);
    for (size_t g = 0; g < groups; ++g, out += 32)
        for (size_t p = 0; p < 16; ++p) oracle_pair(&rng, &out[p], &out[p + 16]);
}

static void portable_agrees_with_double(void **state) {
    (void)state;
    enum { GROUPS = 4000 };
    static float z[GROUPS * 32];
    static double want[GROUPS * 32];
    dpa__canary_stream stream;
    dpa__canary_stream_init(&stream, SEED, 3);
    dpa__canary_portable.normals(&stream, 0, GROUPS, z);
    oracle(3, GROUPS, want);
    /* u has 24 bits near 1, so r² is right to 1.2e-7 + 1e-6·r², which affects small radii most */
    for (size_t i = 0; i < GROUPS * 32; ++i) {
        const size_t other = i % 32 < 16 ? i + 16 : i - 16;
        const double r = hypot(want[i], want[other]);
        assert_absolute((double)z[i], want[i], fmin(1.2e-7 / r, 3.5e-4) + 6e-7 * r);
    }
}

/* Blocks and indices beyond 2³² are part of the counter, so they are tested too. */
static void kernels_give_the_same_bits(void **state) {
    (void)state;
    static float want[DPA__CHUNK], got[DPA__CHUNK];
    static double model[DPA__CHUNK];
    for (size_t i = 0; i < DPA__CHUNK; ++i) model[i] = dpa__canary_round(sin((double)i) * 1e-3);
    static const struct {
        uint64_t index, group;
    } cases[] = {{0, 0},
                 {1, 64},
                 {UINT64_C(1) << 40, 0},
                 {77, UINT64_C(1) << 33},
                 {5, (UINT64_C(1) << 29) - 64}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        dpa__canary_stream stream;
        dpa__lanes lanes = {{0}, {0}};
        dpa__canary_stream_init(&stream, ~UINT64_C(0) - c, cases[c].index);
        dpa__canary_portable.normals(&stream, cases[c].group, 64, want);
        dpa__canary_portable.sums(&stream, cases[c].group, 64, model, &lanes);
        for (size_t k = 0; dpa__canary_kernel_at(k) != NULL; ++k) {
            const dpa__canary_kernel *kernel = dpa__canary_kernel_at(k);
            dpa__lanes other = {{0}, {0}};
            if (!kernel->supported()) continue;
            kernel->normals(&stream, cases[c].group, 64, got);
            kernel->sums(&stream, cases[c].group, 64, model, &other);
            assert_memory_equal(got, want, sizeof got);
            assert_memory_equal(&other, &lanes, sizeof lanes);
        }
    }
}

/* A known answer, so that the stream never changes: published numbers depend on it. */
static void known_bits(void **state) {
    (void)state;
    dpa_canaries *canaries = handle(5, 2, 0, 1, NULL);
    float c[5];
    double square = 0.0;
    assert_ok(dpa__canaries_make_f32(canaries, 1, 1.0, c, NULL));
    uint32_t crc = 0;
    for (size_t i = 0; i < 5; ++i) {
        uint32_t bits;
        memcpy(&bits, &c[i], sizeof bits);
        crc = crc * 31 + bits;
        square += (double)c[i] * (double)c[i];
    }
    assert_absolute(square, 1.0, 1e-6);
    assert_int_equal(crc, KNOWN_BITS);
    dpa__canaries_free(canaries);
}

static void vectors_have_their_norm(void **state) {
    (void)state;
    static const size_t dims[] = {2, 3, 31, 32, 33, 127, 128, 2048, 2049, 10000};
    for (size_t n = 0; n < sizeof dims / sizeof dims[0]; ++n) {
        static double out[10000];
        static float single[10000];
        dpa_canaries *canaries = handle(dims[n], 3, 0, 1, NULL);
        double square = 0.0;
        assert_ok(dpa__canaries_make_f64(canaries, 2, 2.5, out, NULL));
        assert_ok(dpa__canaries_make_f32(canaries, 2, 2.5, single, NULL));
        for (size_t i = 0; i < dims[n]; ++i) {
            square += out[i] * out[i];
            assert_true((float)out[i] == single[i]);
        }
        assert_relative(sqrt(square), 2.5, 1e-14);
        dpa__canaries_free(canaries);
    }
}

/* Direct sums over the canary's elements, in long double. */
static double slow_cosine(const double *c, const double *model, size_t dim) {
    long double dot = 0, cc = 0, mm = 0;
    for (size_t i = 0; i < dim; ++i) {
        dot += (long double)c[i] * (long double)model[i];
        cc += (long double)c[i] * (long double)c[i];
        mm += (long double)model[i] * (long double)model[i];
    }
    return (double)(dot / sqrtl(cc * mm));
}

static void cosines_agree_with_vectors(void **state) {
    (void)state;
    static const size_t dims[] = {2, 77, 2048, 5000};
    for (size_t n = 0; n < sizeof dims / sizeof dims[0]; ++n) {
        static double model[5000], initial[5000], change[5000], c[5000];
        double got[9];
        dpa_canaries *canaries = handle(dims[n], 7, 2, 2, NULL);
        dpa_rng rng;
        dpa__rng_init(&rng, 5, DPA_PURPOSE_TEST, n);
        for (size_t i = 0; i < dims[n]; ++i) {
            model[i] = dpa__rng_normal(&rng);
            initial[i] = dpa__rng_normal(&rng);
            change[i] = model[i] - initial[i];
        }
        const dpa_vector last = {.f64 = model, .dim = dims[n]},
                         first = {.f64 = initial, .dim = dims[n]};
        assert_ok(dpa__canaries_cosines(canaries, &last, &first, got, NULL, NULL));
        for (size_t i = 0; i < 9; ++i) {
            assert_ok(dpa__canaries_make_f64(canaries, i, 1.0, c, NULL));
            assert_absolute(got[i], slow_cosine(c, change, dims[n]), 1e-9);
        }
        dpa__canaries_free(canaries);
    }
}

static void same_bytes_on_any_thread_count(void **state) {
    (void)state;
    enum { DIM = 9001, COUNT = 23 };
    static float model[DIM];
    double want[COUNT], got[COUNT];
    for (size_t i = 0; i < DIM; ++i) model[i] = (float)cos((double)(i * i));
    const dpa_vector v = {.f32 = model, .dim = DIM};
    dpa_canaries *one = handle(DIM, COUNT, 0, 1, "portable");
    assert_ok(dpa__canaries_cosines(one, &v, NULL, want, NULL, NULL));
    dpa__canaries_free(one);
    for (unsigned threads = 1; threads <= 40; threads += 3) {
        for (size_t k = 0; dpa__canary_kernel_at(k) != NULL; ++k) {
            if (!dpa__canary_kernel_at(k)->supported()) continue;
            dpa_canaries *many = handle(DIM, COUNT, 0, threads, dpa__canary_kernel_at(k)->name);
            assert_ok(dpa__canaries_cosines(many, &v, NULL, got, NULL, NULL));
            assert_memory_equal(got, want, sizeof want);
            dpa__canaries_free(many);
        }
    }
}

/* A model twice as large, or 2^±900 as large, points the same way. */
static void scale_does_not_matter(void **state) {
    (void)state;
    enum { DIM = 300 };
    static double model[DIM], large[DIM];
    double want[4], got[4];
    dpa_canaries *canaries = handle(DIM, 4, 0, 1, NULL);
    for (size_t i = 0; i < DIM; ++i) model[i] = dpa__canary_round(sin((double)i));
    const dpa_vector v = {.f64 = model, .dim = DIM}, w = {.f64 = large, .dim = DIM};
    assert_ok(dpa__canaries_cosines(canaries, &v, NULL, want, NULL, NULL));
    static const int shifts[] = {1, -50, 900, -900, 1020, -1000};
    for (size_t s = 0; s < sizeof shifts / sizeof shifts[0]; ++s) {
        for (size_t i = 0; i < DIM; ++i) large[i] = ldexp(model[i], shifts[s]);
        assert_ok(dpa__canaries_cosines(canaries, &w, NULL, got, NULL, NULL));
        for (size_t i = 0; i < 4; ++i) assert_relative(got[i], want[i], 1e-13);
    }
    dpa__canaries_free(canaries);
}

static void sums_are_repeated_additions(void **state) {
    (void)state;
    enum { DIM = 5000, COUNT = 5 };
    static double one[DIM], one_by_one[DIM], together[DIM], again[DIM];
    static float single[DIM];
    const double norm[COUNT] = {1.0, 0.0, 2.5, -1.0, 1e-3};
    dpa_canaries *canaries = handle(DIM, COUNT, 0, 1, "portable");
    for (size_t i = 0; i < DIM; ++i) one_by_one[i] = together[i] = again[i] = (double)i;
    for (size_t i = 0; i < COUNT; ++i)
        if (norm[i] != 0.0) {
            assert_ok(dpa__canaries_make_f64(canaries, i, norm[i], one, NULL));
            for (size_t at = 0; at < DIM; ++at) one_by_one[at] += one[at];
        }
    assert_ok(dpa__canaries_sum_f64(canaries, norm, together, NULL, NULL));
    assert_memory_equal(together, one_by_one, sizeof together);
    assert_ok(dpa__canaries_sum_f32(canaries, norm, single, NULL, NULL));
    for (size_t i = 0; i < DIM; ++i)
        assert_absolute((double)single[i], together[i] - (double)i, 1e-6);
    dpa__canaries_free(canaries);
    canaries = handle(DIM, COUNT, 0, 7, NULL);
    assert_ok(dpa__canaries_sum_f64(canaries, norm, again, NULL, NULL));
    assert_memory_equal(again, together, sizeof together);
    const double bad[COUNT] = {1.0, NAN, 0, 0, 0};
    dpa_error err;
    int calls = 0;
    const dpa_progress progress = {stop_at_once, &calls};
    assert_int_equal(dpa__canaries_sum_f64(canaries, bad, again, NULL, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__canaries_sum_f64(canaries, norm, again, &progress, &err), DPA_CANCELLED);
    dpa__canaries_free(canaries);
}

static void a_canary_finds_itself(void **state) {
    (void)state;
    enum { DIM = 4000 };
    static float sum[DIM];
    double cosine[6];
    dpa_canaries *canaries = handle(DIM, 3, 3, 2, NULL);
    memset(sum, 0, sizeof sum);
    assert_ok(dpa__canaries_sum_f32(canaries, (const double[6]){7, 7, 7}, sum, NULL, NULL));
    const dpa_vector v = {.f32 = sum, .dim = DIM};
    assert_ok(dpa__canaries_cosines(canaries, &v, NULL, cosine, NULL, NULL));
    for (size_t i = 0; i < 3; ++i) assert_absolute(cosine[i], 1.0 / sqrt(3.0), 0.05);
    for (size_t i = 3; i < 6; ++i) assert_absolute(cosine[i], 0.0, 0.08);
    dpa__canaries_free(canaries);
}

/* For all numbers of rounds, all kernels and an incomplete last chunk: the same bits as one round
 * at a time. */
static void many_rounds_are_rounds_one_by_one(void **state) {
    (void)state;
    enum { DIM = 2048 + 333, COUNT = 11, ROUNDS = 9 };
    static float change[ROUNDS][DIM];
    dpa_vector v[ROUNDS];
    dpa_rng rng;
    dpa__rng_init(&rng, 8, DPA_PURPOSE_TEST, 0);
    for (size_t r = 0; r < ROUNDS; ++r) {
        for (size_t i = 0; i < DIM; ++i) change[r][i] = (float)dpa__rng_normal(&rng);
        v[r] = (dpa_vector){.f32 = change[r], .dim = DIM};
    }
    for (size_t rounds = 1; rounds <= ROUNDS; ++rounds) {
        dpa_canaries *one = handle(DIM, COUNT, 0, 1, "portable");
        for (size_t r = 0; r < rounds; ++r) assert_ok(dpa__canaries_round(one, &v[r], NULL, NULL));
        for (size_t k = 0; dpa__canary_kernel_at(k) != NULL; ++k) {
            if (!dpa__canary_kernel_at(k)->supported()) continue;
            dpa_canaries *many = handle(DIM, COUNT, 0, 3, dpa__canary_kernel_at(k)->name);
            assert_ok(dpa__canaries_round_many(many, v, NULL, rounds, NULL, NULL));
            assert_int_equal(dpa__canaries_rounds(many), rounds);
            assert_memory_equal(dpa__canaries_largest(many), dpa__canaries_largest(one),
                                COUNT * sizeof(double));
            dpa__canaries_free(many);
        }
        dpa__canaries_free(one);
    }
    dpa_canaries *canaries = handle(DIM, COUNT, 0, 1, NULL);
    assert_ok(dpa__canaries_round_many(canaries, v, NULL, 0, NULL, NULL));
    assert_int_equal(
        dpa__canaries_round_many(canaries, v, NULL, DPA_CANARIES_ROUNDS + 1, NULL, NULL),
        DPA_BAD_ARGUMENT);
    change[2][5] = (float)NAN;
    assert_int_equal(dpa__canaries_round_many(canaries, v, NULL, 3, NULL, NULL), DPA_BAD_INPUT);
    assert_int_equal(dpa__canaries_rounds(canaries), 0);
    dpa__canaries_free(canaries);
}

static void rounds_keep_the_largest(void **state) {
    (void)state;
    enum { DIM = 500 };
    static float change[3][DIM];
    double cosine[3][5];
    dpa_canaries *canaries = handle(DIM, 3, 2, 1, NULL);
    assert_true(isinf(dpa__canaries_largest(canaries)[0]));
    for (size_t r = 0; r < 3; ++r) {
        for (size_t i = 0; i < DIM; ++i) change[r][i] = (float)sin((double)(i * (r + 2)));
        const dpa_vector v = {.f32 = change[r], .dim = DIM};
        assert_ok(dpa__canaries_cosines(canaries, &v, NULL, cosine[r], NULL, NULL));
        assert_ok(dpa__canaries_round(canaries, &v, NULL, NULL));
    }
    assert_int_equal(dpa__canaries_rounds(canaries), 3);
    for (size_t i = 0; i < 5; ++i)
        assert_true(dpa__canaries_largest(canaries)[i] ==
                    fmax(cosine[0][i], fmax(cosine[1][i], cosine[2][i])));

    char path[] = "/tmp/dpa-canary-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    dpa_canaries *loaded = NULL;
    assert_ok(dpa__canaries_save(canaries, path, NULL));
    assert_ok(dpa__canaries_load(path, NULL, &loaded, NULL));
    (void)unlink(path);
    assert_int_equal(dpa__canaries_rounds(loaded), 3);
    assert_int_equal(dpa__canaries_seed(loaded), SEED);
    assert_int_equal(dpa__canaries_observed(loaded), 3);
    assert_int_equal(dpa__canaries_unobserved(loaded), 2);
    assert_int_equal(dpa__canaries_dim(loaded), DIM);
    assert_memory_equal(dpa__canaries_largest(loaded), dpa__canaries_largest(canaries),
                        5 * sizeof(double));
    dpa__canaries_free(loaded);
    dpa__canaries_free(canaries);
}

/* Every truncation and every flipped bit of a state is refused. */
static void damaged_states_are_refused(void **state) {
    (void)state;
    dpa_canaries *canaries = handle(10, 3, 1, 1, NULL), *out = NULL;
    unsigned char *bytes = NULL;
    size_t size = 0;
    dpa_error err;
    assert_ok(dpa__canaries_encode(canaries, &bytes, &size, NULL));
    assert_ok(dpa__canaries_decode("s", bytes, size, NULL, &out, NULL));
    dpa__canaries_free(out);
    for (size_t cut = 0; cut < size; ++cut)
        assert_int_equal(dpa__canaries_decode("s", bytes, cut, NULL, &out, &err), DPA_BAD_INPUT);
    for (size_t bit = 0; bit < 8 * size; ++bit) {
        bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
        assert_int_equal(dpa__canaries_decode("s", bytes, size, NULL, &out, &err), DPA_BAD_INPUT);
        bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
    }
    free(bytes);
    dpa__canaries_free(canaries);
}

static void seal(unsigned char *bytes, size_t size) {
    const uint32_t sum = (uint32_t)crc32_z(crc32_z(0, NULL, 0), bytes, size - 4);
    for (int i = 0; i < 4; ++i) bytes[size - 4 + (size_t)i] = (unsigned char)(sum >> 8 * i);
}

/* Complete files with impossible numbers; the error names what is wrong. The layout: direction at
 * 12, rounds at 48, spread at 64, then largest cosine, own sum and times. */
static void impossible_states_are_refused(void **state) {
    (void)state;
    static const struct {
        size_t at;
        double number;
        uint64_t whole; /* where number is 0 */
        const char *words;
    } cases[] = {{12, 0, 7, "direction 7"},
                 {64, 0.5, 0, "not a spread"},
                 {72, INFINITY, 0, "not a largest cosine after 0"},
                 {72, 0.25, 0, "not a largest cosine after 0"},
                 {80, 0.25, 0, "not a sum over 0 rounds"},
                 {80, INFINITY, 0, "not a sum over"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        dpa_canaries *canaries = handle(10, 3, 1, 1, NULL), *out = NULL;
        unsigned char *bytes = NULL;
        size_t size = 0;
        dpa_error err = {0};
        assert_ok(dpa__canaries_encode(canaries, &bytes, &size, NULL));
        if (cases[i].number != 0.0)
            memcpy(bytes + cases[i].at, &cases[i].number, 8);
        else
            memcpy(bytes + cases[i].at, &cases[i].whole, 4);
        seal(bytes, size);
        assert_int_equal(dpa__canaries_decode("s", bytes, size, NULL, &out, &err), DPA_BAD_INPUT);
        if (strstr(err.text, cases[i].words) == NULL)
            fail_msg("'%s' does not say '%s'", err.text, cases[i].words);
        free(bytes);
        dpa__canaries_free(canaries);
    }
}

static void schedules_that_are_refused(void **state) {
    (void)state;
    dpa_canaries *canaries = handle(10, 3, 1, 1, NULL);
    uint64_t out[4];
    dpa_error err = {0};
    assert_ok(dpa__canaries_schedule(canaries, 3, 8, 4, out, NULL));
    /* once in every fourth, each canary by itself, and the same when asked again */
    int moved = 0;
    for (size_t canary = 0; canary < 4; ++canary) {
        uint64_t again[4];
        assert_ok(dpa__canaries_schedule(canaries, canary, 4000, 4, out, NULL));
        assert_ok(dpa__canaries_schedule(canaries, canary, 4000, 4, again, NULL));
        for (uint64_t part = 0; part < 4; ++part) {
            assert_in_range(out[part], 1000 * part, 1000 * part + 999);
            assert_int_equal(out[part], again[part]);
            moved += out[part] % 1000 != out[0] % 1000;
        }
    }
    assert_true(moved >= 10); /* of 12 */
    assert_int_equal(dpa__canaries_schedule(canaries, 4, 8, 4, out, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__canaries_schedule(canaries, 0, 8, 0, out, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__canaries_schedule(canaries, 0, 3, 4, out, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__canaries_schedule(canaries, 0, (UINT64_C(1) << 24) + 1, 4, out, &err),
                     DPA_BAD_ARGUMENT);
    dpa__canaries_free(canaries);
}

static void bad_input_is_refused(void **state) {
    (void)state;
    dpa_canaries_opts opts;
    dpa_canaries *canaries = NULL;
    dpa_error err;
    dpa__canaries_opts_init(&opts);
    opts.observed = 1;
    opts.dim = 1;
    assert_int_equal(dpa__canaries_new(&opts, &canaries, &err), DPA_BAD_ARGUMENT);
    opts.dim = 10;
    opts.observed = 0;
    assert_int_equal(dpa__canaries_new(&opts, &canaries, &err), DPA_BAD_ARGUMENT);
    opts.observed = SIZE_MAX;
    assert_int_equal(dpa__canaries_new(&opts, &canaries, &err), DPA_BAD_ARGUMENT);
    opts.observed = 4;
    opts.threads = 100000;
    assert_int_equal(dpa__canaries_new(&opts, &canaries, &err), DPA_BAD_ARGUMENT);
    opts.threads = 1;
    opts.kernel = "mmx";
    assert_int_equal(dpa__canaries_new(&opts, &canaries, &err), DPA_BAD_ARGUMENT);
    canaries = handle(10, 4, 0, 1, NULL);
    double model[10] = {0}, out[10];
    float single[10];
    dpa_vector v = {.f64 = model, .dim = 10}, both = {single, model, 10};
    assert_int_equal(dpa__canaries_cosines(canaries, &v, NULL, out, NULL, &err), DPA_BAD_INPUT);
    model[3] = NAN;
    assert_int_equal(dpa__canaries_cosines(canaries, &v, NULL, out, NULL, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "element 3"));
    model[3] = 1.0;
    assert_int_equal(dpa__canaries_cosines(canaries, &v, &v, out, NULL, &err), DPA_BAD_INPUT);
    assert_int_equal(dpa__canaries_cosines(canaries, &both, NULL, out, NULL, &err),
                     DPA_BAD_ARGUMENT);
    v.dim = 9;
    assert_int_equal(dpa__canaries_cosines(canaries, &v, NULL, out, NULL, &err), DPA_BAD_INPUT);
    v.dim = 10;
    int calls = 0;
    const dpa_progress progress = {stop_at_once, &calls};
    assert_int_equal(dpa__canaries_cosines(canaries, &v, NULL, out, &progress, &err),
                     DPA_CANCELLED);
    assert_int_equal(calls, 1);
    assert_int_equal(dpa__canaries_make_f64(canaries, 4, 1.0, out, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__canaries_make_f64(canaries, 0, NAN, out, &err), DPA_BAD_ARGUMENT);
    dpa__canaries_free(canaries);
    dpa__canaries_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(portable_agrees_with_double),
        cmocka_unit_test(kernels_give_the_same_bits),
        cmocka_unit_test(known_bits),
        cmocka_unit_test(vectors_have_their_norm),
        cmocka_unit_test(cosines_agree_with_vectors),
        cmocka_unit_test(same_bytes_on_any_thread_count),
        cmocka_unit_test(scale_does_not_matter),
        cmocka_unit_test(sums_are_repeated_additions),
        cmocka_unit_test(a_canary_finds_itself),
        cmocka_unit_test(many_rounds_are_rounds_one_by_one),
        cmocka_unit_test(rounds_keep_the_largest),
        cmocka_unit_test(damaged_states_are_refused),
        cmocka_unit_test(impossible_states_are_refused),
        cmocka_unit_test(schedules_that_are_refused),
        cmocka_unit_test(bad_input_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
