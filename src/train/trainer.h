/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of a trainer. */
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
    uint64_t step; /* done */

    float *sum;             /* [size] Σ of clipped gradients of this step */
    float *velocity, *mean; /* [size]; mean is NULL without averaging */

    size_t capacity;     /* of rows */
    size_t *rows;        /* who is in this step */
    size_t *group_start; /* [capacity + 1] groups of examples, in `rows` */

    size_t chunk; /* rows of the network, copies included */
    dpa__net *net;
    size_t *row_start; /* [chunk + 1] groups, in rows of the network */
    int32_t *label;    /* [chunk] */
    double *loss;      /* [chunk] */
    double *norm2;     /* [chunk] */
    float *factor;     /* [chunk] */
};

/* What a step adds up. */
typedef struct dpa__tally {
    double loss, norms;
    size_t rows, right, groups, clipped;
} dpa__tally;

/* sum = Σ over the groups of clip(mean gradient); DPA_NUMERIC when something is not finite. */
dpa_status dpa__clipped_sum(dpa_trainer *trainer, size_t examples, dpa__tally *tally,
                            dpa_error *err);

#endif
