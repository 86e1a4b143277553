/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convolution: the patches under the kernel become rows of a matrix (im2col), which a dense layer
 * on [positions × depth] processes, with depth = kernel·kernel·channels.
 *
 * The weights are W [out channels × depth], then b [out channels]. Patches are recomputed whenever
 * they are needed, a few examples at a time, so that they stay in the cache and memory stays
 * small. */
#include <string.h>

#include "train/kernels.h"
#include "train/layer.h"
#include "train/product.h"

enum { PATCH_ROWS = 1024 }; /* patch rows per matrix product, roughly */

static size_t positions_of(const dpa__layer *layer) {
    return layer->out.height * layer->out.width;
}

static size_t depth_of(const dpa__layer *layer) {
    return layer->kernel * layer->kernel * layer->in.channels;
}

/* Number of examples whose patches go into one product. */
static size_t block_of(const dpa__layer *layer) {
    const size_t positions = positions_of(layer);
    return positions >= PATCH_ROWS ? 1 : PATCH_ROWS / positions;
}

static size_t padded_size(const dpa__layer *layer) {
    return (layer->in.height + 2 * layer->pad) * (layer->in.width + 2 * layer->pad) *
           layer->in.channels;
}

/* The patches in the padded image. */
static dpa__windows windows_of(const dpa__layer *layer) {
    const size_t line = (layer->in.width + 2 * layer->pad) * layer->in.channels;
    return (dpa__windows){.height = layer->out.height,
                          .width = layer->out.width,
                          .down = layer->stride * line,
                          .right = layer->stride * layer->in.channels,
                          .lines = layer->kernel,
                          .line = line,
                          .run = layer->kernel * layer->in.channels};
}

/* Where line i of the image starts inside the padded image. */
static float *padded_line(const dpa__layer *layer, float *padded, size_t i) {
    const size_t width = layer->in.width + 2 * layer->pad;
    return padded + ((i + layer->pad) * width + layer->pad) * layer->in.channels;
}

/* The image with its border of zeros: above it, after each line (the right border and the left one
 * of the next) and below. */
static void pad_image(const dpa__layer *layer, const float *x, float *padded) {
    const size_t line = layer->in.width * layer->in.channels, last = layer->in.height - 1;
    const size_t ends = (size_t)(padded_line(layer, padded, 0) - padded);
    const size_t between = 2 * layer->pad * layer->in.channels;
    memset(padded, 0, ends * sizeof *padded);
    for (size_t i = 0; i <= last; ++i) {
        float *to = padded_line(layer, padded, i);
        memcpy(to, x + i * line, line * sizeof *x);
        memset(to + line, 0, (i < last ? between : ends) * sizeof *to);
    }
}

/* x [height × width × channels] → patches [positions × depth], with 0 outside the image. An image
 * without padding is read where it is: what lies after it is of the same arena. */
static void patches_of(const dpa__layer *layer, const float *x, float *padded, float *patches) {
    const dpa__windows windows = windows_of(layer);
    if (layer->pad > 0) pad_image(layer, x, padded);
    dpa__copy_windows(layer->pad > 0 ? padded : x, &windows, patches);
}

/* The transpose of patches_of: adds each patch back to where it came from. */
static void add_patches(const dpa__layer *layer, const float *patches, float *padded, float *dx) {
    const size_t line = layer->in.width * layer->in.channels;
    const dpa__windows windows = windows_of(layer);
    float *image = layer->pad > 0 ? padded : dx;
    memset(image, 0, padded_size(layer) * sizeof *image);
    dpa__add_windows(patches, &windows, image);
    if (layer->pad == 0) return;
    for (size_t i = 0; i < layer->in.height; ++i)
        memcpy(dx + i * line, padded_line(layer, padded, i), line * sizeof *dx);
}

/* Scratch: padded image, patches of a block of examples, buffer for norms; each with its slack. */
static float *patches_in(const dpa__layer *layer, float *scratch) {
    return scratch + padded_size(layer) + DPA__SLACK;
}

static float *buffer_in(const dpa__layer *layer, float *scratch) {
    return patches_in(layer, scratch) + block_of(layer) * positions_of(layer) * depth_of(layer) +
           DPA__SLACK;
}

static size_t scratch_size(const dpa__layer *layer, size_t group) {
    const size_t positions = positions_of(layer), depth = depth_of(layer);
    const size_t width = layer->out.channels;
    const size_t norm =
        group > 1 ? depth * width + width : dpa__gradient_norm_scratch(positions, depth, width);
    return padded_size(layer) + block_of(layer) * positions * depth + norm + 2 * DPA__SLACK;
}

/* Makes the patches of n examples and returns where they are. */
static const float *make_patches(const dpa__layer *layer, const float *x, size_t n,
                                 float *scratch) {
    float *patches = patches_in(layer, scratch);
    const size_t each = positions_of(layer) * depth_of(layer);
    for (size_t r = 0; r < n; ++r)
        patches_of(layer, x + r * layer->in_size, scratch, patches + r * each);
    return patches;
}

static void forward(const dpa__layer *layer, const float *weights, const float *x, float *y,
                    size_t rows, float *scratch) {
    const size_t positions = positions_of(layer), block = block_of(layer);
    const size_t depth = depth_of(layer), width = layer->out.channels;
    const float *bias = weights + layer->out.channels * depth;
    dpa__fill_rows(y, rows * positions, layer->out.channels, bias);
    for (size_t first = 0; first < rows; first += block) {
        const size_t n = rows - first < block ? rows - first : block;
        const float *patches = make_patches(layer, x + first * layer->in_size, n, scratch);
        dpa__product(n * positions, width, depth, dpa__rows_of(patches, depth),
                     dpa__columns_of(weights, depth), 1, y + first * layer->out_size);
    }
}

static void backward(const dpa__layer *layer, const float *weights, const float *x, const float *y,
                     const float *dy, float *dx, size_t rows, float *scratch) {
    (void)x, (void)y;
    if (dx == NULL) return;
    const size_t positions = positions_of(layer), block = block_of(layer);
    const size_t depth = depth_of(layer), width = layer->out.channels;
    float *patches = patches_in(layer, scratch);
    for (size_t first = 0; first < rows; first += block) {
        const size_t n = rows - first < block ? rows - first : block;
        dpa__product(n * positions, depth, width, dpa__rows_of(dy + first * layer->out_size, width),
                     dpa__rows_of(weights, depth), 0, patches);
        for (size_t r = 0; r < n; ++r)
            add_patches(layer, patches + r * positions * depth, scratch,
                        dx + (first + r) * layer->in_size);
    }
}

/* grad += Σ over the rows of dyᵀ·patches; bias += Σ dy. */
static void gradient(const dpa__layer *layer, const float *x, const float *dy, size_t rows,
                     float *grad, float *scratch) {
    const size_t positions = positions_of(layer), block = block_of(layer);
    const size_t depth = depth_of(layer), width = layer->out.channels;
    for (size_t first = 0; first < rows; first += block) {
        const size_t n = rows - first < block ? rows - first : block;
        const float *patches = make_patches(layer, x + first * layer->in_size, n, scratch);
        dpa__product(width, depth, n * positions,
                     dpa__columns_of(dy + first * layer->out_size, width),
                     dpa__rows_of(patches, depth), 1, grad);
    }
    dpa__add_rows(dy, rows * positions, layer->out.channels, grad + layer->out.channels * depth);
}

/* If gradients are kept, they are computed once, here. Otherwise a single example takes the cheaper
 * of the Gram form and the product, and several share a buffer for their gradient. */
static void norms(const dpa__layer *layer, const float *x, const float *dy,
                  const dpa__groups *groups, double *norm2, float *kept, float *scratch) {
    float *buffer = buffer_in(layer, scratch);
    for (size_t g = 0; g < groups->count; ++g) {
        const size_t first = groups->start[g], rows = groups->start[g + 1] - first;
        const float *xs = x + first * layer->in_size, *dys = dy + first * layer->out_size;
        if (rows == 1 && kept == NULL) {
            const float *patches = make_patches(layer, xs, 1, scratch);
            norm2[g] += dpa__gradient_norm2(patches, dys, positions_of(layer), depth_of(layer),
                                            layer->out.channels, buffer);
        } else {
            float *grad = kept != NULL ? kept + g * layer->weights : buffer;
            memset(grad, 0, layer->weights * sizeof *grad);
            gradient(layer, xs, dys, rows, grad, scratch);
            norm2[g] += dpa__sum_squares(grad, layer->weights);
        }
    }
}

const dpa__layer_type dpa__layer_conv = {.name = "conv",
                                         .keeps = 1,
                                         .scratch = scratch_size,
                                         .forward = forward,
                                         .backward = backward,
                                         .norms = norms,
                                         .gradient = gradient};
