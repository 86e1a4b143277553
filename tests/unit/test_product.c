/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matrix products: against double precision within the bound that the header states, every kernel
 * against the definition bit by bit, at every edge of a tile and with numbers of every kind. */
#include "check.h"

#include "base/rng.h"
#include "dpaudit/lab/train.h"
#include "train/product.h"

enum { CHAIN = 192 };
static const char *const kernels[] = {"avx512", "avx2", "portable"};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

static void fill(float *x, size_t count, uint64_t seed, double spread) {
    dpa_rng rng;
    dpa__rng_init(&rng, seed, DPA_PURPOSE_TEST, 0);
    for (size_t i = 0; i < count; ++i)
        x[i] = (float)(dpa__rng_normal(&rng) * exp2(spread * dpa__rng_normal(&rng)));
}

static float at(dpa__matrix m, size_t i, size_t j) {
    return m.at[i * m.row + j * m.column];
}

/* The definition in the header, with the C library's fmaf. */
static float element(dpa__matrix a, dpa__matrix b, size_t i, size_t j, size_t k, float start) {
    float sum = start;
    for (size_t first = 0; first < k; first += CHAIN) {
        float chain = 0.0F;
        for (size_t p = first; p < k && p < first + CHAIN; ++p)
            chain = fmaf(at(a, i, p), at(b, p, j), chain);
        sum += chain;
    }
    return sum;
}

static void same_bits(float got, float want, const char *kernel) {
    if (memcmp(&got, &want, sizeof got) == 0 || (isnan(got) && isnan(want))) return;
    fail_msg("%s: got %a, want %a", kernel, (double)got, (double)want);
}

/* One product by every kernel that this machine has. */
static void check_product(size_t m, size_t n, size_t k, int flip_a, int flip_b, int add,
                          double spread) {
    float *a = malloc(m * k * sizeof *a), *b = malloc(k * n * sizeof *b);
    float *c = malloc(m * n * sizeof *c), *start = malloc(m * n * sizeof *start);
    fill(a, m * k, 1, spread);
    fill(b, k * n, 2, spread);
    fill(start, m * n, 3, spread);
    const dpa__matrix left = flip_a ? dpa__columns_of(a, m) : dpa__rows_of(a, k);
    const dpa__matrix right = flip_b ? dpa__columns_of(b, k) : dpa__rows_of(b, n);
    for (size_t v = 0; v < KERNELS; ++v) {
        if (!dpa__product_choose(kernels[v])) continue;
        memcpy(c, start, m * n * sizeof *c);
        dpa__product(m, n, k, left, right, add, c);
        for (size_t i = 0; i < m; ++i)
            for (size_t j = 0; j < n; ++j)
                same_bits(c[i * n + j],
                          element(left, right, i, j, k, add ? start[i * n + j] : 0.0F), kernels[v]);
    }
    free(a);
    free(b);
    free(c);
    free(start);
}

/* Tiles are 6 × 16 and 12 × 32, blocks 48, 96 and 192. */
static void edges(void **state) {
    (void)state;
    static const size_t high[] = {1, 5, 6, 7, 12, 13, 49}, wide[] = {1, 15, 16, 17, 32, 33, 97};
    static const size_t deep[] = {1, 2, 191, 192, 193, 385};
    for (size_t i = 0; i < 7; ++i)
        for (size_t j = 0; j < 7; ++j)
            for (size_t p = 0; p < 6; ++p) {
                const int way = (int)(i + j + p);
                check_product(high[i], wide[j], deep[p], way & 1, way >> 1 & 1, way >> 2 & 1, 0.0);
            }
    for (int way = 0; way < 8; ++way)
        check_product(30, 40, 50, way & 1, way >> 1 & 1, way >> 2 & 1, 0.0);
}

/* An empty sum gives zeros, or leaves what was there. */
static void empty(void **state) {
    (void)state;
    float c[2] = {5.0F, 6.0F};
    const dpa__matrix nothing = dpa__rows_of(c, 0);
    dpa__product(1, 2, 0, nothing, nothing, 1, c);
    assert_true(c[0] == 5.0F && c[1] == 6.0F);
    dpa__product(1, 2, 0, nothing, nothing, 0, c);
    assert_true(c[0] == 0.0F && c[1] == 0.0F);
}

/* Sums of very different sizes, overflow, and results below the normal numbers. */
static void any_size(void **state) {
    (void)state;
    for (int spread = 5; spread <= 60; spread += 5) check_product(7, 18, 40, 0, 0, 1, spread);
    /* Small whole numbers with halves: exact ties, which rounding twice would get wrong. */
    float a[2] = {1.0F, 0x1p-12F}, b[2] = {1.0F + 0x1p-23F, 0x1p-12F - 0x1p-36F}, c = 0.0F;
    for (size_t v = 0; v < KERNELS; ++v) {
        if (!dpa__product_choose(kernels[v])) continue;
        dpa__product(1, 1, 2, dpa__rows_of(a, 2), dpa__columns_of(b, 2), 0, &c);
        same_bits(c, fmaf(a[1], b[1], a[0] * b[0]), kernels[v]);
    }
}

static void not_finite(void **state) {
    (void)state;
    const float a[4] = {INFINITY, 0.0F, NAN, 1.0F}, b[4] = {1.0F, INFINITY, 2.0F, -INFINITY};
    for (size_t v = 0; v < KERNELS; ++v) {
        if (!dpa__product_choose(kernels[v])) continue;
        float c[16];
        dpa__product(4, 4, 1, dpa__rows_of(a, 1), dpa__rows_of(b, 4), 0, c);
        for (size_t i = 0; i < 16; ++i)
            same_bits(c[i], 0.0F + fmaf(a[i / 4], b[i % 4], 0.0F), kernels[v]);
    }
}

static void near_the_truth(void **state) {
    (void)state;
    enum { K = 5000 };
    static float a[3 * K], b[K * 4];
    float c[12];
    fill(a, 3 * K, 4, 0.0);
    fill(b, K * 4, 5, 0.0);
    dpa__product(3, 4, K, dpa__rows_of(a, K), dpa__rows_of(b, 4), 0, c);
    for (size_t i = 0; i < 12; ++i) {
        double truth = 0.0, absolute = 0.0;
        for (size_t p = 0; p < K; ++p) {
            const double term = (double)a[i / 4 * K + p] * (double)b[p * 4 + i % 4];
            truth += term;
            absolute += fabs(term);
        }
        assert_absolute((double)c[i], truth, (CHAIN + K / CHAIN + 1) * 0x1p-24 * absolute);
    }
}

static void weighted_rows(void **state) {
    (void)state;
    enum { ROWS = 7, N = 5003 };
    static float x[ROWS * N], sum[N], start[N];
    float factor[ROWS];
    fill(x, ROWS * N, 6, 0.0);
    fill(start, N, 7, 0.0);
    fill(factor, ROWS, 8, 0.0);
    memcpy(sum, start, sizeof sum);
    dpa__add_weighted(x, ROWS, N, factor, sum);
    for (size_t i = 0; i < N; ++i) {
        float want = start[i];
        for (size_t r = 0; r < ROWS; ++r) want += factor[r] * x[r * N + i];
        same_bits(sum[i], want, "weighted");
    }
}

static void kernel_names(void **state) {
    (void)state;
    assert_int_equal(dpa__product_choose("abacus"), 0);
    assert_int_equal(dpa__product_choose("portable"), 1);
    assert_string_equal(dpa_train_kernel(), "portable");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges),          cmocka_unit_test(empty),
        cmocka_unit_test(any_size),       cmocka_unit_test(not_finite),
        cmocka_unit_test(near_the_truth), cmocka_unit_test(weighted_rows),
        cmocka_unit_test(kernel_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
