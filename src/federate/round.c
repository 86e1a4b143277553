/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trains the clients of a round on several threads. A thread takes the next client, trains it, and
 * waits until all earlier clients are in the sum, so that the order of the additions, and with it
 * every bit of the sum, does not depend on the number of threads. Each thread needs memory for two
 * models.
 *
 * Norms are single-precision sums of squares added up in double precision. The factor is made
 * smaller by 2⁻¹⁸, as in DP-SGD (train/clip.c), so that what is added has norm at most S even after
 * rounding. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/simd.h"
#include "base/threads.h"
#include "federate/federation.h"
#include "train/dataset.h"
#include "train/kernels.h"

/* Loops over the weights, with the same bytes on every instruction set. */
DPA_CLONES static void add_scaled(float *y, float by, const float *x, size_t count) {
    for (size_t i = 0; i < count; ++i) y[i] += by * x[i];
}

DPA_CLONES static void subtract(float *y, const float *x, size_t count) {
    for (size_t i = 0; i < count; ++i) y[i] -= x[i];
}

/* ---- One client ----
 *
 * A few epochs of SGD on its own rows, starting from the server's weights. The order of the rows is
 * a function of (seed, round, client). */

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
                 double *loss) {
    const dpa_dataset *data = f->data;
    const size_t top = w->local.layer_count, size = w->local.size;
    for (size_t i = 0; i < rows; ++i) {
        memcpy(w->net->value[0] + i * data->features, data->x + row[i] * data->features,
               data->features * sizeof(float));
        w->label[i] = data->label[row[i]];
    }
    dpa__net_forward(w->net, rows);
    (void)dpa__loss(&w->local, w->net->value[top], w->label, rows, w->loss, w->net->delta[top]);
    for (size_t i = 0; i < rows; ++i) *loss += w->loss[i];
    dpa__net_backward(w->net, rows);
    memset(w->gradient, 0, size * sizeof *w->gradient);
    dpa__net_gradient(w->net, rows, w->gradient);
    add_scaled(w->local.weight, (float)(-f->opts.client_rate / (double)rows), w->gradient, size);
}

/* Afterwards w->local.weight is the change; `loss` is the sum over the rows of all steps. */
static void train_client(dpa__worker *w, const dpa_federation *f, uint64_t round, size_t client,
                         double *loss) {
    size_t rows;
    const size_t *mine = dpa_clients_rows(f->clients, client, &rows);
    const size_t batch = f->opts.batch;
    uint64_t steps = 0;
    dpa_rng rng;
    dpa__rng_init(&rng, f->opts.seed, DPA_PURPOSE_CLIENT, round << 32 | client);
    memcpy(w->order, mine, rows * sizeof *mine);
    memcpy(w->local.weight, f->model->weight, f->model->size * sizeof(float));
    *loss = 0.0;
    for (size_t epoch = 0; epoch < f->opts.epochs; ++epoch) {
        dpa__rng_shuffle(&rng, w->order, rows);
        for (size_t first = 0; first < rows; first += batch, ++steps) {
            if (f->opts.client_steps > 0 && steps == f->opts.client_steps) break;
            step(w, f, w->order + first, rows - first < batch ? rows - first : batch, loss);
        }
    }
    subtract(w->local.weight, f->model->weight, f->model->size);
}

/* ---- All of them ---- */

static const double SAFETY = 1.0 - 0x1p-18;

typedef struct crew {
    dpa_federation *f;
    dpa__round_tally *tally;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    size_t next;  /* the client that is taken next */
    size_t added; /* clients already in the sum */
    size_t lost;  /* 1 + a client whose change is not finite; 0: none */
} crew;

/* Takes the next client; 0 if there is none left or one has failed. */
static int take(crew *c, size_t *place) {
    (void)pthread_mutex_lock(&c->lock);
    *place = c->next++;
    const int some = *place < c->f->cohort.clients && c->lost == 0;
    (void)pthread_mutex_unlock(&c->lock);
    return some;
}

/* Needs no lock, because it is called only in the thread's turn. */
static void add_client(crew *c, size_t client, const float *change, double norm, double loss) {
    dpa_federation *f = c->f;
    dpa__round_tally *t = c->tally;
    if (!isfinite(norm) || !isfinite(loss)) {
        c->lost = client + 1;
        return;
    }
    const int clips = f->opts.fault != DPA_FAULT_CLIP_MEAN && norm > f->clip * SAFETY;
    const double copies = dpa__copies(f, client);
    add_scaled(f->sum, (float)(copies * (clips ? f->clip * SAFETY / norm : 1.0)), change,
               f->model->size);
    t->clipped += norm > f->clip;
    ++t->clients;
}

static int work(void *user, size_t number) {
    crew *c = user;
    dpa__worker *w = &c->f->worker[number];
    size_t place;
    while (take(c, &place)) {
        const size_t client = c->f->cohort.client[place];
        double loss;
        train_client(w, c->f, c->f->round, client, &loss);
        const double norm = sqrt(dpa__sum_squares(w->local.weight, c->f->model->size));
        (void)pthread_mutex_lock(&c->lock);
        while (c->added != place) (void)pthread_cond_wait(&c->turn, &c->lock);
        if (c->lost == 0) add_client(c, client, w->local.weight, norm, loss);
        ++c->added;
        (void)pthread_cond_broadcast(&c->turn);
        (void)pthread_mutex_unlock(&c->lock);
    }
    return 0;
}

dpa_status dpa__round_sum(dpa_federation *f, dpa__round_tally *tally, dpa_error *err) {
    crew c = {.f = f, .tally = tally};
    memset(f->sum, 0, f->model->size * sizeof *f->sum);
    if (pthread_mutex_init(&c.lock, NULL) != 0)
        return dpa__fail(err, DPA_NO_MEMORY, "no lock for the clients of a round");
    if (pthread_cond_init(&c.turn, NULL) != 0) {
        (void)pthread_mutex_destroy(&c.lock);
        return dpa__fail(err, DPA_NO_MEMORY, "no lock for the clients of a round");
    }
    const dpa_status status = dpa__parallel((unsigned)f->workers, f->workers, work, &c, err);
    (void)pthread_cond_destroy(&c.turn);
    (void)pthread_mutex_destroy(&c.lock);
    if (status == DPA_OK && c.lost > 0)
        return dpa__fail(err, DPA_NUMERIC,
                         "the change of client %zu is not finite in round %llu: a smaller rate may "
                         "help",
                         c.lost - 1, (unsigned long long)f->round);
    return status;
}
