/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shadow game: what its stages share. shadow.c plays the trials, shadow_gather.c evaluates
 * them. */
#ifndef DPA_GAME_SHADOW_H
#define DPA_GAME_SHADOW_H

#include "attack/attack.h"
#include "game/rules.h"

/* A trial's numbers are the signals of the points (stage 0: all, stage 1: the challenges), the
 * signals of the population, and the accuracy on held-out rows. */
typedef struct dpa__shadow_game {
    size_t points;      /* members of the training file: the data set D of the paper */
    size_t population;  /* held-out rows for RMIA and quantile regression; 0 for other attacks */
    int has_accuracy;   /* the trainer tells it (dpa__tells_accuracy) */
    dpa__trainer *own;  /* NULL: an external program trains */
    size_t *trained_on; /* [points] */
    size_t *asked;      /* [points + population] points the model is asked about */
    uint8_t *member;    /* [points] */
} dpa__shadow_game;

/* Draws the members of the target of trial `index` with this challenge; returns the coin. */
int dpa__shadow_target(const dpa_game *game, uint64_t index, size_t challenge, uint8_t *member);

/* The inputs and labels of these rows as features. */
dpa_status dpa__shadow_features(const dpa_dataset *data, const size_t *rows, size_t count,
                                dpa_features *out, dpa_error *err);

dpa_status dpa__shadow_brief(dpa_game *game, int stage, const dpa_trials *earlier,
                             dpa_values *brief, dpa_error *err);
int dpa__shadow_arm(const dpa_game *game, uint64_t index);
dpa_status dpa__shadow_gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                              dpa_error *err);

#endif
