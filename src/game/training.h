/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The training that a game plays against: its file, its data, and the noise for its ε. */
#ifndef DPA_GAME_TRAINING_H
#define DPA_GAME_TRAINING_H

#include "game/rules.h"

/* Fails if the file names both `training` and `trainer`, or a `trainer` for a game that takes
 * none. */
dpa_status dpa__training_check(const dpa_game *game, dpa_error *err);

/* Whether the trainer also tells how good its models are. */
int dpa__tells_accuracy(const dpa_game *game);

/* Fills game->plan, game->data and game->digest from the experiment's training file. */
dpa_status dpa__training_open(dpa_game *game, dpa_error *err);

/* Computes σ again if the training file says ε; for games that changed rate or length. */
dpa_status dpa__training_noise(dpa_game *game, dpa_error *err);

#endif
