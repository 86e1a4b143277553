/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradient canaries: a direction of norm C that the adversary adds to a sum and then measures the
 * sum along. */
#ifndef DPA_GAME_CANARY_H
#define DPA_GAME_CANARY_H

#include <stddef.h>
#include <stdint.h>

#include "game/trainer.h"

typedef struct dpa__game_canary {
    dpa_game_canary kind;
    double clip;
    size_t size;
    size_t *quiet;    /* Dirac: the weights, those with the smallest gradients first */
    size_t among;     /* Dirac: how many of these a moving one is drawn from */
    size_t place;     /* Dirac: the weight in use */
    float *direction; /* other kinds: the gradient itself */
} dpa__game_canary;

/* Measures gradients of up to 256 points at the trainer's current weights. `quiet_share`: of the
 * weights, for a Dirac canary that moves. */
dpa_status dpa__game_canary_init(dpa__game_canary *canary, dpa_game_canary kind, double clip,
                                 double quiet_share, dpa__trainer *trainer, dpa_error *err);
void dpa__game_canary_free(dpa__game_canary *canary);
/* Switches to the canary of the stream (seed, index). */
void dpa__game_canary_move(dpa__game_canary *canary, uint64_t seed, uint64_t index);
/* The canary as an extra gradient for a step, `scale` times as large. The result points into the
 * canary and `row`. */
dpa__extra dpa__game_canary_extra(const dpa__game_canary *canary, float scale, const float **row);
/* ⟨canary, sum⟩/C² */
double dpa__game_canary_along(const dpa__game_canary *canary, const float *sum);

#endif
