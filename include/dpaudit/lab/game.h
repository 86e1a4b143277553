/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Audit games: an adversary plays against a trainer, and what it sees becomes scores for the
 * estimators.
 *
 * White box with gradient canaries (tight-auditing, Algorithm 2): in every step the adversary sees
 * the private sums of two batches drawn at the same weights, one of them with its canary gradient.
 * Everything random is a function of (seed, run, step). */
#ifndef DPAUDIT_GAME_H
#define DPAUDIT_GAME_H

#include <stdint.h>

#include "dpaudit/attack.h"
#include "dpaudit/evidence.h"
#include "dpaudit/lab/federate.h"
#include "dpaudit/lab/train.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

typedef enum dpa_game_canary {
    DPA_GAME_DIRAC,    /* one weight, where the data's gradients are smallest */
    DPA_GAME_CONSTANT, /* the same in every weight */
    DPA_GAME_RANDOM,   /* a uniformly random direction */
    /* Examples, taken from the held-out rows (from the members if there are none). */
    DPA_GAME_MISLABELLED, /* with a random wrong label */
    DPA_GAME_BLANK,       /* every feature 0, a random label */
    DPA_GAME_ADVERSARIAL, /* moved to a larger loss by projected gradients, anew in every step */
    DPA_GAME_CRAFTED, /* moved until its gradient is orthogonal to the data's, anew in every step */
    DPA_GAME_MATCHED  /* mislabelled, moved to where the matched filter sees it best, likewise */
} dpa_game_canary;

/* Deliberate bugs of the audited trainer. The trainer itself stays correct: the game breaks it
 * through its options and hooks. */
typedef enum dpa_sabotage {
    DPA_SABOTAGE_NONE,
    DPA_SABOTAGE_SCALE,   /* noise multiplied by noise_scale; 0 means no noise */
    DPA_SABOTAGE_CLIP,    /* the mean of a batch is clipped instead of each gradient */
    DPA_SABOTAGE_SEEDS,   /* the noise of a step is one of `seeds` vectors */
    DPA_SABOTAGE_WORKERS, /* each of `workers` adds the full noise, then they are averaged */
    DPA_SABOTAGE_SHUFFLE, /* shuffled batches, accounted as Poisson samples */
    DPA_SABOTAGE_PARTIAL, /* shuffled; the last batch of an epoch, which gets the remainder, is
                             divided by its own size but gets the noise of a full one */
} dpa_sabotage;

/* What the adversary of a one-run game sees. */
typedef enum dpa_game_access {
    DPA_ACCESS_STEPS, /* white box: the private sum of every step; gradient canaries */
    DPA_ACCESS_FINAL  /* black box: the losses of the final model; rows with a wrong label */
} dpa_game_access;

/* How the observations of the steps along a canary become its score (white-box one-run games, and
 * whole trainings). */
typedef enum dpa_game_score {
    DPA_SCORE_SUM,       /* their sum */
    DPA_SCORE_LIKELIHOOD /* Σ log(1 − q + q·exp((x − ½)/σ²)): optimal for Poisson samples */
} dpa_game_score;

/* The direction on which a private sum is projected if the canary is an example. */
typedef enum dpa_game_filter {
    DPA_FILTER_DOT,    /* the canary's gradient */
    DPA_FILTER_MATCHED /* the direction that best separates it from noise and the data's gradients
                        */
} dpa_game_filter;

/* The members of the targets of a shadow game, besides the challenge, which a coin decides. Each
 * shadow model has half of the points. */
typedef enum dpa_shadow_design {
    DPA_SHADOW_LEAVE_ONE_OUT, /* the same half of the other points for all targets */
    DPA_SHADOW_HALF           /* a half of its own for each */
} dpa_shadow_design;

/* The signal of a model about a point. */
typedef enum dpa_shadow_signal {
    DPA_SHADOW_CONFIDENCE, /* black box: log(p/(1 − p)) of the label */
    DPA_SHADOW_GRADIENT /* white box: −log of the norm of the loss's gradient with respect to the
                           weights */
} dpa_shadow_signal;

typedef struct dpa_shadow_opts {
    uint64_t models;          /* shadow models (64) */
    uint64_t targets;         /* models under attack (512) */
    dpa_attack attack;        /* lira */
    int offline;              /* use only shadow models without the point (0) */
    dpa_variance variance;    /* lira: auto */
    dpa_challenge challenge;  /* worst */
    dpa_weight weight;        /* accuracy */
    uint64_t challenges;      /* number of points, used in turn (1) */
    dpa_shadow_design design; /* leave-one-out */
    dpa_shadow_signal signal; /* confidence */
} dpa_shadow_opts;

typedef struct dpa_game_opts {
    dpa_game_canary canary;  /* dirac */
    int moving;              /* a new canary in every step (0); constant ones do not move */
    double quiet_share;      /* moving Dirac canaries: among this share of the weights, those with
                                the smallest gradients first; 1: any weight (0.1) */
    uint64_t crafting_steps; /* steps to craft a canary (20) */
    uint64_t crafting_examples; /* whose mean gradient a crafted canary is orthogonal to (64) */
    dpa_game_filter filter;     /* input canaries: dot */
    uint64_t filter_examples;   /* examples from which a matched filter learns the data's gradients
                                   (256) */
    double radius;              /* adversarial: how far a feature may move (0.1) */
    double canary_rate;         /* in (0,1]: probability that the canary is in its batch (1) */
    uint64_t observations;      /* of each kind; 0: the steps of one training, or 100 models (0) */
    uint64_t seed;              /* 1 */
    dpa_sabotage sabotage;      /* none */
    double noise_scale;         /* 1 */
    uint64_t seeds;             /* 100 */
    uint64_t workers;           /* 4 */
    uint64_t canaries;          /* one-run games: number of canaries (1000) */
    uint64_t null_coordinates;  /* membership in a white box: weights without a canary whose noise
                                   is watched (0) */
    uint64_t copies;            /* black box: how many copies of the canary are in (1) */
    uint64_t options;           /* reconstruction: number of options of each canary (4) */
    dpa_game_access access;     /* one-run games (white box) */
    dpa_game_score score;       /* one-run games (sum) */
    dpa_shadow_opts shadow;     /* shadow games */
    dpa_progress progress;
} dpa_game_opts;

DPA_API void dpa_game_opts_init(dpa_game_opts *opts);

/* Computes plan->train.sigma if the plan asks for an ε; batches must be Poisson samples. Does
 * nothing without such a target. */
DPA_API dpa_status dpa_train_plan_noise(dpa_train_plan *plan, size_t members,
                                        dpa_error *err) DPA_MUST_USE;

/* ---- Experiments: a YAML file that says which game is played against what ---- */

typedef enum dpa_game_kind {
    DPA_GAME_WHITE_BOX,    /* gradient canaries; the adversary sees every step */
    DPA_GAME_INPUT_CANARY, /* the same with examples as canaries */
    DPA_GAME_BLACK_BOX,    /* models with and without one example; only the trained model is seen */
    DPA_GAME_MEMBERSHIP,   /* one training, many canaries, each in or out by a fair coin */
    DPA_GAME_RECONSTRUCTION, /* one training, many canaries, one of K options in for each */
    DPA_GAME_COMMAND,        /* an external trainer, run once per trial */
    DPA_GAME_FEDERATED,      /* DP-FedAvg with canary clients */
    DPA_GAME_SHADOW, /* shadow models select points and fit the attack, targets are attacked */
    DPA_GAME_WHOLE_TRAINING, /* the same canary in or not in each training; all steps are seen */
    DPA_GAME_KINDS
} dpa_game_kind;

/* Which points are in the training of which trial. */
typedef enum dpa_design {
    DPA_DESIGN_COINS,        /* each point by its own coin */
    DPA_DESIGN_LEAVE_ONE_OUT /* all points in even trials, all but the challenge in odd ones */
} dpa_design;

/* The score of a training that failed by itself (exit code, NaN, time-out, out of memory). Fixed
 * before anything is played, because dropping such trainings can double epsilon. */
typedef enum dpa_failed_as {
    DPA_FAILED_LOW,    /* below every other score */
    DPA_FAILED_HIGH,   /* above every other score */
    DPA_FAILED_AGAINST /* a wrong guess in either arm */
} dpa_failed_as;

/* An external trainer (docs/runner.md). */
typedef struct dpa_command_opts {
    const char *line; /* with {seed}, {members}, {queries}, {out}, {slot}, {trial}, {attempt} */
    const char
        *cancel; /* ends what a trial left running elsewhere; the same placeholders; NULL: none */
    dpa_failed_as failed;   /* low */
    uint64_t points;        /* number of points; ids are 0..points-1 */
    uint64_t queries;       /* number of points asked about; 0: all, or the challenge alone */
    uint64_t models;        /* number of trainings */
    dpa_design design;      /* coins */
    uint64_t challenge;     /* the point that is left out (0) */
    dpa_signal_kind signal; /* what the trainer's numbers are (loss) */
    int has_attack;         /* with coins: give scores by an attack, not signals */
    dpa_attack attack;
} dpa_command_opts;

/* The signal of a trainer's model about an example. */
typedef enum dpa_trainer_signal {
    DPA_TRAINER_CONFIDENCE, /* log(p/(1 − p)) of its label */
    DPA_TRAINER_LOSS,
    DPA_TRAINER_GRADIENT /* −log of the norm of its loss's gradient with respect to the weights */
} dpa_trainer_signal;

/* The section `trainer` of an experiment file, which replaces the training file: a program that
 * stays running and trains on request (docs/trainer.md). Examples have numbers: first points, then
 * canaries, then held-out ones. */
typedef struct dpa_trainer_opts {
    const char *command; /* NULL: dpaudit's own trainer with the training file */
    uint64_t points, canaries, heldout;
    int accuracy;              /* it also tells the accuracy of the model (0) */
    dpa_trainer_signal signal; /* what its numbers are (confidence) */
    uint64_t init_seed;        /* of the initial weights, in games that fix them (0) */
    double clip, sigma, q;     /* its claim about DP-SGD: 1; 0: no claim; NaN: shuffled */
    uint64_t steps;            /* 0: not said */
    double delta;              /* 1e-5 */
    double timeout;            /* seconds allowed for an answer (INFINITY) */
    uint64_t size; /* number of weights; 0: it says so when a training starts. Federated games need
                      it (0) */
} dpa_trainer_opts;

/* The section `confine`: what the program of `command` or `trainer` may use. */
typedef struct dpa_confine {
    uint64_t memory_mb, file_mb; /* address space of a process; size of a file (0: no limit) */
    int no_network;              /* it sees no network but its own loopback (0) */
} dpa_confine;

/* The section `federate` of an experiment file (docs/federated.md lists the keys). The model, the
 * data, the clients' training, S and σ come from the training file. */
typedef struct dpa_federate_plan {
    dpa_federate_opts opts;
    const char *clients;  /* file with the owners (dpa_clients_read); NULL: a Dirichlet split … */
    const char *column;   /* NULL: the file has only one column */
    int each_row;         /* … or every row is a client: example-level privacy (0) */
    size_t split;         /* number of clients of the Dirichlet split */
    double concentration; /* 1 */
    uint64_t runs;        /* number of trainings, each with its own canaries (1) */
    int baseline;         /* also play as many without canaries, to see what these cost (0) */
    int since_start;      /* final cosines with the model's change instead of the model (0) */
    uint64_t checkpoints; /* how often estimates are taken during training (0) */
    uint64_t keep_every;  /* rounds between two saved states; 0: every half minute (0) */
} dpa_federate_plan;

/* The texts belong to the experiment; NULL for keys that are absent (docs/games.md lists the
 * keys). */
typedef struct dpa_experiment {
    const char *path; /* of the file itself */
    dpa_game_kind kind;
    const char *training; /* the training file, relative to the working folder */
    dpa_game_opts game;   /* game.seed is the experiment's seed */
    dpa_command_opts command;
    dpa_trainer_opts trainer;
    dpa_confine confine;
    double claim_epsilon; /* for the whole training; NaN: computed from the training file's noise */
    double claim_delta;   /* NaN: that of the training file */
    double confidence;    /* 0.95 */
    const char *family, *method, *select; /* of the estimators; NULL: the game's default */
    const char *guesses;        /* one-run games: number of guesses, "auto" or "max"; NULL: auto */
    uint64_t trials;            /* budget; 0: what the game needs */
    double seconds;             /* budget; INFINITY: no limit */
    int stop_refuted;           /* budget: stop once the claim is refuted (0) */
    double timeout;             /* seconds allowed for one trial; INFINITY: no limit */
    const char *output;         /* folder for the evidence; NULL: none */
    const char *store;          /* file of finished trials; NULL: beside the experiment */
    int has_federate;           /* the file has a section `federate` */
    dpa_federate_plan federate; /* for a federated game */
    void *texts;                /* owns the texts above */
} dpa_experiment;

DPA_API dpa_status dpa_experiment_read(const char *path, dpa_experiment **out,
                                       dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_experiment_free(dpa_experiment *experiment);
/* Describes every key of experiment and training files, what it takes and what it means. The caller
 * frees the text. */
DPA_API dpa_status dpa_settings_list(char **out, dpa_error *err) DPA_MUST_USE;
/* Turns an error "key: …" that others found in this section of the file into an error about the
 * file, with its line. Returns DPA_BAD_INPUT. */
DPA_API dpa_status dpa_experiment_blame(const dpa_experiment *experiment, const char *section,
                                        dpa_error *err);

/* ---- Games as trials ---- */

/* The numbers of a trial; free with dpa_values_free. */
typedef struct dpa_values {
    double *items;
    size_t count;
} dpa_values;
DPA_API void dpa_values_free(dpa_values *values);

/* How a trial ended. */
typedef enum dpa_trial_end {
    DPA_TRIAL_NONE,   /* not played */
    DPA_TRIAL_PLAYED, /* it has numbers */
    DPA_TRIAL_FAILED, /* the trainer failed, which is an outcome: the trial keeps its place */
    DPA_TRIAL_LOST    /* the machine failed at every attempt: counts against the attack */
} dpa_trial_end;

/* The trials of one stage, by index. For a trial without numbers (items NULL) `ends` says what
 * happened; if `ends` is NULL, it was not played. */
typedef struct dpa_trials {
    const dpa_values *items;
    uint64_t count;
    const uint8_t *ends; /* dpa_trial_end of each; NULL: those with numbers were played */
} dpa_trials;

DPA_API dpa_trial_end dpa_trials_end(const dpa_trials *trials, uint64_t index);

/* A game that is set up: data read, noise computed, everything that its trials share. Belongs to
 * one thread. Trials may be played in any order and in any process: their results depend only on
 * the experiment, the stage, the index and the brief. */
typedef struct dpa_game dpa_game;

/* Borrows the experiment. */
DPA_API dpa_status dpa_game_open(const dpa_experiment *experiment, dpa_game **out,
                                 dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_game_close(dpa_game *game);
/* The word after `kind:` in its file. */
DPA_API const char *dpa_game_name(const dpa_game *game);
/* A game has one or more stages, at most DPA_GAME_STAGES: for example shadow models first, then the
 * models under attack. */
enum { DPA_GAME_STAGES = 4 };
DPA_API int dpa_game_stages(const dpa_game *game);
DPA_API uint64_t dpa_game_trials(const dpa_game *game, int stage);
/* A digest of everything that decides the results of a stage's trials besides index and brief:
 * settings of game and training, bytes of the data. Equal keys mean equal numbers. */
DPA_API dpa_status dpa_game_key(const dpa_game *game, int stage, char key[DPA_SHA256_SIZE],
                                dpa_error *err) DPA_MUST_USE;
/* What the trials of a stage must know of the stages before it (earlier[0..stage)), for example
 * which points were selected. Empty for stage 0. */
DPA_API dpa_status dpa_game_brief(dpa_game *game, int stage, const dpa_trials *earlier,
                                  dpa_values *brief, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_game_trial(dpa_game *game, int stage, uint64_t index,
                                  const dpa_values *brief, dpa_values *out,
                                  dpa_error *err) DPA_MUST_USE;
/* The evidence without its arrays: kind, scope, design, training, claim, the experiment's
 * estimators. The caller frees it. */
DPA_API dpa_status dpa_game_expect(const dpa_game *game, dpa_evidence *out,
                                   dpa_error *err) DPA_MUST_USE;
/* Turns all stages into evidence. Trials that were not played are left out if the game allows it;
 * those that failed or were lost keep their place. If there are such, these facts count them by
 * arm: failed_members, failed_nonmembers, missing_members, missing_nonmembers (lost),
 * trials_members and trials_nonmembers (played, failed or lost). */
DPA_API dpa_status dpa_game_gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                                   dpa_error *err) DPA_MUST_USE;
/* Serves dpaudit's own trainer to a game in another process (docs/trainer.md), set up by this
 * experiment, until the input ends. */
DPA_API dpa_status dpa_trainer_serve(const dpa_experiment *experiment, int in, int out,
                                     dpa_error *err) DPA_MUST_USE;
/* Asks a trainer everything that a game may ask and checks that its answers keep to the protocol.
 * `say` is called once for each check: ok, or what is wrong and where. Only the options command,
 * points, canaries and timeout are used; points 0: as many as the trainer says. *faults is the
 * number of faults. */
typedef void dpa_trainer_say(void *user, int ok, const char *what, const char *detail);
DPA_API dpa_status dpa_trainer_check(const dpa_trainer_opts *opts, dpa_trainer_say *say, void *user,
                                     uint64_t *faults, dpa_error *err) DPA_MUST_USE;
DPA_C_END

#endif
