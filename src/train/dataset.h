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

/* One reader per format. */
dpa_status dpa__dataset_arrays(const dpa_dataset_opts *opts, const dpa_dataset *like,
                               dpa_dataset **out, dpa_error *err);
dpa_status dpa__dataset_table(const dpa_dataset_opts *opts, const dpa_dataset *like,
                              dpa_dataset **out, dpa_error *err);
dpa_status dpa__dataset_words(const dpa_dataset_opts *opts, const dpa_dataset *like,
                              dpa_dataset **out, dpa_error *err);
dpa_status dpa__dataset_cifar(const dpa_dataset_opts *opts, const dpa_dataset *like,
                              dpa_dataset **out, dpa_error *err);
dpa_status dpa__dataset_fann(const dpa_dataset_opts *opts, const dpa_dataset *like,
                             dpa_dataset **out, dpa_error *err);

void dpa__encoder_free(dpa__encoder *encoder);
dpa_status dpa__names_add(dpa__names *names, const char *text, size_t length, dpa_error *err);

/* An index over names, for looking up many of them. The names must not move while it is used. */
typedef struct dpa__names_index {
    struct dpa__label_place *item;
    size_t count;
} dpa__names_index;
dpa_status dpa__names_sort(const dpa__names *names, dpa__names_index *out, dpa_error *err);
/* The position among the names, or -1. */
ptrdiff_t dpa__names_find(const dpa__names_index *index, const char *text, size_t length);
void dpa__names_index_free(dpa__names_index *index);

struct dpa_table;
/* Turns a text column into labels by the encoder's list of names. An empty list is filled first:
 * whole numbers in numeric order, other texts in byte order. */
dpa_status dpa__encode_labels(const struct dpa_table *table, size_t column,
                              const dpa_dataset_opts *opts, dpa__encoder *made,
                              const dpa__encoder *like, dpa_dataset *data, dpa_error *err);
/* Opens the file, or the first file of a tar archive, as a table. The columns listed in `text` stay
 * text. */
dpa_status dpa__open_table(const dpa_dataset_opts *opts, const char *const *text,
                           struct dpa_table **out, dpa_error *err);

/* Allocates a data set with x and labels zero. */
dpa_status dpa__dataset_alloc(size_t rows, dpa_shape shape, size_t classes, dpa_dataset **out,
                              dpa_error *err);
/* Fails on NaN, infinities and labels out of range. */
dpa_status dpa__dataset_check(const dpa_dataset *data, dpa_error *err);

#endif
