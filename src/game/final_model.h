/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A training to its end, with whatever is wrong with the trainer, and what its model says of an
 * example: for games whose adversary sees the final model. */
#ifndef DPA_GAME_FINAL_MODEL_H
#define DPA_GAME_FINAL_MODEL_H

#include "game/rules.h"

enum { DPA__MOST_EVALUATED = 1000 }; /* held-out rows that the utility is measured on */

/* Trains `model` from the initial weights of `init` on `rows` [count] of `data`. Sampling rate and
 * number of steps are those of the plan for game->data.member_count members, whatever `count`: they
 * may not tell who is in. */
dpa_status dpa__final_train(const dpa_game *game, dpa_model *model, const dpa_dataset *data,
                            const size_t *rows, size_t count, uint64_t init, uint64_t seed,
                            dpa_error *err);

/* log(p/(1 − p)), p being the probability that the outputs [outputs] give to the label. */
double dpa__confidence(const float *logits, size_t outputs, int32_t label);

/* Accuracy on what is held out, which must not be nothing. */
dpa_status dpa__final_accuracy(const dpa_game *game, const dpa_model *model, double *out,
                               dpa_error *err);

#endif
