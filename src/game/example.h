/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Canaries that are examples: what the adversary has to take them from, and the two that need no
 * model (tight-auditing appendix B.2). */
#ifndef DPA_GAME_EXAMPLE_H
#define DPA_GAME_EXAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/lab/game.h"

/* Data of the same distribution as the training's: what is held out, or the members themselves
 * where nothing is (an adversary against DP may know all members but the canary). */
typedef struct dpa__pool {
    const dpa_dataset *data;
    const size_t *rows;
    size_t count;
} dpa__pool;

dpa__pool dpa__pool_of(const dpa_train_data *data);

/* Fills x [features] and label with the example of the stream (seed, index): a mislabelled one
 * (also to craft a matched canary from), a blank one with a random label, or for the other kinds
 * that are crafted one of the pool as it is. */
void dpa__example_draw(dpa_game_canary kind, const dpa__pool *pool, uint64_t seed, uint64_t index,
                       float *x, int32_t *label);

#endif
