/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cross-entropy and logistic loss with their deltas, computed in double precision. */
#include <math.h>

#include "train/model.h"

/* −log softmax(y)[label]; delta = softmax(y) − e_label. */
static double softmax_row(const float *y, size_t outputs, size_t label, float *delta) {
    float largest = y[0]; /* gcc 12 for aarch64 cannot compile this loop in double */
    for (size_t k = 1; k < outputs; ++k) largest = fmaxf(largest, y[k]);
    const double top = (double)largest;
    double sum = 0.0;
    for (size_t k = 0; k < outputs; ++k) {
        const double e = (double)expf((float)((double)y[k] - top));
        if (delta != NULL) delta[k] = (float)e;
        sum += e;
    }
    if (delta != NULL) {
        const float share = (float)(1.0 / sum);
        for (size_t k = 0; k < outputs; ++k) delta[k] *= share;
        delta[label] -= 1.0F;
    }
    return log(sum) + top - (double)y[label];
}

/* log(1 + e^−s) with s = ±y; delta = sigmoid(y) − label. */
static double binary_row(float y, int32_t label, float *delta) {
    const double s = label ? (double)y : -(double)y;
    const double e = exp(-fabs(s));
    const double wrong = s >= 0.0 ? e / (1.0 + e) : 1.0 / (1.0 + e); /* sigmoid(−s) */
    if (delta != NULL) *delta = (float)(label ? -wrong : wrong);
    return log1p(e) + (s < 0.0 ? -s : 0.0);
}

static size_t arg_max(const float *y, size_t count) {
    size_t best = 0;
    for (size_t k = 1; k < count; ++k)
        if (y[k] > y[best]) best = k;
    return best;
}

size_t dpa__loss(const dpa_model *model, const float *y, const int32_t *label, size_t rows,
                 double *loss, float *delta) {
    const size_t outputs = model->outputs;
    size_t right = 0;
    for (size_t r = 0; r < rows; ++r, y += outputs) {
        float *d = delta != NULL ? delta + r * outputs : NULL;
        if (model->loss == DPA_LOSS_BINARY) {
            loss[r] = binary_row(y[0], label[r], d);
            right += (y[0] > 0.0F) == (label[r] == 1);
        } else {
            loss[r] = softmax_row(y, outputs, (size_t)label[r], d);
            right += arg_max(y, outputs) == (size_t)label[r];
        }
    }
    return right;
}
