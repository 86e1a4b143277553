/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Canaries: directions of norm C that the adversary adds to a sum and then measures the sum along
 * (gradient canaries), or examples whose gradient it knows (input canaries; tight-auditing appendix
 * B). */
#ifndef DPA_GAME_CANARY_H
#define DPA_GAME_CANARY_H

#include <stddef.h>
#include <stdint.h>

#include "game/trainer.h"

/* ⟨a, b⟩ in double precision. */
double dpa__dot64(const float *a, const float *b, size_t count);

/* ---- Gradient canaries ---- */

typedef struct dpa__game_canary {
    dpa_game_canary kind;
    double clip;
    size_t size;
    size_t *quiet;    /* Dirac: the weights, those with the smallest gradients first */
    size_t among;     /* Dirac: how many of these a moving one is drawn from */
    size_t place;     /* Dirac: the weight in use */
    float *direction; /* other kinds: the gradient itself */
} dpa__game_canary;

/* Measures gradients of up to 256 points at the trainer's current weights. `quiet_share`: of the
 * weights, for a Dirac canary that moves. */
dpa_status dpa__game_canary_init(dpa__game_canary *canary, dpa_game_canary kind, double clip,
                                 double quiet_share, dpa__trainer *trainer, dpa_error *err);
void dpa__game_canary_free(dpa__game_canary *canary);
/* Switches to the canary of the stream (seed, index). */
void dpa__game_canary_move(dpa__game_canary *canary, uint64_t seed, uint64_t index);
/* The canary as an extra gradient for a step, `scale` times as large. The result points into the
 * canary and `row`. */
dpa__extra dpa__game_canary_extra(const dpa__game_canary *canary, float scale, const float **row);
/* ⟨canary, sum⟩/C² */
double dpa__game_canary_along(const dpa__game_canary *canary, const float *sum);

/* Many gradient canaries at once, each with its own direction of norm C. */
typedef struct dpa__bank {
    size_t count, size; /* number of directions, number of weights */
    double clip;
    size_t *place;    /* Dirac: the weight of each canary */
    float *direction; /* random: [count × size] */
} dpa__bank;

/* Dirac canaries take the quietest weights, one each; random ones come from the streams (seed,
 * index). */
dpa_status dpa__bank_init(dpa__bank *bank, dpa_game_canary kind, size_t count, double clip,
                          uint64_t seed, dpa__trainer *trainer, dpa_error *err);
void dpa__bank_free(dpa__bank *bank);
/* ⟨canary, sum⟩/C² */
double dpa__bank_along(const dpa__bank *bank, size_t index, const float *sum);

/* ---- Examples ---- */

/* Data from the same distribution as the training data: the held-out rows or, if there are none,
 * the members themselves (an adversary against DP may know all members but the canary). */
typedef struct dpa__pool {
    const dpa_dataset *data;
    const size_t *rows;
    size_t count;
} dpa__pool;

dpa__pool dpa__pool_of(const dpa_train_data *data);
/* The rows of the pool, the first `count` of them in an order drawn from the stream (seed, index).
 * The caller frees them; NULL: no memory. */
size_t *dpa__pool_draw(const dpa__pool *pool, size_t count, uint64_t seed, uint64_t index,
                       dpa_error *err);

/* Fills x [features] and label with the example of the stream (seed, index): a mislabelled one
 * (also the start of a matched canary), a blank one with a random label, or, for the other crafted
 * kinds, an unchanged one of the pool. */
void dpa__example_draw(dpa_game_canary kind, const dpa__pool *pool, uint64_t seed, uint64_t index,
                       float *x, int32_t *label);

/* ---- The matched filter (matched.c) ----
 *
 * The direction of a private sum that shows an example best when both the noise and the gradients
 * of the other examples in the batch hide it. */

typedef struct dpa__matched dpa__matched;

/* Borrows opts, plan and what the pool points to; `size` is the number of weights. */
dpa_status dpa__matched_new(const dpa_game_opts *opts, const dpa_train_plan *plan,
                            const dpa__pool *pool, size_t members, size_t size, dpa__matched **out,
                            dpa_error *err);
void dpa__matched_free(dpa__matched *matched);
/* Estimates mean and covariance of the data's gradients at the weights of the model, or at the
 * current ones of a trainer (else NULL), whose examples the pool's rows then are. */
dpa_status dpa__matched_look(dpa__matched *matched, const dpa_model *model, dpa__trainer *trainer,
                             dpa_error *err);
/* w ← M⁻¹·g, both [size], where M is the covariance of a private sum at the weights of the last
 * dpa__matched_look. Returns ⟨w, g⟩. */
double dpa__matched_apply(dpa__matched *matched, const float *g, float *w);
/* ⟨w, sum − its mean without a canary⟩. */
double dpa__matched_along(const dpa__matched *matched, const float *w, const float *sum);

/* ---- Canaries crafted against the current weights (craft.c) ----
 *
 * An adversarial example, one whose gradient is orthogonal to the data's (tight-auditing
 * Algorithm 3), and one that the matched filter sees best. */

typedef struct dpa__craft dpa__craft;

/* Borrows everything except the pool. */
dpa_status dpa__craft_new(const dpa_game_opts *opts, const dpa_train_plan *plan,
                          const dpa__pool *pool, dpa__craft **out, dpa_error *err);
void dpa__craft_free(dpa__craft *craft);
/* Projected gradient ascent on the loss: no feature moves by more than opts->radius or out of the
 * range that features have in the pool. */
dpa_status dpa__craft_adversarial(dpa__craft *craft, const dpa_model *model, int32_t label,
                                  float *x, dpa_error *err);
/* Descent on |cos(gradient of (x, label), mean clipped gradient of examples from the pool)|. */
dpa_status dpa__craft_orthogonal(dpa__craft *craft, dpa_model *model, int32_t label, float *x,
                                 dpa_error *err);
/* Ascent on what the matched filter sees of the clipped gradient of (x, label), within the range
 * that features have in the pool. The filter must have looked at the model before. */
dpa_status dpa__craft_matched(dpa__craft *craft, dpa__matched *matched, dpa_model *model,
                              int32_t label, float *x, dpa_error *err);

/* ---- Input canaries ---- */

typedef struct dpa__input_canary dpa__input_canary;

/* With `trainer` it is the first canary of that trainer, which makes it anew where it moves or is
 * crafted; NULL: it is made here from the data, for a model of `size` weights, and starts with the
 * example of the stream (opts->seed, 0). Borrows everything. */
dpa_status dpa__input_canary_new(const dpa_game_opts *opts, const dpa_train_plan *plan,
                                 const dpa_train_data *data, size_t size, dpa__trainer *trainer,
                                 dpa__input_canary **out, dpa_error *err);
void dpa__input_canary_free(dpa__input_canary *canary);
/* Switches to the example of the stream (seed, index). */
void dpa__input_canary_draw(dpa__input_canary *canary, uint64_t seed, uint64_t index);
/* Crafts the canary against the model, if it is a crafted kind, and computes its gradient. */
dpa_status dpa__input_canary_aim(dpa__input_canary *canary, dpa_model *model, dpa_error *err);
/* Makes it the canary of our own trainer, also when that trainer is asked to make one. */
void dpa__input_canary_serve(dpa__input_canary *canary, dpa__trainer *trainer);
/* ⟨g′/‖g′‖, sum⟩/C, or the matched filter's value; 0 if the canary's gradient is 0. */
double dpa__input_canary_along(const dpa__input_canary *canary, const float *sum);
/* ‖g′‖/C after clipping, at most 1: how far the canary shifts an observation. */
double dpa__input_canary_reach(const dpa__input_canary *canary);

#endif
