/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An adversary with white-box canaries against one trainer, ready to play. */
#ifndef DPA_GAME_WHITE_BOX_H
#define DPA_GAME_WHITE_BOX_H

#include <stdint.h>

#include "game/trainer.h"

typedef struct dpa__white_box dpa__white_box;

/* Plays against `trainer`; NULL: our own, following the plan. Borrows everything. */
dpa_status dpa__white_box_new(const dpa_game_opts *opts, const dpa_train_plan *plan,
                              const dpa_train_data *data, dpa__trainer *trainer,
                              dpa__white_box **out, dpa_error *err);
void dpa__white_box_free(dpa__white_box *game);
/* Plays the first `count` steps of one training; in and out have room for `count`. The result
 * depends on the options and `run` alone. An observation is ⟨canary, private sum⟩/C²: N(0, σ²)
 * without the canary, N(1, σ²) with it, plus what the data's gradients add to both alike. If the
 * canary is an example with clipped gradient g′, it is ⟨g′/‖g′‖, private sum⟩/C: N(‖g′‖/C, σ²) with
 * the canary. With the matched filter w it is σ·⟨w, private sum − its mean⟩/√⟨w, g′⟩, which the
 * canary shifts by σ·√⟨w, g′⟩, at most 1. */
dpa_status dpa__white_box_play(dpa__white_box *game, uint64_t run, uint64_t count, double *in,
                               double *out, dpa_error *err);
/* Input canaries: Σ ‖g′‖/C over the steps of the last play; 0 for gradients, which have norm C. */
double dpa__white_box_reach(const dpa__white_box *game);

#endif
