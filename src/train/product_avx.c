/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tiles for AVX2 with FMA (12 of 16 registers hold sums) and for AVX-512 (24 of 32). Each row of a
 * tile is two named variables, because with arrays gcc 12 stores every sum to memory in every
 * step. */
#include "train/product_tile.h"

#ifdef __x86_64__
#include <immintrin.h>

#define ROWS_6(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define ROWS_12(X) ROWS_6(X) X(6) X(7) X(8) X(9) X(10) X(11)

static int has_avx512(void) {
    return __builtin_cpu_supports("avx512f");
}

static int has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#define START(i) __m512 left##i = _mm512_setzero_ps(), right##i = _mm512_setzero_ps();
#define STEP(i)                                                                                    \
    factor = _mm512_set1_ps(a[i]);                                                                 \
    left##i = _mm512_fmadd_ps(factor, first, left##i);                                             \
    right##i = _mm512_fmadd_ps(factor, second, right##i);
#define FINISH(i)                                                                                  \
    _mm512_storeu_ps(c + i * width, _mm512_add_ps(_mm512_loadu_ps(c + i * width), left##i));       \
    _mm512_storeu_ps(c + i * width + 16,                                                           \
                     _mm512_add_ps(_mm512_loadu_ps(c + i * width + 16), right##i));

__attribute__((target("avx512f"))) static void
multiply_avx512(size_t deep, const float *a, const float *b, float *c, size_t width) {
    ROWS_12(START)
    for (size_t p = 0; p < deep; ++p, a += 12, b += 32) {
        const __m512 first = _mm512_load_ps(b), second = _mm512_load_ps(b + 16);
        __m512 factor;
        ROWS_12(STEP)
    }
    ROWS_12(FINISH)
}

#undef START
#undef STEP
#undef FINISH
#define START(i) __m256 left##i = _mm256_setzero_ps(), right##i = _mm256_setzero_ps();
#define STEP(i)                                                                                    \
    factor = _mm256_broadcast_ss(a + i);                                                           \
    left##i = _mm256_fmadd_ps(factor, first, left##i);                                             \
    right##i = _mm256_fmadd_ps(factor, second, right##i);
#define FINISH(i)                                                                                  \
    _mm256_storeu_ps(c + i * width, _mm256_add_ps(_mm256_loadu_ps(c + i * width), left##i));       \
    _mm256_storeu_ps(c + i * width + 8,                                                            \
                     _mm256_add_ps(_mm256_loadu_ps(c + i * width + 8), right##i));

__attribute__((target("avx2,fma"))) static void
multiply_avx2(size_t deep, const float *a, const float *b, float *c, size_t width) {
    ROWS_6(START)
    for (size_t p = 0; p < deep; ++p, a += 6, b += 16) {
        const __m256 first = _mm256_load_ps(b), second = _mm256_load_ps(b + 8);
        __m256 factor;
        ROWS_6(STEP)
    }
    ROWS_6(FINISH)
}

#else

static int has_avx512(void) {
    return 0;
}
static int has_avx2(void) {
    return 0;
}
#define multiply_avx512 NULL
#define multiply_avx2 NULL

#endif

const dpa__tile dpa__tile_avx512 = {"avx512", 12, 32, has_avx512, multiply_avx512};
const dpa__tile dpa__tile_avx2 = {"avx2", 6, 16, has_avx2, multiply_avx2};
