/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is wrong with the trainer that a game audits, done to it from outside: by the options that
 * it is run with and by its hooks. Every game that trains goes through here. */
#ifndef DPA_GAME_SABOTAGE_H
#define DPA_GAME_SABOTAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "dpaudit/lab/game.h"

/* `members`: how many are trained on, canaries that go through the sampler included; 0: not known
 * yet. */
dpa_status dpa__sabotage_check(const dpa_game_opts *opts, const dpa_train_opts *claimed,
                               size_t members, dpa_error *err);
/* Turns the options that are claimed into those that the trainer is really run with. */
void dpa__sabotage_opts(const dpa_game_opts *opts, dpa_train_opts *train);
/* For the hook `sample`, before the game looks. */
void dpa__sabotage_sample(const dpa_game_opts *opts, const dpa_train_opts *claimed, size_t members,
                          uint64_t step, size_t *count);
/* For the hook `sum`, after whatever the game itself adds. */
void dpa__sabotage_sum(const dpa_game_opts *opts, const dpa_train_opts *claimed, size_t members,
                       uint64_t step, float *sum, size_t size);
/* For the hook `release`, before the game looks; `seed` is that of the training. */
void dpa__sabotage_release(const dpa_game_opts *opts, const dpa_train_opts *claimed, uint64_t seed,
                           uint64_t step, float *sum, size_t size);
/* For the key of a trial. */
void dpa__sabotage_describe(const dpa_game_opts *opts, dpa__text *text);

#endif
