/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A slow, obvious network: double precision, direct loops, one example. It shares nothing with the
 * library except the shapes of the layers. Gradients are central differences. */
#ifndef DPA_TESTS_TRAIN_ORACLE_H
#define DPA_TESTS_TRAIN_ORACLE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "train/model.h"

enum { ORACLE_MAX = 8192, ORACLE_LAYERS = 40 };

static double oracle_pixel(const dpa__layer *l, const double *x, ptrdiff_t i, ptrdiff_t j,
                           size_t c) {
    if (i < 0 || j < 0 || i >= (ptrdiff_t)l->in.height || j >= (ptrdiff_t)l->in.width) return 0.0;
    return x[((size_t)i * l->in.width + (size_t)j) * l->in.channels + c];
}

static double oracle_conv_at(const dpa__layer *l, const double *w, const double *x, size_t i,
                             size_t j, size_t o) {
    const size_t k = l->kernel, c = l->in.channels, depth = k * k * c;
    double sum = w[l->out.channels * depth + o];
    for (size_t a = 0; a < k; ++a)
        for (size_t b = 0; b < k; ++b)
            for (size_t e = 0; e < c; ++e)
                sum += w[o * depth + (a * k + b) * c + e] *
                       oracle_pixel(l, x, (ptrdiff_t)(i * l->stride + a) - (ptrdiff_t)l->pad,
                                    (ptrdiff_t)(j * l->stride + b) - (ptrdiff_t)l->pad, e);
    return sum;
}

static double oracle_pool_at(const dpa__layer *l, const double *x, size_t i, size_t j, size_t c) {
    double best = -1e300, sum = 0.0;
    for (size_t a = 0; a < l->kernel; ++a)
        for (size_t b = 0; b < l->kernel; ++b) {
            const double v = oracle_pixel(l, x, (ptrdiff_t)(i * l->stride + a),
                                          (ptrdiff_t)(j * l->stride + b), c);
            best = fmax(best, v);
            sum += v;
        }
    return l->type == &dpa__layer_max ? best : sum / (double)(l->kernel * l->kernel);
}

static double oracle_norm_at(const dpa__layer *l, const double *w, const double *x, size_t i) {
    const size_t channels = l->in.channels, width = channels / l->channel_groups;
    const size_t c = i % channels, first = c / width * width;
    double sum = 0.0, squares = 0.0, count = 0.0;
    for (size_t e = 0; e < l->in_size; ++e)
        if (e % channels >= first && e % channels < first + width) {
            sum += x[e];
            squares += x[e] * x[e];
            count += 1.0;
        }
    const double mean = sum / count, variance = squares / count - mean * mean;
    return w[c] * (x[i] - mean) / sqrt(variance + 1e-5) + w[channels + c];
}

static void oracle_layer(const dpa__layer *l, const double *w, const double *x, double *y) {
    for (size_t i = 0; i < l->out_size; ++i) {
        const size_t c = i % l->out.channels, at = i / l->out.channels;
        const size_t row = at / l->out.width, column = at % l->out.width;
        if (l->type == &dpa__layer_dense) {
            y[i] = w[l->in_size * l->out_size + i];
            for (size_t e = 0; e < l->in_size; ++e) y[i] += w[i * l->in_size + e] * x[e];
        } else if (l->type == &dpa__layer_conv) {
            y[i] = oracle_conv_at(l, w, x, row, column, c);
        } else if (l->type == &dpa__layer_max || l->type == &dpa__layer_avg) {
            y[i] = oracle_pool_at(l, x, row, column, c);
        } else if (l->type == &dpa__layer_norm) {
            y[i] = oracle_norm_at(l, w, x, i);
        } else if (l->type == &dpa__layer_add) {
            y[i] = x[i];
        } else {
            y[i] = l->type == &dpa__layer_relu ? fmax(x[i], 0.0) : tanh(x[i]);
        }
    }
}

/* y += the input of the layer `back` layers below, at every stride-th position, in its channels. */
static void oracle_shortcut(const dpa__layer *l, const double *from, double *y) {
    const dpa_shape a = l[-(ptrdiff_t)l->back].in, b = l->out;
    for (size_t i = 0; i < b.height; ++i)
        for (size_t j = 0; j < b.width; ++j)
            for (size_t c = 0; c < a.channels; ++c)
                y[(i * b.width + j) * b.channels + c] +=
                    from[(i * (a.height / b.height) * a.width + j * (a.width / b.width)) *
                             a.channels +
                         c];
}

/* The loss of one example, and its outputs unless NULL. */
static double oracle_loss(const dpa_model *m, const double *w, const double *x, int label,
                          double *outputs) {
    static double value[ORACLE_LAYERS + 1][ORACLE_MAX];
    memcpy(value[0], x, m->layer[0].in_size * sizeof *x);
    for (size_t l = 0; l < m->layer_count; ++l) {
        const dpa__layer *layer = &m->layer[l];
        oracle_layer(layer, w + layer->offset, value[l], value[l + 1]);
        if (layer->back > 0) oracle_shortcut(layer, value[l - layer->back], value[l + 1]);
    }
    const double *a = value[m->layer_count];
    if (outputs != NULL) memcpy(outputs, a, m->outputs * sizeof *a);
    if (m->loss == DPA_LOSS_BINARY) return log(1.0 + exp(label ? -a[0] : a[0]));
    double sum = 0.0;
    for (size_t k = 0; k < m->outputs; ++k) sum += exp(a[k]);
    return log(sum) - a[label];
}

/* ∂loss/∂v[i], where v is the weights or the input. */
static double oracle_slope(const dpa_model *m, double *w, double *x, int label, double *v,
                           size_t i) {
    const double keep = v[i], h = 1e-5;
    v[i] = keep + h;
    const double up = oracle_loss(m, w, x, label, NULL);
    v[i] = keep - h;
    const double down = oracle_loss(m, w, x, label, NULL);
    v[i] = keep;
    return (up - down) / (2.0 * h);
}

#endif
