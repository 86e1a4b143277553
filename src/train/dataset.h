/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private parts of a data set. */
#ifndef DPA_TRAIN_DATASET_H
#define DPA_TRAIN_DATASET_H

#include "dpaudit/lab/train.h"

/* How table cells were turned into features: made from the training part, used again for the
 * held-out part. */
typedef struct dpa__names {
    char **item;
    size_t count;
} dpa__names;

typedef struct dpa__feature {
    char *name;
    int one_hot;
    dpa__names value; /* the values of a one-hot column */
    size_t first;     /* index of the column's first feature */
} dpa__feature;

typedef struct dpa__encoder {
    dpa__feature *column;
    size_t columns;
    dpa__names label;
    dpa__names word; /* bag of words: the vocabulary, sorted */
} dpa__encoder;

struct dpa_dataset {
    size_t rows, features, classes;
    dpa_shape shape;
    float *x;       /* [rows × features] */
    int32_t *label; /* [rows] */
    char *schema;   /* what was inferred, as text for people; NULL: nothing was */
    dpa__encoder *encoder;
};

/* dataset_table.c: the readers of tables. */
dpa_status dpa__dataset_table(const dpa_dataset_opts *opts, const dpa_dataset *like,
                              dpa_dataset **out, dpa_error *err);
dpa_status dpa__dataset_words(const dpa_dataset_opts *opts, const dpa_dataset *like,
                              dpa_dataset **out, dpa_error *err);
void dpa__encoder_free(dpa__encoder *encoder);

/* Allocates a data set with x and labels zero. */
dpa_status dpa__dataset_alloc(size_t rows, dpa_shape shape, size_t classes, dpa_dataset **out,
                              dpa_error *err);
/* Fails on NaN, infinities and labels out of range. */
dpa_status dpa__dataset_check(const dpa_dataset *data, dpa_error *err);

#endif
