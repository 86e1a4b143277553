/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fast Walsh–Hadamard transform: log₂ n levels of butterflies (a, b) → (a + b, a − b), in
 * place.
 *
 * The levels commute, so they run in the order that is best for memory: first all levels inside
 * blocks that fit the second-level cache, then the others three at a time, each pass reading and
 * writing every number once. Inside a block, tiles of 256 numbers are 16 × 16 matrices: four
 * levels between rows, a transposition instead of shuffles inside vectors, four more levels.
 * Tiles stay transposed, which is the permutation P of the header.
 *
 * Every result is a fixed tree of sums and differences, so threads and instruction sets do not
 * change a bit. Rounding: about 6e-8·√(log₂ n) of the root mean square of the result. */
#include <string.h>

#include "base/error.h"
#include "base/simd.h"
#include "base/threads.h"
#include "evidence/canary.h"

enum {
    LANES = 16,
    TILE_BITS = 8,
    BLOCK_BITS = 15, /* 128 kB */
    PASS_BITS = 3,   /* levels of a pass between blocks */
    COLUMNS = 4096   /* columns per task of such a pass */
};

typedef float vector __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float))));

/* All levels of `count` vectors, a power of two. */
#define BUTTERFLIES(v, count)                                                                      \
    for (size_t half = 1; half < (count); half *= 2)                                               \
        for (size_t i = 0; i < (count); i += 2 * half)                                             \
            for (size_t k = i; k < i + half; ++k) {                                                \
                const vector a = (v)[k], b = (v)[k + half];                                        \
                (v)[k] = a + b;                                                                    \
                (v)[k + half] = a - b;                                                             \
            }

/* Eight levels on 256 numbers, transposed. */
DPA_CLONES static void tiles(float *x, size_t count) {
    for (size_t t = 0; t < count; ++t, x += LANES * LANES) {
        vector v[LANES];
        float turned[LANES * LANES];
        memcpy(v, x, sizeof v);
        BUTTERFLIES(v, LANES)
        memcpy(x, v, sizeof v);
        for (size_t i = 0; i < LANES; ++i)
            for (size_t j = 0; j < LANES; ++j) turned[j * LANES + i] = x[i * LANES + j];
        memcpy(v, turned, sizeof v);
        BUTTERFLIES(v, LANES)
        memcpy(x, v, sizeof v);
    }
}

#define ROWS_PASS(name, rows)                                                                      \
    DPA_CLONES static void name(float *x, size_t stride, size_t columns) {                         \
        for (size_t c = 0; c < columns; c += LANES) {                                              \
            vector v[rows];                                                                        \
            for (size_t i = 0; i < (rows); ++i) memcpy(&v[i], x + i * stride + c, sizeof v[i]);    \
            BUTTERFLIES(v, rows)                                                                   \
            for (size_t i = 0; i < (rows); ++i) memcpy(x + i * stride + c, &v[i], sizeof v[i]);    \
        }                                                                                          \
    }
ROWS_PASS(rows2, 2)
ROWS_PASS(rows4, 4)
ROWS_PASS(rows8, 8)

/* `levels` (1 to 3) levels between rows `stride` apart, of `columns` columns, a multiple of 16. */
static void between_rows(float *x, size_t stride, unsigned levels, size_t columns) {
    if (levels == 1)
        rows2(x, stride, columns);
    else if (levels == 2)
        rows4(x, stride, columns);
    else
        rows8(x, stride, columns);
}

/* For sizes too small for tiles. */
static void plain(float *x, size_t size) {
    for (size_t half = 1; half < size; half *= 2)
        for (size_t i = 0; i < size; i += 2 * half)
            for (size_t k = i; k < i + half; ++k) {
                const float a = x[k], b = x[k + half];
                x[k] = a + b;
                x[k + half] = a - b;
            }
}

static unsigned next_levels(unsigned left) {
    return left < PASS_BITS ? left : PASS_BITS;
}

static void block(float *x, unsigned bits) {
    if (bits < TILE_BITS) {
        plain(x, (size_t)1 << bits);
        return;
    }
    const size_t size = (size_t)1 << bits;
    tiles(x, size >> TILE_BITS);
    for (unsigned done = TILE_BITS, levels; done < bits; done += levels) {
        levels = next_levels(bits - done);
        const size_t stride = (size_t)1 << done;
        for (size_t at = 0; at < size; at += stride << levels)
            between_rows(x + at, stride, levels, stride);
    }
}

typedef struct job {
    float *x;
    unsigned block_bits, done, levels;
} job;

static int do_block(void *user, size_t task) {
    const job *j = user;
    block(j->x + (task << j->block_bits), j->block_bits);
    return 0;
}

static int do_columns(void *user, size_t task) {
    const job *j = user;
    const size_t stride = (size_t)1 << j->done, parts = stride / COLUMNS;
    float *x = j->x + task / parts * (stride << j->levels) + task % parts * COLUMNS;
    between_rows(x, stride, j->levels, COLUMNS);
    return 0;
}

dpa_status dpa__hadamard_transform(float *x, unsigned bits, unsigned threads, dpa_error *err) {
    job j = {.x = x, .block_bits = bits < BLOCK_BITS ? bits : BLOCK_BITS};
    DPA_TRY(dpa__parallel(threads, (size_t)1 << (bits - j.block_bits), do_block, &j, err));
    for (j.done = j.block_bits; j.done < bits; j.done += j.levels) {
        j.levels = next_levels(bits - j.done);
        const size_t tasks = ((size_t)1 << (bits - j.levels)) / COLUMNS;
        DPA_TRY(dpa__parallel(threads, tasks, do_columns, &j, err));
    }
    return DPA_OK;
}

size_t dpa__hadamard_place(size_t row, unsigned bits) {
    if (bits < TILE_BITS) return row;
    return (row & ~(size_t)0xff) | (row & 0x0f) << 4 | (row >> 4 & 0x0f);
}
