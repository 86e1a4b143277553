/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One training with many canaries in it: in or out by a fair coin each (membership), or one of K
 * options each (reconstruction). */
#ifndef DPA_GAME_ONE_RUN_H
#define DPA_GAME_ONE_RUN_H

#include <stdint.h>

#include "game/trainer.h"

typedef struct dpa__one_run dpa__one_run;

/* What the adversary ends up with for each canary. */
typedef struct dpa__one_run_result {
    const size_t *secret; /* [canaries] which option is in (membership: 1 in, 0 out); NULL: drawn */
    double *score;        /* [canaries] membership: higher means in; else how sure the guess is */
    double *answer;       /* [canaries] membership: 1 was in; else 1: the guess is right */
    double accuracy;      /* of the final model on what is held out; NaN: nothing is */
} dpa__one_run_result;

/* How it is played against a program, and what that says; NULL: our own trainer, losses. */
typedef struct dpa__one_run_against {
    dpa__trainer *trainer;
    dpa_trainer_signal signal;
} dpa__one_run_against;

/* `options`: 0 for membership, else K. Borrows everything. */
dpa_status dpa__one_run_new(const dpa_game_opts *opts, uint64_t options, const dpa_train_plan *plan,
                            const dpa_train_data *data, const dpa__one_run_against *against,
                            dpa__one_run **out, dpa_error *err);
dpa__trainer *dpa__one_run_trainer(const dpa__one_run *game);
void dpa__one_run_free(dpa__one_run *game);
/* One training. What comes out depends on the options and `run` alone. */
dpa_status dpa__one_run_play(dpa__one_run *game, uint64_t run, dpa__one_run_result *result,
                             dpa_error *err);

#endif
