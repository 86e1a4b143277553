/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of a data set. */
#ifndef DPA_TRAIN_DATASET_H
#define DPA_TRAIN_DATASET_H

#include "dpaudit/train.h"

struct dpa_dataset {
    size_t rows, features, classes;
    dpa_shape shape;
    float *x;       /* [rows × features] */
    int32_t *label; /* [rows] */
};

/* Room for a data set, x and labels zero. */
dpa_status dpa__dataset_alloc(size_t rows, dpa_shape shape, size_t classes, dpa_dataset **out,
                              dpa_error *err);
/* NaN, infinities, labels out of range. */
dpa_status dpa__dataset_check(const dpa_dataset *data, dpa_error *err);

#endif
