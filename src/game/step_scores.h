/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scores of an adversary who sees every step: one per direction, accumulated over the
 * observations. */
#ifndef DPA_GAME_STEP_SCORES_H
#define DPA_GAME_STEP_SCORES_H

#include <stddef.h>

#include "dpaudit/lab/game.h"

typedef struct dpa__ledger {
    dpa_game_score kind;
    double q, variance; /* of the claimed mechanism, on the scale of the observations */
    size_t count;
    double *score; /* [count] */
} dpa__ledger;

dpa_status dpa__ledger_init(dpa__ledger *ledger, dpa_game_score kind, size_t count, double q,
                            double sigma, dpa_error *err);
void dpa__ledger_free(dpa__ledger *ledger);
/* Call before a training: sets all scores to 0. */
void dpa__ledger_start(dpa__ledger *ledger);
/* Adds one step's observation: x ~ N(0, σ²) without the canary, N(1, σ²) with it. */
void dpa__ledger_add(dpa__ledger *ledger, size_t index, double x);

#endif
