/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Residual connections (He et al. 2016): y = x + an earlier value, the input of the layer that lies
 * `back` layers below. Where that value is larger or has fewer channels, the shortcut has no
 * weights: every stride-th position is taken and the missing channels are 0 (their option A). The
 * layer by itself hands x through in both directions; the network, which has the values of all
 * layers, adds the shortcut to the sum and its delta to the earlier one (train/net.c). */
#include <string.h>

#include "train/kernels.h"
#include "train/layer.h"

static void forward(const dpa__layer *layer, const float *weights, const float *x, float *y,
                    size_t rows, float *scratch) {
    (void)weights, (void)scratch;
    memcpy(y, x, rows * layer->out_size * sizeof *y);
}

static void backward(const dpa__layer *layer, const float *weights, const float *x, const float *y,
                     const float *dy, float *dx, size_t rows, float *scratch) {
    (void)weights, (void)x, (void)y, (void)scratch;
    if (dx != NULL) memcpy(dx, dy, rows * layer->in_size * sizeof *dx);
}

/* Where position (i, j) of the output finds its shortcut in an earlier image. */
static size_t source(const dpa__layer *layer, size_t i, size_t j) {
    const size_t down = layer->shortcut.height / layer->out.height;
    const size_t across = layer->shortcut.width / layer->out.width;
    return (i * down * layer->shortcut.width + j * across) * layer->shortcut.channels;
}

void dpa__shortcut(const dpa__layer *layer, const float *from, float *y, size_t rows) {
    const size_t n = layer->shortcut.channels;
    for (size_t r = 0; r < rows; ++r, from += dpa__shape_size(layer->shortcut))
        for (size_t i = 0; i < layer->out.height; ++i)
            for (size_t j = 0; j < layer->out.width; ++j, y += layer->out.channels)
                dpa__add_rows(from + source(layer, i, j), 1, n, y);
}

void dpa__shortcut_back(const dpa__layer *layer, const float *dy, float *delta, size_t rows) {
    const size_t n = layer->shortcut.channels;
    for (size_t r = 0; r < rows; ++r, delta += dpa__shape_size(layer->shortcut))
        for (size_t i = 0; i < layer->out.height; ++i)
            for (size_t j = 0; j < layer->out.width; ++j, dy += layer->out.channels)
                dpa__add_rows(dy, 1, n, delta + source(layer, i, j));
}

const dpa__layer_type dpa__layer_add = {.name = "add", .forward = forward, .backward = backward};
