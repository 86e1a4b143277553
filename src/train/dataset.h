/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of a data set. */
#ifndef DPA_TRAIN_DATASET_H
#define DPA_TRAIN_DATASET_H

#include "dpaudit/lab/train.h"

/* How cells became features: kept with the training part, used again for the held-out part. */
typedef struct dpa__names {
    char **item;
    size_t count;
} dpa__names;

typedef struct dpa__feature {
    char *name;
    int one_hot;
    dpa__names value; /* of a one-hot column */
    size_t first;     /* its first feature */
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
    char *schema;   /* NULL: nothing to say */
    dpa__encoder *encoder;
};

/* Readers of one format each. */
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
void dpa__names_free(dpa__names *names);

/* Names by their text, for finding many of them. The names must stay where they are. */
typedef struct dpa__names_index {
    struct dpa__label_place *item;
    size_t count;
} dpa__names_index;
dpa_status dpa__names_sort(const dpa__names *names, dpa__names_index *out, dpa_error *err);
/* Where it is among the names, or -1. */
ptrdiff_t dpa__names_find(const dpa__names_index *index, const char *text, size_t length);
void dpa__names_index_free(dpa__names_index *index);

struct dpa_table;
/* Labels of a text column, by the encoder's list (made when it is empty: whole numbers in their
 * order, other texts in byte order). */
dpa_status dpa__encode_labels(const struct dpa_table *table, size_t column,
                              const dpa_dataset_opts *opts, dpa__encoder *made,
                              const dpa__encoder *like, dpa_dataset *data, dpa_error *err);
/* The file as a table; `text`: columns that stay text. Archives are opened. */
dpa_status dpa__open_table(const dpa_dataset_opts *opts, const char *const *text,
                           struct dpa_table **out, dpa_error *err);

/* Room for a data set, x and labels zero. */
dpa_status dpa__dataset_alloc(size_t rows, dpa_shape shape, size_t classes, dpa_dataset **out,
                              dpa_error *err);
/* NaN, infinities, labels out of range. */
dpa_status dpa__dataset_check(const dpa_dataset *data, dpa_error *err);

#endif
