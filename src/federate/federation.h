/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of a federation. */
#ifndef DPA_FEDERATE_FEDERATION_H
#define DPA_FEDERATE_FEDERATION_H

#include "dpaudit/lab/federate.h"
#include "train/model.h"

struct dpa_clients {
    size_t count;
    size_t *start; /* [count + 1] */
    size_t *row;   /* by client, ascending */
};

/* One thread's copy of the model, on which a client trains. */
typedef struct dpa__worker {
    dpa_model local; /* weights of its own, layers borrowed from the server's model */
    float *gradient; /* [size] */
    size_t *order;   /* [most rows of a client] */
    int32_t *label;  /* [batch] */
    double *loss;    /* [batch] */
    dpa__net *net;   /* of `local` */
} dpa__worker;

/* What a client did. */
typedef struct dpa__training {
    double loss; /* sum over the rows of all steps */
    size_t rows;
} dpa__training;

/* Who came to a round. */
typedef struct dpa__cohort {
    size_t *client; /* [clients]; `clients` of them */
    size_t clients;
    size_t *canary; /* [observed + unobserved]; `canaries` observed ones, then unobserved ones up to
                       `candidates`, which stay at home */
    size_t canaries, candidates;
} dpa__cohort;

/* What the clients of a round add up to. */
typedef struct dpa__round_tally {
    double loss, norms;
    double clients_energy, canaries_energy; /* squared norms in the sum */
    size_t rows, clients, clipped;
} dpa__round_tally;

/* Released means whose cosines are still to be made: a canary is generated once for all of them. */
typedef struct dpa__waiting {
    float *vector; /* [room × size]; NULL when there is room for one, which is f->sum */
    dpa_own_round *own;
    size_t *candidate; /* [room × (observed + unobserved)], what `own` points into */
    size_t room, count;
} dpa__waiting;

struct dpa_federation {
    dpa_model *model;
    const dpa_dataset *data;
    const dpa_clients *clients;
    dpa_federate_opts opts; /* threads ≥ 1, vote_noise set */
    uint64_t round;
    double clip;            /* S of the next round */
    float *sum;             /* [size] the round's sum, then the released mean */
    float *velocity;        /* [size] mean of the released means; NULL where it is not needed */
    float *square;          /* [size] of their squares; likewise */
    float *start;           /* [size] the model before the first round; NULL without canaries */
    dpa_canaries *canaries; /* NULL: none */
    double *canary_norm;    /* [observed + unobserved] of this round */
    uint64_t *presented;    /* [observed] */
    dpa__waiting waiting;
    size_t *order; /* [clients] scratch of the draws */
    dpa__cohort cohort;
    dpa__worker *worker; /* [workers] */
    size_t workers;
};

/* participation.c */
dpa_status dpa__participation_check(const dpa_federate_opts *opts, size_t clients, dpa_error *err);
/* Rounds of a period in which a client comes at most once; 1 where every round is drawn anew. */
uint64_t dpa__participation_period(const dpa_federate_opts *opts, size_t clients);
double dpa__participation_rate(const dpa_federate_opts *opts, size_t clients);
/* Those of this round whose change arrives. */
void dpa__participation_draw(dpa_federation *f, uint64_t round, dpa__cohort *out);
/* How often one canary comes, a round. */
double dpa__participation_canary(const dpa_federate_opts *o, size_t clients);
/* How many canaries a round has on average, those that drop out counted. */
double dpa__participation_canaries(const dpa_federation *f);

/* client.c */
dpa_status dpa__worker_init(dpa__worker *worker, const dpa_federation *f, dpa_error *err);
void dpa__worker_free(dpa__worker *worker);
/* Trains from the server's weights; afterwards worker->local.weight is the change. */
void dpa__client_train(dpa__worker *worker, const dpa_federation *f, uint64_t round, size_t client,
                       dpa__training *out);

/* round.c: the sum of the clients' clipped changes into f->sum. */
dpa_status dpa__round_sum(dpa_federation *f, dpa__round_tally *tally, dpa_error *err);

/* server.c */
int dpa__server_is_plain(const dpa_federate_opts *opts);
/* The model moves by f->sum/count. */
void dpa__server_move(dpa_federation *f, double count);

/* audit.c */
dpa_status dpa__audit_init(dpa_federation *f, dpa_error *err);
/* The canaries of the round, added to f->sum; `energy`: the sum of their squared norms. */
dpa_status dpa__audit_add(dpa_federation *f, double *energy, dpa_error *err);
/* Takes note of the released mean in f->sum. */
dpa_status dpa__audit_release(dpa_federation *f, dpa_error *err);
/* The round is over: nothing in it can fail any more. */
void dpa__audit_done(dpa_federation *f);
void dpa__audit_free(dpa_federation *f);

/* How often a client's (or, from the number of clients on, a canary's) change is counted. */
double dpa__copies(const dpa_federation *f, size_t who);

#endif
