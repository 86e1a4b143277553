/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hadamard canaries: the transform against its definition, orthogonality, cosines and sums against
 * the vectors, the choice of coordinates and rows, and the state file. */
#include "canaries.h"

#include "base/rng.h"
#include "evidence/canary.h"

enum { SEED = 77 };

static dpa_canaries *handle(size_t dim, size_t observed, size_t unobserved, unsigned threads) {
    return test_canaries(DPA_DIRECTION_HADAMARD, SEED, dim, observed, unobserved, threads, NULL);
}

static unsigned parity(size_t x) {
    unsigned ones = 0;
    for (; x > 0; x >>= 1) ones += (unsigned)x & 1U;
    return ones & 1U;
}

static void transform_is_its_definition(void **state) {
    (void)state;
    for (unsigned bits = 1; bits <= 11; ++bits) {
        const size_t n = (size_t)1 << bits;
        float x[2048];
        double want[2048];
        dpa_rng rng;
        dpa__rng_init(&rng, 3, DPA_PURPOSE_TEST, bits);
        for (size_t i = 0; i < n; ++i) x[i] = (float)dpa__rng_normal(&rng);
        for (size_t r = 0; r < n; ++r) {
            want[r] = 0.0;
            for (size_t i = 0; i < n; ++i) want[r] += parity(r & i) ? -(double)x[i] : (double)x[i];
        }
        assert_ok(dpa__hadamard_transform(x, bits, 2, NULL));
        for (size_t r = 0; r < n; ++r)
            assert_absolute((double)x[dpa__hadamard_place(r, bits)], want[r],
                            1e-6 * sqrt((double)n));
    }
}

/* Larger than a block: transforming twice gives n times the numbers, an impulse gives a row,
 * threads change no bit. */
static void large_transforms(void **state) {
    (void)state;
    for (unsigned bits = 14; bits <= 20; ++bits) {
        const size_t n = (size_t)1 << bits, row = n / 3;
        float *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y);
        assert_non_null(x);
        assert_non_null(y);
        x[dpa__hadamard_place(row, bits)] = 1.0F;
        assert_ok(dpa__hadamard_transform(x, bits, 1, NULL));
        for (size_t i = 0; i < n; ++i) assert_true(x[i] == (parity(row & i) ? -1.0F : 1.0F));
        for (size_t i = 0; i < n; ++i) x[i] = y[i] = (float)sin((double)i);
        assert_ok(dpa__hadamard_transform(x, bits, 1, NULL));
        assert_ok(dpa__hadamard_transform(y, bits, 3, NULL));
        assert_memory_equal(x, y, n * sizeof *x);
        assert_ok(dpa__hadamard_transform(x, bits, 2, NULL)); /* P·H·P·H = n */
        for (size_t i = 0; i < n; ++i)
            assert_absolute((double)x[i] / (double)n, sin((double)i), 2e-6);
        free(x);
        free(y);
    }
}

static void canaries_are_orthonormal(void **state) {
    (void)state;
    static const size_t dims[] = {2, 3, 100, 1025, 4096, 6000};
    for (size_t d = 0; d < sizeof dims / sizeof dims[0]; ++d) {
        const size_t dim = dims[d], count = dim < 40 ? 2 : 40;
        dpa_canaries *canaries = handle(dim, count, 0, 1);
        double *c = calloc(count * dim, sizeof *c);
        assert_non_null(c);
        for (size_t i = 0; i < count; ++i)
            assert_ok(dpa__canaries_make_f64(canaries, i, 1.0, c + i * dim, NULL));
        for (size_t a = 0; a < count; ++a)
            for (size_t b = a; b < count; ++b) {
                double dot = 0.0;
                for (size_t i = 0; i < dim; ++i) dot += c[a * dim + i] * c[b * dim + i];
                assert_absolute(dot, a == b ? 1.0 : 0.0, 1e-12);
            }
        free(c);
        dpa__canaries_free(canaries);
    }
}

static void cosines_and_sums_agree_with_vectors(void **state) {
    (void)state;
    static const size_t dims[] = {9, 2048, 5000, 70001};
    for (size_t d = 0; d < sizeof dims / sizeof dims[0]; ++d) {
        enum { COUNT = 7 };
        const size_t dim = dims[d];
        dpa_canaries *canaries = handle(dim, COUNT - 2, 2, 2), *one = handle(dim, COUNT - 2, 2, 1);
        double *model = calloc(2 * dim, sizeof *model), *c = model + dim, square = 0.0;
        float *single = calloc(dim, sizeof *single);
        double got[COUNT], again[COUNT], norm[COUNT] = {3.0, 0.0, -1.0, 0.0, 0.0, 0.5, 0.0};
        assert_non_null(model);
        assert_non_null(single);
        for (size_t i = 0; i < dim; ++i) model[i] = 1e-3 * sin((double)(i * i));
        for (size_t i = 0; i < dim; ++i) single[i] = (float)model[i];
        assert_ok(dpa__canaries_sum_f64(canaries, norm, model, NULL, NULL));
        assert_ok(dpa__canaries_sum_f32(one, norm, single, NULL, NULL));
        for (size_t i = 0; i < dim; ++i) {
            double want = 1e-3 * sin((double)(i * i));
            for (size_t k = 0; k < COUNT; ++k) {
                float z[1];
                dpa__canary_numbers(canaries, k, i, 1, z);
                want += norm[k] * (double)z[0] / sqrt((double)dpa__hadamard_size(&one->hadamard));
                if (dim > 6000) break; /* vectors are slow to make, so the first canary only */
            }
            if (dim <= 6000) assert_absolute(model[i], want, 1e-6 / sqrt((double)dim));
            assert_absolute((double)single[i], model[i], 1e-6);
            square += model[i] * model[i];
        }
        const dpa_vector v = {.f64 = model, .dim = dim};
        assert_ok(dpa__canaries_cosines(canaries, &v, NULL, got, NULL, NULL));
        assert_ok(dpa__canaries_cosines(one, &v, NULL, again, NULL, NULL));
        assert_memory_equal(got, again, sizeof got);
        for (size_t k = 0; k < COUNT; ++k) {
            double dot = 0.0;
            assert_ok(dpa__canaries_make_f64(canaries, k, 1.0, c, NULL));
            for (size_t i = 0; i < dim; ++i) dot += c[i] * model[i];
            const double cosine =
                dot / sqrt(square); /* float32: part of it, part of its deviation */
            assert_absolute(got[k], cosine, 1.2e-7 * fabs(cosine) + 1e-6 / sqrt((double)dim));
        }
        free(model);
        free(single);
        dpa__canaries_free(canaries);
        dpa__canaries_free(one);
    }
}

/* Each stratum gives one coordinate; the rows are a permutation; another seed gives others. */
static void coordinates_and_rows(void **state) {
    (void)state;
    static const size_t dims[] = {2, 3, 1000, 1023, 1024, 1025, 5000};
    for (size_t d = 0; d < sizeof dims / sizeof dims[0]; ++d) {
        dpa__hadamard h, other;
        dpa__hadamard_init(&h, SEED, dims[d]);
        dpa__hadamard_init(&other, SEED + 1, dims[d]);
        const size_t n = dpa__hadamard_size(&h);
        assert_true(n <= dims[d] && 2 * n > dims[d]);
        unsigned char *seen = calloc(n, 1);
        size_t last = (size_t)-1, same = 0;
        assert_non_null(seen);
        for (size_t first = 0; first < n; first += DPA__CHUNK) {
            dpa__hadamard_chunk chunk;
            const size_t size = n - first < DPA__CHUNK ? n - first : DPA__CHUNK;
            dpa__hadamard_positions(&h, first, size, &chunk);
            for (size_t i = 0; i < size; ++i) {
                assert_true(last == (size_t)-1 || chunk.coordinate[i] > last);
                last = chunk.coordinate[i];
                assert_true(last < dims[d]);
            }
        }
        for (size_t i = 0; i < n; ++i) {
            const size_t row = dpa__hadamard_row(&h, i);
            assert_true(row < n && !seen[row]);
            seen[row] = 1;
            same += row == dpa__hadamard_row(&other, i);
        }
        if (n >= 512) assert_true(same < 20);
        free(seen);
    }
}

/* Known rounds by hand: what a round adds to its candidates and to nobody else, in a handle that
 * also keeps largest cosines, in one that does not, and across a save. */
static void own_rounds(dpa_direction direction) {
    enum { DIM = 3000, COUNT = 6, ROUNDS = 4 };
    static float released[ROUNDS][DIM];
    static const size_t candidate[ROUNDS][3] = {{0, 3, 5}, {1, 3, 4}, {0, 2, 5}, {1, 2, 5}};
    double want[COUNT] = {0}, c[DIM], times[COUNT] = {0};
    dpa_own_round own[ROUNDS];
    dpa_vector v[ROUNDS];
    dpa_canaries *a = test_canaries(direction, SEED, DIM, 4, 2, 1, NULL), *loaded = NULL;
    dpa_canaries *b = test_canaries(direction, SEED, DIM, 4, 2, 3, NULL);
    for (size_t r = 0; r < ROUNDS; ++r) {
        for (size_t i = 0; i < DIM; ++i) released[r][i] = (float)cos((double)(i * (r + 1)));
        own[r] = (dpa_own_round){0.25 * (double)(r + 1), candidate[r], 3};
        v[r] = (dpa_vector){.f32 = released[r], .dim = DIM};
        for (size_t k = 0; k < 3; ++k) {
            assert_ok(dpa__canaries_make_f64(a, candidate[r][k], 1.0, c, NULL));
            for (size_t i = 0; i < DIM; ++i)
                want[candidate[r][k]] += c[i] * (double)released[r][i] / own[r].unit;
            times[candidate[r][k]] += 1.0;
        }
        assert_ok(dpa__canaries_own(a, &v[r], &own[r], NULL, NULL));
    }
    assert_ok(dpa__canaries_round_many(b, v, own, 2, NULL, NULL));
    unsigned char *bytes = NULL;
    size_t size = 0;
    assert_ok(dpa__canaries_encode(b, &bytes, &size, NULL));
    assert_ok(dpa__canaries_decode("s", bytes, size, NULL, &loaded, NULL));
    assert_int_equal(dpa__canaries_direction(loaded), direction);
    assert_ok(dpa__canaries_round_many(loaded, v + 2, own + 2, 2, NULL, NULL));
    for (size_t i = 0; i < COUNT; ++i) {
        assert_absolute(dpa__canaries_own_score(a, i), want[i] / sqrt(times[i]), 1e-4);
        assert_absolute(dpa__canaries_own_score(loaded, i), dpa__canaries_own_score(a, i), 1e-4);
        assert_int_equal(dpa__canaries_own_times(loaded, i), times[i]);
    }
    assert_int_equal(dpa__canaries_rounds(a), 0);
    assert_int_equal(dpa__canaries_rounds(loaded), ROUNDS);
    assert_true(dpa__canaries_own_spread(a) == dpa__canaries_own_spread(loaded));
    assert_true(direction == DPA_DIRECTION_HADAMARD ? dpa__canaries_own_spread(a) == 1.0
                                                    : dpa__canaries_own_spread(a) > 1.0);
    free(bytes);
    dpa__canaries_free(a);
    dpa__canaries_free(b);
    dpa__canaries_free(loaded);
}

static void own_rounds_of_every_direction(void **state) {
    (void)state;
    own_rounds(DPA_DIRECTION_SPHERE);
    own_rounds(DPA_DIRECTION_SIGNS);
    own_rounds(DPA_DIRECTION_HADAMARD);
}

static void own_rounds_refuse_nonsense(void **state) {
    (void)state;
    float zero[100] = {0};
    const size_t id[] = {0, 3};
    dpa_vector v = {.f32 = zero, .dim = 100};
    dpa_canaries *canaries = handle(100, 2, 1, 1);
    assert_true(isnan(dpa__canaries_own_score(canaries, 0)));
    assert_int_equal(dpa__canaries_own(canaries, &v, &(dpa_own_round){0.0, id, 1}, NULL, NULL),
                     DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__canaries_own(canaries, &v, &(dpa_own_round){1.0, id, 2}, NULL, NULL),
                     DPA_BAD_ARGUMENT);
    assert_ok(dpa__canaries_own(canaries, &v, &(dpa_own_round){1.0, id, 1}, NULL, NULL));
    assert_true(dpa__canaries_own_score(canaries, 0) == 0.0);
    dpa_canaries_opts opts;
    dpa__canaries_opts_init(&opts);
    opts.direction = DPA_DIRECTION_HADAMARD;
    opts.dim = 1000;
    opts.observed = 513; /* there are 512 */
    dpa_canaries *none = NULL;
    assert_int_equal(dpa__canaries_new(&opts, &none, NULL), DPA_BAD_ARGUMENT);
    dpa__canaries_free(canaries);
}

/* Two canaries: 1 + |cosine|. Many: near √k/√d + 1, and never above the sphere's law. */
static void spread_of_canaries(void **state) {
    (void)state;
    static const dpa_direction both[] = {DPA_DIRECTION_SPHERE, DPA_DIRECTION_SIGNS};
    for (size_t t = 0; t < 2; ++t) {
        enum { DIM = 5000, COUNT = 100 };
        size_t which[COUNT];
        double first[DIM], second[DIM], dot = 0.0, got;
        dpa_canaries *canaries = test_canaries(both[t], 5, DIM, COUNT, 0, 2, NULL);
        for (size_t i = 0; i < COUNT; ++i) which[i] = COUNT - 1 - i;
        assert_ok(dpa__canaries_make_f64(canaries, which[0], 1.0, first, NULL));
        assert_ok(dpa__canaries_make_f64(canaries, which[1], 1.0, second, NULL));
        for (size_t i = 0; i < DIM; ++i) dot += first[i] * second[i];
        assert_ok(dpa__canaries_spread(canaries, which, 1, &got, NULL));
        assert_true(got == 1.0);
        assert_ok(dpa__canaries_spread(canaries, which, 2, &got, NULL));
        assert_absolute(got, sqrt(1.0 + fabs(dot)), 3e-6);
        assert_ok(dpa__canaries_spread(canaries, which, COUNT, &got, NULL));
        assert_absolute(got, 1.0 + sqrt((double)COUNT / DIM), 0.02);
        dpa__canaries_free(canaries);
    }
}

/* Too many to multiply: the law of the sphere, which is above what is seen; of signs nothing is
 * known; Hadamard's canaries are orthogonal however many. */
static void spread_of_many_canaries(void **state) {
    (void)state;
    enum { DIM = 4096, COUNT = 600 };
    static const dpa_direction all[] = {DPA_DIRECTION_SPHERE, DPA_DIRECTION_SIGNS,
                                        DPA_DIRECTION_HADAMARD};
    const double t = sqrt(2 * log((COUNT + 1) / 1e-9)), d = sqrt(DIM);
    const double known[] = {(d + sqrt(COUNT) + t) / (d - t), INFINITY, 1.0};
    size_t which[COUNT];
    double got;
    for (size_t i = 0; i < COUNT; ++i) which[i] = i;
    for (size_t k = 0; k < 3; ++k) {
        dpa_canaries *canaries = test_canaries(all[k], 5, DIM, COUNT, 0, 1, NULL);
        assert_ok(dpa__canaries_spread(canaries, which, COUNT, &got, NULL));
        assert_true(got == known[k] || fabs(got / known[k] - 1) < 1e-12);
        dpa__canaries_free(canaries);
    }
    assert_true(known[0] > 1 + sqrt((double)COUNT / DIM));
    /* √64 is below 2t: the law says nothing; of 512 canaries the products say it */
    dpa_canaries *few = test_canaries(DPA_DIRECTION_SPHERE, 5, 64, COUNT, 0, 1, NULL);
    assert_ok(dpa__canaries_spread(few, which, 513, &got, NULL));
    assert_true(isinf(got));
    assert_ok(dpa__canaries_spread(few, which, 512, &got, NULL));
    assert_absolute(got, 1 + sqrt(512.0 / 64), 0.3);
    dpa__canaries_free(few);
}

/* What a limit on rounds is expected to certify, summed canary by canary. */
static double expected_of(const double *times, size_t observed, size_t count, double most,
                          double sigma) {
    double roots = 0, in = 0, out = 0;
    for (size_t i = 0; i < count; ++i) {
        const int used = times[i] >= 1 && times[i] <= most;
        in += used && i < observed;
        out += used && i >= observed;
        roots += used && i < observed ? sqrt(times[i] / most) : 0;
    }
    if (in < 2 || out < 2) return -INFINITY;
    return fmin(1 / sigma, 3) * roots / in - 1.645 * sqrt((1 / in + 1 / out) / most);
}

/* The limit is the best of all, and canaries above it, or of no round, are left out. */
static void choice_of_canaries_by_rounds(void **state) {
    (void)state;
    enum { COUNT = 60, OBSERVED = 40, MOST = 12 };
    static const double sigmas[] = {0.1, 1, 8, 60};
    int seen[MOST + 1] = {0}, different = 0;
    for (uint64_t seed = 0; seed < 20; ++seed)
        for (size_t k = 0; k < 4; ++k) {
            double times[COUNT], score[COUNT], best = 1, most = 1, largest = -INFINITY;
            dpa_rng rng;
            dpa__rng_init(&rng, seed, DPA_PURPOSE_TEST, k);
            for (size_t i = 0; i < COUNT; ++i) {
                const double u = dpa__rng_uniform(&rng);
                times[i] = floor(pow(u, 1 + (double)(seed % 4)) * (MOST + 1));
                score[i] = (double)i;
                most = fmax(most, times[i]);
            }
            for (double r = most; r >= 1; --r) { /* of equal limits the lowest */
                const double here = expected_of(times, OBSERVED, COUNT, r, sigmas[k]);
                if (here >= largest) {
                    largest = here;
                    best = r;
                }
            }
            assert_true(dpa__canaries_choose(score, times, OBSERVED, COUNT, sigmas[k]) == best);
            for (size_t i = 0; i < COUNT; ++i)
                assert_true(times[i] < 1 || times[i] > best ? isnan(score[i])
                                                            : score[i] == (double)i);
            different += !seen[(int)best];
            seen[(int)best] = 1;
        }
    assert_true(different >= 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transform_is_its_definition),
        cmocka_unit_test(large_transforms),
        cmocka_unit_test(canaries_are_orthonormal),
        cmocka_unit_test(cosines_and_sums_agree_with_vectors),
        cmocka_unit_test(coordinates_and_rows),
        cmocka_unit_test(own_rounds_of_every_direction),
        cmocka_unit_test(own_rounds_refuse_nonsense),
        cmocka_unit_test(spread_of_canaries),
        cmocka_unit_test(spread_of_many_canaries),
        cmocka_unit_test(choice_of_canaries_by_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
