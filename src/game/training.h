/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The training that a game plays against: its file, its data, and the noise that its ε means. */
#ifndef DPA_GAME_TRAINING_H
#define DPA_GAME_TRAINING_H

#include "game/rules.h"

/* Of `training` and `trainer` the file may name one, and the latter not for every kind of game. */
dpa_status dpa__training_check(const dpa_game *game, dpa_error *err);

/* Does whoever trains also say how good the models are? */
int dpa__tells_accuracy(const dpa_game *game);

/* Fills game->plan, game->data and game->digest from the experiment's training file. */
dpa_status dpa__training_open(dpa_game *game, dpa_error *err);

/* Finds σ again where the training file says ε: for a game that changed rate or length. */
dpa_status dpa__training_noise(dpa_game *game, dpa_error *err);

#endif
