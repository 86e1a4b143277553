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
#include <string.h>

#include "base/error.h"
#include "base/threads.h"
#include "federate/federation.h"
#include "federate/vector.h"
#include "train/kernels.h"

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
static void add_client(crew *c, size_t client, const float *change, double norm,
                       const dpa__training *training) {
    dpa_federation *f = c->f;
    dpa__round_tally *t = c->tally;
    if (!isfinite(norm) || !isfinite(training->loss)) {
        c->lost = client + 1;
        return;
    }
    const int clips = f->opts.fault != DPA_FAULT_CLIP_MEAN && norm > f->clip * SAFETY;
    const double copies = dpa__copies(f, client);
    dpa__add_scaled(f->sum, (float)(copies * (clips ? f->clip * SAFETY / norm : 1.0)), change,
                    f->model->size);
    t->loss += training->loss;
    t->rows += training->rows;
    t->norms += norm;
    t->clipped += norm > f->clip;
    ++t->clients;
}

static int work(void *user, size_t number) {
    crew *c = user;
    dpa__worker *w = &c->f->worker[number];
    size_t place;
    while (take(c, &place)) {
        const size_t client = c->f->cohort.client[place];
        dpa__training training;
        dpa__client_train(w, c->f, c->f->round, client, &training);
        const double norm = sqrt(dpa__sum_squares(w->local.weight, c->f->model->size));
        (void)pthread_mutex_lock(&c->lock);
        while (c->added != place) (void)pthread_cond_wait(&c->turn, &c->lock);
        if (c->lost == 0) add_client(c, client, w->local.weight, norm, &training);
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
