/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Group normalisation (Wu & He 2018): within one example, the channels of a group are scaled to
 * mean 0 and variance 1 over all positions; then y = γ·x̂ + β per channel. No statistic mixes
 * examples, so clipping an example bounds its influence (with batch normalisation it would not).
 * Weights γ [channels], then β [channels].
 *
 * Each direction takes one pass of column sums in double precision (Σx, Σx² and Σdy, Σdy·x) and one
 * pass over the elements. */
#include <math.h>
#include <string.h>

#include "train/kernels.h"
#include "train/layer.h"

/* Scratch for one example, per channel. */
typedef struct columns {
    double *sum, *product; /* Σx and Σx², later Σdy and Σdy·x */
    float *mean, *inverse; /* of the channel's group; inverse = 1/√(variance + 1e-5) */
    float *a, *b, *c;      /* coefficients of the elementwise pass */
} columns;

enum { DOUBLES = 2, FLOATS = 5 };

static columns cut(const dpa__layer *layer, float *scratch) {
    const size_t n = layer->in.channels;
    double *d = (double *)(void *)scratch; /* the scratch is aligned to 64 bytes */
    float *f = (float *)(void *)(d + DOUBLES * n);
    return (columns){d, d + n, f, f + n, f + 2 * n, f + 3 * n, f + 4 * n};
}

static size_t scratch_size(const dpa__layer *layer, size_t group) {
    (void)group;
    return (2 * DOUBLES + FLOATS) * layer->in.channels + layer->weights;
}

static size_t positions_of(const dpa__layer *layer) {
    return layer->in.height * layer->in.width;
}

/* How many numbers a group of one example has. */
static double group_count(const dpa__layer *layer) {
    return (double)(layer->in_size / layer->channel_groups);
}

static void moments(const dpa__layer *layer, const float *x, const columns *k) {
    const size_t channels = layer->in.channels, width = channels / layer->channel_groups;
    dpa__column_sums(x, x, positions_of(layer), channels, k->sum, k->product);
    for (size_t first = 0; first < channels; first += width) {
        double sum = 0.0, squares = 0.0;
        for (size_t c = first; c < first + width; ++c) {
            sum += k->sum[c];
            squares += k->product[c];
        }
        const double mean = sum / group_count(layer);
        const double variance = fmax(squares / group_count(layer) - mean * mean, 0.0);
        for (size_t c = first; c < first + width; ++c) {
            k->mean[c] = (float)mean;
            k->inverse[c] = (float)(1.0 / sqrt(variance + 1e-5));
        }
    }
}

static void forward(const dpa__layer *layer, const float *weights, const float *x, float *y,
                    size_t rows, float *scratch) {
    const columns k = cut(layer, scratch);
    const size_t channels = layer->in.channels;
    for (size_t r = 0; r < rows; ++r, x += layer->in_size, y += layer->in_size) {
        moments(layer, x, &k);
        for (size_t c = 0; c < channels; ++c) k.a[c] = weights[c] * k.inverse[c];
        dpa__normalise(x, positions_of(layer), channels, k.mean, k.a, weights + channels, y);
    }
}

/* Σ dy and Σ dy·x̂ per channel: the gradients of β and γ, which the deltas need too. */
static void delta_sums(const dpa__layer *layer, const float *x, const float *dy, const columns *k) {
    moments(layer, x, k);
    dpa__column_sums(dy, x, positions_of(layer), layer->in.channels, k->sum, k->product);
    for (size_t c = 0; c < layer->in.channels; ++c)
        k->product[c] = (k->product[c] - (double)k->mean[c] * k->sum[c]) * (double)k->inverse[c];
}

/* With e = γ·dy: dx = (e − mean(e) − x̂·mean(e·x̂))·inverse. */
static void backward_one(const dpa__layer *layer, const float *gamma, const float *x,
                         const float *dy, float *dx, const columns *k) {
    const size_t channels = layer->in.channels, width = channels / layer->channel_groups;
    delta_sums(layer, x, dy, k);
    for (size_t first = 0; first < channels; first += width) {
        double sum = 0.0, product = 0.0;
        for (size_t c = first; c < first + width; ++c) {
            sum += (double)gamma[c] * k->sum[c];
            product += (double)gamma[c] * k->product[c];
        }
        const double inverse = (double)k->inverse[first];
        for (size_t c = first; c < first + width; ++c) {
            k->a[c] = gamma[c] * k->inverse[c];
            k->b[c] = (float)(product / group_count(layer) * inverse * inverse);
            k->c[c] = (float)(sum / group_count(layer) * inverse);
        }
    }
    dpa__normalise_back(x, dy, positions_of(layer), channels, k->mean, k->a, k->b, k->c, dx);
}

static void backward(const dpa__layer *layer, const float *weights, const float *x, const float *y,
                     const float *dy, float *dx, size_t rows, float *scratch) {
    (void)y;
    if (dx == NULL) return;
    const columns k = cut(layer, scratch);
    for (size_t r = 0; r < rows; ++r)
        backward_one(layer, weights, x + r * layer->in_size, dy + r * layer->in_size,
                     dx + r * layer->in_size, &k);
}

/* γ: Σ dy·x̂; β: Σ dy. */
static void gradient(const dpa__layer *layer, const float *x, const float *dy, size_t rows,
                     float *grad, float *scratch) {
    const columns k = cut(layer, scratch);
    const size_t channels = layer->in.channels;
    for (size_t r = 0; r < rows; ++r, x += layer->in_size, dy += layer->in_size) {
        delta_sums(layer, x, dy, &k);
        for (size_t c = 0; c < channels; ++c) {
            grad[c] += (float)k.product[c];
            grad[channels + c] += (float)k.sum[c];
        }
    }
}

/* Norms of the gradients of groups: 2·channels numbers each, small enough to write out. */
static void norms(const dpa__layer *layer, const float *x, const float *dy,
                  const dpa__groups *groups, double *norm2, float *kept, float *scratch) {
    float *buffer = scratch + (2 * DOUBLES + FLOATS) * layer->in.channels;
    for (size_t g = 0; g < groups->count; ++g) {
        const size_t first = groups->start[g], rows = groups->start[g + 1] - first;
        float *grad = kept != NULL ? kept + g * layer->weights : buffer;
        memset(grad, 0, layer->weights * sizeof *grad);
        gradient(layer, x + first * layer->in_size, dy + first * layer->in_size, rows, grad,
                 scratch);
        norm2[g] += dpa__sum_squares(grad, layer->weights);
    }
}

const dpa__layer_type dpa__layer_norm = {.name = "norm",
                                         .keeps = 1,
                                         .scratch = scratch_size,
                                         .forward = forward,
                                         .backward = backward,
                                         .norms = norms,
                                         .gradient = gradient};
