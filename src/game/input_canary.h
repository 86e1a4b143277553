/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Input canaries: an example whose gradient the adversary knows. */
#ifndef DPA_GAME_INPUT_CANARY_H
#define DPA_GAME_INPUT_CANARY_H

#include <stdint.h>

#include "game/trainer.h"

typedef struct dpa__input_canary dpa__input_canary;

/* Borrows all three; `size` is the number of weights. Starts with the example of the stream
 * (opts->seed, 0). */
dpa_status dpa__input_canary_new(const dpa_game_opts *opts, const dpa_train_plan *plan,
                                 const dpa_train_data *data, size_t size, dpa__input_canary **out,
                                 dpa_error *err);
/* The first canary of a trainer, which the trainer itself makes anew where it moves or is
 * crafted. */
dpa_status dpa__input_canary_named(const dpa_game_opts *opts, const dpa_train_plan *plan,
                                   dpa__trainer *trainer, dpa__input_canary **out, dpa_error *err);
void dpa__input_canary_free(dpa__input_canary *canary);
/* Switches to the example of the stream (seed, index). */
void dpa__input_canary_draw(dpa__input_canary *canary, uint64_t seed, uint64_t index);
/* Crafts the canary against the model, if it is a crafted kind, and computes its gradient. */
dpa_status dpa__input_canary_aim(dpa__input_canary *canary, dpa_model *model, dpa_error *err);
/* Makes it the canary of our own trainer, also when that trainer is asked to make one. */
void dpa__input_canary_serve(dpa__input_canary *canary, dpa__trainer *trainer);
/* ⟨g′/‖g′‖, sum⟩/C, or the matched filter's value; 0 if the canary's gradient is 0. */
double dpa__input_canary_along(const dpa__input_canary *canary, const float *sum);
/* ‖g′‖/C after clipping, at most 1: how far the canary shifts an observation. */
double dpa__input_canary_reach(const dpa__input_canary *canary);

#endif
