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

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/threads.h"
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

/* ── all canaries at once ────────────────────────────────────────────────────────────────
 *
 * Cosines: the chosen coordinates of the target, with signs applied, are transformed; each canary's
 * cosine is then one of the results. Sum: the canaries' norms are transformed, and the results are
 * the coordinates. The only memory is one float32 array of n numbers, which the handle keeps. */

typedef struct job {
    const dpa__hadamard *hadamard;
    const dpa__target *target; /* for cosines */
    float *x;                  /* [2^bits] */
    float *f32;                /* for the sum: one of the two is NULL */
    double *f64;
} job;

static dpa_status need_work(dpa_canaries *canaries, dpa_error *err) {
    if (canaries->work == NULL)
        canaries->work =
            dpa__malloc(dpa__hadamard_size(&canaries->hadamard), sizeof *canaries->work, err);
    return canaries->work != NULL ? DPA_OK : DPA_NO_MEMORY;
}

static size_t chunk_at(const job *j, size_t task, dpa__hadamard_chunk *chunk) {
    const size_t left = dpa__hadamard_size(j->hadamard) - task * DPA__CHUNK;
    const size_t size = left < DPA__CHUNK ? left : DPA__CHUNK;
    dpa__hadamard_positions(j->hadamard, task * DPA__CHUNK, size, chunk);
    return size;
}

/* The coordinates of a chunk span at most twice its length. */
static int gather(void *user, size_t task) {
    const job *j = user;
    dpa__hadamard_chunk chunk;
    double value[2 * DPA__CHUNK];
    const size_t size = chunk_at(j, task, &chunk), from = chunk.coordinate[0];
    const size_t span = chunk.coordinate[size - 1] - from + 1;
    const size_t half = span < DPA__CHUNK ? span : DPA__CHUNK;
    dpa__target_load(j->target, from, half, value);
    if (span > half) dpa__target_load(j->target, from + half, span - half, value + half);
    float *x = j->x + task * DPA__CHUNK;
    for (size_t i = 0; i < size; ++i)
        x[i] = chunk.sign[i] * (float)value[chunk.coordinate[i] - from];
    return 0;
}

static int scatter(void *user, size_t task) {
    const job *j = user;
    dpa__hadamard_chunk chunk;
    const size_t size = chunk_at(j, task, &chunk);
    const float *x = j->x + task * DPA__CHUNK;
    if (j->f32 != NULL)
        for (size_t i = 0; i < size; ++i) j->f32[chunk.coordinate[i]] += chunk.sign[i] * x[i];
    else
        for (size_t i = 0; i < size; ++i)
            j->f64[chunk.coordinate[i]] += (double)(chunk.sign[i] * x[i]);
    return 0;
}

static size_t tasks(const dpa__hadamard *h) {
    return (dpa__hadamard_size(h) + DPA__CHUNK - 1) / DPA__CHUNK;
}

static dpa_status one_target(dpa_canaries *canaries, const dpa__target *target, dpa_error *err) {
    const dpa__hadamard *h = &canaries->hadamard;
    job j = {.hadamard = h, .target = target, .x = canaries->work};
    DPA_TRY(dpa__parallel(canaries->opts.threads, tasks(h), gather, &j, err));
    return dpa__hadamard_transform(j.x, h->bits, canaries->opts.threads, err);
}

static int report(const dpa_progress *p, size_t done, size_t of) {
    return p != NULL && p->call != NULL &&
           p->call(p->user, "transforms", (double)done, (double)of) != 0;
}

dpa_status dpa__canary_fast_cosines(dpa_canaries *canaries, const dpa__target *model, size_t models,
                                    const size_t *which, size_t count, double *out,
                                    const dpa_progress *progress, dpa_error *err) {
    DPA_TRY(need_work(canaries, err));
    for (size_t m = 0; m < models; ++m) {
        DPA_TRY(one_target(canaries, &model[m], err));
        for (size_t i = 0; i < count; ++i) {
            const size_t canary = which != NULL ? which[i] : i;
            const size_t place =
                dpa__hadamard_place(canaries->row[canary], canaries->hadamard.bits);
            out[i * models + m] = model[m].norm > 0.0 ? (double)canaries->work[place] /
                                                            canaries->norm[canary] / model[m].norm
                                                      : 0.0;
        }
        if (report(progress, m + 1, models))
            return dpa__fail(err, DPA_CANCELLED, "stopped on request");
    }
    return DPA_OK;
}

dpa_status dpa__canary_fast_sum(dpa_canaries *canaries, const double *norm, float *f32, double *f64,
                                dpa_error *err) {
    const dpa__hadamard *h = &canaries->hadamard;
    DPA_TRY(need_work(canaries, err));
    memset(canaries->work, 0, dpa__hadamard_size(h) * sizeof *canaries->work);
    for (size_t i = 0; i < canaries->count; ++i)
        canaries->work[dpa__hadamard_place(canaries->row[i], h->bits)] =
            (float)(norm[i] / canaries->norm[i]);
    DPA_TRY(dpa__hadamard_transform(canaries->work, h->bits, canaries->opts.threads, err));
    job j = {.hadamard = h, .x = canaries->work, .f32 = f32, .f64 = f64};
    return dpa__parallel(canaries->opts.threads, tasks(h), scatter, &j, err);
}
