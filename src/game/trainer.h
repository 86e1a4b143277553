/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whom a game plays against: a table of functions, whoever is behind it. local.c is dpaudit's own
 * trainer in this process; remote.c a program that stays and speaks JSON lines (docs/trainer.md).
 * serve.c is the other end of the latter, for any trainer that has this table.
 *
 * Data are the trainer's. A game names examples by number: first `points` of data, then canaries,
 * which are in a training only where the game puts them, then held-out ones. */
#ifndef DPA_GAME_TRAINER_H
#define DPA_GAME_TRAINER_H

#include "dpaudit/lab/game.h"

/* What a trainer can do, as bits. GRADIENT and STEP both need `start`. */
typedef enum dpa__level {
    DPA__LEVEL_TRAIN = 1,    /* train */
    DPA__LEVEL_GRADIENT = 2, /* start, gradient */
    DPA__LEVEL_STEP = 4      /* start, batch, step */
} dpa__level;

/* A training that is asked for. */
typedef struct dpa__order {
    const size_t *members; /* [count] examples to train on */
    size_t count;
    uint64_t init;      /* same number, same initial weights */
    uint64_t seed;      /* of everything else that is random */
    uint64_t look_seed; /* the same for steps whose update is dropped */
} dpa__order;

/* What is asked of a model. */
typedef struct dpa__question {
    const size_t *ids; /* [count] */
    size_t count;
    dpa_trainer_signal signal;
    double *signals;  /* [count] */
    double *accuracy; /* on what is held out; NULL: not wanted */
} dpa__question;

/* Gradients that come in besides those of the batch, each as one more example's. With `place` each
 * is `value` in one weight and 0 elsewhere. */
typedef struct dpa__extra {
    size_t count;
    const size_t *place;     /* [count] */
    const float *const *row; /* [count][size]; NULL with `place` */
    float value;             /* of places; rows are multiplied by it */
} dpa__extra;

/* One step. */
typedef struct dpa__step {
    int look; /* as if, from the same weights by look_seed: the update is dropped */
    const size_t *batch;
    size_t count;
    dpa__extra extra;
} dpa__step;

typedef struct dpa__trainer dpa__trainer;

typedef struct dpa__trainer_calls {
    void (*close)(dpa__trainer *trainer); /* frees it */
    /* A whole training, and what its model says. */
    dpa_status (*train)(dpa__trainer *trainer, const dpa__order *order, const dpa__question *ask,
                        dpa_error *err);
    /* Begins a training that goes by steps; ends the one before. */
    dpa_status (*start)(dpa__trainer *trainer, const dpa__order *order, dpa_error *err);
    /* Whom the trainer itself samples for its next step: ids[≤ room]. */
    dpa_status (*batch)(dpa__trainer *trainer, int look, size_t room, size_t *ids, size_t *count,
                        dpa_error *err);
    /* sum [size]: what is released, noise and all, before any division. */
    dpa_status (*step)(dpa__trainer *trainer, const dpa__step *step, float *sum, dpa_error *err);
    /* Of one example's loss by the weights of the moment [size], not clipped. */
    dpa_status (*gradient)(dpa__trainer *trainer, size_t id, float *gradient, dpa_error *err);
    /* What the model of the training that goes by steps says by now. */
    dpa_status (*signals)(dpa__trainer *trainer, const dpa__question *ask, dpa_error *err);
} dpa__trainer_calls;

/* The beginning of every trainer. */
struct dpa__trainer {
    const dpa__trainer_calls *calls;
    int levels;                       /* bits; 0: not known before it was started */
    size_t points, canaries, heldout; /* examples */
    int tells_accuracy;               /* of its models */
    size_t size;                      /* weights; 0: not known before `start` */
    dpa_model *model;                 /* of our own trainer, for who crafts canaries; else NULL */
};

void dpa__trainer_close(dpa__trainer *trainer); /* NULL-safe */

/* local.c: our own trainer, with whatever `opts` says is wrong with it. Borrows everything. */
typedef struct dpa__local_opts {
    const dpa_game_opts *opts;
    const dpa_train_plan *plan;
    const dpa_dataset *data;
    const size_t *rows; /* [points] rows of `data`; NULL: the first ones, canaries behind */
    size_t points, canaries;
    size_t claimed;             /* members that rate and length are for, whoever is trained on */
    int keeps_rate;             /* shuffled batches grow with the members */
    const dpa_train_data *held; /* where held-out examples are; NULL: nowhere */
    size_t evaluated;           /* how many of them the accuracy is taken on, at most */
} dpa__local_opts;
dpa_status dpa__local_new(const dpa__local_opts *opts, dpa__trainer **out, dpa_error *err);
/* With `rows`: where the canaries are, before any training. */
void dpa__local_set_canaries(dpa__trainer *trainer, const dpa_dataset *canaries);

/* remote.c: the program of `opts` (borrowed), run in the folder of the file `path`. It is started
 * when it is first needed and stays. After a failure it is started anew, except after one that it
 * has told of itself. */
dpa_status dpa__remote_new(const dpa_trainer_opts *opts, const char *path, dpa__trainer **out,
                           dpa_error *err);
/* Names all that decides what such a trainer says. */
dpa_status dpa__remote_digest(const dpa__trainer *trainer, char hex[DPA_SHA256_SIZE],
                              dpa_error *err);
/* Ends the program, if it runs, with all that it started. */
void dpa__remote_stop(dpa__trainer *trainer);
int dpa__remote_runs(const dpa__trainer *trainer);
/* Starts the program, unless it runs, and says hello. */
dpa_status dpa__remote_hello(dpa__trainer *trainer, dpa_error *err);

/* serve.c: answers the requests that come over `in` until it ends. */
dpa_status dpa__trainer_serve(dpa__trainer *trainer, int in, int out, dpa_error *err);

#endif
