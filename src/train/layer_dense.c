/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dense layer: y = x Wᵀ + b, with W [out × in] followed by b [out] in the weight vector.
 *
 * The gradient of one row is dyᵀx, which has rank one: its squared norm is ‖x‖²‖dy‖², plus ‖dy‖²
 * for the bias (Goodfellow 2015, "Efficient per-example gradient computations"). For a group of
 * rows it is Σᵢⱼ (xᵢ·xⱼ)(dyᵢ·dyⱼ). */
#include <string.h>

#include "train/kernels.h"
#include "train/layer.h"
#include "train/product.h"

size_t dpa__shape_size(dpa_shape shape) {
    return shape.height * shape.width * shape.channels;
}

/* Compares the numbers of multiplications. The Gram matrices are symmetric but are computed in
 * full. */
static int gram_is_cheaper(size_t rows, size_t depth, size_t width) {
    return (double)rows * (double)(depth + width) < (double)depth * (double)width;
}

size_t dpa__gradient_norm_scratch(size_t rows, size_t depth, size_t width) {
    return (gram_is_cheaper(rows, depth, width) ? 2 * rows * rows : depth * width) + width;
}

static double bias_norm2(const float *g, size_t rows, size_t width, float *scratch) {
    if (rows == 1) return dpa__sum_squares(g, width);
    memset(scratch, 0, width * sizeof *scratch);
    dpa__add_rows(g, rows, width, scratch);
    return dpa__sum_squares(scratch, width);
}

/* The terms of the Gram form may cancel. A bound on their rounding is added, so that the norm is
 * never underestimated. */
static double gram_norm2(const float *a, const float *g, size_t rows, size_t depth, size_t width,
                         float *scratch) {
    float *aa = scratch, *gg = scratch + rows * rows;
    dpa__product(rows, rows, depth, dpa__rows_of(a, depth), dpa__columns_of(a, depth), 0, aa);
    dpa__product(rows, rows, width, dpa__rows_of(g, width), dpa__columns_of(g, width), 0, gg);
    double sum, absolute;
    dpa__dot_bounded(aa, gg, rows * rows, &sum, &absolute);
    sum += 1e-6 * absolute;
    return sum > 0.0 ? sum : 0.0;
}

double dpa__gradient_norm2(const float *a, const float *g, size_t rows, size_t depth, size_t width,
                           float *scratch) {
    const double bias = bias_norm2(g, rows, width, scratch);
    if (rows == 1) return bias + dpa__sum_squares(a, depth) * bias;
    if (gram_is_cheaper(rows, depth, width))
        return bias + gram_norm2(a, g, rows, depth, width, scratch);
    dpa__product(width, depth, rows, dpa__columns_of(g, width), dpa__rows_of(a, depth), 0, scratch);
    return bias + dpa__sum_squares(scratch, depth * width);
}

static size_t scratch_size(const dpa__layer *layer, size_t group) {
    return dpa__gradient_norm_scratch(group, layer->in_size, layer->out_size);
}

static void forward(const dpa__layer *layer, const float *weights, const float *x, float *y,
                    size_t rows, float *scratch) {
    (void)scratch;
    const size_t in = layer->in_size, out = layer->out_size;
    dpa__fill_rows(y, rows, layer->out_size, weights + layer->in_size * layer->out_size);
    dpa__product(rows, out, in, dpa__rows_of(x, in), dpa__columns_of(weights, in), 1, y);
}

static void backward(const dpa__layer *layer, const float *weights, const float *x, const float *y,
                     const float *dy, float *dx, size_t rows, float *scratch) {
    (void)x, (void)y, (void)scratch;
    if (dx == NULL) return;
    const size_t in = layer->in_size, out = layer->out_size;
    dpa__product(rows, in, out, dpa__rows_of(dy, out), dpa__rows_of(weights, in), 0, dx);
}

static void norms(const dpa__layer *layer, const float *x, const float *dy,
                  const dpa__groups *groups, double *norm2, float *kept, float *scratch) {
    (void)kept;
    for (size_t g = 0; g < groups->count; ++g) {
        const size_t first = groups->start[g], rows = groups->start[g + 1] - first;
        norm2[g] += dpa__gradient_norm2(x + first * layer->in_size, dy + first * layer->out_size,
                                        rows, layer->in_size, layer->out_size, scratch);
    }
}

static void gradient(const dpa__layer *layer, const float *x, const float *dy, size_t rows,
                     float *grad, float *scratch) {
    (void)scratch;
    const size_t in = layer->in_size, out = layer->out_size;
    dpa__product(out, in, rows, dpa__columns_of(dy, out), dpa__rows_of(x, in), 1, grad);
    dpa__add_rows(dy, rows, layer->out_size, grad + layer->in_size * layer->out_size);
}

const dpa__layer_type dpa__layer_dense = {.name = "dense",
                                          .scratch = scratch_size,
                                          .forward = forward,
                                          .backward = backward,
                                          .norms = norms,
                                          .gradient = gradient};
