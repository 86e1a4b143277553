/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Philox4x32-10 streams (Salmon et al. 2011), on Random123. */
#include "base/rng.h"

#include <Random123/philox.h>
#include <math.h>
#include <string.h>

enum { WORDS = sizeof((dpa_rng *)0)->block / sizeof(uint32_t) };

void dpa__rng_init(dpa_rng *rng, uint64_t seed, dpa_purpose purpose, uint64_t index) {
    memset(rng, 0, sizeof *rng);
    rng->key[0] = (uint32_t)seed;
    rng->key[1] = (uint32_t)(seed >> 32);
    rng->counter[2] = (uint32_t)index;
    rng->counter[3] = (uint32_t)purpose << 24 | (uint32_t)(index >> 32 & 0xffffffU);
    rng->used = WORDS;
}

/* Two blocks at a time: one alone is a chain of products that the processor waits for. */
static void next_blocks(dpa_rng *rng) {
    philox4x32_ctr_t counter;
    philox4x32_key_t key;
    memcpy(counter.v, rng->counter, sizeof rng->counter);
    memcpy(key.v, rng->key, sizeof rng->key);
    for (int i = 0; i < WORDS; i += 4) {
        const philox4x32_ctr_t out = philox4x32(counter, key);
        memcpy(rng->block + i, out.v, sizeof out.v);
        if (++counter.v[0] == 0) ++counter.v[1];
    }
    memcpy(rng->counter, counter.v, sizeof rng->counter);
    rng->used = 0;
}

/* Static, because calls of an exported function are not inlined. */
static inline uint32_t next_word(dpa_rng *rng) {
    if (rng->used == WORDS) next_blocks(rng);
    return rng->block[rng->used++];
}

static inline uint64_t next_pair(dpa_rng *rng) {
    const uint64_t low = next_word(rng);
    return low | (uint64_t)next_word(rng) << 32;
}

/* In the upper half a double has no bit left for the ½, and the last value would round to 1. */
static inline double next_uniform(dpa_rng *rng) {
    const double x = ((double)(next_pair(rng) >> 11) + 0.5) * 0x1p-53;
    return x < 1.0 ? x : 1.0 - 0x1p-53;
}

uint32_t dpa__rng_u32(dpa_rng *rng) {
    return next_word(rng);
}

uint64_t dpa__rng_u64(dpa_rng *rng) {
    return next_pair(rng);
}

double dpa__rng_uniform(dpa_rng *rng) {
    return next_uniform(rng);
}

uint64_t dpa__rng_below(dpa_rng *rng, uint64_t n) {
    /* Draws below 2^64 mod n are drawn again, since they would favour small answers. That threshold
     * is less than n, so it need not be computed for larger draws: nearly always. */
    uint64_t x;
    do x = next_pair(rng);
    while (x < n && x < (0 - n) % n);
    return x % n;
}

double dpa__rng_normal(dpa_rng *rng) {
    if (rng->has_spare) {
        rng->has_spare = 0;
        return rng->spare;
    }
    const double radius = sqrt(-2.0 * log(next_uniform(rng)));
    const double angle = 6.283185307179586 * next_uniform(rng);
    rng->spare = radius * sin(angle);
    rng->has_spare = 1;
    return radius * cos(angle);
}

void dpa__rng_shuffle(dpa_rng *rng, size_t *index, size_t count) {
    for (size_t i = count; i > 1; --i) {
        const size_t j = (size_t)dpa__rng_below(rng, i);
        const size_t swap = index[i - 1];
        index[i - 1] = index[j];
        index[j] = swap;
    }
}
