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
#ifndef DPAUDIT_CANARY_H
#define DPAUDIT_CANARY_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/status.h"

DPA_C_BEGIN

typedef struct dpa_canaries dpa_canaries;

/* What a canary's direction is. Signs are ±1/√d, a fair coin for each element: made and multiplied
 * eight times as fast. The cosine with a fixed vector is nearly normal for either; how nearly
 * depends for signs on that vector (within 0.56·max|θᵢ|/‖θ‖ in probability, Berry and Esseen), on
 * the sphere only on d.
 *
 * Hadamard canaries are rows of H·D/√n on n coordinates, n the largest power of two that d has: H
 * the Hadamard matrix, D random signs, the coordinates drawn at random. They are exactly
 * orthogonal, so that what one canary adds is independent of all others (known rounds, below), and
 * all of them together cost one fast transform. At most n of them. Whoever knows the seed knows D
 * and every canary; clients and server must not know it before the training is over. The cosine
 * with a vector of few non-zero elements is not normal: compare with unobserved canaries. */
typedef enum dpa_direction {
    DPA_DIRECTION_SPHERE,
    DPA_DIRECTION_SIGNS,
    DPA_DIRECTION_HADAMARD
} dpa_direction;
/* "sphere", "signs", "hadamard"; NULL past the last. */
DPA_API const char *dpa_direction_name(dpa_direction direction);

typedef struct dpa_canaries_opts {
    uint64_t seed;      /* 1 */
    uint64_t first;     /* stream index of canary 0 (0): handles with different ones share none */
    size_t dim;         /* d, at least 2 */
    size_t observed;    /* canaries 0 … observed−1 */
    size_t unobserved;  /* the next ones (0) */
    unsigned threads;   /* 0: as many as the machine has; answers do not depend on it */
    const char *kernel; /* "avx512", "avx2", "portable"; NULL: the best that this machine has */
    dpa_direction direction; /* sphere */
} dpa_canaries_opts;

DPA_API void dpa_canaries_opts_init(dpa_canaries_opts *opts);
DPA_API dpa_status dpa_canaries_new(const dpa_canaries_opts *opts, dpa_canaries **out,
                                    dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_canaries_free(dpa_canaries *canaries);

DPA_API size_t dpa_canaries_dim(const dpa_canaries *canaries);
DPA_API size_t dpa_canaries_observed(const dpa_canaries *canaries);
DPA_API size_t dpa_canaries_unobserved(const dpa_canaries *canaries);
DPA_API size_t dpa_canaries_count(const dpa_canaries *canaries); /* both sets */
DPA_API uint64_t dpa_canaries_seed(const dpa_canaries *canaries);
DPA_API dpa_direction dpa_canaries_direction(const dpa_canaries *canaries);
DPA_API const char *dpa_canaries_kernel(const dpa_canaries *canaries);

/* dim elements: canary `index`, scaled to `norm`. */
DPA_API dpa_status dpa_canaries_make_f32(dpa_canaries *canaries, size_t index, double norm,
                                         float *out, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_canaries_make_f64(dpa_canaries *canaries, size_t index, double norm,
                                         double *out, dpa_error *err) DPA_MUST_USE;
/* The same, added to what is there: a client's update in a sum. */
DPA_API dpa_status dpa_canaries_add_f32(dpa_canaries *canaries, size_t index, double norm,
                                        float *sum, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_canaries_add_f64(dpa_canaries *canaries, size_t index, double norm,
                                        double *sum, dpa_error *err) DPA_MUST_USE;

/* The sum of norm[i] times canary i over all canaries (0 leaves one out), added to what is there: a
 * round's canary clients at once, on all threads. */
DPA_API dpa_status dpa_canaries_sum_f32(dpa_canaries *canaries, const double *norm, float *sum,
                                        const dpa_progress *progress, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_canaries_sum_f64(dpa_canaries *canaries, const double *norm, double *sum,
                                        const dpa_progress *progress, dpa_error *err) DPA_MUST_USE;

/* A model, or a change of one, as it lies in memory: one of the two pointers is NULL. */
typedef struct dpa_vector {
    const float *f32;
    const double *f64;
    size_t dim;
} dpa_vector;

/* A model in memory, owned: float32, or float64 where a file has more than float32 holds. All zero
 * is an empty one. */
typedef struct dpa_weights {
    float *f32;
    double *f64;
    size_t dim;
} dpa_weights;

enum { DPA_WEIGHTS_SHA256_SIZE = 65 };

/* Appends the numbers of a file, told by its first bytes: safetensors (tensors of F64, F32, F16 or
 * BF16 in the order in which they lie), NPY, an NPZ of one array, or one number a line; a name that
 * ends in .f32 or .f64 is raw little-endian numbers. `sha256` (may be NULL) gets the hash of the
 * stored bytes in hex. On failure the model is what it was. */
DPA_API dpa_status dpa_weights_append(dpa_weights *model, const char *path,
                                      char sha256[DPA_WEIGHTS_SHA256_SIZE],
                                      dpa_error *err) DPA_MUST_USE;
DPA_API dpa_vector dpa_weights_vector(const dpa_weights *model);
DPA_API void dpa_weights_free(dpa_weights *model);

/* Cosines of all canaries with model − initial (initial NULL: with the model): dpa_canaries_count
 * numbers. Elements enter with 29 significant bits, which float32 has not; sums are in double, in
 * an order that depends on nothing but dim. A vector of zeros has no direction: an error. */
DPA_API dpa_status dpa_canaries_cosines(dpa_canaries *canaries, const dpa_vector *model,
                                        const dpa_vector *initial, double *out,
                                        const dpa_progress *progress, dpa_error *err) DPA_MUST_USE;

/* All iterates (Algorithm 3): one call per round with that round's model change; for every canary
 * the largest cosine over the rounds is kept. */
DPA_API dpa_status dpa_canaries_round(dpa_canaries *canaries, const dpa_vector *change,
                                      const dpa_progress *progress, dpa_error *err) DPA_MUST_USE;
/* Known rounds (docs/methods/known-rounds.md): every canary, observed or not, has rounds of its
 * own, drawn by one rule before it was decided who takes part. In such a round it is a candidate.
 */
typedef struct dpa_own_round {
    double unit; /* what a whole canary adds to the release, in norm: S, or S over what the sum is
                    divided by */
    const size_t *candidate; /* indices, the unobserved ones too */
    size_t candidates;
} dpa_own_round;
/* A rule for them: the training's rounds 0 … rounds−1 are cut into `times` equal parts, and a
 * canary has one random round of each: out[times], ascending. A function of (seed, first + canary).
 */
DPA_API dpa_status dpa_canaries_schedule(const dpa_canaries *canaries, size_t canary,
                                         uint64_t rounds, uint64_t times, uint64_t *out,
                                         dpa_error *err) DPA_MUST_USE;
/* Adds ⟨cᵢ, released⟩/unit to the sum of every candidate of the round. Nothing else is computed:
 * all iterates and `rounds` stay as they are. A release of zeros adds 0. */
DPA_API dpa_status dpa_canaries_own(dpa_canaries *canaries, const dpa_vector *released,
                                    const dpa_own_round *own, const dpa_progress *progress,
                                    dpa_error *err) DPA_MUST_USE;
/* The sum over its own rounds so far, divided by the root of their number: noise σ stays σ. NaN
 * when it had none yet. */
DPA_API double dpa_canaries_own_score(const dpa_canaries *canaries, size_t canary);
DPA_API uint64_t dpa_canaries_own_times(const dpa_canaries *canaries, size_t canary);
/* The largest dpa_canaries_spread of the candidates of a round so far; 1 before the first. */
DPA_API double dpa_canaries_own_spread(const dpa_canaries *canaries);
/* Which canaries to judge by, chosen from their rounds and the noise alone, never from their
 * scores: those with at least 1 and at most so many rounds, which is returned; the scores of the
 * others become NaN. times [count], `observed` of them first. The more rounds a canary may have,
 * the more is certified of each only if most have as many. */
DPA_API double dpa_canaries_choose(double *score, const double *times, size_t observed,
                                   size_t count, double sigma);
/* No less than the largest singular value of these canaries as unit vectors: how much more than its
 * own noise allows the worst of them can be told (docs/methods/known-rounds.md). Exactly 1 for
 * Hadamard canaries. For the others from their products (count² · dim of them, threads), where that
 * is too much work on the sphere from the tail of its law (exceeded with probability 1e-9), for
 * signs INFINITY: not known. */
DPA_API dpa_status dpa_canaries_spread(dpa_canaries *canaries, const size_t *which, size_t count,
                                       double *out, dpa_error *err) DPA_MUST_USE;

/* Several rounds at once, at most DPA_CANARIES_ROUNDS: the same numbers, but every canary is
 * generated once for all of them, which is most of the work. `own`: the candidates of each round;
 * NULL: largest cosines only. */
enum { DPA_CANARIES_ROUNDS = 64 };
DPA_API dpa_status dpa_canaries_round_many(dpa_canaries *canaries, const dpa_vector *change,
                                           const dpa_own_round *own, size_t count,
                                           const dpa_progress *progress,
                                           dpa_error *err) DPA_MUST_USE;
DPA_API uint64_t dpa_canaries_rounds(const dpa_canaries *canaries);
/* dpa_canaries_count numbers, −INFINITY before the first round; lives as long as the handle. */
DPA_API const double *dpa_canaries_largest(const dpa_canaries *canaries);

/* The whole state (seed, first, direction, sizes, rounds, largest cosines, own rounds) as a small
 * file with a checksum, to go on after a restart. Loading takes threads and kernel from `opts`
 * (NULL: defaults), the rest from the file. */
DPA_API dpa_status dpa_canaries_save(const dpa_canaries *canaries, const char *path,
                                     dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_canaries_load(const char *path, const dpa_canaries_opts *opts,
                                     dpa_canaries **out, dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
