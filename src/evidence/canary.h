/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random canaries: directions uniform on the unit sphere of R^d (or of random signs) that are
 * regenerated, never stored.
 *
 * Canary i is a function of (seed, first + i): d standard normals of a Philox4x32-10 stream,
 * divided by their norm. The same bits come from every instruction set and any number of threads,
 * so a training loop on one machine can add what an auditor on another measures. Streams of
 * different canaries never overlap. d = 10⁷ and 3162 canaries need the memory of one model.
 *
 * A handle holds two sets: `observed` canaries, which take part in the training, and after them
 * `unobserved` ones, which never do and show what chance gives (one-shot-federated, Algorithms
 * 1–3). One handle per thread. */
#ifndef DPA_EVIDENCE_CANARY_H
#define DPA_EVIDENCE_CANARY_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/attack.h"
#include "dpaudit/status.h"
#include "evidence/canary_kernel.h"
#include "evidence/weights.h"

typedef struct dpa_canaries dpa_canaries;

/* "sphere", "signs", "hadamard"; NULL past the last. */
DPA_API const char *dpa__direction_name(dpa_direction direction);

typedef struct dpa_canaries_opts {
    uint64_t seed;  /* 1 */
    uint64_t first; /* stream index of canary 0 (0); handles with disjoint ranges share no canary */
    size_t dim;     /* d, at least 2 */
    size_t observed;    /* canaries 0 … observed−1 */
    size_t unobserved;  /* the next ones (0) */
    unsigned threads;   /* 0: as many as the machine has; answers do not depend on it */
    const char *kernel; /* "avx512", "avx2", "portable"; NULL: the best that this machine has */
    dpa_direction direction; /* sphere */
} dpa_canaries_opts;

DPA_API void dpa__canaries_opts_init(dpa_canaries_opts *opts);
/* `opts` is copied. The caller frees *out with dpa__canaries_free. A handle belongs to one thread
 * at a time. */
DPA_API dpa_status dpa__canaries_new(const dpa_canaries_opts *opts, dpa_canaries **out,
                                     dpa_error *err) DPA_MUST_USE;
DPA_API void dpa__canaries_free(dpa_canaries *canaries);

DPA_API size_t dpa__canaries_dim(const dpa_canaries *canaries);
DPA_API size_t dpa__canaries_observed(const dpa_canaries *canaries);
DPA_API size_t dpa__canaries_unobserved(const dpa_canaries *canaries);
DPA_API size_t dpa__canaries_count(const dpa_canaries *canaries); /* both sets */
DPA_API uint64_t dpa__canaries_seed(const dpa_canaries *canaries);
DPA_API dpa_direction dpa__canaries_direction(const dpa_canaries *canaries);

/* Writes canary `index`, scaled to `norm`, to out[dim]. */
DPA_API dpa_status dpa__canaries_make_f32(dpa_canaries *canaries, size_t index, double norm,
                                          float *out, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa__canaries_make_f64(dpa_canaries *canaries, size_t index, double norm,
                                          double *out, dpa_error *err) DPA_MUST_USE;
/* Adds Σ norm[i]·canary i over all canaries to sum[dim] (norm 0 leaves one out): all canary clients
 * of a round at once, on all threads. */
DPA_API dpa_status dpa__canaries_sum_f32(dpa_canaries *canaries, const double *norm, float *sum,
                                         const dpa_progress *progress, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa__canaries_sum_f64(dpa_canaries *canaries, const double *norm, double *sum,
                                         const dpa_progress *progress, dpa_error *err) DPA_MUST_USE;

/* The cosines of all canaries with model − initial (initial NULL: with the model) into
 * out[dpa__canaries_count]. Elements are used with 29 significant bits, more than float32 has; sums
 * are double, in an order that depends on dim alone. A vector of zeros is an error: it has no
 * direction. */
DPA_API dpa_status dpa__canaries_cosines(dpa_canaries *canaries, const dpa_vector *model,
                                         const dpa_vector *initial, double *out,
                                         const dpa_progress *progress, dpa_error *err) DPA_MUST_USE;

/* All iterates (Algorithm 3): call once per round with the change of the model. Keeps the largest
 * cosine over the rounds for every canary. */
DPA_API dpa_status dpa__canaries_round(dpa_canaries *canaries, const dpa_vector *change,
                                       const dpa_progress *progress, dpa_error *err) DPA_MUST_USE;
/* Known rounds (docs/methods/known-rounds.md): every canary, observed or not, has rounds of its
 * own, which were drawn by one rule before it was decided which canaries take part. It is a
 * candidate in these rounds. */
typedef struct dpa_own_round {
    double unit; /* norm of what a whole canary adds to the release: S, or S divided by the divisor
                    of the sum */
    const size_t *candidate; /* indices, including unobserved ones */
    size_t candidates;
} dpa_own_round;
/* One such rule: the training's rounds 0 … rounds−1 are cut into `times` equal parts, and a canary
 * gets one random round of each: out[times], ascending. A function of (seed, first + canary). */
DPA_API dpa_status dpa__canaries_schedule(const dpa_canaries *canaries, size_t canary,
                                          uint64_t rounds, uint64_t times, uint64_t *out,
                                          dpa_error *err) DPA_MUST_USE;
/* Adds ⟨cᵢ, released⟩/unit to the sum of every candidate of the round. It does not count as a round
 * for the largest cosines or for dpa__canaries_rounds. A release of zeros adds 0. */
DPA_API dpa_status dpa__canaries_own(dpa_canaries *canaries, const dpa_vector *released,
                                     const dpa_own_round *own, const dpa_progress *progress,
                                     dpa_error *err) DPA_MUST_USE;
/* A canary's sum over its own rounds so far, divided by the square root of their number, so that
 * noise of deviation σ stays σ. NaN if it had no round yet. */
DPA_API double dpa__canaries_own_score(const dpa_canaries *canaries, size_t canary);
/* How many own rounds a canary had so far. */
DPA_API uint64_t dpa__canaries_own_times(const dpa_canaries *canaries, size_t canary);
/* The largest dpa__canaries_spread of the candidates of any round so far; 1 before the first. */
DPA_API double dpa__canaries_own_spread(const dpa_canaries *canaries);
/* Chooses the canaries to judge by, from their numbers of rounds and the noise alone, never from
 * their scores: those with 1 to r rounds, where r is the return value. The scores of all others
 * become NaN. times[count] and score[count] have the `observed` ones first. A larger r helps only
 * if most canaries have about as many rounds. */
DPA_API double dpa__canaries_choose(double *score, const double *times, size_t observed,
                                    size_t count, double sigma);
/* An upper bound on the largest singular value of these canaries as unit vectors: the factor by
 * which the worst canary can be told better than its own noise allows
 * (docs/methods/known-rounds.md). Exactly 1 for Hadamard canaries. Otherwise computed from all
 * products (count²·dim, on all threads). If that is too much work: on the sphere from the tail of
 * its law (exceeded with probability 1e-9), for signs INFINITY, meaning unknown. */
dpa_status dpa__canaries_spread(dpa_canaries *canaries, const size_t *which, size_t count,
                                double *out, dpa_error *err) DPA_MUST_USE;

/* Up to DPA_CANARIES_ROUNDS rounds at once, with the same results as one by one. Faster, because
 * each canary is generated once for all of them, which is most of the work. `own` has the
 * candidates of each round; NULL: largest cosines only. */
enum { DPA_CANARIES_ROUNDS = 64 };
DPA_API dpa_status dpa__canaries_round_many(dpa_canaries *canaries, const dpa_vector *change,
                                            const dpa_own_round *own, size_t count,
                                            const dpa_progress *progress,
                                            dpa_error *err) DPA_MUST_USE;
/* How many rounds the largest cosines cover. */
DPA_API uint64_t dpa__canaries_rounds(const dpa_canaries *canaries);
/* The largest cosine of each canary, dpa__canaries_count numbers owned by the handle; −INFINITY
 * before the first round. */
DPA_API const double *dpa__canaries_largest(const dpa_canaries *canaries);

/* Saves the whole state (seed, first, direction, sizes, rounds, largest cosines, own rounds) to a
 * small file with a checksum, to continue after a restart. Loading takes threads and kernel from
 * `opts` (NULL: defaults) and everything else from the file. */
DPA_API dpa_status dpa__canaries_save(const dpa_canaries *canaries, const char *path,
                                      dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa__canaries_load(const char *path, const dpa_canaries_opts *opts,
                                      dpa_canaries **out, dpa_error *err) DPA_MUST_USE;

/* ── inside ──────────────────────────────────────────────────────────────────────────── */

/* The vector that canaries are compared with: model − initial, scaled by a power of two such that
 * its largest element is near 1. Then no square and no float32 overflows or underflows. */
typedef struct dpa__target {
    const dpa_vector *model, *initial; /* initial NULL: 0 */
    double scale;
    double norm; /* of the scaled vector; 0 for a vector of zeros */
} dpa__target;

/* Fails if an element is not finite, or if all are zero and that is not allowed. */
dpa_status dpa__target_init(dpa__target *d, const dpa_vector *model, const dpa_vector *initial,
                            size_t dim, int may_be_zero, dpa_error *err);
/* Elements first … first+size−1, at most DPA__CHUNK, scaled, to 29 significant bits. */
void dpa__target_load(const dpa__target *d, size_t first, size_t size, double *out);

/* Hadamard canaries: rows of H·D, exactly orthogonal, all of them by one fast transform. */
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

struct dpa_canaries {
    dpa_canaries_opts opts; /* threads ≥ 1 */
    const dpa__canary_kernel *kernel;
    size_t count;
    double *norm;    /* [count] norms before scaling; NaN until needed */
    double *largest; /* [count] largest cosine over the rounds */
    uint64_t rounds;
    double *own;     /* [count] sums over each canary's own rounds */
    uint64_t *times; /* [count] how many own rounds it had */
    double spread;   /* largest dpa__canaries_spread of those rounds; at least 1 */
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

/* The same, and the sum of all canaries, for Hadamard canaries (canary_hadamard.c): one transform
 * per target, for any number of canaries. One of f32 and f64 is NULL. */
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
