/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `trainer` of an experiment file. */
#ifndef DPA_GAME_TRAINER_KEYS_H
#define DPA_GAME_TRAINER_KEYS_H

#include <stdbool.h>

#include "dpaudit/lab/game.h"
#include "settings/yaml.h"

typedef struct dpa__trainer_keys {
    char *command;
    uint64_t *points, *canaries, *heldout, *steps, *init_seed;
    bool accuracy;
    dpa_trainer_signal signal;
    double *clip, *sigma, *q, *delta, *timeout;
} dpa__trainer_keys;

extern const cyaml_schema_field_t dpa__trainer_fields[];
void dpa__trainer_opts_init(dpa_trainer_opts *opts);
dpa_status dpa__trainer_take(const dpa__trainer_keys *keys, const char *path, dpa_trainer_opts *out,
                             dpa_error *err);

#endif
