/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transforms verified as FFTW verifies itself (Ergün, 1995): impulse, linearity, shift; then the
 * inverse, and independence of where the numbers lie. */
#include "check.h"

#include "base/rng.h"
#include "math/fft.h"

enum { MOST = 1024 };
static const size_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 12, 64, 97, 100, 210, 1000, 1023, 1024};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static void fill(double *x, size_t n, uint64_t stream) {
    dpa_rng rng;
    dpa__rng_init(&rng, 5, DPA_PURPOSE_TEST, stream);
    for (size_t i = 0; i < n; ++i) x[i] = dpa__rng_normal(&rng);
}

static void assert_near(double complex got, double complex want, double tolerance) {
    assert_absolute(creal(got), creal(want), tolerance);
    assert_absolute(cimag(got), cimag(want), tolerance);
}

static void impulse(void **state) {
    (void)state;
    double x[MOST];
    double complex y[MOST];
    for (size_t k = 0; k < LENGTHS; ++k) {
        const size_t n = lengths[k];
        memset(x, 0, sizeof x);
        x[0] = 1;
        assert_ok(dpa__fft_forward(n, x, y, NULL));
        for (size_t i = 0; i <= n / 2; ++i) assert_near(y[i], 1, 1e-15);
    }
}

static void linear(void **state) {
    (void)state;
    double a[MOST], b[MOST], c[MOST];
    double complex fa[MOST], fb[MOST], fc[MOST];
    for (size_t k = 0; k < LENGTHS; ++k) {
        const size_t n = lengths[k];
        fill(a, n, 1);
        fill(b, n, 2);
        for (size_t i = 0; i < n; ++i) c[i] = 3 * a[i] - 0.5 * b[i];
        assert_ok(dpa__fft_forward(n, a, fa, NULL));
        assert_ok(dpa__fft_forward(n, b, fb, NULL));
        assert_ok(dpa__fft_forward(n, c, fc, NULL));
        for (size_t i = 0; i <= n / 2; ++i) assert_near(fc[i], 3 * fa[i] - 0.5 * fb[i], 1e-12);
    }
}

static void shift(void **state) {
    (void)state;
    double a[MOST], b[MOST];
    double complex fa[MOST], fb[MOST];
    for (size_t k = 0; k < LENGTHS; ++k) {
        const size_t n = lengths[k];
        fill(a, n, 3);
        for (size_t i = 0; i < n; ++i) b[(i + 1) % n] = a[i];
        assert_ok(dpa__fft_forward(n, a, fa, NULL));
        assert_ok(dpa__fft_forward(n, b, fb, NULL));
        for (size_t i = 0; i <= n / 2; ++i) {
            const double angle = -2 * M_PI * (double)i / (double)n;
            assert_near(fb[i], fa[i] * CMPLX(cos(angle), sin(angle)), 1e-12);
        }
    }
}

static void there_and_back(void **state) {
    (void)state;
    double a[MOST], kept[MOST], b[MOST];
    double complex fa[MOST];
    for (size_t k = 0; k < LENGTHS; ++k) {
        const size_t n = lengths[k];
        fill(a, n, 4);
        memcpy(kept, a, sizeof a);
        assert_ok(dpa__fft_forward(n, a, fa, NULL));
        assert_memory_equal(a, kept, n * sizeof *a);
        assert_ok(dpa__fft_inverse(n, fa, b, NULL));
        for (size_t i = 0; i < n; ++i) assert_absolute(b[i], kept[i], 4e-15);
    }
}

/* The same bytes, aligned or not. */
static void alignment(void **state) {
    (void)state;
    double *block = dpa__fft_alloc(MOST + 1, NULL);
    double *first = dpa__fft_alloc(2 * MOST, NULL), *second = dpa__fft_alloc(2 * MOST + 1, NULL);
    assert_true(block != NULL && first != NULL && second != NULL);
    fill(block, MOST, 6);
    assert_ok(dpa__fft_forward(1000, block, (double complex *)first, NULL));
    memmove(block + 1, block, 1000 * sizeof *block);
    assert_ok(dpa__fft_forward(1000, block + 1, (double complex *)(void *)(second + 1), NULL));
    assert_memory_equal(first, second + 1, 2 * 501 * sizeof *first);
    assert_ok(dpa__fft_inverse(1000, (double complex *)(void *)(second + 1), block + 1, NULL));
    assert_ok(dpa__fft_inverse(1000, (double complex *)first, second, NULL));
    assert_memory_equal(block + 1, second, 1000 * sizeof *second);
    dpa__fft_free(block);
    dpa__fft_free(first);
    dpa__fft_free(second);
    dpa__fft_free(NULL);
}

static void good_lengths(void **state) {
    (void)state;
    assert_int_equal(dpa__fft_good_length(0), 1);
    assert_int_equal(dpa__fft_good_length(1), 1);
    assert_int_equal(dpa__fft_good_length(11), 12);
    assert_int_equal(dpa__fft_good_length(210), 210);
    assert_int_equal(dpa__fft_good_length(1023), 1024);
    for (size_t n = 1; n < 5000; ++n)
        assert_between((double)dpa__fft_good_length(n), (double)n, 1.2 * (double)n + 1);
}

static void failures(void **state) {
    (void)state;
    double x[2] = {1, 2};
    double complex y[2];
    dpa_error err = {0};
    assert_int_equal(dpa__fft_forward(0, x, y, &err), DPA_BAD_ARGUMENT);
    assert_int_equal(dpa__fft_inverse((size_t)1 << 40, y, x, &err), DPA_BAD_ARGUMENT);
    assert_null(dpa__fft_alloc(SIZE_MAX, &err));
    assert_int_equal(err.status, DPA_NO_MEMORY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impulse),   cmocka_unit_test(linear),
        cmocka_unit_test(shift),     cmocka_unit_test(there_and_back),
        cmocka_unit_test(alignment), cmocka_unit_test(good_lengths),
        cmocka_unit_test(failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
