/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel in AVX2 with FMA: four columns at a time. */
#include "attack/moments_kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx2,fma")))
#define OP TARGET static inline __attribute__((always_inline))
#define LANES 4

#define widen(p) ((masks)_mm256_cvtepu8_epi64(_mm_loadu_si32(p)))
#define fuse(a, b, c) ((numbers)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define least(a, b) ((numbers)_mm256_min_pd((__m256d)(a), (__m256d)(b)))
#define most(a, b) ((numbers)_mm256_max_pd((__m256d)(a), (__m256d)(b)))

#include "attack/moments_vector.h"

static int is_supported(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

const dpa__moments_kernel dpa__moments_avx2 = {"avx2", is_supported, signals, probabilities, map};
#else
typedef int dpa__moments_avx2_not_here;
#endif
