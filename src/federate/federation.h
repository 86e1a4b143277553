/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private parts of a federation. */
#ifndef DPA_FEDERATE_FEDERATION_H
#define DPA_FEDERATE_FEDERATION_H

#include "base/data.h"
#include "dpaudit/lab/federate.h"
#include "evidence/canary.h"
#include "train/model.h"

struct dpa_clients {
    size_t count;
    size_t *start; /* [count + 1] */
    size_t *row;   /* rows of client 0, then of client 1 and so on, each ascending */
};

/* One thread's copy of the model, on which a client trains. */
typedef struct dpa__worker {
    dpa_model local; /* weights of its own, layers borrowed from the server's model */
    float *gradient; /* [size] */
    size_t *order;   /* [largest number of rows of a client] */
    int32_t *label;  /* [batch] */
    double *loss;    /* [batch] */
    dpa__net *net;   /* working memory of `local` */
} dpa__worker;

/* Who takes part in a round. */
typedef struct dpa__cohort {
    size_t *client; /* [all clients]; the first `clients` are used */
    size_t clients;
    size_t *canary; /* [observed + unobserved]: first the `canaries` observed ones, then, up to
                       `candidates`, the unobserved ones, which do not take part */
    size_t canaries, candidates;
} dpa__cohort;

/* Statistics over the clients of a round. */
typedef struct dpa__round_tally {
    double clients_energy, canaries_energy; /* sums of squared norms of what was added */
    size_t clients, clipped;
} dpa__round_tally;

/* Queue of released means whose cosines are not computed yet, so that each canary is generated once
 * for all of them. */
typedef struct dpa__waiting {
    float *vector; /* [room × size]; NULL if there is room for one only, which is f->sum */
    dpa_own_round *own;
    size_t *candidate; /* [room × (observed + unobserved)]; `own` points into it */
    size_t room, count;
} dpa__waiting;

/* Clients that train somewhere else. */
typedef struct dpa__elsewhere {
    void *user;
    /* f->sum ← the noisy sum of the round in which the canaries of f->cohort take part. */
    dpa_status (*sum)(void *user, dpa_federation *f, dpa_error *err);
} dpa__elsewhere;

struct dpa_federation {
    dpa_model *model;
    const dpa_dataset *data;
    const dpa_clients *clients;
    dpa_federate_opts opts; /* with threads ≥ 1 and vote_noise filled in */
    uint64_t round;
    double clip;            /* S of the next round */
    float *sum;             /* [size] the round's sum, then the released mean */
    float *velocity;        /* [size] momentum of the server's optimiser; NULL if not needed */
    float *square;          /* [size] its second moment; NULL if not needed */
    float *start;           /* [size] the model before the first round; NULL without canaries */
    dpa_canaries *canaries; /* NULL: none */
    double *canary_norm;    /* [observed + unobserved] norms in this round */
    dpa__waiting waiting;
    size_t *order; /* [clients] scratch for the draws */
    dpa__cohort cohort;
    dpa__worker *worker; /* [workers] */
    size_t workers;
    const dpa__elsewhere *elsewhere; /* NULL: clients train here; else borrowed */
};

/* federation.c: the auditor's part of a federation whose clients train elsewhere. Of `model` the
 * weights alone are used, which the caller keeps up to date. */
dpa_status dpa__federation_elsewhere(dpa_model *model, const dpa_clients *clients,
                                     const dpa_federate_opts *opts, const dpa__elsewhere *elsewhere,
                                     dpa_federation **out, dpa_error *err);
/* The other part: a round of the clients in f->cohort and of changes that come from outside
 * [count × size], each clipped like a client's; `sum` [size] receives the noisy sum. */
dpa_status dpa__federation_serve(dpa_federation *f, const double *changes, size_t count, float *sum,
                                 dpa_error *err);

/* participation.c */
dpa_status dpa__participation_check(const dpa_federate_opts *opts, size_t clients, dpa_error *err);
/* Draws the clients and canaries of this round whose change arrives. */
void dpa__participation_draw(dpa_federation *f, uint64_t round, dpa__cohort *out);
/* The expected number of times that one canary comes in a round. */
double dpa__participation_canary(const dpa_federate_opts *o, size_t clients);
/* The average number of canaries in a round, including those that drop out. */
double dpa__participation_canaries(const dpa_federation *f);

/* round.c */
dpa_status dpa__worker_init(dpa__worker *worker, const dpa_federation *f, dpa_error *err);
void dpa__worker_free(dpa__worker *worker);
/* Adds up the clients' clipped changes in f->sum. */
dpa_status dpa__round_sum(dpa_federation *f, dpa__round_tally *tally, dpa_error *err);

/* audit.c */
dpa_status dpa__audit_init(dpa_federation *f, dpa_error *err);
/* Adds the canaries of the round to f->sum; `energy` is the sum of their squared norms. */
dpa_status dpa__audit_add(dpa_federation *f, double *energy, dpa_error *err);
/* Records the released mean in f->sum for the canaries' cosines. */
dpa_status dpa__audit_release(dpa_federation *f, dpa_error *err);
void dpa__audit_free(dpa_federation *f);
/* Computes the cosines of all queued means. */
dpa_status dpa__audit_settle(dpa_federation *f, dpa_error *err);

/* state.c: saves a state from which an interrupted training can go on. `key` (64 digits) identifies
 * the training; `more` holds numbers of the caller that belong to the round. */
dpa_status dpa__federation_save(dpa_federation *f, const char *key, double *more, size_t count,
                                const char *path, dpa_error *err);
/* Makes a federation that has not begun go on after the saved round. Without a file that fits it
 * does nothing; dpa_federation_rounds_done tells the difference. */
dpa_status dpa__federation_resume(dpa_federation *f, const char *key, double *more, size_t count,
                                  const char *path, dpa_error *err);
/* Removes both files of the state. */
void dpa__federation_forget(const char *path);

/* How often a change is counted. `who` is a client or, from the number of clients on, a canary. */
double dpa__copies(const dpa_federation *f, size_t who);

#endif
