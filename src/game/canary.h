/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradient canaries: a direction of norm C that the adversary adds to a sum and looks along. */
#ifndef DPA_GAME_CANARY_H
#define DPA_GAME_CANARY_H

#include <stddef.h>
#include <stdint.h>

#include "game/trainer.h"

typedef struct dpa__game_canary {
    dpa_game_canary kind;
    double clip;
    size_t size;
    size_t *quiet;    /* Dirac: weights, those with the smallest gradients first */
    size_t place;     /* Dirac: the weight that is meant now */
    float *direction; /* the others: the gradient itself */
} dpa__game_canary;

/* The gradients are those of up to 256 points at the weights that the trainer has now. */
dpa_status dpa__game_canary_init(dpa__game_canary *canary, dpa_game_canary kind, double clip,
                                 dpa__trainer *trainer, dpa_error *err);
void dpa__game_canary_free(dpa__game_canary *canary);
/* The canary of the stream (seed, index). */
void dpa__game_canary_move(dpa__game_canary *canary, uint64_t seed, uint64_t index);
/* For a step that has it, `scale` times as large; points into the canary and `row`. */
dpa__extra dpa__game_canary_extra(const dpa__game_canary *canary, float scale, const float **row);
/* ⟨canary, sum⟩/C² */
double dpa__game_canary_along(const dpa__game_canary *canary, const float *sum);

#endif
