/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vector kernel in AVX2: a group of 32 normals in two steps. */
#include "evidence/canary_kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx2,fma")))
#define OP TARGET static inline __attribute__((always_inline))
#define BATCH 2
#define STEP_BLOCKS 4

typedef __m256i words;
typedef __m256 reals;

OP words words_all(uint32_t x) {
    return _mm256_set1_epi64x(x);
}
OP words words_count(uint32_t low) {
    return _mm256_add_epi64(words_all(low), _mm256_set_epi64x(3, 2, 1, 0));
}
OP words words_multiply(words a, words b) {
    return _mm256_mul_epu32(a, b);
}
OP words words_high(words a) {
    return _mm256_srli_epi64(a, 32);
}
OP words words_xor(words a, words b) {
    return _mm256_xor_si256(a, b);
}
OP words words_xor3(words a, words b, words c) {
    return words_xor(a, words_xor(b, c)); /* the key does not wait for the product */
}
OP words words_add(words a, words b) {
    return _mm256_add_epi64(a, b);
}
/* The low halves of `even` and `odd` interleaved, or the high halves. */
OP words words_interleave(words even, words odd) {
    return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
}
OP words words_interleave_high(words even, words odd) {
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
}

OP words ints_all(int32_t x) {
    return _mm256_set1_epi32(x);
}
OP words ints_add(words a, words b) {
    return _mm256_add_epi32(a, b);
}
OP words ints_and(words a, words b) {
    return _mm256_and_si256(a, b);
}
#define ints_shift_right(a, n) _mm256_srli_epi32((a), (n))
#define ints_shift_left(a, n) _mm256_slli_epi32((a), (n))

OP reals reals_all(float x) {
    return _mm256_set1_ps(x);
}
OP reals reals_add(reals a, reals b) {
    return _mm256_add_ps(a, b);
}
OP reals reals_subtract(reals a, reals b) {
    return _mm256_sub_ps(a, b);
}
OP reals reals_multiply(reals a, reals b) {
    return _mm256_mul_ps(a, b);
}
OP reals reals_root(reals a) {
    return _mm256_sqrt_ps(a);
}
OP reals reals_of_ints(words a) {
    return _mm256_cvtepi32_ps(a);
}
OP reals reals_of_bits(words a) {
    return _mm256_castsi256_ps(a);
}
OP words bits_of_reals(reals a) {
    return _mm256_castps_si256(a);
}
OP void reals_store(float *at, reals a) {
    _mm256_storeu_ps(at, a);
}

/* Lanes 0–3 and 4–7. */
typedef struct lane_sums {
    __m256d dot[2], square[2];
} lane_sums;

OP void lane_sums_load(lane_sums *t, const dpa__lanes *lanes) {
    for (unsigned i = 0; i < 2; ++i) {
        t->dot[i] = _mm256_loadu_pd(lanes->dot + 4 * i);
        t->square[i] = _mm256_loadu_pd(lanes->square + 4 * i);
    }
}
OP void lane_sums_store(const lane_sums *t, dpa__lanes *lanes) {
    for (unsigned i = 0; i < 2; ++i) {
        _mm256_storeu_pd(lanes->dot + 4 * i, t->dot[i]);
        _mm256_storeu_pd(lanes->square + 4 * i, t->square[i]);
    }
}
OP void lane_sums_add(lane_sums *t, unsigned half, __m128 z, const double *model) {
    const __m256d x = _mm256_cvtps_pd(z);
    t->dot[half] = _mm256_fmadd_pd(x, _mm256_loadu_pd(model), t->dot[half]);
    t->square[half] = _mm256_fmadd_pd(x, x, t->square[half]);
}
OP void lane_sums_step(lane_sums *t, reals cosine, reals sine, const double *model) {
    lane_sums_add(t, 0, _mm256_castps256_ps128(cosine), model);
    lane_sums_add(t, 1, _mm256_extractf128_ps(cosine, 1), model + 4);
    lane_sums_add(t, 0, _mm256_castps256_ps128(sine), model + 16);
    lane_sums_add(t, 1, _mm256_extractf128_ps(sine, 1), model + 20);
}

typedef struct lane_dots {
    __m256d half[2];
} lane_dots;

OP void lane_dots_load(lane_dots *t, const double *lane) {
    for (unsigned i = 0; i < 2; ++i) t->half[i] = _mm256_loadu_pd(lane + 4 * i);
}
OP void lane_dots_store(const lane_dots *t, double *lane) {
    for (unsigned i = 0; i < 2; ++i) _mm256_storeu_pd(lane + 4 * i, t->half[i]);
}
OP void lane_dots_add(lane_dots *t, const float *z, const double *model) {
    for (unsigned i = 0; i < 2; ++i)
        t->half[i] = _mm256_fmadd_pd(_mm256_cvtps_pd(_mm_loadu_ps(z + 4 * i)),
                                     _mm256_loadu_pd(model + 4 * i), t->half[i]);
}

#include "evidence/canary_vector.h"

static int supported(void) {
    return __builtin_cpu_supports("avx2");
}

const dpa__canary_kernel dpa__canary_avx2 = {"avx2", supported, normals, sums, dots};
#else
typedef int dpa__canary_avx2_not_here;
#endif
