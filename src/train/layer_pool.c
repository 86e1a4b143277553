/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pooling over windows of kernel × kernel, and the two activations. No weights. */
#include <math.h>
#include <string.h>

#include "train/kernels.h"
#include "train/layer.h"

/* Where window (i, j) starts in an image, and how far apart its rows are. */
static size_t window_start(const dpa__layer *layer, size_t i, size_t j) {
    return (i * layer->stride * layer->in.width + j * layer->stride) * layer->in.channels;
}

/* out = fold over the window of one image; the window never leaves the image. */
static void pool_max(const dpa__layer *layer, const float *x, float *y) {
    const size_t c = layer->in.channels, line = layer->in.width * c;
    for (size_t i = 0; i < layer->out.height; ++i)
        for (size_t j = 0; j < layer->out.width; ++j, y += c) {
            const float *window = x + window_start(layer, i, j);
            memcpy(y, window, c * sizeof *y);
            for (size_t k = 1; k < layer->kernel * layer->kernel; ++k) {
                const float *at = window + k / layer->kernel * line + k % layer->kernel * c;
                for (size_t e = 0; e < c; ++e) y[e] = at[e] > y[e] ? at[e] : y[e];
            }
        }
}

/* The delta goes to the first cell of the window that holds the maximum. Taken from x: an
 * activation may have overwritten the output. */
static void unpool_max(const dpa__layer *layer, const float *x, const float *dy, float *dx) {
    const size_t c = layer->in.channels, line = layer->in.width * c;
    for (size_t i = 0; i < layer->out.height; ++i)
        for (size_t j = 0; j < layer->out.width; ++j, dy += c) {
            const size_t start = window_start(layer, i, j);
            for (size_t e = 0; e < c; ++e) {
                size_t best = start + e;
                for (size_t k = 1; k < layer->kernel * layer->kernel; ++k) {
                    const size_t at = start + k / layer->kernel * line + k % layer->kernel * c + e;
                    if (x[at] > x[best]) best = at;
                }
                dx[best] += dy[e];
            }
        }
}

static void pool_avg(const dpa__layer *layer, const float *x, float *y) {
    const size_t c = layer->in.channels, line = layer->in.width * c;
    const size_t cells = layer->kernel * layer->kernel;
    for (size_t i = 0; i < layer->out.height; ++i)
        for (size_t j = 0; j < layer->out.width; ++j, y += c) {
            const float *window = x + window_start(layer, i, j);
            memset(y, 0, c * sizeof *y);
            for (size_t k = 0; k < cells; ++k)
                dpa__add_rows(window + k / layer->kernel * line + k % layer->kernel * c, 1, c, y);
            dpa__scale(y, c, 1.0F / (float)cells);
        }
}

static void unpool_avg(const dpa__layer *layer, const float *dy, float *dx) {
    const size_t c = layer->in.channels, line = layer->in.width * c;
    const size_t cells = layer->kernel * layer->kernel;
    const float share = 1.0F / (float)cells;
    for (size_t i = 0; i < layer->out.height; ++i)
        for (size_t j = 0; j < layer->out.width; ++j, dy += c)
            for (size_t k = 0; k < cells; ++k) {
                float *at = dx + window_start(layer, i, j) + k / layer->kernel * line +
                            k % layer->kernel * c;
                for (size_t e = 0; e < c; ++e) at[e] += share * dy[e];
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
    memset(dx, 0, rows * layer->in_size * sizeof *dx);
    for (size_t r = 0; r < rows; ++r)
        unpool_max(layer, x + r * layer->in_size, dy + r * layer->out_size,
                   dx + r * layer->in_size);
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
    memset(dx, 0, rows * layer->in_size * sizeof *dx);
    for (size_t r = 0; r < rows; ++r)
        unpool_avg(layer, dy + r * layer->out_size, dx + r * layer->in_size);
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
