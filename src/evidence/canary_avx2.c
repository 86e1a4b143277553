/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vector kernel in AVX2: a group of 32 normals in two steps. */
#include "evidence/canary_kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx2,fma")))
#define OP TARGET static inline __attribute__((always_inline))
#define BATCH 2
#define WIDTH 32

#define words_multiply(a, b) ((words)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
/* The key does not wait for the product. */
#define words_xor3(a, b, key) ((a) ^ ((b) ^ (key)))
/* The low halves of `even` and `odd` interleaved, or the high halves. */
#define words_interleave(even, odd)                                                                \
    ((words)_mm256_blend_epi32((__m256i)(even), (__m256i)((odd) << 32), 0xaa))
#define words_interleave_high(even, odd)                                                           \
    ((words)_mm256_blend_epi32((__m256i)((even) >> 32), (__m256i)(odd), 0xaa))
#define reals_root(a) ((reals)_mm256_sqrt_ps((__m256)(a)))
#define reals_low(a) ((narrow)_mm256_castps256_ps128((__m256)(a)))
#define reals_high(a) ((narrow)_mm256_extractf128_ps((__m256)(a), 1))
#define doubles_fuse(a, b, sum)                                                                    \
    ((doubles)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(sum)))

#include "evidence/canary_vector.h"

static int supported(void) {
    return __builtin_cpu_supports("avx2");
}

const dpa__canary_kernel dpa__canary_avx2 = {"avx2", supported, normals, sums, dots};
#else
typedef int dpa__canary_avx2_not_here;
#endif
