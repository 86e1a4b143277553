/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matrix products. A tile of the result stays in registers while the inner index runs; both factors
 * are first copied into panels, so that a tile reads memory in order (Goto and van de Geijn 2008).
 * Edges are padded with zeros, which change no other element. */
#include "train/product.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/simd.h"
#include "dpaudit/lab/train.h"
#include "train/product_tile.h"

enum {
    DEEP = 192, /* length of one pass over the inner index; changing it changes result bits */
    ROWS = 4 * DPA__TILE_HIGH,   /* rows of a at once: 48 · 192 floats are 36 kB … */
    COLUMNS = 3 * DPA__TILE_WIDE /* … and columns of b: 192 · 96 floats are 72 kB */
};

static const dpa__tile *const tiles[] = {&dpa__tile_avx512, &dpa__tile_avx2, &dpa__tile_portable};
enum { TILES = sizeof tiles / sizeof tiles[0] };

static _Atomic(const dpa__tile *) chosen;

static const dpa__tile *tile(void) {
    const dpa__tile *t = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (t != NULL) return t;
    const char *wish = getenv("DPAUDIT_KERNEL"); /* lets people check that all kernels agree */
    if (wish != NULL && dpa__product_choose(wish)) return tile();
    size_t i = 0;
    while (!tiles[i]->runs_here()) ++i; /* ends, because the last one runs everywhere */
    atomic_store_explicit(&chosen, tiles[i], memory_order_relaxed);
    return tiles[i];
}

/* A narrow result would leave half of a wide tile empty. */
static const dpa__tile *tile_for(size_t n) {
    const dpa__tile *t = tile();
    return n <= dpa__tile_avx2.wide && t == &dpa__tile_avx512 && dpa__tile_avx2.runs_here()
               ? &dpa__tile_avx2
               : t;
}

const char *dpa_train_kernel(void) {
    return tile()->name;
}

int dpa__product_choose(const char *kernel) {
    for (size_t i = 0; i < TILES; ++i) {
        if (strcmp(tiles[i]->name, kernel) != 0 || !tiles[i]->runs_here()) continue;
        atomic_store_explicit(&chosen, tiles[i], memory_order_relaxed);
        return 1;
    }
    return 0;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Copies `count` lines of `deep` elements into panels of `step` lines. A panel has element p of all
 * its lines, then element p + 1 of all. Element p of line i is at[i·line + p·next]. */
static inline void pack(const float *at, size_t line, size_t next, size_t count, size_t deep,
                        size_t step, float *out) {
    for (; count >= step; count -= step, at += step * line)
        for (size_t p = 0; p < deep; ++p, out += step)
            if (line == 1)
                memcpy(out, at + p * next, step * sizeof *out);
            else
                for (size_t i = 0; i < step; ++i) out[i] = at[i * line + p * next];
    for (size_t p = 0; p < deep && count > 0; ++p, out += step)
        for (size_t i = 0; i < step; ++i) out[i] = i < count ? at[i * line + p * next] : 0.0F;
}

/* A step known at compile time makes packing several times faster. */
DPA_CLONES static void pack_rows(const dpa__matrix *a, size_t high, size_t deep, size_t step,
                                 float *out) {
    if (step == 6)
        pack(a->at, a->row, a->column, high, deep, 6, out);
    else
        pack(a->at, a->row, a->column, high, deep, 12, out);
}

DPA_CLONES static void pack_columns(const dpa__matrix *b, size_t wide, size_t deep, size_t step,
                                    float *out) {
    if (step == 16)
        pack(b->at, b->column, b->row, wide, deep, 16, out);
    else
        pack(b->at, b->column, b->row, wide, deep, 32, out);
}

/* A tile at the edge is computed as a whole one in a buffer, from which the part inside is
 * added. */
static void edge(const dpa__tile *t, size_t deep, const float *a, const float *b, float *c,
                 size_t width, size_t high, size_t wide) {
    float own[DPA__TILE_HIGH * DPA__TILE_WIDE];
    memset(own, 0, t->high * t->wide * sizeof *own);
    for (size_t i = 0; i < high; ++i) memcpy(own + i * t->wide, c + i * width, wide * sizeof *c);
    t->multiply(deep, a, b, own, t->wide);
    for (size_t i = 0; i < high; ++i) memcpy(c + i * width, own + i * t->wide, wide * sizeof *c);
}

/* c [high × wide, rows `width` apart] += a·b from packed panels. */
static void block(const dpa__tile *t, size_t high, size_t wide, size_t deep, const float *a,
                  const float *b, float *c, size_t width) {
    for (size_t j = 0; j < wide; j += t->wide)
        for (size_t i = 0; i < high; i += t->high) {
            float *const at = c + i * width + j;
            if (high - i >= t->high && wide - j >= t->wide)
                t->multiply(deep, a + i * deep, b + j * deep, at, width);
            else
                edge(t, deep, a + i * deep, b + j * deep, at, width, least(t->high, high - i),
                     least(t->wide, wide - j));
        }
}

/* Memory for panels of `rows` and `columns` lines of DEEP floats each. */
typedef struct panels {
    float *a, *b;
    size_t rows, columns;
} panels;

/* c += a·b through these panels. */
static void multiply(const panels *pack, const dpa__tile *t, size_t m, size_t n, size_t k,
                     dpa__matrix a, dpa__matrix b, float *c) {
    for (size_t p = 0; p < k; p += DEEP) {
        const size_t deep = least(DEEP, k - p);
        for (size_t j = 0; j < n; j += pack->columns) {
            const size_t wide = least(pack->columns, n - j);
            const dpa__matrix right = {b.at + p * b.row + j * b.column, b.row, b.column};
            pack_columns(&right, wide, deep, t->wide, pack->b);
            for (size_t i = 0; i < m; i += pack->rows) {
                const size_t high = least(pack->rows, m - i);
                const dpa__matrix left = {a.at + i * a.row + p * a.column, a.row, a.column};
                pack_rows(&left, high, deep, t->high, pack->a);
                block(t, high, wide, deep, pack->a, pack->b, c + i * n + j, n);
            }
        }
    }
}

/* Uses the panels of a single tile on the stack: for small products, and when malloc fails. */
static void multiply_small(const dpa__tile *t, size_t m, size_t n, size_t k, dpa__matrix a,
                           dpa__matrix b, float *c) {
    _Alignas(64) float own[(DPA__TILE_HIGH + DPA__TILE_WIDE) * DEEP];
    const panels small = {own + DPA__TILE_WIDE * DEEP, own, t->high, t->wide};
    multiply(&small, t, m, n, k, a, b, c);
}

void dpa__product(size_t m, size_t n, size_t k, dpa__matrix a, dpa__matrix b, int add, float *c) {
    const dpa__tile *const t = tile_for(n);
    if (!add) memset(c, 0, m * n * sizeof *c);
    const int is_small = m <= t->high && n <= t->wide;
    float *memory =
        is_small ? NULL : aligned_alloc(64, (size_t)(ROWS + COLUMNS) * DEEP * sizeof *memory);
    if (memory == NULL) {
        multiply_small(t, m, n, k, a, b, c);
        return;
    }
    const panels large = {memory + (size_t)COLUMNS * DEEP, memory, ROWS, COLUMNS};
    multiply(&large, t, m, n, k, a, b, c);
    free(memory);
}

/* Works in pieces of a row that stay in the cache while all rows are added. */
DPA_CLONES
void dpa__add_weighted(const float *x, size_t rows, size_t n, const float *factor, float *sum) {
    enum { PIECE = 2048 };
    for (size_t first = 0; first < n; first += PIECE) {
        const size_t count = n - first < PIECE ? n - first : PIECE;
        for (size_t r = 0; r < rows; ++r)
            for (size_t i = 0; i < count; ++i) sum[first + i] += factor[r] * x[r * n + first + i];
    }
}
