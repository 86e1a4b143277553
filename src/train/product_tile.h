/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a product that is written once per instruction set: one tile. */
#ifndef DPA_TRAIN_PRODUCT_TILE_H
#define DPA_TRAIN_PRODUCT_TILE_H

#include <stddef.h>

/* The largest tile of all instruction sets. */
enum { DPA__TILE_HIGH = 12, DPA__TILE_WIDE = 32 };

typedef struct dpa__tile {
    const char *name;
    size_t high, wide; /* 6 × 16 or 12 × 32 */
    int (*runs_here)(void);
    /* c [high × wide, rows `width` apart] += Σ_p a[p·high + i]·b[p·wide + j]. The sum starts at 0
     * and runs in the order of p, each step one fused multiply-add. b is aligned to 64 bytes. */
    void (*multiply)(size_t deep, const float *a, const float *b, float *c, size_t width);
} dpa__tile;

extern const dpa__tile dpa__tile_avx512, dpa__tile_avx2, dpa__tile_portable;

#endif
