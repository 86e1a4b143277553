/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private parts of a trainer. */
#ifndef DPA_TRAIN_TRAINER_H
#define DPA_TRAIN_TRAINER_H

#include "base/text.h"
#include "dpaudit/lab/train.h"
#include "train/dataset.h"
#include "train/model.h"

/* ---- The rows of a step and their groups, and what is done to a row (batch.c) ---- */

/* The sampler holds the sorted members and cuts them into units. A unit is one member or, with
 * Poisson microbatches, the members in one block of `microbatch` neighbouring rows of the data set,
 * so that adding a member never moves another one into a different group. */
typedef struct dpa__sampler {
    uint64_t seed;
    dpa_sampling sampling;
    size_t batch, microbatch;
    double q;
    size_t members, units;
    size_t *member;     /* [members] ascending rows of the data set */
    size_t *unit_start; /* [units + 1], NULL when every member is a unit */
    size_t *order;      /* [members] the epoch's permutation; shuffle only */
    uint64_t epoch;     /* the epoch of `order`; UINT64_MAX: none yet */
} dpa__sampler;

dpa_status dpa__sampler_init(dpa__sampler *sampler, const dpa_train_opts *opts,
                             const size_t *members, size_t count, size_t data_rows, dpa_error *err);
void dpa__sampler_free(dpa__sampler *sampler);
uint64_t dpa__sampler_epoch_steps(const dpa__sampler *sampler);
/* Writes the rows of this step (counted from 0) into rows[≤ members] and returns their number. */
size_t dpa__sampler_draw(dpa__sampler *sampler, uint64_t step, size_t *rows);
/* Writes where each group of examples starts into start[0..groups] (at most count + 1 numbers) and
 * returns the number of groups. */
size_t dpa__sampler_groups(const dpa__sampler *sampler, const size_t *rows, size_t count,
                           size_t *start);

/* Copies an image, shifted by (down, right) pixels with zeros coming in, and mirrored if
 * `mirror`. */
void dpa__augment(const float *x, dpa_shape shape, int down, int right, int mirror, float *out);

/* ---- The trainer ---- */

struct dpa_trainer {
    dpa_model *model;
    const dpa_dataset *data;
    dpa_train_opts opts;
    dpa__sampler sampler;
    uint64_t step; /* steps done */

    float *sum;             /* [size] Σ of the clipped gradients of this step */
    float *velocity, *mean; /* [size]; mean is NULL without averaging */

    size_t capacity;     /* of `rows` */
    size_t *rows;        /* rows of the data set in this step */
    size_t *group_start; /* [capacity + 1] where each group of examples starts in `rows` */

    size_t chunk; /* rows in the network at once, augmented copies included */
    dpa__net *net;
    size_t *row_start; /* [chunk + 1] where each group starts in the rows of the network */
    int32_t *label;    /* [chunk] */
    double *loss;      /* [chunk] */
    double *norm2;     /* [chunk] */
    float *factor;     /* [chunk] */
};

/* Sums over a step, for its statistics. */
typedef struct dpa__tally {
    double loss, norms;
    size_t rows, right, groups, clipped;
} dpa__tally;

/* sum = Σ over the groups of clip(mean gradient). DPA_NUMERIC if anything is not finite. */
dpa_status dpa__clipped_sum(dpa_trainer *trainer, size_t examples, dpa__tally *tally,
                            dpa_error *err);

/* plan.c: describes the keys of a training file as help text. */
void dpa__train_plan_describe(dpa__text *out);

#endif
