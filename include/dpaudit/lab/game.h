/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Audit games: an adversary plays against the trainer; what it saw are scores for the estimators.
 *
 * White box with gradient canaries (tight-auditing, Algorithm 2): in every step the adversary sees
 * the private sum of two batches drawn at the same weights, one of them with its canary gradient
 * in it. Everything random is a function of (seed, run, step). */
#ifndef DPAUDIT_GAME_H
#define DPAUDIT_GAME_H

#include <stdint.h>

#include "dpaudit/attack.h"
#include "dpaudit/data.h"
#include "dpaudit/evidence.h"
#include "dpaudit/lab/federate.h"
#include "dpaudit/lab/train.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

typedef enum dpa_game_canary {
    DPA_GAME_DIRAC,    /* one weight, chosen where the gradients of the data are smallest */
    DPA_GAME_CONSTANT, /* the same in every weight */
    DPA_GAME_RANDOM,   /* a uniformly random direction */
    /* Examples, taken from what is held out (from the members where nothing is). */
    DPA_GAME_MISLABELLED, /* with another label, at random */
    DPA_GAME_BLANK,       /* every feature 0, a random label */
    DPA_GAME_ADVERSARIAL, /* moved to a larger loss by projected gradients, in every step anew */
    DPA_GAME_CRAFTED,     /* moved until its gradient is orthogonal to the data's, likewise */
    DPA_GAME_MATCHED /* mislabelled, moved to where the matched filter sees it best, likewise */
} dpa_game_canary;

/* What is wrong with the trainer that is audited. The trainer itself stays correct: the game breaks
 * it through its options and hooks. */
typedef enum dpa_sabotage {
    DPA_SABOTAGE_NONE,
    DPA_SABOTAGE_SCALE,   /* noise times noise_scale; 0 is no noise at all */
    DPA_SABOTAGE_CLIP,    /* the mean of a batch is clipped instead of each gradient */
    DPA_SABOTAGE_SEEDS,   /* the noise of a step is one of `seeds` vectors */
    DPA_SABOTAGE_WORKERS, /* each of `workers` adds the full noise, then they are averaged */
    DPA_SABOTAGE_SHUFFLE, /* shuffled batches, accounted as Poisson samples */
    DPA_SABOTAGE_PARTIAL, /* shuffled, and the last batch of an epoch, which gets the rest, is
                             divided by its own size but has the noise of a whole one */
} dpa_sabotage;

/* What the adversary of a one-run game sees. */
typedef enum dpa_game_access {
    DPA_ACCESS_STEPS, /* white box: gradient canaries, the private sum of every step */
    DPA_ACCESS_FINAL  /* black box: rows with a wrong label, the losses of the final model */
} dpa_game_access;

/* How the steps' observations along a canary become its score (one-run games in the white box, and
 * whole trainings). */
typedef enum dpa_game_score {
    DPA_SCORE_SUM,       /* their sum */
    DPA_SCORE_LIKELIHOOD /* Σ log(1 − q + q·exp((x − ½)/σ²)): the best for Poisson samples */
} dpa_game_score;

/* On what a private sum is projected when the canary is an example. */
typedef enum dpa_game_filter {
    DPA_FILTER_DOT,    /* on the canary's gradient */
    DPA_FILTER_MATCHED /* on the direction that tells it best from noise and the data's gradients */
} dpa_game_filter;

/* Who is in the targets of a shadow game, besides the challenge, which a coin decides. Shadow
 * models have a half of the points each. */
typedef enum dpa_shadow_design {
    DPA_SHADOW_LEAVE_ONE_OUT, /* the same half of the other points in all targets */
    DPA_SHADOW_HALF           /* a half of its own in each */
} dpa_shadow_design;

/* What a model says of a point. */
typedef enum dpa_shadow_signal {
    DPA_SHADOW_CONFIDENCE, /* black box: log(p/(1 − p)) of the label */
    DPA_SHADOW_GRADIENT    /* white box: −log of the norm of the loss's gradient by the weights */
} dpa_shadow_signal;

typedef struct dpa_shadow_opts {
    uint64_t models;          /* shadow models (64) */
    uint64_t targets;         /* models under attack (512) */
    dpa_attack attack;        /* lira */
    int offline;              /* only shadow models without the point (0) */
    dpa_variance variance;    /* lira: auto */
    dpa_challenge challenge;  /* worst */
    dpa_weight weight;        /* accuracy */
    uint64_t challenges;      /* points, in turns (1) */
    dpa_shadow_design design; /* leave-one-out */
    dpa_shadow_signal signal; /* confidence */
} dpa_shadow_opts;

typedef struct dpa_game_opts {
    dpa_game_canary canary;     /* dirac */
    int moving;                 /* a new canary in every step (0). Constant ones do not move. */
    uint64_t crafting_steps;    /* of a canary that is crafted (20) */
    uint64_t crafting_examples; /* whose mean gradient a crafted canary is orthogonal to (64) */
    dpa_game_filter filter;     /* input canaries: dot */
    uint64_t filter_examples;   /* from which a matched filter learns the data's gradients (256) */
    double radius;              /* adversarial: the most that a feature moves (0.1) */
    double canary_rate;    /* in (0,1]: how often the canary is in the batch that may have it (1) */
    uint64_t observations; /* of each kind; 0: as many as one training has steps; 100 models (0) */
    uint64_t seed;         /* 1 */
    dpa_sabotage sabotage; /* none */
    double noise_scale;    /* 1 */
    uint64_t seeds;        /* 100 */
    uint64_t workers;      /* 4 */
    uint64_t canaries;     /* one-run games: how many (1000) */
    uint64_t options;      /* reconstruction: one of so many is in, for each canary (4) */
    dpa_game_access access; /* one-run games: white box */
    dpa_game_score score;   /* one-run games: sum */
    dpa_shadow_opts shadow; /* shadow games */
    dpa_progress progress;
} dpa_game_opts;

DPA_API void dpa_game_opts_init(dpa_game_opts *opts);

/* Trains as the plan says, again from the same initial weights until there are enough observations.
 * plan->train.sigma and clip are what is claimed (a target plan->epsilon must have been turned into
 * sigma before). A score is ⟨canary, private sum⟩/C²: N(0, σ²) without, N(1, σ²) with the canary,
 * plus what the data's gradients add to both alike. When the canary is an example with clipped
 * gradient g′ it is ⟨g′/‖g′‖, private sum⟩/C: N(‖g′‖/C, σ²) with it; with the matched filter w it
 * is σ·⟨w, private sum − its mean⟩/√⟨w, g′⟩, which moves by σ·√⟨w, g′⟩, at most 1. Members of `out`
 * are the sums that could have the canary. Give it to dpa_scores_free. */
DPA_API dpa_status dpa_game_white_box(const dpa_game_opts *opts, const dpa_train_plan *plan,
                                      const dpa_train_data *data, dpa_scores *out,
                                      dpa_error *err) DPA_MUST_USE;

/* Finds plan->train.sigma where the plan asks for an ε; batches must be Poisson samples. Nothing to
 * do without such a target. */
DPA_API dpa_status dpa_train_plan_noise(dpa_train_plan *plan, size_t members,
                                        dpa_error *err) DPA_MUST_USE;

/* ---- Experiments: a YAML file that says who plays which game against what ---- */

typedef enum dpa_game_kind {
    DPA_GAME_WHITE_BOX,      /* gradient canaries, every step seen */
    DPA_GAME_INPUT_CANARY,   /* the same with examples as canaries */
    DPA_GAME_BLACK_BOX,      /* models with and without one example, only the trained model seen */
    DPA_GAME_MEMBERSHIP,     /* one training, many canaries, each in or out by a fair coin */
    DPA_GAME_RECONSTRUCTION, /* one training, many canaries, one of K options in for each */
    DPA_GAME_COMMAND,        /* an external trainer, run once per trial */
    DPA_GAME_FEDERATED,      /* DP-FedAvg with canary clients */
    DPA_GAME_SHADOW,         /* shadow models choose and attack points, targets are attacked */
    DPA_GAME_WHOLE_TRAINING, /* the same canary sampled or not in each training, all steps seen */
    DPA_GAME_KINDS
} dpa_game_kind;

/* Who is in the training of which trial. */
typedef enum dpa_design {
    DPA_DESIGN_COINS,        /* each point by a coin of its own */
    DPA_DESIGN_LEAVE_ONE_OUT /* all in even trials, all but the challenge in odd ones */
} dpa_design;

/* Which score a training counts as that failed through its own doing (exit code, NaN, time-out, out
 * of memory). Fixed before anything is played: dropping such trainings can double epsilon. */
typedef enum dpa_failed_as {
    DPA_FAILED_LOW,    /* below every other score */
    DPA_FAILED_HIGH,   /* above every other score */
    DPA_FAILED_AGAINST /* as a wrong guess, whichever the arm */
} dpa_failed_as;

/* An external trainer (docs/runner.md). */
typedef struct dpa_command_opts {
    char *line;   /* with {seed}, {members}, {queries}, {out}, {slot}, {trial}, {attempt} */
    char *cancel; /* ends what a trial left running elsewhere; the same placeholders; NULL: none */
    dpa_failed_as failed;   /* low */
    uint64_t points;        /* ids 0..points-1 */
    uint64_t queries;       /* how many of them are asked about; 0: all, or the challenge alone */
    uint64_t models;        /* trainings */
    dpa_design design;      /* coins */
    uint64_t challenge;     /* the point that is left out (0) */
    dpa_signal_kind signal; /* what the numbers are (loss) */
    int has_attack;         /* scores, not signals, are wanted of the coins */
    dpa_attack attack;
} dpa_command_opts;

/* What a trainer's model says of an example. */
typedef enum dpa_trainer_signal {
    DPA_TRAINER_CONFIDENCE, /* log(p/(1 − p)) of its label */
    DPA_TRAINER_LOSS,
    DPA_TRAINER_GRADIENT /* −log of the norm of its loss's gradient by the weights */
} dpa_trainer_signal;

/* The section `trainer` of an experiment file: a program that stays and trains what it is asked to
 * (docs/trainer.md), in place of a training file. Examples are numbers: points, then canaries, then
 * held-out ones. */
typedef struct dpa_trainer_opts {
    char *command; /* NULL: the training file, by dpaudit's own trainer */
    uint64_t points, canaries, heldout;
    int accuracy;              /* it also says how good the model is (0) */
    dpa_trainer_signal signal; /* what its numbers are (confidence) */
    uint64_t init_seed;        /* of initial weights, where games fix them (0) */
    double clip, sigma, q;     /* what it claims of DP-SGD: 1; 0: no claim; NaN: shuffled */
    uint64_t steps;            /* 0: not said */
    double delta;              /* 1e-5 */
    double timeout;            /* seconds that an answer may take (INFINITY) */
} dpa_trainer_opts;

/* The section `federate` of an experiment file (docs/federated.md lists the keys). Model, data,
 * what a client does, S and σ are in the training file. */
typedef struct dpa_federate_plan {
    dpa_federate_opts opts;
    char *clients;        /* file of the owners (dpa_clients_read); NULL: a Dirichlet split */
    char *column;         /* NULL: the file has only one */
    size_t split;         /* clients of the Dirichlet split */
    double concentration; /* 1 */
    uint64_t runs;        /* trainings with canaries of their own (1) */
    int baseline;         /* also as many without canaries, to see what they cost (0) */
    int since_start;      /* final cosines with the change of the model, not the model (0) */
    uint64_t checkpoints; /* how often the estimates are taken on the way (0) */
} dpa_federate_plan;

DPA_API void dpa_federate_plan_free(dpa_federate_plan *plan);

/* Texts belong to the experiment; NULL where the file is silent (docs/games.md lists the keys). */
typedef struct dpa_experiment {
    char *path; /* of the file itself */
    dpa_game_kind kind;
    char *training;     /* file of the trainer, as seen from the working folder */
    dpa_game_opts game; /* game.seed is the experiment's seed */
    dpa_command_opts command;
    dpa_trainer_opts trainer;
    double claim_epsilon; /* of the whole training; NaN: what the training file's noise gives */
    double claim_delta;   /* NaN: the training file's */
    double confidence;    /* 0.95 */
    char *family, *method, *select; /* of the estimators; NULL: the game's own choice */
    char *guesses;                  /* one-run games: how many, "auto" or "max"; NULL: auto */
    uint64_t trials;                /* budget; 0: what the game needs */
    double seconds;                 /* budget; INFINITY: no limit */
    int stop_refuted;               /* budget: the run ends when the claim is refuted (0) */
    double timeout;                 /* seconds that one trial may take; INFINITY: no limit */
    char *output;                   /* folder for the evidence; NULL: none */
    char *store;                    /* file of finished trials; NULL: beside the experiment */
    dpa_federate_plan *federate;    /* of a federated game; NULL: the file has no such section */
} dpa_experiment;

DPA_API dpa_status dpa_experiment_read(const char *path, dpa_experiment **out,
                                       dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_experiment_free(dpa_experiment *experiment);
/* An error that others found in what this section of the file says ("key: …") becomes one about the
 * file, with its line. Gives DPA_BAD_INPUT. */
DPA_API dpa_status dpa_experiment_blame(const dpa_experiment *experiment, const char *section,
                                        dpa_error *err);

/* ---- Games as trials ---- */

/* Numbers that a trial gives; whoever gets them calls dpa_values_free. */
typedef struct dpa_values {
    double *items;
    size_t count;
} dpa_values;
DPA_API void dpa_values_free(dpa_values *values);

/* How a trial ended. */
typedef enum dpa_trial_end {
    DPA_TRIAL_NONE,   /* not played */
    DPA_TRIAL_PLAYED, /* it has numbers */
    DPA_TRIAL_FAILED, /* the trainer failed: an outcome, it keeps its place */
    DPA_TRIAL_LOST    /* the machine failed, every time: counts against the attack */
} dpa_trial_end;

/* The trials of one stage, by index. A trial without numbers (items NULL) has no others than its
 * end; without `ends` it was not played. */
typedef struct dpa_trials {
    const dpa_values *items;
    uint64_t count;
    const uint8_t *ends; /* dpa_trial_end of each; NULL: played where there are numbers */
} dpa_trials;

DPA_API dpa_trial_end dpa_trials_end(const dpa_trials *trials, uint64_t index);

/* A game that is set up: data read, noise found, everything that its trials share. Belongs to one
 * thread. Trials may be played in any order and in any process: what comes out depends on the
 * experiment, the stage, the index and the brief alone. */
typedef struct dpa_game dpa_game;

/* Borrows the experiment. */
DPA_API dpa_status dpa_game_open(const dpa_experiment *experiment, dpa_game **out,
                                 dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_game_close(dpa_game *game);
/* The word that its file has after `kind:`. */
DPA_API const char *dpa_game_name(const dpa_game *game);
/* Stages follow each other: shadow models first, then the models under attack; at most
 * DPA_GAME_STAGES. */
enum { DPA_GAME_STAGES = 4 };
DPA_API int dpa_game_stages(const dpa_game *game);
DPA_API uint64_t dpa_game_trials(const dpa_game *game, int stage);
/* Names everything that decides what the trials of a stage give, besides index and brief: settings
 * of game and training, bytes of the data. Equal keys, equal numbers. */
DPA_API dpa_status dpa_game_key(const dpa_game *game, int stage, char key[DPA_SHA256_SIZE],
                                dpa_error *err) DPA_MUST_USE;
/* What the trials of a stage must know of the stages before it (earlier[0..stage)): the points that
 * were selected, say. Empty for stage 0. */
DPA_API dpa_status dpa_game_brief(dpa_game *game, int stage, const dpa_trials *earlier,
                                  dpa_values *brief, dpa_error *err) DPA_MUST_USE;
DPA_API dpa_status dpa_game_trial(dpa_game *game, int stage, uint64_t index,
                                  const dpa_values *brief, dpa_values *out,
                                  dpa_error *err) DPA_MUST_USE;
/* What the evidence will be, without its arrays: kind, scope, design, training, claim, the
 * experiment's estimators. To be freed. */
DPA_API dpa_status dpa_game_expect(const dpa_game *game, dpa_evidence *out,
                                   dpa_error *err) DPA_MUST_USE;
/* All stages → evidence. Trials that were not played are left out where the game allows it; those
 * that failed or were lost keep their place. Where there are such, the facts failed_members,
 * failed_nonmembers, missing_members, missing_nonmembers (lost), trials_members and
 * trials_nonmembers (played, failed or lost) count them by arm. */
DPA_API dpa_status dpa_game_gather(dpa_game *game, const dpa_trials *stages, dpa_evidence *out,
                                   dpa_error *err) DPA_MUST_USE;
/* Answers the requests of a game in another process (docs/trainer.md) with dpaudit's own trainer,
 * as this experiment has it, until the input ends. */
DPA_API dpa_status dpa_trainer_serve(const dpa_experiment *experiment, int in, int out,
                                     dpa_error *err) DPA_MUST_USE;
/* Asks a trainer everything that a game may ask it, and looks whether the answers keep to the
 * protocol. `say` gets one line for each thing that was looked at: ok, or what is wrong and where.
 * Of the options command, points, canaries and timeout count; points 0: as many as the trainer
 * says. *faults is how many there are. */
typedef void dpa_trainer_say(void *user, int ok, const char *what, const char *detail);
DPA_API dpa_status dpa_trainer_check(const dpa_trainer_opts *opts, dpa_trainer_say *say, void *user,
                                     uint64_t *faults, dpa_error *err) DPA_MUST_USE;
/* The training that is audited: its plan, with the noise found. NULL for a game without one.
 * The game owns it. */
DPA_API const dpa_train_plan *dpa_game_training(const dpa_game *game);

DPA_C_END

#endif
