/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Canaries crafted against the current weights: an adversarial example, one whose gradient is
 * orthogonal to the data's (tight-auditing Algorithm 3), and one that the matched filter sees
 * best. */
#ifndef DPA_GAME_CRAFT_H
#define DPA_GAME_CRAFT_H

#include <stdint.h>

#include "dpaudit/lab/game.h"
#include "game/example.h"
#include "game/matched.h"

typedef struct dpa__craft dpa__craft;

/* Borrows everything except the pool. */
dpa_status dpa__craft_new(const dpa_game_opts *opts, const dpa_train_plan *plan,
                          const dpa__pool *pool, dpa__craft **out, dpa_error *err);
void dpa__craft_free(dpa__craft *craft);
/* Projected gradient ascent on the loss: no feature moves by more than opts->radius or out of the
 * range that features have in the pool. */
dpa_status dpa__craft_adversarial(dpa__craft *craft, const dpa_model *model, int32_t label,
                                  float *x, dpa_error *err);
/* Descent on |cos(gradient of (x, label), mean clipped gradient of examples from the pool)|. */
dpa_status dpa__craft_orthogonal(dpa__craft *craft, dpa_model *model, int32_t label, float *x,
                                 dpa_error *err);
/* Ascent on what the matched filter sees of the clipped gradient of (x, label), within the range
 * that features have in the pool. The filter must have looked at the model before. */
dpa_status dpa__craft_matched(dpa__craft *craft, dpa__matched *matched, dpa_model *model,
                              int32_t label, float *x, dpa_error *err);

#endif
