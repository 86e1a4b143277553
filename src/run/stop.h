/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides when a run has seen enough: a sequential audit of the trials in the order of their
 * numbers. */
#ifndef DPA_RUN_STOP_H
#define DPA_RUN_STOP_H

#include "dpaudit/lab/game.h"
#include "estimate/estimate.h"

typedef struct dpa__stop dpa__stop;

/* Borrows request and game. */
dpa_status dpa__stop_open(const dpa_request *request, dpa_game *game, dpa__stop **out,
                          dpa_error *err);
/* `trials` are those of all stages; the first `decided` trials of the last stage count, out of
 * `planned`. *needed is the number of trials after which the claim was refuted; 0 if it was not. */
dpa_status dpa__stop_look(dpa__stop *stop, const dpa_trials *trials, uint64_t decided,
                          uint64_t planned, uint64_t *needed, dpa_error *err);
void dpa__stop_close(dpa__stop *stop);

#endif
