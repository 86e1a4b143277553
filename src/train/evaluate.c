/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evaluates a model: cross-entropy and logistic loss, logits, accuracy, AUROC, and the gradient of
 * one example. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "train/dataset.h"
#include "train/model.h"

enum { CHUNK = 256 };

dpa_status dpa__model_fits(const dpa_model *model, const dpa_dataset *data, dpa_error *err) {
    const dpa_shape a = model->input, b = data->shape;
    if (a.height != b.height || a.width != b.width || a.channels != b.channels)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "the model takes %zu × %zu × %zu, the data are %zu × %zu × %zu", a.height,
                         a.width, a.channels, b.height, b.width, b.channels);
    if (data->classes > model->classes)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "the model knows %zu classes, the data have %zu",
                         model->classes, data->classes);
    return DPA_OK;
}

/* ---- The loss and its deltas, in double precision ---- */

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

/* ---- Evaluating ---- */

typedef struct scored {
    double score;
    int positive;
} scored;

static int by_score(const void *a, const void *b) {
    const double x = ((const scored *)a)->score, y = ((const scored *)b)->score;
    return (x > y) - (x < y);
}

/* The Mann–Whitney statistic, with ties counted half. */
static double auroc_of(scored *s, size_t count) {
    qsort(s, count, sizeof *s, by_score);
    double rank_sum = 0.0, positives = 0.0;
    for (size_t i = 0; i < count;) {
        size_t j = i;
        double here = 0.0;
        for (; j < count && s[j].score == s[i].score; ++j) here += s[j].positive;
        rank_sum += here * (0.5 * (double)(i + j - 1) + 1.0);
        positives += here;
        i = j;
    }
    const double negatives = (double)count - positives;
    return (rank_sum - 0.5 * positives * (positives + 1.0)) / (positives * negatives);
}

typedef struct pass {
    const dpa_model *model;
    const dpa_dataset *data;
    const size_t *rows;
    dpa__net *net;
    double loss[CHUNK];
    int32_t label[CHUNK];
    scored *scores; /* [count]; NULL if no AUROC is asked for */
    double loss_sum;
    size_t right;
} pass;

static dpa_status load(pass *p, size_t first, size_t count, dpa_error *err) {
    const size_t features = p->data->features;
    for (size_t i = 0; i < count; ++i) {
        const size_t row = p->rows != NULL ? p->rows[first + i] : first + i;
        if (row >= p->data->rows)
            return dpa__fail(err, DPA_BAD_ARGUMENT, "row %zu of a data set with %zu", row,
                             p->data->rows);
        memcpy(p->net->value[0] + i * features, p->data->x + row * features,
               features * sizeof(float));
        p->label[i] = p->data->label[row];
    }
    return DPA_OK;
}

static void score(pass *p, size_t first, size_t count) {
    const size_t outputs = p->model->outputs;
    const float *y = p->net->value[p->model->layer_count];
    for (size_t i = 0; i < count; ++i, y += outputs) {
        p->loss_sum += p->loss[i];
        if (p->scores == NULL) continue;
        p->scores[first + i].score = outputs == 1 ? (double)y[0] : (double)y[1] - (double)y[0];
        p->scores[first + i].positive = p->label[i] == 1;
    }
}

static dpa_status evaluate(pass *p, size_t count, float *logits, double *losses, dpa_error *err) {
    const size_t outputs = p->model->outputs;
    for (size_t first = 0; first < count; first += CHUNK) {
        const size_t n = count - first < CHUNK ? count - first : CHUNK;
        DPA_TRY(load(p, first, n, err));
        dpa__net_forward(p->net, n);
        const float *y = p->net->value[p->model->layer_count];
        p->right += dpa__loss(p->model, y, p->label, n, p->loss, NULL);
        if (logits != NULL) memcpy(logits + first * outputs, y, n * outputs * sizeof *y);
        if (losses != NULL) memcpy(losses + first, p->loss, n * sizeof *losses);
        score(p, first, n);
    }
    return DPA_OK;
}

dpa_status dpa_model_evaluate(const dpa_model *model, const dpa_dataset *data, const size_t *rows,
                              size_t count, float *logits, double *losses, dpa_utility *utility,
                              dpa_error *err) {
    DPA_TRY(dpa__model_fits(model, data, err));
    pass p = {.model = model, .data = data, .rows = rows};
    const int wants_scores = utility != NULL && model->classes == 2;
    if (wants_scores) p.scores = DPA_NEW_ARRAY(scored, count, err);
    dpa_status status = wants_scores && p.scores == NULL ? DPA_NO_MEMORY : DPA_OK;
    if (status == DPA_OK) status = dpa__net_new(model, CHUNK, 1, DPA_NET_FORWARD, &p.net, err);
    if (status == DPA_OK) status = evaluate(&p, count, logits, losses, err);
    if (status == DPA_OK && utility != NULL) {
        utility->loss = p.loss_sum / (double)count;
        utility->accuracy = (double)p.right / (double)count;
        utility->auroc = wants_scores ? auroc_of(p.scores, count) : (double)NAN;
    }
    dpa__net_free(p.net);
    free(p.scores);
    return status;
}

dpa_status dpa_model_gradient(const dpa_model *model, const float *x, int32_t label, float *weights,
                              float *input, dpa_error *err) {
    if (label < 0 || (size_t)label >= model->classes)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "label %d, expected 0 to %zu", (int)label,
                         model->classes - 1);
    dpa__net *net;
    DPA_TRY(dpa__net_new(model, 1, 1, input != NULL ? DPA_NET_INPUT : DPA_NET_WEIGHTS, &net, err));
    const size_t features = dpa__shape_size(model->input);
    memcpy(net->value[0], x, features * sizeof *x);
    dpa__net_forward(net, 1);
    double loss;
    (void)dpa__loss(model, net->value[model->layer_count], &label, 1, &loss,
                    net->delta[model->layer_count]);
    dpa__net_backward(net, 1);
    if (input != NULL) memcpy(input, net->delta[0], features * sizeof *input);
    if (weights != NULL) {
        memset(weights, 0, model->size * sizeof *weights);
        dpa__net_gradient(net, 1, weights);
    }
    dpa__net_free(net);
    return DPA_OK;
}
