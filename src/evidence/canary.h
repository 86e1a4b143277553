/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of a canary handle. */
#ifndef DPA_EVIDENCE_CANARY_H
#define DPA_EVIDENCE_CANARY_H

#include "dpaudit/canary.h"
#include "evidence/canary_hadamard.h"
#include "evidence/canary_kernel.h"
#include "evidence/canary_target.h"

struct dpa_canaries {
    dpa_canaries_opts opts; /* threads ≥ 1 */
    const dpa__canary_kernel *kernel;
    size_t count;
    double *norm;    /* [count] norms before scaling; NaN until needed */
    double *largest; /* [count] largest cosine over the rounds */
    uint64_t rounds;
    double *own;     /* [count] sums over each canary's own rounds */
    uint64_t *times; /* [count] how many own rounds it had */
    double spread;   /* largest dpa_canaries_spread of those rounds; at least 1 */
    dpa__hadamard hadamard;
    size_t *row; /* [count] rows of the Hadamard matrix; NULL for other directions */
    float *work; /* [2^bits] for transforms; NULL until it is needed */
};

/* The signs of a chunk: see canary_signs.c. */
enum { DPA__SIGN_WORDS = 64 };
typedef struct dpa__signs {
    uint32_t word[DPA__SIGN_WORDS];
} dpa__signs;

/* The signs of positions first … first + DPA__CHUNK − 1; `first` is a multiple of DPA__CHUNK. */
void dpa__signs_make(const dpa__canary_stream *stream, size_t first, dpa__signs *out);
/* Σ ±model over a chunk, DPA__CHUNK elements. */
double dpa__signs_dot(const dpa__signs *signs, const float *model);
/* The chunk as numbers, ±1. */
void dpa__signs_write(const dpa__signs *signs, float *out);

/* The numbers z of one chunk of a canary before scaling: normals, signs, or a row of H·D. `out` has
 * room for DPA__CHUNK; at least `size` are written. */
void dpa__canary_numbers(const dpa_canaries *canaries, size_t index, size_t first, size_t size,
                         float *out);

/* Adds the sums of z·model and z² over positions first … first+size−1 of a canary to dot and
 * square. One chunk: first is a multiple of DPA__CHUNK, size ≤ DPA__CHUNK. Not for signs. */
void dpa__canary_chunk(const dpa_canaries *canaries, const dpa__canary_stream *stream, size_t first,
                       size_t size, const double *model, double *dot, double *square);

/* The same dot products for `models` vectors at once (a multiple of DPA__DOTS): dot[0..models) of
 * one canary. The chunks of the vectors lie DPA__CHUNK apart, padded with zeros after `size`. */
void dpa__canary_chunk_many(const dpa_canaries *canaries, size_t index, size_t first, size_t size,
                            const double *model, size_t models, double *dot);

/* Cosines of the canaries which[0 … count) (NULL: all `count`) with each of `models` targets:
 * out[count × models]. 0 for a target of zeros. */
dpa_status dpa__canary_cosines(dpa_canaries *canaries, const dpa__target *model, size_t models,
                               const size_t *which, size_t count, double *out,
                               const dpa_progress *progress, dpa_error *err);

/* The same, and the sum of all canaries, for Hadamard canaries (canary_fast.c): one transform per
 * target, for any number of canaries. One of f32 and f64 is NULL. */
dpa_status dpa__canary_fast_cosines(dpa_canaries *canaries, const dpa__target *model, size_t models,
                                    const size_t *which, size_t count, double *out,
                                    const dpa_progress *progress, dpa_error *err);
dpa_status dpa__canary_fast_sum(dpa_canaries *canaries, const double *norm, float *f32, double *f64,
                                dpa_error *err);

/* The norm of a canary's numbers, cached after the first call. */
double dpa__canary_norm(dpa_canaries *canaries, size_t index);

/* Encodes the state into a new block, and decodes it; `name` is for errors. */
dpa_status dpa__canaries_encode(const dpa_canaries *canaries, unsigned char **out, size_t *size,
                                dpa_error *err);
dpa_status dpa__canaries_decode(const char *name, const unsigned char *bytes, size_t size,
                                const dpa_canaries_opts *opts, dpa_canaries **out, dpa_error *err);

#endif
