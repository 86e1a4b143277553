/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A layer maps rows of in_size floats to rows of out_size floats. Images are height × width ×
 * channels with the channels innermost, so that a convolution's output is a matrix [positions ×
 * channels] and a dense layer reads it without copying.
 *
 * Back-propagation has two parts. `backward` only moves the deltas (∂loss/∂output) to the layer
 * below. The gradients of the weights are computed afterwards: first as a norm for each group of
 * rows, then, with the deltas scaled by the clip factors, as one sum. So memory does not grow with
 * batch × weights: no gradient of a single example is stored, except those of small convolutions
 * within a chunk (train/net.c), where storing them is cheaper than computing them twice. */
#ifndef DPA_TRAIN_LAYER_H
#define DPA_TRAIN_LAYER_H

#include <stddef.h>

#include "dpaudit/lab/train.h"

typedef struct dpa__layer dpa__layer;

/* Rows start[g] to start[g+1]−1 belong to group g: one example, its augmentations, or a
 * microbatch. */
typedef struct dpa__groups {
    size_t count;
    const size_t *start; /* [count + 1] */
} dpa__groups;

typedef struct dpa__layer_type {
    const char *name;
    int in_place; /* the output overwrites the input */
    int keeps;    /* `norms` can also write the gradients of groups, when there is room */
    /* How many floats of scratch the calls need if a group has at most `group` rows; NULL: none. */
    size_t (*scratch)(const dpa__layer *layer, size_t group);
    void (*forward)(const dpa__layer *layer, const float *weights, const float *x, float *y,
                    size_t rows, float *scratch);
    /* dx may be NULL for the lowest layer. Layers that work in place get dx == dy. */
    void (*backward)(const dpa__layer *layer, const float *weights, const float *x, const float *y,
                     const float *dy, float *dx, size_t rows, float *scratch);
    /* `norms`: norm2[g] += ‖Σ of the gradients of the rows of group g‖², never too small by more
     * than single-precision rounding; if `kept` [groups × weights] is not NULL, it receives the
     * gradients themselves. `gradient`: grad += Σ over all rows. Both are NULL for layers without
     * weights. */
    void (*norms)(const dpa__layer *layer, const float *x, const float *dy,
                  const dpa__groups *groups, double *norm2, float *kept, float *scratch);
    void (*gradient)(const dpa__layer *layer, const float *x, const float *dy, size_t rows,
                     float *grad, float *scratch);
} dpa__layer_type;

struct dpa__layer {
    const dpa__layer_type *type;
    dpa_shape in, out;
    size_t in_size, out_size;
    size_t kernel, stride, pad; /* of convolution and pooling */
    size_t channel_groups;      /* of group normalisation */
    size_t index;               /* place in the model */
    size_t back;            /* add: the shortcut starts at the input of the layer so far below */
    dpa_shape shortcut;     /* its shape there */
    int has_relu;           /* the next layer is a relu, so weights start by He's rule */
    size_t weights, offset; /* number of weights, and their offset in the model's vector */
};

extern const dpa__layer_type dpa__layer_dense, dpa__layer_conv, dpa__layer_max, dpa__layer_avg,
    dpa__layer_norm, dpa__layer_relu, dpa__layer_tanh, dpa__layer_add;

/* y += the shortcut of an `add` layer from the earlier value, and its way back: the earlier
 * delta += dy. */
void dpa__shortcut(const dpa__layer *layer, const float *from, float *y, size_t rows);
void dpa__shortcut_back(const dpa__layer *layer, const float *dy, float *delta, size_t rows);

/* ‖AᵀG‖² for A [rows × depth] and G [rows × width], plus the same for the bias (column sums of G).
 * This is the squared norm of a dense layer's gradient over these rows. Computes whichever is
 * cheaper of the Gram form Σ (AAᵀ)∘(GGᵀ) and the product itself; scratch:
 * dpa__gradient_norm_scratch floats. */
double dpa__gradient_norm2(const float *a, const float *g, size_t rows, size_t depth, size_t width,
                           float *scratch);
size_t dpa__gradient_norm_scratch(size_t rows, size_t depth, size_t width);

size_t dpa__shape_size(dpa_shape shape);

#endif
