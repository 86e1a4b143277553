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

/* What a canary's direction is. Signs are ±1/√d, a fair coin for each element; generating and
 * multiplying them is eight times as fast. The cosine with a fixed vector θ is nearly normal for
 * sphere and signs. How nearly depends on d alone for the sphere, and on θ for signs
 * (probabilities within 0.56·max|θᵢ|/‖θ‖, Berry and Esseen).
 *
 * Hadamard canaries are rows of H·D/√n on n randomly drawn coordinates, where n is the largest
 * power of two up to d, H the Hadamard matrix and D random signs. They are exactly orthogonal,
 * so that what one canary adds is independent of all others (known rounds, below), and all of
 * them together cost one fast transform. There are at most n. Whoever knows the seed knows D and
 * every canary, so clients and server must not know it before the training is over. The cosine
 * with a vector of few non-zero elements is not normal: compare with unobserved canaries. */
typedef enum dpa_direction {
    DPA_DIRECTION_SPHERE,
    DPA_DIRECTION_SIGNS,
    DPA_DIRECTION_HADAMARD
} dpa_direction;
/* "sphere", "signs", "hadamard"; NULL past the last. */
DPA_API const char *dpa_direction_name(dpa_direction direction);

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

DPA_API void dpa_canaries_opts_init(dpa_canaries_opts *opts);
/* `opts` is copied. The caller frees *out with dpa_canaries_free. A handle belongs to one thread at
 * a time. */
DPA_API dpa_status dpa_canaries_new(const dpa_canaries_opts *opts, dpa_canaries **out,
                                    dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_canaries_free(dpa_canaries *canaries);

DPA_API size_t dpa_canaries_dim(const dpa_canaries *canaries);
DPA_API size_t dpa_canaries_observed(const dpa_canaries *canaries);
DPA_API size_t dpa_canaries_unobserved(const dpa_canaries *canaries);
DPA_API size_t dpa_canaries_count(const dpa_canaries *canaries); /* both sets */
DPA_API uint64_t dpa_canaries_seed(const dpa_canaries *canaries);
DPA_API dpa_direction dpa_canaries_direction(const dpa_canaries *canaries);
/* The name of the kernel in use, a constant string. */
DPA_API const char *dpa_canaries_kernel(const dpa_canaries *canaries);

/* Writes canary `index`, scaled to `norm`, to out[dim]. */
DPA_API dpa_status dpa_canaries_make_f32(dpa_canaries *canaries, size_t index, double norm,
                                         float *out, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_canaries_make_f64(dpa_canaries *canaries, size_t index, double norm,
                                         double *out, dpa_error *err) DPA_MUST_USE;
/* Adds canary `index`, scaled to `norm`, to sum[dim]. */
DPA_API dpa_status dpa_canaries_add_f32(dpa_canaries *canaries, size_t index, double norm,
                                        float *sum, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_canaries_add_f64(dpa_canaries *canaries, size_t index, double norm,
                                        double *sum, dpa_error *err) DPA_MUST_USE;

/* Adds Σ norm[i]·canary i over all canaries to sum[dim] (norm 0 leaves one out): all canary clients
 * of a round at once, on all threads. */
DPA_API dpa_status dpa_canaries_sum_f32(dpa_canaries *canaries, const double *norm, float *sum,
                                        const dpa_progress *progress, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_canaries_sum_f64(dpa_canaries *canaries, const double *norm, double *sum,
                                        const dpa_progress *progress, dpa_error *err) DPA_MUST_USE;

/* A borrowed view of a model, or of a change of one; exactly one of the two pointers is not NULL.
 */
typedef struct dpa_vector {
    const float *f32;
    const double *f64;
    size_t dim;
} dpa_vector;

/* A model that owns its memory: float32, or float64 if a file has more precision. All zeros is an
 * empty one; free with dpa_weights_free. */
typedef struct dpa_weights {
    float *f32;
    double *f64;
    size_t dim;
} dpa_weights;

enum { DPA_WEIGHTS_SHA256_SIZE = 65 };

/* Appends the numbers of a file. Its first bytes tell the format: safetensors (tensors of F64, F32,
 * F16 or BF16 in the order of the file), NPY, an NPZ with one array, or text with one number per
 * line; a name that ends in .f32 or .f64 means raw little-endian numbers. `sha256` (may be NULL)
 * gets the hash of the stored bytes in hex. On failure the model is unchanged. */
DPA_API dpa_status dpa_weights_append(dpa_weights *model, const char *path,
                                      char sha256[DPA_WEIGHTS_SHA256_SIZE],
                                      dpa_error *err) DPA_MUST_USE;
/* A view of the model; valid until the model changes or is freed. */
DPA_API dpa_vector dpa_weights_vector(const dpa_weights *model);
DPA_API void dpa_weights_free(dpa_weights *model);

/* The cosines of all canaries with model − initial (initial NULL: with the model) into
 * out[dpa_canaries_count]. Elements are used with 29 significant bits, more than float32 has; sums
 * are double, in an order that depends on dim alone. A vector of zeros is an error: it has no
 * direction. */
DPA_API dpa_status dpa_canaries_cosines(dpa_canaries *canaries, const dpa_vector *model,
                                        const dpa_vector *initial, double *out,
                                        const dpa_progress *progress, dpa_error *err) DPA_MUST_USE;

/* All iterates (Algorithm 3): call once per round with the change of the model. Keeps the largest
 * cosine over the rounds for every canary. */
DPA_API dpa_status dpa_canaries_round(dpa_canaries *canaries, const dpa_vector *change,
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
DPA_API dpa_status dpa_canaries_schedule(const dpa_canaries *canaries, size_t canary,
                                         uint64_t rounds, uint64_t times, uint64_t *out,
                                         dpa_error *err) DPA_MUST_USE;
/* Adds ⟨cᵢ, released⟩/unit to the sum of every candidate of the round. It does not count as a round
 * for the largest cosines or for dpa_canaries_rounds. A release of zeros adds 0. */
DPA_API dpa_status dpa_canaries_own(dpa_canaries *canaries, const dpa_vector *released,
                                    const dpa_own_round *own, const dpa_progress *progress,
                                    dpa_error *err) DPA_MUST_USE;
/* A canary's sum over its own rounds so far, divided by the square root of their number, so that
 * noise of deviation σ stays σ. NaN if it had no round yet. */
DPA_API double dpa_canaries_own_score(const dpa_canaries *canaries, size_t canary);
/* How many own rounds a canary had so far. */
DPA_API uint64_t dpa_canaries_own_times(const dpa_canaries *canaries, size_t canary);
/* The largest dpa_canaries_spread of the candidates of any round so far; 1 before the first. */
DPA_API double dpa_canaries_own_spread(const dpa_canaries *canaries);
/* Chooses the canaries to judge by, from their numbers of rounds and the noise alone, never from
 * their scores: those with 1 to r rounds, where r is the return value. The scores of all others
 * become NaN. times[count] and score[count] have the `observed` ones first. A larger r helps only
 * if most canaries have about as many rounds. */
DPA_API double dpa_canaries_choose(double *score, const double *times, size_t observed,
                                   size_t count, double sigma);
/* An upper bound on the largest singular value of these canaries as unit vectors: the factor by
 * which the worst canary can be told better than its own noise allows
 * (docs/methods/known-rounds.md). Exactly 1 for Hadamard canaries. Otherwise computed from all
 * products (count²·dim, on all threads). If that is too much work: on the sphere from the tail of
 * its law (exceeded with probability 1e-9), for signs INFINITY, meaning unknown. */
DPA_API dpa_status dpa_canaries_spread(dpa_canaries *canaries, const size_t *which, size_t count,
                                       double *out, dpa_error *err) DPA_MUST_USE;

/* Up to DPA_CANARIES_ROUNDS rounds at once, with the same results as one by one. Faster, because
 * each canary is generated once for all of them, which is most of the work. `own` has the
 * candidates of each round; NULL: largest cosines only. */
enum { DPA_CANARIES_ROUNDS = 64 };
DPA_API dpa_status dpa_canaries_round_many(dpa_canaries *canaries, const dpa_vector *change,
                                           const dpa_own_round *own, size_t count,
                                           const dpa_progress *progress,
                                           dpa_error *err) DPA_MUST_USE;
/* How many rounds the largest cosines cover. */
DPA_API uint64_t dpa_canaries_rounds(const dpa_canaries *canaries);
/* The largest cosine of each canary, dpa_canaries_count numbers owned by the handle; −INFINITY
 * before the first round. */
DPA_API const double *dpa_canaries_largest(const dpa_canaries *canaries);

/* Saves the whole state (seed, first, direction, sizes, rounds, largest cosines, own rounds) to a
 * small file with a checksum, to continue after a restart. Loading takes threads and kernel from
 * `opts` (NULL: defaults) and everything else from the file. */
DPA_API dpa_status dpa_canaries_save(const dpa_canaries *canaries, const char *path,
                                     dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_canaries_load(const char *path, const dpa_canaries_opts *opts,
                                     dpa_canaries **out, dpa_error *err) DPA_MUST_USE;

DPA_C_END

#endif
