/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Group normalisation (Wu & He 2018): within one example, the channels of a group are brought to
 * mean 0 and variance 1 over all positions; then y = γ·x̂ + β by channel. No statistic crosses
 * examples, so that clipping one example bounds what it can do (batch normalisation would not).
 * Weights γ [channels], then β [channels]. */
#include <math.h>
#include <string.h>

#include "train/kernels.h"
#include "train/layer.h"

typedef struct moments {
    float mean, inverse; /* 1/√(variance + 1e-5) */
} moments;

/* x: one example [positions × channels]; channels [first, first + width) of it. */
static moments moments_of(const float *x, size_t positions, size_t channels, size_t first,
                          size_t width) {
    double sum = 0.0, squares = 0.0;
    for (size_t p = 0; p < positions; ++p)
        for (size_t c = first; c < first + width; ++c) sum += (double)x[p * channels + c];
    const double count = (double)(positions * width), mean = sum / count;
    for (size_t p = 0; p < positions; ++p)
        for (size_t c = first; c < first + width; ++c) {
            const double d = (double)x[p * channels + c] - mean;
            squares += d * d;
        }
    return (moments){(float)mean, (float)(1.0 / sqrt(squares / count + 1e-5))};
}

static void forward(const dpa__layer *layer, const float *weights, const float *x, float *y,
                    size_t rows, float *scratch) {
    (void)scratch;
    const size_t channels = layer->in.channels, positions = layer->in_size / channels;
    const size_t width = channels / layer->channel_groups;
    const float *gamma = weights, *beta = weights + channels;
    for (size_t r = 0; r < rows; ++r, x += layer->in_size, y += layer->in_size)
        for (size_t first = 0; first < channels; first += width) {
            const moments m = moments_of(x, positions, channels, first, width);
            for (size_t p = 0; p < positions; ++p)
                for (size_t c = first; c < first + width; ++c)
                    y[p * channels + c] =
                        gamma[c] * (x[p * channels + c] - m.mean) * m.inverse + beta[c];
        }
}

/* With e = γ·dy: dx = (e − mean(e) − x̂·mean(e·x̂))/√(variance). */
static void backward_one(const float *gamma, const float *x, const float *dy, float *dx,
                         size_t positions, size_t channels, size_t first, size_t width) {
    const moments m = moments_of(x, positions, channels, first, width);
    double sum = 0.0, product = 0.0;
    for (size_t p = 0; p < positions; ++p)
        for (size_t c = first; c < first + width; ++c) {
            const size_t i = p * channels + c;
            const double e = (double)(gamma[c] * dy[i]);
            sum += e;
            product += e * (double)((x[i] - m.mean) * m.inverse);
        }
    const double count = (double)(positions * width);
    const float mean = (float)(sum / count), slope = (float)(product / count);
    for (size_t p = 0; p < positions; ++p)
        for (size_t c = first; c < first + width; ++c) {
            const size_t i = p * channels + c;
            const float hat = (x[i] - m.mean) * m.inverse;
            dx[i] = (gamma[c] * dy[i] - mean - hat * slope) * m.inverse;
        }
}

static void backward(const dpa__layer *layer, const float *weights, const float *x, const float *y,
                     const float *dy, float *dx, size_t rows, float *scratch) {
    (void)y, (void)scratch;
    if (dx == NULL) return;
    const size_t channels = layer->in.channels, positions = layer->in_size / channels;
    const size_t width = channels / layer->channel_groups;
    for (size_t r = 0; r < rows; ++r)
        for (size_t first = 0; first < channels; first += width)
            backward_one(weights, x + r * layer->in_size, dy + r * layer->in_size,
                         dx + r * layer->in_size, positions, channels, first, width);
}

/* γ: Σ dy·x̂; β: Σ dy. */
static void gradient(const dpa__layer *layer, const float *x, const float *dy, size_t rows,
                     float *grad, float *scratch) {
    (void)scratch;
    const size_t channels = layer->in.channels, positions = layer->in_size / channels;
    const size_t width = channels / layer->channel_groups;
    for (size_t r = 0; r < rows; ++r, x += layer->in_size, dy += layer->in_size)
        for (size_t first = 0; first < channels; first += width) {
            const moments m = moments_of(x, positions, channels, first, width);
            for (size_t p = 0; p < positions; ++p)
                for (size_t c = first; c < first + width; ++c) {
                    const size_t i = p * channels + c;
                    grad[c] += dy[i] * (x[i] - m.mean) * m.inverse;
                    grad[channels + c] += dy[i];
                }
        }
}

/* The gradient of a group is 2·channels numbers: small enough to write out. */
static void norms(const dpa__layer *layer, const float *x, const float *dy,
                  const dpa__groups *groups, double *norm2, float *scratch) {
    for (size_t g = 0; g < groups->count; ++g) {
        const size_t first = groups->start[g], rows = groups->start[g + 1] - first;
        memset(scratch, 0, layer->weights * sizeof *scratch);
        gradient(layer, x + first * layer->in_size, dy + first * layer->in_size, rows, scratch,
                 NULL);
        norm2[g] += dpa__sum_squares(scratch, layer->weights);
    }
}

static size_t scratch_size(const dpa__layer *layer, size_t group) {
    (void)group;
    return layer->weights;
}

const dpa__layer_type dpa__layer_norm = {.name = "norm",
                                         .scratch = scratch_size,
                                         .forward = forward,
                                         .backward = backward,
                                         .norms = norms,
                                         .gradient = gradient};
