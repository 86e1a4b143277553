/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interface of the trainers that games play against. local.c is dpaudit's own trainer in this
 * process; remote.c is an external program that stays and speaks JSON lines (docs/trainer.md).
 * serve.c is the other end of the latter and serves any trainer with this interface.
 *
 * The trainer owns the data. A game names examples by number: first the `points` of the data, then
 * the canaries, which are in a training only if the game puts them there, then the held-out
 * ones. */
#ifndef DPA_GAME_TRAINER_H
#define DPA_GAME_TRAINER_H

#include <jansson.h>

#include "base/text.h"
#include "dpaudit/lab/game.h"

/* What a trainer can do, as bits; each names the calls it needs. */
typedef enum dpa__level {
    DPA__LEVEL_TRAIN = 1,    /* train */
    DPA__LEVEL_GRADIENT = 2, /* start, gradient */
    DPA__LEVEL_STEP = 4,     /* start, batch, step */
    DPA__LEVEL_ROUND = 8,    /* start, batch, step (never a look), weights */
    DPA__LEVEL_CANARY = 16   /* start, gradient, canary */
} dpa__level;

/* A request for a training. */
typedef struct dpa__order {
    const size_t *members; /* [count] examples to train on */
    size_t count;
    uint64_t init;      /* the same number gives the same initial weights */
    uint64_t seed;      /* decides everything else that is random */
    uint64_t look_seed; /* the same for steps whose update is dropped */
} dpa__order;

/* A request for signals of a model. */
typedef struct dpa__question {
    const size_t *ids; /* [count] */
    size_t count;
    dpa_trainer_signal signal;
    double *signals;  /* [count] */
    double *accuracy; /* on held-out examples; NULL: not wanted */
} dpa__question;

/* Gradients that are added to those of the batch, each as if of one more example. With `place`,
 * each is `value` in one weight and 0 elsewhere. */
typedef struct dpa__extra {
    size_t count;
    const size_t *place;     /* [count] */
    const float *const *row; /* [count][size]; NULL with `place` */
    float value;             /* the value at each place; rows are multiplied by it */
    const double *wide; /* [count × size] the rows in full precision. Changes that canary clients
                           send have nothing else; NULL: only the others */
} dpa__extra;

/* One step. */
typedef struct dpa__step {
    int look; /* trial step with look_seed from the same weights; its update is dropped */
    const size_t *batch;
    size_t count;
    dpa__extra extra;
} dpa__step;

typedef struct dpa__trainer dpa__trainer;

typedef struct dpa__trainer_calls {
    void (*close)(dpa__trainer *trainer); /* frees the trainer */
    /* A whole training, then the signals of its model. */
    dpa_status (*train)(dpa__trainer *trainer, const dpa__order *order, const dpa__question *ask,
                        dpa_error *err);
    /* Begins a training by steps; ends the one before. */
    dpa_status (*start)(dpa__trainer *trainer, const dpa__order *order, dpa_error *err);
    /* The examples that the trainer itself samples for its next step: ids[≤ room]. */
    dpa_status (*batch)(dpa__trainer *trainer, int look, size_t room, size_t *ids, size_t *count,
                        dpa_error *err);
    /* sum [size] receives what is released: with noise, before any division. */
    dpa_status (*step)(dpa__trainer *trainer, const dpa__step *step, float *sum, dpa_error *err);
    /* The gradient of one example's loss at the current weights [size], not clipped. */
    dpa_status (*gradient)(dpa__trainer *trainer, size_t id, float *gradient, dpa_error *err);
    /* The signals of the training by steps at its current weights. */
    dpa_status (*signals)(dpa__trainer *trainer, const dpa__question *ask, dpa_error *err);
    /* The current weights of the training by steps [size]. */
    dpa_status (*weights)(dpa__trainer *trainer, float *weights, dpa_error *err);
    /* Makes the first canary anew against the current weights: the example of the stream (seed,
     * index), crafted if it is a crafted kind. */
    dpa_status (*canary)(dpa__trainer *trainer, dpa_game_canary kind, uint64_t seed, uint64_t index,
                         dpa_error *err);
} dpa__trainer_calls;

/* Every trainer's struct begins with this. */
struct dpa__trainer {
    const dpa__trainer_calls *calls;
    int levels;                       /* bits; 0: not known before the first start */
    size_t points, canaries, heldout; /* numbers of examples */
    int tells_accuracy;               /* whether it gives the accuracy of its models */
    size_t size;                      /* number of weights; 0: not known before `start` */
    dpa_model *model;                 /* of our own trainer, for crafting canaries; else NULL */
};

void dpa__trainer_close(dpa__trainer *trainer); /* NULL-safe */

/* local.c: our own trainer, with the sabotage that `opts` asks for. Borrows everything. */
typedef struct dpa__local_opts {
    const dpa_game_opts *opts;
    const dpa_train_plan *plan;
    const dpa_dataset *data;
    const size_t *rows;      /* [points] rows of `data`; NULL: its first ones, then the canaries */
    size_t points, canaries; /* rate and length are computed for `points` members, whoever is
                                trained on */
    int keeps_rate;          /* shuffled batches grow with the number of members */
    const dpa_train_data *held; /* source of held-out examples */
    size_t evaluated;           /* most of them that the accuracy is measured on; 0: all */
} dpa__local_opts;
enum { DPA__MOST_EVALUATED = 1000 }; /* in games of many trainings */
dpa_status dpa__local_new(const dpa__local_opts *opts, dpa__trainer **out, dpa_error *err);
/* With `rows`: sets the data set of the canaries, and who makes the canary for calls->canary; call
 * it before any training. */
typedef dpa_status dpa__canary_maker(void *user, uint64_t seed, uint64_t index, dpa_error *err);
void dpa__local_set_canary(dpa__trainer *trainer, const dpa_dataset *canaries,
                           dpa__canary_maker *make, void *user);

/* Whether the sabotage that the options ask for is possible. `members` is the number trained on,
 * including canaries that go through the sampler; 0: not known yet. */
dpa_status dpa__sabotage_check(const dpa_game_opts *opts, const dpa_train_opts *claimed,
                               size_t members, dpa_error *err);
/* Its settings, for dpa__game_put. */
#define DPA__SABOTAGE "game.sabotage game.noise-scale game.seeds game.workers"

/* trainer_wire.c: writes a file that serves one message or one trial and need not survive a power
 * cut: `head`, which is freed, and then `more`. */
dpa_status dpa__write_plainly(const char *path, dpa__text *head, const void *more, size_t bytes,
                              dpa_error *err);

/* remote.c: the program of `opts` (borrowed), run in the folder of the file `path`, confined unless
 * `confine` (borrowed) is NULL. It is started when first needed and then stays. After a failure it
 * is started anew, unless it reported the failure itself. */
dpa_status dpa__remote_new(const dpa_trainer_opts *opts, const char *path,
                           const dpa_confine *confine, dpa__trainer **out, dpa_error *err);
/* The digest of the files that its command names. */
const char *dpa__remote_files(const dpa__trainer *trainer);
/* Ends the program, if it runs, and everything that it started. */
void dpa__remote_stop(dpa__trainer *trainer);
int dpa__remote_runs(const dpa__trainer *trainer);
/* Starts the program, unless it runs, and exchanges hello. */
dpa_status dpa__remote_hello(dpa__trainer *trainer, dpa_error *err);

/* serve.c: answers the requests that arrive on `in` until it is closed. */
dpa_status dpa__trainer_serve(dpa__trainer *trainer, int in, int out, dpa_error *err);

/* ---- Messages between games and trainers in other processes (trainer_wire.c) ----
 *
 * One JSON object per line. Short arrays are lists of numbers; long ones are {"npy": NAME}, a file
 * in the folder that both know (docs/trainer.md). */

/* The most numbers that are written into the line itself. Ids are short: a file costs as much as
 * about 5000 of them. */
enum {
    DPA__LEVELS = 5,
    DPA__TRAINER_PROTOCOL = 1,
    DPA__INLINE_MOST = 1000,
    DPA__INLINE_IDS = 5000
};

extern const char *const dpa__level_names[DPA__LEVELS]; /* for the bits 1, 2, 4 … */
extern const char *const dpa__signal_names[3];          /* indexed by dpa_trainer_signal */

/* Appends `,"key":…`. Files are named after `key` and `side` ("to", "from") and are overwritten by
 * the next message. */
dpa_status dpa__put_ids(dpa__text *line, const char *key, const size_t *ids, size_t count,
                        const char *folder, const char *side, dpa_error *err);
dpa_status dpa__put_floats(dpa__text *line, const char *key, const float *items, size_t rows,
                           size_t columns, const char *folder, const char *side, dpa_error *err);
dpa_status dpa__put_doubles(dpa__text *line, const char *key, const double *items, size_t count,
                            const char *folder, const char *side, dpa_error *err);
void dpa__put_seed(dpa__text *line, const char *key, uint64_t seed);

/* The array under a key, which the caller frees; every number is finite. */
dpa_status dpa__take_numbers(const json_t *message, const char *key, const char *folder,
                             double **items, size_t *count, dpa_error *err);
/* The same for numbers of examples, each below `limit`. */
dpa_status dpa__take_ids(const json_t *message, const char *key, const char *folder, size_t limit,
                         size_t **ids, size_t *count, dpa_error *err);
dpa_status dpa__take_seed(const json_t *message, const char *key, uint64_t *seed, dpa_error *err);

#endif
