/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vector kernel in AVX-512 (F and DQ): a group of 32 normals in one step. */
#include "evidence/canary_kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512dq")))
#define OP TARGET static inline __attribute__((always_inline))
#define BATCH 2
#define WIDTH 64

#define words_multiply(a, b) ((words)_mm512_mul_epu32((__m512i)(a), (__m512i)(b)))
#define words_xor3(a, b, key)                                                                      \
    ((words)_mm512_ternarylogic_epi64((__m512i)(a), (__m512i)(b), (__m512i)(key), 0x96))
/* The low halves of `even` and `odd` interleaved, or the high halves. */
#define words_interleave(even, odd)                                                                \
    ((words)_mm512_mask_shuffle_epi32((__m512i)(even), 0xaaaa, (__m512i)(odd), _MM_PERM_CCAA))
#define words_interleave_high(even, odd)                                                           \
    ((words)_mm512_mask_shuffle_epi32((__m512i)(odd), 0x5555, (__m512i)(even), _MM_PERM_DDBB))
#define reals_root(a) ((reals)_mm512_sqrt_ps((__m512)(a)))
#define reals_low(a) ((narrow)_mm512_castps512_ps256((__m512)(a)))
#define reals_high(a) ((narrow)_mm512_extractf32x8_ps((__m512)(a), 1))
#define doubles_fuse(a, b, sum)                                                                    \
    ((doubles)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(sum)))

#include "evidence/canary_vector.h"

static int supported(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}

const dpa__canary_kernel dpa__canary_avx512 = {"avx512", supported, normals, sums, dots};
#else
typedef int dpa__canary_avx512_not_here;
#endif
