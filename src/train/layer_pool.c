/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pooling over windows of kernel × kernel, and the two activations. None of them has weights. */
#include <math.h>
#include <string.h>

#include "train/kernels.h"
#include "train/layer.h"

enum { BLOCK = 256 }; /* numbers pooled at once */

/* Where cell (a, b) of window (i, j) lies in an image. */
static size_t cell(const dpa__layer *layer, size_t i, size_t j, size_t a, size_t b) {
    return ((i * layer->stride + a) * layer->in.width + j * layer->stride + b) * layer->in.channels;
}

/* The maxima over a window for `n` numbers starting at x, and the first cell that holds each. */
static void window_max(const dpa__layer *layer, const float *x, size_t i, size_t j, size_t n,
                       float *best, int32_t *where) {
    for (size_t e = 0; e < n; ++e) best[e] = -INFINITY;
    memset(where, 0, n * sizeof *where);
    for (size_t a = 0; a < layer->kernel; ++a)
        for (size_t b = 0; b < layer->kernel; ++b)
            dpa__max_in(x + cell(layer, i, j, a, b), (int32_t)(a * layer->in.width + b), best,
                        where, n);
}

/* With stride 1 the windows of a line are adjacent, so one call does them all. */
static void pool_max(const dpa__layer *layer, const float *x, float *y) {
    const size_t k = layer->kernel, together = layer->stride == 1 ? layer->out.width : 1;
    const size_t n = together * layer->in.channels;
    for (size_t i = 0; i < layer->out.height; ++i)
        for (size_t j = 0; j < layer->out.width; j += together, y += n) {
            memcpy(y, x + cell(layer, i, j, 0, 0), n * sizeof *y);
            for (size_t a = 0; a < k; ++a)
                for (size_t b = a == 0; b < k; ++b) dpa__max(x + cell(layer, i, j, a, b), y, n);
        }
}

/* The delta goes to the first cell of the window that holds the maximum. That cell is found from x,
 * because an activation may have overwritten the output. Cells go from right to left, so that a
 * number gets its deltas in the order of the windows. */
static void unpool_max(const dpa__layer *layer, const float *x, const float *dy, float *dx) {
    const size_t together = layer->stride == 1 ? layer->out.width : 1;
    const size_t all = together * layer->in.channels;
    float best[BLOCK];
    int32_t where[BLOCK];
    for (size_t i = 0; i < layer->out.height; ++i)
        for (size_t j = 0; j < layer->out.width; j += together, dy += all)
            for (size_t first = 0; first < all; first += BLOCK) {
                const size_t n = all - first < BLOCK ? all - first : BLOCK;
                window_max(layer, x + first, i, j, n, best, where);
                for (size_t b = layer->kernel; b-- > 0;)
                    for (size_t a = 0; a < layer->kernel; ++a)
                        dpa__add_where(dy + first, where, (int32_t)(a * layer->in.width + b),
                                       dx + cell(layer, i, j, a, b) + first, n);
            }
}

static void pool_avg(const dpa__layer *layer, const float *x, float *y) {
    const size_t c = layer->in.channels, k = layer->kernel;
    for (size_t i = 0; i < layer->out.height; ++i)
        for (size_t j = 0; j < layer->out.width; ++j, y += c) {
            memset(y, 0, c * sizeof *y);
            for (size_t a = 0; a < k; ++a)
                for (size_t b = 0; b < k; ++b) dpa__add_rows(x + cell(layer, i, j, a, b), 1, c, y);
            dpa__scale(y, c, 1.0F / (float)(k * k));
        }
}

static void unpool_avg(const dpa__layer *layer, const float *dy, float *dx) {
    const size_t c = layer->in.channels, k = layer->kernel;
    const float share = 1.0F / (float)(k * k);
    for (size_t i = 0; i < layer->out.height; ++i)
        for (size_t j = 0; j < layer->out.width; ++j, dy += c)
            for (size_t a = 0; a < k; ++a)
                for (size_t b = 0; b < k; ++b) {
                    float *to = dx + cell(layer, i, j, a, b);
                    for (size_t e = 0; e < c; ++e) to[e] += share * dy[e];
                }
}

static void max_forward(const dpa__layer *layer, const float *weights, const float *x, float *y,
                        size_t rows, float *scratch) {
    (void)weights, (void)scratch;
    for (size_t r = 0; r < rows; ++r)
        pool_max(layer, x + r * layer->in_size, y + r * layer->out_size);
}

static void max_backward(const dpa__layer *layer, const float *weights, const float *x,
                         const float *y, const float *dy, float *dx, size_t rows, float *scratch) {
    (void)weights, (void)y, (void)scratch;
    if (dx == NULL) return;
    for (size_t r = 0; r < rows; ++r) {
        memset(dx + r * layer->in_size, 0, layer->in_size * sizeof *dx);
        unpool_max(layer, x + r * layer->in_size, dy + r * layer->out_size,
                   dx + r * layer->in_size);
    }
}

static void avg_forward(const dpa__layer *layer, const float *weights, const float *x, float *y,
                        size_t rows, float *scratch) {
    (void)weights, (void)scratch;
    for (size_t r = 0; r < rows; ++r)
        pool_avg(layer, x + r * layer->in_size, y + r * layer->out_size);
}

static void avg_backward(const dpa__layer *layer, const float *weights, const float *x,
                         const float *y, const float *dy, float *dx, size_t rows, float *scratch) {
    (void)weights, (void)x, (void)y, (void)scratch;
    if (dx == NULL) return;
    for (size_t r = 0; r < rows; ++r) {
        memset(dx + r * layer->in_size, 0, layer->in_size * sizeof *dx);
        unpool_avg(layer, dy + r * layer->out_size, dx + r * layer->in_size);
    }
}

static void relu_forward(const dpa__layer *layer, const float *weights, const float *x, float *y,
                         size_t rows, float *scratch) {
    (void)weights, (void)x, (void)scratch;
    dpa__relu(y, rows * layer->out_size);
}

static void relu_backward(const dpa__layer *layer, const float *weights, const float *x,
                          const float *y, const float *dy, float *dx, size_t rows, float *scratch) {
    (void)weights, (void)x, (void)dy, (void)scratch;
    if (dx != NULL) dpa__relu_back(y, dx, rows * layer->out_size);
}

static void tanh_forward(const dpa__layer *layer, const float *weights, const float *x, float *y,
                         size_t rows, float *scratch) {
    (void)weights, (void)x, (void)scratch;
    dpa__tanh(y, rows * layer->out_size);
}

static void tanh_backward(const dpa__layer *layer, const float *weights, const float *x,
                          const float *y, const float *dy, float *dx, size_t rows, float *scratch) {
    (void)weights, (void)x, (void)dy, (void)scratch;
    if (dx != NULL) dpa__tanh_back(y, dx, rows * layer->out_size);
}

const dpa__layer_type dpa__layer_max = {
    .name = "max", .forward = max_forward, .backward = max_backward};
const dpa__layer_type dpa__layer_avg = {
    .name = "avg", .forward = avg_forward, .backward = avg_backward};
const dpa__layer_type dpa__layer_relu = {
    .name = "relu", .in_place = 1, .forward = relu_forward, .backward = relu_backward};
const dpa__layer_type dpa__layer_tanh = {
    .name = "tanh", .in_place = 1, .forward = tanh_forward, .backward = tanh_backward};
