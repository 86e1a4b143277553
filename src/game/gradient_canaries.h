/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many gradient canaries at once, each with its own direction of norm C. */
#ifndef DPA_GAME_GRADIENT_CANARIES_H
#define DPA_GAME_GRADIENT_CANARIES_H

#include <stddef.h>
#include <stdint.h>

#include "game/trainer.h"

typedef struct dpa__bank {
    size_t count, size; /* number of directions, number of weights */
    double clip;
    size_t *place;    /* Dirac: the weight of each canary */
    float *direction; /* random: [count × size] */
} dpa__bank;

/* Dirac canaries take the quietest weights, one each; random ones come from the streams (seed,
 * index). */
dpa_status dpa__bank_init(dpa__bank *bank, dpa_game_canary kind, size_t count, double clip,
                          uint64_t seed, dpa__trainer *trainer, dpa_error *err);
void dpa__bank_free(dpa__bank *bank);
/* ⟨canary, sum⟩/C² */
double dpa__bank_along(const dpa__bank *bank, size_t index, const float *sum);

#endif
