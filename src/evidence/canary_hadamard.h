/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hadamard canaries: rows of H·D, exactly orthogonal, all of them by one fast transform. */
#ifndef DPA_EVIDENCE_CANARY_HADAMARD_H
#define DPA_EVIDENCE_CANARY_HADAMARD_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/status.h"
#include "evidence/canary_kernel.h"

enum { DPA__HADAMARD_BITS = 32 }; /* log2 of the longest transform */

/* The coordinates and signs, a function of (seed, dim). */
typedef struct dpa__hadamard {
    uint64_t seed;
    size_t dim;
    unsigned bits;                   /* 2^bits ≤ dim < 2^(bits+1) */
    dpa__canary_stream sign, choice; /* D; which of a stratum's two coordinates is taken */
} dpa__hadamard;

/* dim ≥ 2. */
void dpa__hadamard_init(dpa__hadamard *h, uint64_t seed, size_t dim);
static inline size_t dpa__hadamard_size(const dpa__hadamard *h) {
    return (size_t)1 << h->bits;
}
/* The row of H that a canary uses; a permutation of 0 … 2^bits − 1. */
size_t dpa__hadamard_row(const dpa__hadamard *h, uint64_t canary);

/* Positions first … first+size−1 of the transform (first a multiple of DPA__CHUNK, size ≤
 * DPA__CHUNK): their coordinates, ascending, and the diagonal of D there, ±1. */
typedef struct dpa__hadamard_chunk {
    size_t coordinate[DPA__CHUNK];
    float sign[DPA__CHUNK];
} dpa__hadamard_chunk;
void dpa__hadamard_positions(const dpa__hadamard *h, size_t first, size_t size,
                             dpa__hadamard_chunk *out);
/* Coordinates first … first+size−1 of a row: ±1, or 0 for a coordinate that was not chosen. */
void dpa__hadamard_write(const dpa__hadamard *h, size_t row, size_t first, size_t size, float *out);

/* x ← P·H·x in place, with H unnormalised (entries ±1). P is a permutation with P·H = H·P that
 * avoids moving numbers about; dpa__hadamard_place says where P puts a row. Read (or, before the
 * transform, write) the coefficient of a row at its place; the other side is in natural order. */
dpa_status dpa__hadamard_transform(float *x, unsigned bits, unsigned threads, dpa_error *err);
size_t dpa__hadamard_place(size_t row, unsigned bits);

#endif
