/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Canaries that are examples: the data from which the adversary takes them, and the two kinds that
 * need no model (tight-auditing appendix B.2). */
#ifndef DPA_GAME_EXAMPLE_H
#define DPA_GAME_EXAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/lab/game.h"

/* Data from the same distribution as the training data: the held-out rows or, if there are none,
 * the members themselves (an adversary against DP may know all members but the canary). */
typedef struct dpa__pool {
    const dpa_dataset *data;
    const size_t *rows;
    size_t count;
} dpa__pool;

dpa__pool dpa__pool_of(const dpa_train_data *data);

/* Fills x [features] and label with the example of the stream (seed, index): a mislabelled one
 * (also the start of a matched canary), a blank one with a random label, or, for the other crafted
 * kinds, an unchanged one of the pool. */
void dpa__example_draw(dpa_game_canary kind, const dpa__pool *pool, uint64_t seed, uint64_t index,
                       float *x, int32_t *label);

#endif
