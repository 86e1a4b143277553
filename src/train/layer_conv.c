/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convolution: the patches under the kernel become rows of a matrix (im2col), and what follows is a
 * dense layer on [positions × depth] with depth = kernel·kernel·channels.
 *
 * Weights W [out channels × depth], then b [out channels]. Patches are made again whenever they are
 * needed, a few examples at a time, so that they stay in the cache and memory stays small. */
#include <cblas.h>
#include <string.h>

#include "train/kernels.h"
#include "train/layer.h"

enum { PATCH_ROWS = 1024 }; /* patch rows per matrix product, about */

static size_t positions_of(const dpa__layer *layer) {
    return layer->out.height * layer->out.width;
}

static size_t depth_of(const dpa__layer *layer) {
    return layer->kernel * layer->kernel * layer->in.channels;
}

/* Examples whose patches go into one product. */
static size_t block_of(const dpa__layer *layer) {
    const size_t positions = positions_of(layer);
    return positions >= PATCH_ROWS ? 1 : PATCH_ROWS / positions;
}

static size_t scratch_size(const dpa__layer *layer, size_t group) {
    const size_t positions = positions_of(layer), depth = depth_of(layer);
    const size_t width = layer->out.channels;
    const size_t norm =
        group > 1 ? depth * width + width : dpa__gradient_norm_scratch(positions, depth, width);
    return block_of(layer) * positions * depth + norm;
}

/* The part of a kernel row that lies inside the image: columns [from, to) of the kernel at output
 * column j. */
static void inside(const dpa__layer *layer, size_t j, size_t *from, size_t *to) {
    const size_t left = j * layer->stride;
    *from = left < layer->pad ? layer->pad - left : 0;
    const size_t room = layer->in.width + layer->pad - left; /* > 0: the output has this column */
    *to = room < layer->kernel ? room : layer->kernel;
    if (*from > *to) *from = *to;
}

/* x [height × width × channels] → patches [positions × depth]; outside the image: 0. */
static void patches_of(const dpa__layer *layer, const float *x, float *patches) {
    const size_t k = layer->kernel, c = layer->in.channels, width = layer->in.width;
    float *row = patches;
    for (size_t i = 0; i < layer->out.height; ++i)
        for (size_t j = 0; j < layer->out.width; ++j) {
            size_t from, to;
            inside(layer, j, &from, &to);
            for (size_t ki = 0; ki < k; ++ki, row += k * c) {
                const size_t line = i * layer->stride + ki; /* of the padded image */
                if (line < layer->pad || line - layer->pad >= layer->in.height) {
                    memset(row, 0, k * c * sizeof *row);
                    continue;
                }
                const size_t start =
                    (line - layer->pad) * width + j * layer->stride + from - layer->pad;
                memset(row, 0, from * c * sizeof *row);
                memcpy(row + from * c, x + start * c, (to - from) * c * sizeof *row);
                memset(row + to * c, 0, (k - to) * c * sizeof *row);
            }
        }
}

/* The transpose of patches_of: adds each patch back to where it came from. */
static void add_patches(const dpa__layer *layer, const float *patches, float *dx) {
    const size_t k = layer->kernel, c = layer->in.channels, width = layer->in.width;
    const float *row = patches;
    for (size_t i = 0; i < layer->out.height; ++i)
        for (size_t j = 0; j < layer->out.width; ++j) {
            size_t from, to;
            inside(layer, j, &from, &to);
            for (size_t ki = 0; ki < k; ++ki, row += k * c) {
                const size_t line = i * layer->stride + ki;
                if (line < layer->pad || line - layer->pad >= layer->in.height) continue;
                const size_t start =
                    (line - layer->pad) * width + j * layer->stride + from - layer->pad;
                float *to_row = dx + start * c;
                for (size_t e = 0; e < (to - from) * c; ++e) to_row[e] += row[from * c + e];
            }
        }
}

static void forward(const dpa__layer *layer, const float *weights, const float *x, float *y,
                    size_t rows, float *scratch) {
    const size_t positions = positions_of(layer), block = block_of(layer);
    const int depth = (int)depth_of(layer), width = (int)layer->out.channels;
    const float *bias = weights + layer->out.channels * (size_t)depth;
    dpa__fill_rows(y, rows * positions, layer->out.channels, bias);
    for (size_t first = 0; first < rows; first += block) {
        const size_t n = rows - first < block ? rows - first : block;
        for (size_t r = 0; r < n; ++r)
            patches_of(layer, x + (first + r) * layer->in_size,
                       scratch + r * positions * (size_t)depth);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(n * positions), width, depth,
                    1.0F, scratch, depth, weights, depth, 1.0F, y + first * layer->out_size, width);
    }
}

static void backward(const dpa__layer *layer, const float *weights, const float *x, const float *y,
                     const float *dy, float *dx, size_t rows, float *scratch) {
    (void)x, (void)y;
    if (dx == NULL) return;
    const size_t positions = positions_of(layer), block = block_of(layer);
    const int depth = (int)depth_of(layer), width = (int)layer->out.channels;
    memset(dx, 0, rows * layer->in_size * sizeof *dx);
    for (size_t first = 0; first < rows; first += block) {
        const size_t n = rows - first < block ? rows - first : block;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)(n * positions), depth, width,
                    1.0F, dy + first * layer->out_size, width, weights, depth, 0.0F, scratch,
                    depth);
        for (size_t r = 0; r < n; ++r)
            add_patches(layer, scratch + r * positions * (size_t)depth,
                        dx + (first + r) * layer->in_size);
    }
}

/* grad += Σ over the rows of dyᵀ·patches; bias += Σ dy. */
static void gradient(const dpa__layer *layer, const float *x, const float *dy, size_t rows,
                     float *grad, float *scratch) {
    const size_t positions = positions_of(layer), block = block_of(layer);
    const int depth = (int)depth_of(layer), width = (int)layer->out.channels;
    for (size_t first = 0; first < rows; first += block) {
        const size_t n = rows - first < block ? rows - first : block;
        for (size_t r = 0; r < n; ++r)
            patches_of(layer, x + (first + r) * layer->in_size,
                       scratch + r * positions * (size_t)depth);
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, width, depth, (int)(n * positions),
                    1.0F, dy + first * layer->out_size, width, scratch, depth, 1.0F, grad, depth);
    }
    dpa__add_rows(dy, rows * positions, layer->out.channels,
                  grad + layer->out.channels * (size_t)depth);
}

/* One example: whichever of the Gram form and the product is cheaper. Several: their gradient in a
 * buffer that is used again for every group. */
static void norms(const dpa__layer *layer, const float *x, const float *dy,
                  const dpa__groups *groups, double *norm2, float *scratch) {
    const size_t positions = positions_of(layer), depth = depth_of(layer);
    const size_t width = layer->out.channels;
    float *buffer = scratch + block_of(layer) * positions * depth;
    for (size_t g = 0; g < groups->count; ++g) {
        const size_t first = groups->start[g], rows = groups->start[g + 1] - first;
        const float *xs = x + first * layer->in_size, *dys = dy + first * layer->out_size;
        if (rows == 1) {
            patches_of(layer, xs, scratch);
            norm2[g] += dpa__gradient_norm2(scratch, dys, positions, depth, width, buffer);
        } else {
            memset(buffer, 0, layer->weights * sizeof *buffer);
            gradient(layer, xs, dys, rows, buffer, scratch);
            norm2[g] += dpa__sum_squares(buffer, layer->weights);
        }
    }
}

const dpa__layer_type dpa__layer_conv = {.name = "conv",
                                         .scratch = scratch_size,
                                         .forward = forward,
                                         .backward = backward,
                                         .norms = norms,
                                         .gradient = gradient};
