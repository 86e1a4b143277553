/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private parts of a trainer. */
#ifndef DPA_TRAIN_TRAINER_H
#define DPA_TRAIN_TRAINER_H

#include "dpaudit/lab/train.h"
#include "train/batch.h"
#include "train/model.h"

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

#endif
