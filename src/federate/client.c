/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A client's training: a few epochs of SGD on its own rows, starting from the server's weights. The
 * order of the rows is a function of (seed, round, client). */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "federate/federation.h"
#include "federate/vector.h"
#include "train/dataset.h"

static size_t most_rows(const dpa_clients *c) {
    size_t most = 0;
    for (size_t i = 0; i < c->count; ++i)
        if (c->start[i + 1] - c->start[i] > most) most = c->start[i + 1] - c->start[i];
    return most;
}

dpa_status dpa__worker_init(dpa__worker *w, const dpa_federation *f, dpa_error *err) {
    const size_t rows = most_rows(f->clients);
    const size_t batch = f->opts.batch < rows ? f->opts.batch : rows;
    w->local = *f->model;
    w->local.weight = DPA_NEW_ARRAY(float, f->model->size, err);
    w->gradient = DPA_NEW_ARRAY(float, f->model->size, err);
    w->order = DPA_NEW_ARRAY(size_t, rows, err);
    w->label = DPA_NEW_ARRAY(int32_t, batch, err);
    w->loss = DPA_NEW_ARRAY(double, batch, err);
    if (w->local.weight == NULL || w->gradient == NULL || w->order == NULL || w->label == NULL ||
        w->loss == NULL)
        return DPA_NO_MEMORY;
    return dpa__net_new(&w->local, batch, 1, DPA_NET_WEIGHTS, &w->net, err);
}

void dpa__worker_free(dpa__worker *w) {
    dpa__net_free(w->net);
    free(w->local.weight);
    free(w->gradient);
    free(w->order);
    free(w->label);
    free(w->loss);
}

static void step(dpa__worker *w, const dpa_federation *f, const size_t *row, size_t rows,
                 dpa__training *out) {
    const dpa_dataset *data = f->data;
    const size_t top = w->local.layer_count, size = w->local.size;
    for (size_t i = 0; i < rows; ++i) {
        memcpy(w->net->value[0] + i * data->features, data->x + row[i] * data->features,
               data->features * sizeof(float));
        w->label[i] = data->label[row[i]];
    }
    dpa__net_forward(w->net, rows);
    (void)dpa__loss(&w->local, w->net->value[top], w->label, rows, w->loss, w->net->delta[top]);
    for (size_t i = 0; i < rows; ++i) out->loss += w->loss[i];
    out->rows += rows;
    dpa__net_backward(w->net, rows);
    memset(w->gradient, 0, size * sizeof *w->gradient);
    dpa__net_gradient(w->net, rows, w->gradient);
    dpa__add_scaled(w->local.weight, (float)(-f->opts.client_rate / (double)rows), w->gradient,
                    size);
}

void dpa__client_train(dpa__worker *w, const dpa_federation *f, uint64_t round, size_t client,
                       dpa__training *out) {
    size_t rows;
    const size_t *mine = dpa_clients_rows(f->clients, client, &rows);
    const size_t batch = f->opts.batch;
    uint64_t steps = 0;
    dpa_rng rng;
    dpa__rng_init(&rng, f->opts.seed, DPA_PURPOSE_CLIENT, round << 32 | client);
    memcpy(w->order, mine, rows * sizeof *mine);
    memcpy(w->local.weight, f->model->weight, f->model->size * sizeof(float));
    *out = (dpa__training){0};
    for (size_t epoch = 0; epoch < f->opts.epochs; ++epoch) {
        dpa__rng_shuffle(&rng, w->order, rows);
        for (size_t first = 0; first < rows; first += batch, ++steps) {
            if (f->opts.client_steps > 0 && steps == f->opts.client_steps) break;
            step(w, f, w->order + first, rows - first < batch ? rows - first : batch, out);
        }
    }
    dpa__subtract(w->local.weight, f->model->weight, f->model->size);
}
