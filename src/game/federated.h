/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `federate` of an experiment file. */
#ifndef DPA_GAME_FEDERATED_H
#define DPA_GAME_FEDERATED_H

#include <stdint.h>

#include <stdbool.h>

#include "dpaudit/lab/game.h"
#include "settings/yaml.h"

typedef struct dpa__federate_keys {
    char *clients, *column;
    dpa_participation participation;
    dpa_federate_fault fault;
    dpa_direction direction;
    dpa_server server;
    bool adaptive, divide_actual, baseline, since_start;
    bool *all_iterates;
    uint64_t *split, *rounds, *cohort, *period, *canaries, *unobserved, *repetitions, *copies;
    uint64_t *runs, *checkpoints;
    double *concentration, *drop, *server_rate, *momentum, *quantile, *clip_rate, *vote_noise;
    double *canary_scale, *share, *beta2, *tau;
} dpa__federate_keys;

extern const cyaml_schema_field_t dpa__federate_fields[];

/* `path`: the experiment file, from whose folder the clients' file is seen. */
dpa_status dpa__federate_plan_take(const dpa__federate_keys *keys, const char *path,
                                   dpa_federate_plan **out, dpa_error *err);

/* Of `unobserved` in a plan: as many as take part. `canaries` 0 in a plan: federated.c chooses. */
#define DPA__AS_MANY SIZE_MAX

#endif
