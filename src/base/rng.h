/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random numbers as a function of (seed, purpose, index): Philox4x32-10, counter based.
 *
 * A stream is named, not drawn: two streams with a different purpose or index never overlap, and
 * the numbers of a stream do not depend on threads or on what other streams did. Counter layout
 * (32-bit words): block low, block high, index low, purpose << 24 | index high. */
#ifndef DPA_BASE_RNG_H
#define DPA_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/export.h"

/* Purposes are part of every published number: append, never renumber. */
typedef enum dpa_purpose {
    DPA_PURPOSE_TEST = 0,
    DPA_PURPOSE_CANARY = 1,    /* one stream per canary */
    DPA_PURPOSE_NOISE = 2,     /* one stream per training step */
    DPA_PURPOSE_SAMPLING = 3,  /* which records are in a batch */
    DPA_PURPOSE_INIT = 4,      /* model weights */
    DPA_PURPOSE_SPLIT = 5,     /* splits of evidence */
    DPA_PURPOSE_BOOTSTRAP = 6, /* one stream per replicate */
    DPA_PURPOSE_RANK = 7,      /* Monte Carlo of rank statistics */
    DPA_PURPOSE_SIMULATE = 8,  /* simulated mechanisms */
    DPA_PURPOSE_MIXTURE = 9,   /* starts of EM */
    DPA_PURPOSE_MEMBERSHIP = 10,
    DPA_PURPOSE_AUGMENT = 11,
    DPA_PURPOSE_ATTACK = 12,
    DPA_PURPOSE_CLIENT = 13,
    DPA_PURPOSE_COUNT
} dpa_purpose;

enum { DPA_RNG_INDEX_BITS = 56 };

typedef struct dpa_rng {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t block[8];  /* the output of the current two blocks */
    unsigned used;      /* words of them already returned */
    unsigned has_spare; /* the second normal of a Box–Muller pair is waiting */
    double spare;
} dpa_rng;

/* Starts the stream (seed, purpose, index). Only the lower 56 bits of `index` are used. A dpa_rng
 * belongs to one thread at a time; different streams are independent of each other. */
DPA_API void dpa__rng_init(dpa_rng *rng, uint64_t seed, dpa_purpose purpose, uint64_t index);
/* 32 (64) uniformly random bits. */
DPA_API uint32_t dpa__rng_u32(dpa_rng *rng);
DPA_API uint64_t dpa__rng_u64(dpa_rng *rng);
/* Uniform on the open interval (0,1): multiples of 2^-53 plus 2^-54. */
DPA_API double dpa__rng_uniform(dpa_rng *rng);
/* Uniform on 0..n-1 without bias; n > 0. */
DPA_API uint64_t dpa__rng_below(dpa_rng *rng, uint64_t n);
/* Standard normal (Box–Muller in double precision). */
DPA_API double dpa__rng_normal(dpa_rng *rng);
/* Permutes index[0 .. count) uniformly at random (Fisher–Yates). */
DPA_API void dpa__rng_shuffle(dpa_rng *rng, size_t *index, size_t count);

#endif
