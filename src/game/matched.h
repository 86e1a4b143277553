/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The matched filter of input canaries: the direction of a private sum that shows an example best
 * when both the noise and the gradients of the other examples in the batch hide it. */
#ifndef DPA_GAME_MATCHED_H
#define DPA_GAME_MATCHED_H

#include "dpaudit/lab/game.h"
#include "game/example.h"
#include "game/trainer.h"

typedef struct dpa__matched dpa__matched;

/* Borrows opts, plan and what the pool points to; `size` is the number of weights. */
dpa_status dpa__matched_new(const dpa_game_opts *opts, const dpa_train_plan *plan,
                            const dpa__pool *pool, size_t members, size_t size, dpa__matched **out,
                            dpa_error *err);
void dpa__matched_free(dpa__matched *matched);
/* Estimates mean and covariance of the data's gradients at the weights of the model, or at the
 * current ones of a trainer (else NULL), whose examples the pool's rows then are. */
dpa_status dpa__matched_look(dpa__matched *matched, const dpa_model *model, dpa__trainer *trainer,
                             dpa_error *err);
/* w ← M⁻¹·g, both [size], where M is the covariance of a private sum at the weights of the last
 * dpa__matched_look. Returns ⟨w, g⟩. */
double dpa__matched_apply(dpa__matched *matched, const float *g, float *w);
/* ⟨w, sum − its mean without a canary⟩. */
double dpa__matched_along(const dpa__matched *matched, const float *w, const float *sum);

#endif
