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

/* `options` is 0 for membership, else K. Plays against `trainer`, which gives that signal; NULL:
 * our own, which gives losses. Borrows everything. */
dpa_status dpa__one_run_new(const dpa_game_opts *opts, uint64_t options, const dpa_train_plan *plan,
                            const dpa_train_data *data, dpa__trainer *trainer,
                            dpa_trainer_signal signal, dpa__one_run **out, dpa_error *err);
dpa__trainer *dpa__one_run_trainer(const dpa__one_run *game);
void dpa__one_run_free(dpa__one_run *game);
/* The steps whose noise is kept, spread evenly over the training: the rows of result.noise. 0 if
 * there are no null coordinates, or too few steps to check anything. */
size_t dpa__one_run_noise_rows(const dpa__one_run *game);
/* Plays one training. The result depends on the options and `run` alone. */
dpa_status dpa__one_run_play(dpa__one_run *game, uint64_t run, dpa__one_run_result *result,
                             dpa_error *err);

/* Canaries for an adversary who sees only the final model: held-out rows with a wrong label. */
typedef struct dpa__decoys {
    size_t count, classes;
    const dpa_dataset *from;
    size_t *row;    /* [count] rows of `from`, all different */
    uint32_t *turn; /* [count] which of its wrong labels is option 0 */
} dpa__decoys;

/* Draws `options` wrong labels for each row. The draw depends on the seed alone. Borrows the
 * data. */
dpa_status dpa__decoys_init(dpa__decoys *decoys, size_t count, size_t options, uint64_t seed,
                            const dpa_train_data *data, dpa_error *err);
void dpa__decoys_free(dpa__decoys *decoys);
/* Never the right label; different options give different labels. */
int32_t dpa__decoys_label(const dpa__decoys *decoys, size_t index, size_t option);

/* Scores of an adversary who sees every step: one per direction, accumulated over the
 * observations. */
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
