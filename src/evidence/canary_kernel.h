/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Normals of a canary, fast and the same bits everywhere.
 *
 * A canary is a stream of Philox4x32-10 blocks (dpaudit/rng.h: purpose CANARY, index = the canary).
 * Positions come in groups of 32, made of 8 blocks; block j gives pairs 2j (words 0, 1) and 2j+1
 * (words 2, 3); pair p gives position p of the group (cosine) and position p+16 (sine).
 *
 * A pair (w, v) becomes two normals by Box–Muller in float32:
 *   u = (w>>1 + ½) / 2³¹,  r = √(−2 ln u),  θ = (π/2)·(int32)v / 2³¹ in [−π/2, π/2],
 *   ± r cos θ (sign: the lowest bit of w),  r sin θ.
 * Polynomials: ln to 1.7e-7 relative; with h = θ/2, cos θ = 1 − 2 sin²h, sin θ = 2 sin h cos h to
 * 1e-7 absolute. The radius ends at √(64 ln 2) = 6.66: beyond it a normal has mass 2.7e-11. Near
 * u = 1 float32 has steps of 2⁻²⁴, so radii below 1e-3 (probability 5e-7) come in steps.
 *
 * Only IEEE +, −, ×, √ and conversions are used, in a written order and never fused, so every
 * kernel gives the same bits; the portable one is the definition. Sums run in 8 double lanes: lane
 * j takes positions j, 16+j, 8+j, 24+j of each group in this order. A model's elements have at most
 * 29 significant bits (dpa__canary_round), so their products with a float32 are exact in double,
 * and a fused multiply-add gives what a separate one gives: there kernels are free to choose. */
#ifndef DPA_EVIDENCE_CANARY_KERNEL_H
#define DPA_EVIDENCE_CANARY_KERNEL_H

#include <stddef.h>
#include <stdint.h>

enum {
    DPA__GROUP = 32,       /* positions of a group */
    DPA__GROUP_BLOCKS = 8, /* Philox blocks of a group */
    DPA__LANES = 8,        /* lanes of a sum */
    DPA__CALL_GROUPS = 4,  /* kernels are called for multiples of so many groups */
    DPA__CALL = DPA__CALL_GROUPS * DPA__GROUP,
    DPA__DOTS = 4,     /* models multiplied with stored normals at a time */
    DPA__CHUNK = 2048, /* positions between two folds of the lanes; its model part fits in L1 */
    DPA__PHILOX_ROUNDS = 10
};

#define DPA__PHILOX_M0 UINT32_C(0xD2511F53)
#define DPA__PHILOX_M1 UINT32_C(0xCD9E8D57)

typedef struct dpa__canary_stream {
    uint32_t index_low, tag; /* words 2 and 3 of every counter */
    uint32_t key0[DPA__PHILOX_ROUNDS], key1[DPA__PHILOX_ROUNDS];
} dpa__canary_stream;

typedef struct dpa__lanes {
    double dot[DPA__LANES], square[DPA__LANES];
} dpa__lanes;

/* `groups` is a multiple of DPA__CALL_GROUPS. A call must not cross a multiple of 2³² blocks;
 * callers stay inside a chunk. */
typedef struct dpa__canary_kernel {
    const char *name;
    int (*supported)(void);
    /* out: groups × 32 normals */
    void (*normals)(const dpa__canary_stream *stream, uint64_t group, size_t groups, float *out);
    /* adds z·model and z² of groups × 32 positions to the lanes */
    void (*sums)(const dpa__canary_stream *stream, uint64_t group, size_t groups,
                 const double *model, dpa__lanes *lanes);
    /* stored normals with DPA__DOTS models `stride` apart: adds z·model to lane[8m … 8m+7] in the
     * same order as `sums` does */
    void (*dots)(const float *z, size_t groups, const double *model, size_t stride, double *lane);
} dpa__canary_kernel;

/* −2 ln(1+t)/t on [√½−1, √2−1]; √2 sin(πx/4)/x and √2 cos(πx/4) in z = x² on [0,1]: minimax fits,
 * rounded to float. */
#define DPA__LOG_COEFFICIENTS                                                                      \
    {                                                                                              \
        -0x1.fffffep+0F, 0x1.00007ap+0F, -0x1.5559dcp-1F, 0x1.ff623cp-2F, -0x1.978e2ap-2F,         \
            0x1.614c0ep-2F, -0x1.4c3d2ap-2F, 0x1.9dfa9cp-3F                                        \
    }
#define DPA__SIN_COEFFICIENTS                                                                      \
    { 1.1107208F, -0.114191286F, 0.003521402F, -5.0847353e-05F }
#define DPA__COS_COEFFICIENTS                                                                      \
    { 1.4142135F, -0.43617776F, 0.022415165F, -0.00045096513F }
#define DPA__EXPONENT_SCALE (-0x1.62e43p-23F)   /* −2 ln 2 / 2²³ */
#define DPA__SQRT_HALF_BITS INT32_C(0x3f3504f3) /* √½ as float32 */
/* Added to the bits of x = 2^e·m, m in [√½, √2): e − 31 above bit 23, m − √½ in steps below it. */
#define DPA__SHIFT_BITS (-DPA__SQRT_HALF_BITS - (INT32_C(31) << 23))
#define DPA__EXPONENT_MASK (~INT32_C(0x7fffff))
#define DPA__MANTISSA_MASK INT32_C(0x7fffff)

void dpa__canary_stream_init(dpa__canary_stream *stream, uint64_t seed, uint64_t index);
/* x to 29 significant bits; |x| < 2^900. */
static inline double dpa__canary_round(double x) { /* Veltkamp's splitting: 53 − 24 bits */
    const double spread = x * 0x1.000001p24;
    return spread - (spread - x);
}
/* The definition of a group's sum; also used for the last, incomplete group. z has 32 normals, of
 * which the first `count` belong to the canary. */
void dpa__lanes_add_group(dpa__lanes *lanes, const float *z, const double *model, size_t count);
/* ((0+4)+(2+6)) + ((1+5)+(3+7)). */
double dpa__lanes_fold(const double *lane);

extern const dpa__canary_kernel dpa__canary_portable;
#if defined(__x86_64__)
extern const dpa__canary_kernel dpa__canary_avx2, dpa__canary_avx512;
#endif
/* All kernels of this build, best first; NULL past the end. */
const dpa__canary_kernel *dpa__canary_kernel_at(size_t i);
/* The named kernel, or for NULL the best one for this machine. NULL if there is none. */
const dpa__canary_kernel *dpa__canary_kernel_find(const char *name);

#endif
