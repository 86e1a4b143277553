/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Breaks the trainer that a game audits, from outside: through the options it runs with and through
 * its hooks. Every game that trains goes through here. */
#ifndef DPA_GAME_SABOTAGE_H
#define DPA_GAME_SABOTAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "dpaudit/lab/game.h"

/* `members` is the number trained on, including canaries that go through the sampler; 0: not known
 * yet. */
dpa_status dpa__sabotage_check(const dpa_game_opts *opts, const dpa_train_opts *claimed,
                               size_t members, dpa_error *err);
/* Turns the claimed options into those that the trainer really runs with. */
void dpa__sabotage_opts(const dpa_game_opts *opts, dpa_train_opts *train);
/* For the hook `sample`; call it before the game looks at the batch. */
void dpa__sabotage_sample(const dpa_game_opts *opts, const dpa_train_opts *claimed, size_t members,
                          uint64_t step, size_t *count);
/* For the hook `sum`; call it after the game has added its part. */
void dpa__sabotage_sum(const dpa_game_opts *opts, const dpa_train_opts *claimed, size_t members,
                       uint64_t step, float *sum, size_t size);
/* For the hook `release`; call it before the game looks. `seed` is that of the training. */
void dpa__sabotage_release(const dpa_game_opts *opts, const dpa_train_opts *claimed, uint64_t seed,
                           uint64_t step, float *sum, size_t size);
/* Its settings, for dpa__game_put. */
#define DPA__SABOTAGE "game.sabotage game.noise-scale game.seeds game.workers"

#endif
