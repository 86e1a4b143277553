/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sums over models: every kernel gives the same bits, the quick way gives those of the careful
 * one, and both are what long double says. */
#include "check.h"

#include "attack/moments_kernel.h"
#include "base/rng.h"

enum { WIDTH = 64 };

typedef struct rows {
    double x[DPA__MODELS][WIDTH];
    uint8_t member[DPA__MODELS][WIDTH];
    dpa__models models;
} rows;

static void fill(rows *r, double scale, uint64_t seed) {
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_TEST, 0);
    for (size_t k = 0; k < DPA__MODELS; ++k) {
        for (size_t c = 0; c < WIDTH; ++c) {
            r->x[k][c] = scale * (2.0 * dpa__rng_uniform(&rng) - 1.0);
            r->member[k][c] = (uint8_t)(dpa__rng_u32(&rng) & 1);
        }
        r->models.x[k] = r->models.next[k] = r->x[k];
        r->models.member[k] = r->member[k];
    }
}

static void start(dpa__moments *m) {
    memset(m, 0, sizeof *m);
    for (size_t c = 0; c < WIDTH; ++c) {
        m->origin_in[c] = 0.25 * (double)c;
        m->origin_out[c] = -0.5 * (double)c;
        m->sum_in[c] = m->sum_out[c] = 0.125;
        m->count_in[c] = c;
    }
}

static const double scales[] = {1e-300, 1e-9, 0.3, 4.0, 30.0, 88.0, 200.0, 690.0, 5000.0, 1e300};
enum { SCALES = sizeof scales / sizeof *scales };

static void kernels_give_the_same_bits(void **state) {
    (void)state;
    static dpa__moments expected, found;
    const dpa__moments_kernel *plain = &dpa__moments_portable;
    static rows r;
    for (size_t i = 0; i < SCALES; ++i)
        for (size_t k = 0; dpa__moments_kernel_at(k) != NULL; ++k) {
            const dpa__moments_kernel *kernel = dpa__moments_kernel_at(k);
            if (!kernel->is_supported()) continue;
            fill(&r, scales[i], i);
            start(&expected);
            start(&found);
            plain->signals(&r.models, WIDTH, 0, &expected);
            kernel->signals(&r.models, WIDTH, 0, &found);
            assert_memory_equal(&expected, &found, sizeof found);
            for (int how = 0; how < 12; ++how) {
                const dpa__wanted wanted = {how & 1, (dpa__sides)(how / 4), how >> 1 & 1};
                start(&expected);
                start(&found);
                assert_int_equal(plain->probabilities(&r.models, WIDTH, 0, wanted, &expected) != 0,
                                 kernel->probabilities(&r.models, WIDTH, 0, wanted, &found) != 0);
                if (scales[i] < 1000 || wanted.careful)
                    assert_memory_equal(&expected, &found, sizeof found);
            }
            for (int is_loss = 0; is_loss < 2; ++is_loss) {
                plain->map(r.x[0], WIDTH, is_loss, expected.sum_in);
                kernel->map(r.x[0], WIDTH, is_loss, found.sum_in);
                assert_memory_equal(expected.sum_in, found.sum_in, WIDTH * sizeof(double));
            }
        }
}

/* Signals that the quick way can do get the same bits from the careful one; it says which it
 * cannot. A column at an offset gets the bits that it gets without. */
static void quick_is_careful(void **state) {
    (void)state;
    static dpa__moments quick, careful;
    static rows r;
    const dpa__moments_kernel *kernel = dpa__moments_kernel_at(0);
    for (size_t k = 0; !kernel->is_supported(); kernel = dpa__moments_kernel_at(++k)) continue;
    for (size_t i = 0; i < SCALES; ++i)
        for (int how = 0; how < 6; ++how) {
            const dpa__sides sides = (dpa__sides)(how / 2);
            fill(&r, scales[i], 100 + i);
            start(&quick);
            start(&careful);
            const int is_beyond = kernel->probabilities(&r.models, WIDTH, 0,
                                                        (dpa__wanted){how & 1, sides, 0}, &quick);
            (void)kernel->probabilities(&r.models, WIDTH, 0, (dpa__wanted){how & 1, sides, 1},
                                        &careful);
            assert_int_equal(is_beyond, scales[i] > 88.5);
            if (!is_beyond) assert_memory_equal(&quick, &careful, sizeof quick);
            memset(&quick, 0, sizeof quick);
            memset(&careful, 0, sizeof careful);
            (void)kernel->probabilities(&r.models, 8, 0, (dpa__wanted){how & 1, sides, 1}, &quick);
            (void)kernel->probabilities(&r.models, 8, 16, (dpa__wanted){how & 1, sides, 1},
                                        &careful);
            assert_memory_equal(quick.sum_out, careful.sum_out + 16, 8 * sizeof(double));
            assert_memory_equal(quick.count_in, careful.count_in + 16, 8 * sizeof(uint64_t));
        }
}

static long double probability(double x, int is_loss) {
    const long double within = fminl(fmaxl((long double)x, -690.0L), 690.0L);
    return is_loss ? expl(-within) : 1.0L / (1.0L + expl(-within));
}

/* Any number of rows and columns; signals near the ends, and one far beyond in a strip of others.
 */
static void sums_are_exact(void **state) {
    (void)state;
    enum { ROWS = 11, COLUMNS = 53 };
    static double x[ROWS * COLUMNS];
    static uint8_t member[ROWS * COLUMNS];
    static dpa__moments m;
    static const size_t row[ROWS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const dpa__strip strip = {x, member, COLUMNS, 1, 0, row, ROWS, COLUMNS};
    dpa_rng rng;
    dpa__rng_init(&rng, 7, DPA_PURPOSE_TEST, 0);
    for (size_t i = 0; i < SCALES; ++i)
        for (int how = 0; how < 4; ++how) {
            const dpa__sides sides = how & 1 ? DPA__SIDES_BOTH : DPA__SIDES_OUT;
            for (size_t c = 0; c < ROWS * COLUMNS; ++c) {
                x[c] = scales[i] * (2.0 * dpa__rng_uniform(&rng) - 1.0);
                member[c] = (uint8_t)(dpa__rng_u32(&rng) & 1);
            }
            x[5 * COLUMNS + 3] = how < 2 ? 1e6 : -1e6;
            dpa__strip_probabilities(&strip, how / 2, sides, &m);
            for (size_t c = 0; c < COLUMNS; ++c) {
                long double sum[2] = {0};
                uint64_t count = 0;
                for (size_t k = 0; k < ROWS; ++k) {
                    count += member[k * COLUMNS + c];
                    sum[member[k * COLUMNS + c]] += probability(x[k * COLUMNS + c], how / 2);
                }
                assert_true(m.count_in[c] == count);
                assert_relative(m.sum_out[c], (double)sum[0], 2e-14);
                if (how & 1) assert_relative(m.sum_in[c], (double)sum[1], 2e-14);
            }
        }
}

/* A signal that is not finite makes a sum NaN, wherever it stands. */
static void not_finite_is_seen(void **state) {
    (void)state;
    enum { ROWS = 7, COLUMNS = 11 };
    static const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    static double x[ROWS * COLUMNS];
    static uint8_t member[ROWS * COLUMNS];
    static dpa__moments m;
    static const size_t row[ROWS] = {0, 1, 2, 3, 4, 5, 6};
    for (size_t i = 0; i < ROWS * COLUMNS * 3 * 4; ++i) {
        const size_t at = i / 12, column = at % COLUMNS;
        const dpa__strip strip = {x, i & 1 ? member : NULL, COLUMNS, 1, 0, row, ROWS, COLUMNS};
        member[at] = (uint8_t)(i / 2 & 1);
        x[at] = bad[i / 4 % 3];
        for (int is_loss = 0; is_loss < 2; ++is_loss) {
            dpa__strip_probabilities(&strip, is_loss, DPA__SIDES_BOTH, &m);
            assert_true(isnan(m.sum_in[column] + m.sum_out[column]));
        }
        x[at] = 0.5;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_give_the_same_bits),
        cmocka_unit_test(quick_is_careful),
        cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(not_finite_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
