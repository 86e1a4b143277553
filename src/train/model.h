/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private parts of a model, and the network: the working memory with which a model runs. */
#ifndef DPA_TRAIN_MODEL_H
#define DPA_TRAIN_MODEL_H

#include "dpaudit/lab/train.h"
#include "train/layer.h"

struct dpa_model {
    char *layers; /* the text it was made from */
    dpa_shape input;
    size_t classes, outputs;
    dpa_loss loss;
    size_t layer_count;
    dpa__layer *layer;
    size_t size;
    float *weight; /* [size] */
};

/* Buffers for up to `rows` rows: value[0] is the input [rows × features], value[l + 1] the output
 * of layer l, delta[l] = ∂loss/∂value[l]. Layers that work in place share buffers. */
typedef struct dpa__net {
    const dpa_model *model;
    size_t rows;
    float **value, **delta;
    float **kept; /* [layers] gradients of groups, for layers that keep them; others NULL */
    float *scratch;
    float *arena;
} dpa__net;

typedef enum dpa__net_use { DPA_NET_FORWARD, DPA_NET_WEIGHTS, DPA_NET_INPUT } dpa__net_use;

/* `use`: forward only, deltas for the weights, or deltas down to the input. `group` is the largest
 * number of rows in a group. */
dpa_status dpa__net_new(const dpa_model *model, size_t rows, size_t group, dpa__net_use use,
                        dpa__net **out, dpa_error *err);
void dpa__net_free(dpa__net *net);

void dpa__net_forward(dpa__net *net, size_t rows);
/* Computes all deltas from the delta of the outputs. */
void dpa__net_backward(dpa__net *net, size_t rows);
/* norm2[g] = ‖gradient of the sum over the rows of group g‖². */
void dpa__net_norms(dpa__net *net, const dpa__groups *groups, double *norm2);
/* sum += Σ factor[g]·gradient of group g. Overwrites the deltas. With `after_norms` it reuses the
 * gradients that dpa__net_norms kept. */
void dpa__net_weighted_sum(dpa__net *net, const dpa__groups *groups, const float *factor,
                           int after_norms, float *sum);
void dpa__net_gradient(dpa__net *net, size_t rows, float *sum); /* sum += Σ over the rows */

/* Computes the losses [rows] and, unless NULL, the deltas from outputs [rows × outputs] and labels.
 * Returns how many rows are classified correctly. */
size_t dpa__loss(const dpa_model *model, const float *y, const int32_t *label, size_t rows,
                 double *loss, float *delta);

/* Fails if the data's shape or labels do not fit the model. */
dpa_status dpa__model_fits(const dpa_model *model, const dpa_dataset *data, dpa_error *err);

#endif
