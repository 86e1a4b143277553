/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Canaries whose elements are signs: ±1/√d, a coin each, 2048 coins from 16 blocks of the canary's
 * Philox4x32-10 stream (dpaudit/rng.h: purpose CANARY).
 *
 * The coins of a chunk of 2048 positions are 64 words: word 16·w + l is word w of block l. Position
 * 64·b + l of the chunk is negative where bit 31 − b of word l is set. Sums run in 64 float lanes,
 * lane l taking its positions in their order, and are folded by halves; chunks are added in double.
 * A flipped sign is exact and nothing is fused or reordered, so every instruction set gives the
 * same bits. Rounding: a cosine is off by about 1e-6 of its deviation 1/√d.
 *
 * The loops are plain C that the compiler turns into vectors. The counters are kept in 64-bit
 * lanes, because a product of 32-bit halves then is one instruction and needs no shuffles. */
#include <string.h>

#include "base/simd.h"
#include "evidence/canary.h"

enum { BLOCKS = DPA__SIGN_WORDS / 4, BITS = 32 };
_Static_assert(DPA__SIGN_WORDS *BITS == DPA__CHUNK, "the words of a chunk");

#define LOW_HALF UINT64_C(0xffffffff)
#define SIGN_BIT (UINT32_C(1) << 31)

/* The upper half of a lane collects garbage that is never read. */
static inline void philox_round(uint64_t x[4][BLOCKS], uint64_t key0, uint64_t key1) {
    for (unsigned l = 0; l < BLOCKS; ++l) {
        const uint64_t p = (x[0][l] & LOW_HALF) * DPA__PHILOX_M0;
        const uint64_t q = (x[2][l] & LOW_HALF) * DPA__PHILOX_M1;
        x[0][l] = q >> 32 ^ x[1][l] ^ key0;
        x[2][l] = p >> 32 ^ x[3][l] ^ key1;
        x[1][l] = q;
        x[3][l] = p;
    }
}

DPA_CLONES
void dpa__signs_make(const dpa__canary_stream *stream, size_t first, dpa__signs *out) {
    const uint64_t block = first / DPA__CHUNK * BLOCKS;
    uint64_t x[4][BLOCKS];
    for (unsigned l = 0; l < BLOCKS; ++l) {
        x[0][l] = block + l; /* 16 divides 2³²: no carry out of the low half */
        x[1][l] = block >> 32;
        x[2][l] = stream->index_low;
        x[3][l] = stream->tag;
    }
    for (unsigned i = 0; i < DPA__PHILOX_ROUNDS; ++i)
        philox_round(x, stream->key0[i], stream->key1[i]);
    for (unsigned w = 0; w < 4; ++w)
        for (unsigned l = 0; l < BLOCKS; ++l) out->word[BLOCKS * w + l] = (uint32_t)x[w][l];
}

static inline float flipped(float x, uint32_t word) {
    return dpa__of_float_bits(dpa__float_bits_of(x) ^ (word & SIGN_BIT));
}

DPA_CLONES
double dpa__signs_dot(const dpa__signs *signs, const float *restrict model) {
    float lane[DPA__SIGN_WORDS] = {0};
    uint32_t word[DPA__SIGN_WORDS];
    memcpy(word, signs->word, sizeof word);
    for (size_t at = 0; at < DPA__CHUNK; at += DPA__SIGN_WORDS)
        for (size_t l = 0; l < DPA__SIGN_WORDS; ++l) {
            lane[l] += flipped(model[at + l], word[l]);
            word[l] <<= 1;
        }
    for (size_t half = DPA__SIGN_WORDS / 2; half > 0; half /= 2)
        for (size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
    return (double)lane[0];
}

DPA_CLONES
void dpa__signs_write(const dpa__signs *signs, float *out) {
    uint32_t word[DPA__SIGN_WORDS];
    memcpy(word, signs->word, sizeof word);
    for (size_t at = 0; at < DPA__CHUNK; at += DPA__SIGN_WORDS)
        for (size_t l = 0; l < DPA__SIGN_WORDS; ++l) {
            out[at + l] = flipped(1.0F, word[l]);
            word[l] <<= 1;
        }
}
