/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One source, several instruction sets: a function marked DPA_CLONES is compiled for the baseline,
 * for AVX2 and for AVX-512, and the loader picks one. No operation is reassociated or contracted
 * (-ffp-contract=off), and sums run over a fixed number of lanes, so that every clone gives the
 * same bytes. With sanitizers there is one version only, because the loader's choice would run
 * before they are ready. */
#ifndef DPA_BASE_SIMD_H
#define DPA_BASE_SIMD_H

#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DPA_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DPA_CLONES
#endif

/* Lanes of a sum. More than 16, because gcc would unroll a shorter loop before it could vectorise
 * it. */
enum { DPA_LANES = 32 };

/* The bits of a double, and back; vector code selects and scales with them. */
static inline uint64_t dpa__bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double dpa__of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t dpa__float_bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float dpa__of_float_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
