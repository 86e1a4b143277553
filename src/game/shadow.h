/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shadow game: what its stages share (shadow.c plays, shadow_gather.c draws the conclusions).
 */
#ifndef DPA_GAME_SHADOW_H
#define DPA_GAME_SHADOW_H

#include <stdbool.h>

#include "attack/attack.h"
#include "game/rules.h"
#include "settings/yaml.h"

/* The section `shadow` of an experiment file. */
typedef struct dpa__shadow_keys {
    uint64_t *models, *targets, *challenges;
    dpa_attack *attack;
    bool offline;
    dpa_variance variance;
    dpa_challenge challenge;
    dpa_weight weight;
    dpa_shadow_design design;
    dpa_shadow_signal signal;
} dpa__shadow_keys;

extern const cyaml_schema_field_t dpa__shadow_fields[];
void dpa__shadow_take(const dpa__shadow_keys *keys, dpa_shadow_opts *out);

/* The numbers of a trial: signals of the points (stage 0: all, stage 1: the challenges), signals of
 * the population, accuracy on held-out rows. */
typedef struct dpa__shadow_game {
    size_t points;      /* members of the training file: the data set D of the paper */
    size_t population;  /* held-out rows for RMIA and quantile regression; 0: other attacks */
    int has_accuracy;   /* the trainer tells it */
    dpa__trainer *own;  /* NULL: a program trains */
    size_t *trained_on; /* [points] */
    size_t *asked;      /* [points + population] whom the model is asked about */
    uint8_t *member;    /* [points] */
} dpa__shadow_game;

/* Half of the points, as all shadow models have. */
size_t dpa__shadow_half(const dpa_game *game);
/* Who is in the target of trial `index` that is challenged with `challenge`; gives the coin. */
int dpa__shadow_target(const dpa_game *game, uint64_t index, size_t challenge, uint8_t *member);

/* Inputs and label of these rows. */
dpa_status dpa__shadow_features(const dpa_dataset *data, const size_t *rows, size_t count,
                                dpa_features *out, dpa_error *err);

dpa_status dpa__shadow_brief(dpa_game *game, int stage, const dpa_trials *earlier,
                             dpa_values *brief, dpa_error *err);
int dpa__shadow_arm(const dpa_game *game, uint64_t index);
dpa_status dpa__shadow_gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                              dpa_error *err);

#endif
