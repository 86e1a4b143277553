/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inner loops of moments.c for one instruction set: four rows of a strip at a time, so that the
 * sums are loaded and stored once for all of them. All kernels give the same bits. */
#ifndef DPA_ATTACK_MOMENTS_KERNEL_H
#define DPA_ATTACK_MOMENTS_KERNEL_H

#include "attack/moments.h"

enum {
    DPA__MODELS = 4, /* rows that are worked on together */
    /* Where 2^k is within ±128 nothing overflows when four models share a division: the quick way.
     */
    DPA__QUICK = 128
};

/* Rows of a strip. `next` are the rows after these, to be fetched ahead:
 * they lie far apart, where the hardware fetches nothing by itself. */
typedef struct dpa__models {
    const double *x[DPA__MODELS], *next[DPA__MODELS];
    const uint8_t *member[DPA__MODELS];
} dpa__models;

typedef struct dpa__wanted {
    int is_loss;
    dpa__sides sides;
    int careful; /* any signal: clamped to what can be computed, NaN if it is not finite */
} dpa__wanted;

typedef struct dpa__moments_kernel {
    const char *name;
    int (*is_supported)(void);
    /* Adds `width` columns to the sums of signals from column `at` on. */
    void (*signals)(const dpa__models *models, size_t width, size_t at, dpa__moments *m);
    /* Adds to the sums of probabilities. Not 0: some signal needs `careful`, the sums are worth
     * nothing. */
    int (*probabilities)(const dpa__models *models, size_t width, size_t at, dpa__wanted wanted,
                         dpa__moments *m);
    /* dpa__probabilities for a multiple of DPA__COLUMNS. */
    void (*map)(const double *signal, size_t count, int is_loss, double *out);
} dpa__moments_kernel;

extern const dpa__moments_kernel dpa__moments_portable;
#if defined(__x86_64__)
extern const dpa__moments_kernel dpa__moments_avx2, dpa__moments_avx512;
#endif
/* All kernels of this build, best first; NULL past the end. */
const dpa__moments_kernel *dpa__moments_kernel_at(size_t i);

#endif
