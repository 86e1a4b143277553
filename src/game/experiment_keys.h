/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of an experiment file. */
#ifndef DPA_GAME_EXPERIMENT_KEYS_H
#define DPA_GAME_EXPERIMENT_KEYS_H

#include "dpaudit/lab/game.h"
#include "settings/settings.h"

extern const dpa__section dpa__experiment_sections[];
extern const dpa__word dpa__game_canaries[];

/* `federate: unobserved` at this value means as many as take part. `canaries` 0 means that
 * federated.c chooses. */
#define DPA__AS_MANY SIZE_MAX

#endif
