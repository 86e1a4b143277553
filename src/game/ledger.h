/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an adversary who sees every step makes of its observations: one score per direction. */
#ifndef DPA_GAME_LEDGER_H
#define DPA_GAME_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/game.h"

typedef struct dpa__ledger {
    dpa_game_score kind;
    double q, variance;   /* of the claimed mechanism, on the scale of the observations */
    uint64_t epoch_steps; /* of shuffled batches */
    size_t count;
    double *score; /* [count] */
    double *epoch; /* [count] log Σ exp over the steps of this epoch so far */
} dpa__ledger;

dpa_status dpa__ledger_init(dpa__ledger *ledger, dpa_game_score kind, size_t count, double q,
                            double sigma, dpa_error *err);
void dpa__ledger_free(dpa__ledger *ledger);
void dpa__ledger_start(dpa__ledger *ledger, uint64_t epoch_steps);
/* x ~ N(0, σ²) without, N(1, σ²) with the canary. */
void dpa__ledger_add(dpa__ledger *ledger, size_t index, double x);
/* After each step; `step` counts from 0, `is_last` when the training ends with it. */
void dpa__ledger_step(dpa__ledger *ledger, uint64_t step, int is_last);

#endif
