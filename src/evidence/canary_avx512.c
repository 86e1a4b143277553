/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vector kernel in AVX-512 (F and DQ): a group of 32 normals in one step. */
#include "evidence/canary_kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512dq")))
#define OP TARGET static inline __attribute__((always_inline))
#define BATCH 2
#define STEP_BLOCKS 8

typedef __m512i words;
typedef __m512 reals;

OP words words_all(uint32_t x) {
    return _mm512_set1_epi64(x);
}
OP words words_count(uint32_t low) {
    return _mm512_add_epi64(words_all(low), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
}
OP words words_multiply(words a, words b) {
    return _mm512_mul_epu32(a, b);
}
OP words words_high(words a) {
    return _mm512_srli_epi64(a, 32);
}
OP words words_xor(words a, words b) {
    return _mm512_xor_si512(a, b);
}
OP words words_xor3(words a, words b, words c) {
    return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}
OP words words_add(words a, words b) {
    return _mm512_add_epi64(a, b);
}
/* The low halves of `even` and `odd` interleaved, or the high halves. */
OP words words_interleave(words even, words odd) {
    return _mm512_mask_shuffle_epi32(even, 0xaaaa, odd, _MM_PERM_CCAA);
}
OP words words_interleave_high(words even, words odd) {
    return _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
}

OP words ints_all(int32_t x) {
    return _mm512_set1_epi32(x);
}
OP words ints_add(words a, words b) {
    return _mm512_add_epi32(a, b);
}
OP words ints_and(words a, words b) {
    return _mm512_and_si512(a, b);
}
#define ints_shift_right(a, n) _mm512_srli_epi32((a), (n))
#define ints_shift_left(a, n) _mm512_slli_epi32((a), (n))

OP reals reals_all(float x) {
    return _mm512_set1_ps(x);
}
OP reals reals_add(reals a, reals b) {
    return _mm512_add_ps(a, b);
}
OP reals reals_subtract(reals a, reals b) {
    return _mm512_sub_ps(a, b);
}
OP reals reals_multiply(reals a, reals b) {
    return _mm512_mul_ps(a, b);
}
OP reals reals_root(reals a) {
    return _mm512_sqrt_ps(a);
}
OP reals reals_of_ints(words a) {
    return _mm512_cvtepi32_ps(a);
}
OP reals reals_of_bits(words a) {
    return _mm512_castsi512_ps(a);
}
OP words bits_of_reals(reals a) {
    return _mm512_castps_si512(a);
}
OP void reals_store(float *at, reals a) {
    _mm512_storeu_ps(at, a);
}

typedef struct lane_sums {
    __m512d dot, square;
} lane_sums;

OP void lane_sums_load(lane_sums *t, const dpa__lanes *lanes) {
    t->dot = _mm512_loadu_pd(lanes->dot);
    t->square = _mm512_loadu_pd(lanes->square);
}
OP void lane_sums_store(const lane_sums *t, dpa__lanes *lanes) {
    _mm512_storeu_pd(lanes->dot, t->dot);
    _mm512_storeu_pd(lanes->square, t->square);
}
OP void lane_sums_add(lane_sums *t, __m256 z, const double *model) {
    const __m512d x = _mm512_cvtps_pd(z);
    t->dot = _mm512_fmadd_pd(x, _mm512_loadu_pd(model), t->dot);
    t->square = _mm512_fmadd_pd(x, x, t->square);
}
OP void lane_sums_step(lane_sums *t, reals cosine, reals sine, const double *model) {
    lane_sums_add(t, _mm512_castps512_ps256(cosine), model);
    lane_sums_add(t, _mm512_castps512_ps256(sine), model + 16);
    lane_sums_add(t, _mm512_extractf32x8_ps(cosine, 1), model + 8);
    lane_sums_add(t, _mm512_extractf32x8_ps(sine, 1), model + 24);
}

typedef __m512d lane_dots;

OP void lane_dots_load(lane_dots *t, const double *lane) {
    *t = _mm512_loadu_pd(lane);
}
OP void lane_dots_store(const lane_dots *t, double *lane) {
    _mm512_storeu_pd(lane, *t);
}
OP void lane_dots_add(lane_dots *t, const float *z, const double *model) {
    *t = _mm512_fmadd_pd(_mm512_cvtps_pd(_mm256_loadu_ps(z)), _mm512_loadu_pd(model), *t);
}

#include "evidence/canary_vector.h"

static int supported(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}

const dpa__canary_kernel dpa__canary_avx512 = {"avx512", supported, normals, sums, dots};
#else
typedef int dpa__canary_avx512_not_here;
#endif
