/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One training with many canaries in it: each in or out by a fair coin (membership), or each as one
 * of K options (reconstruction). */
#ifndef DPA_GAME_ONE_RUN_H
#define DPA_GAME_ONE_RUN_H

#include <stdint.h>

#include "game/trainer.h"

typedef struct dpa__one_run dpa__one_run;

/* The adversary's result for each canary. */
typedef struct dpa__one_run_result {
    const size_t *secret; /* [canaries] the option that is in (membership: 1 in, 0 out); NULL: drawn
                             at random */
    double *score;   /* [canaries] membership: higher means in; else the confidence of the guess */
    double *answer;  /* [canaries] membership: 1 if it was in; else 1 if the guess is right */
    double *noise;   /* [noise rows × null coordinates] the noise of weights without a canary, in
                        units of the canaries; NaN beyond the last weight */
    double accuracy; /* of the final model on held-out rows; NaN: there are none */
} dpa__one_run_result;

/* An external trainer to play against, and the signal it gives; NULL: our own trainer and
 * losses. */
typedef struct dpa__one_run_against {
    dpa__trainer *trainer;
    dpa_trainer_signal signal;
} dpa__one_run_against;

/* `options` is 0 for membership, else K. Borrows everything. */
dpa_status dpa__one_run_new(const dpa_game_opts *opts, uint64_t options, const dpa_train_plan *plan,
                            const dpa_train_data *data, const dpa__one_run_against *against,
                            dpa__one_run **out, dpa_error *err);
dpa__trainer *dpa__one_run_trainer(const dpa__one_run *game);
void dpa__one_run_free(dpa__one_run *game);
/* The steps whose noise is kept, spread evenly over the training: the rows of result.noise. 0 if
 * there are no null coordinates, or too few steps to check anything. */
size_t dpa__one_run_noise_rows(const dpa__one_run *game);
/* Plays one training. The result depends on the options and `run` alone. */
dpa_status dpa__one_run_play(dpa__one_run *game, uint64_t run, dpa__one_run_result *result,
                             dpa_error *err);

#endif
