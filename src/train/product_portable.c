/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tile for all other processors. Without an instruction for it, the fused multiply-add of
 * floats is computed in doubles: a·b is exact there, and its sum with c is rounded to odd (the last
 * bit is set if anything was lost, Boldo and Melquiond 2008). A double has enough bits more than a
 * float (53 against 24) that the final rounding to float is then correct. */
#include "train/product_tile.h"

#include <math.h>

#include "base/simd.h"

enum { HIGH = 6, WIDE = 16 };

static int everywhere(void) {
    return 1;
}

static inline float fused(float a, float b, float c) {
#ifdef __FP_FAST_FMAF
    return fmaf(a, b, c);
#else
    const double product = (double)a * (double)b, other = (double)c, sum = product + other;
    const double back = sum - product;
    const double lost = (product - (sum - back)) + (other - back); /* exact: Knuth's two-sum */
    const uint64_t bits = dpa__bits_of(sum);
    /* Rounds to odd: if the last bit is even, moves towards the lost part. For infinities and NaN
     * `lost` is NaN, and the sum stays as it is. */
    const uint64_t up = (uint64_t)((lost > 0.0) == (sum > 0.0));
    const uint64_t is_even = (uint64_t)(lost > 0.0 || lost < 0.0) & ~bits & 1;
    return (float)dpa__of_bits(bits + is_even * (2 * up - 1));
#endif
}

/* One step of a row. Rounding first to double and then to float goes wrong only if the double lies
 * halfway between two floats or below the normal floats. That is rare, so the row is checked for it
 * and only then recomputed by the slow path. */
static inline void step(float a, const float *b, float *sum) {
    float next[WIDE];
    uint32_t is_hard = 0;
    for (int j = 0; j < WIDE; ++j) {
        const double exact = (double)a * (double)b[j] + (double)sum[j];
        const uint32_t tail = (uint32_t)dpa__bits_of(exact) & 0x1fffffffU;
        is_hard |= (uint32_t)(tail == 0x10000000U) | (uint32_t)(fabs(exact) < 0x1p-125);
        next[j] = (float)exact;
    }
    if (is_hard)
        for (int j = 0; j < WIDE; ++j) next[j] = fused(a, b[j], sum[j]);
    for (int j = 0; j < WIDE; ++j) sum[j] = next[j];
}

static void multiply(size_t deep, const float *a, const float *b, float *c, size_t width) {
    for (int i = 0; i < HIGH; ++i) {
        float sum[WIDE] = {0};
        for (size_t p = 0; p < deep; ++p) step(a[p * HIGH + (size_t)i], b + p * WIDE, sum);
        for (int j = 0; j < WIDE; ++j) c[(size_t)i * width + (size_t)j] += sum[j];
    }
}

const dpa__tile dpa__tile_portable = {"portable", HIGH, WIDE, everywhere, multiply};
