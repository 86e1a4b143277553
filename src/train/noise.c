/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fast normals: Philox4x32-10 in lanes, then Box–Muller in single precision.
 *
 * Element 128g + 32j + l comes from block 32g + l of the stream that dpa__rng_init names: j = 0, 1
 * are cosine and sine of the pair of words (w0, w1), j = 2, 3 those of (w2, w3). The radius is √(−2
 * ln u) with u = (w + ½)·2⁻³² (so at most 6.76), the angle 2π·w'/2³². The polynomials are Chebyshev
 * fits with error below 3e-8; the result is within 1e-6 of the same formula in double precision
 * (test). The generator is reproducible, not cryptographically secure: see docs/trainer.md.
 *
 * Canaries use other normals (evidence/canary_kernel.h), with another order of positions and other
 * polynomials on the same Philox. Published results depend on the bits of both, so neither can
 * replace the other. */
#include "train/noise.h"

#include <math.h>

#include "base/simd.h"

enum { LANES = DPA_LANES, WORDS = 4 };

typedef struct lanes {
    uint32_t word[WORDS][LANES];
} lanes;

/* The ten rounds of Salmon et al. 2011 on LANES counters at once. */
static inline void philox(lanes *x, uint32_t key0, uint32_t key1) {
    for (int round = 0; round < 10; ++round) {
        for (int l = 0; l < LANES; ++l) {
            const uint64_t product0 = (uint64_t)x->word[0][l] * 0xD2511F53U;
            const uint64_t product1 = (uint64_t)x->word[2][l] * 0xCD9E8D57U;
            const uint32_t next0 = (uint32_t)(product1 >> 32) ^ x->word[1][l] ^ key0;
            const uint32_t next2 = (uint32_t)(product0 >> 32) ^ x->word[3][l] ^ key1;
            x->word[0][l] = next0;
            x->word[1][l] = (uint32_t)product1;
            x->word[2][l] = next2;
            x->word[3][l] = (uint32_t)product0;
        }
        key0 += 0x9E3779B9U;
        key1 += 0xBB67AE85U;
    }
}

/* Converts as a signed number, because every instruction set can do that, and adds the lowest bit
 * afterwards. */
static inline float float_of_word(uint32_t w) {
    return (float)(int32_t)(w >> 1) * 2.0F + (float)(int32_t)(w & 1U);
}

/* −2 ln((w + ½)·2⁻³²). u = m·2^e with m in [√½, √2). Near u = 1 the difference from 1 is taken from
 * the integer, where it is exact. ln(1+f) = f − f²/2 + f³·P(f). */
static inline float minus_two_log(uint32_t w) {
    const uint32_t root_half = 0x3F3504F3U;
    const float u = (float_of_word(w) + 0.5F) * 0x1p-32F;
    const uint32_t bits = dpa__float_bits_of(u) - root_half;
    const int32_t exponent = (int32_t)bits >> 23;
    const float m = dpa__of_float_bits((bits & 0x007FFFFFU) + root_half);
    const float from_one = -(float_of_word(~w) + 0.5F) * 0x1p-32F;
    const float f = exponent == 0 ? from_one : m - 1.0F;
    float p = -0.07902743772F;
    p = p * f + 0.1262231985F;
    p = p * f - 0.1299818376F;
    p = p * f + 0.1421449592F;
    p = p * f - 0.1664128146F;
    p = p * f + 0.2000104509F;
    p = p * f - 0.2500030642F;
    p = p * f + 0.3333333073F;
    const float log_m = f + f * f * (f * p - 0.5F);
    return -2.0F * (log_m + (float)exponent * 0.693147181F);
}

/* Cosine and sine of 2π·w/2³². Two bits of the word choose the quarter; the remaining angle is in
 * [−π/4, π/4). */
static inline void circle(uint32_t w, float *cosine, float *sine) {
    const uint32_t quarter = (w + 0x20000000U) >> 30;
    const float x = (float)((int32_t)(w << 2) >> 2) * 1.46291807927e-9F; /* 2π/2³² */
    const float y = x * x;
    const float s =
        x * (((-0.000195039042508F * y + 0.0083320357856F) * y - 0.16666650674F) * y + 1.0F);
    const float c = ((-0.00135857792648F * y + 0.0416550149249F) * y - 0.499998564192F) * y + 1.0F;
    const uint32_t odd = 0U - (quarter & 1U);
    const uint32_t s_bits = dpa__float_bits_of(s), c_bits = dpa__float_bits_of(c);
    const uint32_t cos_bits = (c_bits & ~odd) | (s_bits & odd);
    const uint32_t sin_bits = (s_bits & ~odd) | (c_bits & odd);
    *cosine = dpa__of_float_bits(cos_bits ^ ((quarter + 1U) << 30 & 0x80000000U));
    *sine = dpa__of_float_bits(sin_bits ^ (quarter << 30 & 0x80000000U));
}

static inline void normals(const lanes *x, float *z) {
    for (int pair = 0; pair < 2; ++pair)
        for (int l = 0; l < LANES; ++l) {
            const float radius = sqrtf(minus_two_log(x->word[2 * pair][l]));
            float cosine, sine;
            circle(x->word[2 * pair + 1][l], &cosine, &sine);
            z[2 * LANES * pair + l] = radius * cosine;
            z[2 * LANES * pair + LANES + l] = radius * sine;
        }
}

DPA_CLONES
void dpa__noise_add(uint64_t seed, dpa_purpose purpose, uint64_t index, uint64_t first, float scale,
                    float *out, size_t count) {
    dpa_rng stream;
    dpa__rng_init(&stream, seed, purpose, index);
    for (size_t done = 0; done < count; done += DPA_NOISE_GROUP) {
        const uint64_t block = (first + done) / WORDS;
        lanes x;
        for (int l = 0; l < LANES; ++l) {
            x.word[0][l] = (uint32_t)block + (uint32_t)l; /* no carry, because 32 divides 2³² */
            x.word[1][l] = (uint32_t)(block >> 32);
            x.word[2][l] = stream.counter[2];
            x.word[3][l] = stream.counter[3];
        }
        philox(&x, stream.key[0], stream.key[1]);
        float z[DPA_NOISE_GROUP];
        normals(&x, z);
        const size_t left = count - done < DPA_NOISE_GROUP ? count - done : DPA_NOISE_GROUP;
        for (size_t i = 0; i < left; ++i) out[done + i] += scale * z[i];
    }
}
