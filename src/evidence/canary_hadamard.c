/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which numbers a Hadamard canary consists of. A canary is a row of H·D/√n on n of the d
 * coordinates, n = 2^b the largest power of two up to d; rows of a longer transform cut to
 * length d would not be orthogonal. H is the Hadamard matrix of order n, D a diagonal of fair
 * signs.
 *
 * The n coordinates: [0, d) is cut into n strata ⌊p·d/n⌋ … ⌊(p+1)·d/n⌋ − 1 of one or two
 * coordinates each; of two, a fair coin takes one. So no part of the model is left out, and
 * converting between position and coordinate is cheap and local in both directions. Canary i is
 * row π(i), where π is a keyed permutation (a Feistel network on Philox), so that which rows
 * take part does not depend on their numbers.
 *
 * Streams: purpose CANARY of the seed, indices at the top of their range. */

#include <string.h>

#include "base/rng.h"
#include "evidence/canary.h"

#define TOP (UINT64_C(1) << DPA_RNG_INDEX_BITS)
static const uint64_t SIGN_STREAM = TOP - 1, CHOICE_STREAM = TOP - 2;
static const uint64_t ROW_STREAMS = UINT64_C(0xfe) << 48; /* + round << 40 + half of the index */
enum { FEISTEL_ROUNDS = 8 };

void dpa__hadamard_init(dpa__hadamard *h, uint64_t seed, size_t dim) {
    *h = (dpa__hadamard){.seed = seed, .dim = dim};
    while (h->bits < DPA__HADAMARD_BITS && dim >> h->bits > 1) ++h->bits;
    dpa__canary_stream_init(&h->sign, seed, SIGN_STREAM);
    dpa__canary_stream_init(&h->choice, seed, CHOICE_STREAM);
}

static uint64_t keyed(const dpa__hadamard *h, unsigned round, uint64_t half) {
    dpa_rng rng;
    dpa__rng_init(&rng, h->seed, DPA_PURPOSE_CANARY, ROW_STREAMS + ((uint64_t)round << 40) + half);
    return dpa__rng_u32(&rng);
}

size_t dpa__hadamard_row(const dpa__hadamard *h, uint64_t canary) {
    const unsigned low_bits = (h->bits + 1) / 2, high_bits = h->bits - low_bits;
    uint64_t low = canary & ((UINT64_C(1) << low_bits) - 1), high = canary >> low_bits;
    for (unsigned round = 0; round < FEISTEL_ROUNDS; ++round) {
        if (round % 2 == 0)
            low ^= keyed(h, round, high) & ((UINT64_C(1) << low_bits) - 1);
        else
            high ^= keyed(h, round, low) & ((UINT64_C(1) << high_bits) - 1);
    }
    return (size_t)(high << low_bits | low);
}

/* ⌊p·d/n⌋ = p + ⌊p·(d − n)/n⌋; both factors are below 2^32. */
static size_t stratum(const dpa__hadamard *h, size_t p) {
    return p + (size_t)((uint64_t)p * (h->dim - dpa__hadamard_size(h)) >> h->bits);
}

void dpa__hadamard_positions(const dpa__hadamard *h, size_t first, size_t size,
                             dpa__hadamard_chunk *out) {
    dpa__signs signs, choices;
    float choice[DPA__CHUNK];
    dpa__signs_make(&h->sign, first, &signs);
    dpa__signs_write(&signs, out->sign);
    dpa__signs_make(&h->choice, first, &choices);
    dpa__signs_write(&choices, choice);
    size_t start = stratum(h, first);
    for (size_t i = 0; i < size; ++i) {
        const size_t next = stratum(h, first + i + 1);
        out->coordinate[i] = start + (next - start == 2 && choice[i] < 0.0F);
        start = next;
    }
}

static unsigned parity(size_t x) {
    return (unsigned)__builtin_popcountll(x) & 1U;
}

void dpa__hadamard_write(const dpa__hadamard *h, size_t row, size_t first, size_t size,
                         float *out) {
    const size_t n = dpa__hadamard_size(h), end = first + size;
    dpa__hadamard_chunk chunk;
    memset(out, 0, size * sizeof *out);
    /* the position of coordinate `first` is at most first·n/d, rounded down to a chunk */
    size_t p = (size_t)((double)first * ((double)n / (double)h->dim));
    p = p > 1 ? (p - 1) / DPA__CHUNK * DPA__CHUNK : 0;
    for (; p < n && stratum(h, p) < end; p += DPA__CHUNK) {
        const size_t count = n - p < DPA__CHUNK ? n - p : DPA__CHUNK;
        dpa__hadamard_positions(h, p, count, &chunk);
        for (size_t i = 0; i < count; ++i) {
            const size_t at = chunk.coordinate[i];
            if (at >= first && at < end)
                out[at - first] = parity(row & (p + i)) ? -chunk.sign[i] : chunk.sign[i];
        }
    }
}
