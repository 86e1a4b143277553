/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel in AVX-512: eight columns at a time. */
#include "attack/moments_kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f")))
#define OP TARGET static inline __attribute__((always_inline))
#define LANES 8

#define widen(p) ((masks)_mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(p))))
#define fuse(a, b, c) ((numbers)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define least(a, b) ((numbers)_mm512_min_pd((__m512d)(a), (__m512d)(b)))
#define most(a, b) ((numbers)_mm512_max_pd((__m512d)(a), (__m512d)(b)))

#include "attack/moments_vector.h"

static int is_supported(void) {
    return __builtin_cpu_supports("avx512f");
}

const dpa__moments_kernel dpa__moments_avx512 = {"avx512", is_supported, signals, probabilities,
                                                 map};
#else
typedef int dpa__moments_avx512_not_here;
#endif
