/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Audit games: an adversary plays against the trainer; what it saw are scores for the estimators.
 *
 * White box with gradient canaries (tight-auditing, Algorithm 2): in every step the adversary sees
 * the private sum of two batches drawn at the same weights, one of them with its canary gradient
 * in it. Everything random is a function of (seed, run, step). */
#ifndef DPAUDIT_GAME_H
#define DPAUDIT_GAME_H

#include <stdint.h>

#include "dpaudit/evidence.h"
#include "dpaudit/status.h"
#include "dpaudit/train.h"

typedef enum dpa_game_canary {
    DPA_GAME_DIRAC,    /* one weight, chosen where the gradients of the data are smallest */
    DPA_GAME_CONSTANT, /* the same in every weight */
    DPA_GAME_RANDOM    /* a uniformly random direction */
} dpa_game_canary;

/* What is wrong with the trainer that is audited. The trainer itself stays correct: the game breaks
 * it through its options and hooks. */
typedef enum dpa_sabotage {
    DPA_SABOTAGE_NONE,
    DPA_SABOTAGE_SCALE,   /* noise times noise_scale; 0 is no noise at all */
    DPA_SABOTAGE_CLIP,    /* the mean of a batch is clipped instead of each gradient */
    DPA_SABOTAGE_SEEDS,   /* the noise of a step is one of `seeds` vectors */
    DPA_SABOTAGE_WORKERS, /* each of `workers` adds the full noise, then they are averaged */
} dpa_sabotage;

typedef struct dpa_game_opts {
    dpa_game_canary canary; /* dirac */
    int moving;             /* a new canary in every step (0). Constant ones do not move. */
    double canary_rate;    /* in (0,1]: how often the canary is in the batch that may have it (1) */
    uint64_t observations; /* of each kind; 0: as many as one training has steps (0) */
    uint64_t seed;         /* 1 */
    dpa_sabotage sabotage; /* none */
    double noise_scale;    /* 1 */
    uint64_t seeds;        /* 100 */
    uint64_t workers;      /* 4 */
    dpa_progress progress;
} dpa_game_opts;

DPA_API void dpa_game_opts_init(dpa_game_opts *opts);

/* Trains as the plan says, again from the same initial weights until there are enough observations.
 * plan->train.sigma and clip are what is claimed (a target plan->epsilon must have been turned into
 * sigma before). A score is ⟨canary, private sum⟩/C²: N(0, σ²) without, N(1, σ²) with the canary,
 * plus what the data's gradients add to both alike. Members of `out` are the sums that could have
 * the canary. Give it to dpa_scores_free. */
DPA_API dpa_status dpa_game_white_box(const dpa_game_opts *opts, const dpa_train_plan *plan,
                                      const dpa_train_data *data, dpa_scores *out,
                                      dpa_error *err) DPA_MUST_USE;

/* One audit as a YAML file says it (docs/games.md lists the keys). */
typedef struct dpa_game_plan {
    dpa_game_opts game;
    char *training; /* experiment file of the trainer, seen from the same folder as the plan */
    char *output;   /* folder for the evidence; NULL: none */
    double claim_epsilon; /* of the whole training; NaN: what the training file's noise gives */
    double claim_delta;   /* NaN: the training file's */
    double confidence;    /* 0.95 */
} dpa_game_plan;

DPA_API dpa_status dpa_game_plan_read(const char *path, dpa_game_plan **out,
                                      dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_game_plan_free(dpa_game_plan *plan);

#endif
