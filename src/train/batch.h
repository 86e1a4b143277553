/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the rows of a step and their groups, and augments a row before it enters the network. */
#ifndef DPA_TRAIN_BATCH_H
#define DPA_TRAIN_BATCH_H

#include "dpaudit/lab/train.h"
#include "train/dataset.h"

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

#endif
