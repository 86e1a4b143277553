/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A federated learning system to be audited: DP-FedAvg (McMahan et al. 2018) with canary clients
 * (one-shot-federated, Algorithms 2 and 3).
 *
 * In a round some clients start from the server's model, train on their own rows and send the
 * change of their weights. Each change is clipped to norm S; their sum gets noise σS, is divided by
 * the number of clients and moves the model, with momentum. Canary clients send a random direction
 * scaled to S instead. Canaries are regenerated, never stored (dpaudit/canary.h).
 *
 * Clients of a round train in parallel; their changes are added in a fixed order, so the same seed
 * gives the same model on any number of threads. Who takes part does not depend on the canaries:
 * the same run without them draws the same clients. The noise is reproducible, hence not secret:
 * this is a system to audit, not to deploy. */
#ifndef DPAUDIT_FEDERATE_H
#define DPAUDIT_FEDERATE_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/attack.h"
#include "dpaudit/lab/train.h"
#include "dpaudit/status.h"

DPA_C_BEGIN

/* ---- Clients: who owns which rows ---- */

typedef struct dpa_clients dpa_clients;

/* owner[i] is the owner of row i; each distinct number is a client, in ascending order. NaN means
 * that the row belongs to nobody. */
DPA_API dpa_status dpa_clients_new(const double *owner, size_t rows, dpa_clients **out,
                                   dpa_error *err) DPA_MUST_USE;
/* Reads the owners from a file with one entry for each of the `rows` rows of the data. `column`
 * NULL: an array [rows] (NPY, IDX, or one number per line); a number: that column, counted from 0,
 * of an array [rows × columns]; a name: that column of a CSV table, numbers or text. */
DPA_API dpa_status dpa_clients_read(const char *path, const char *column, size_t rows,
                                    dpa_clients **out, dpa_error *err) DPA_MUST_USE;
/* Artificial clients: the rows of each class are dealt out in shares drawn from a symmetric
 * Dirichlet law (a small concentration gives clients with few classes). Clients that get no row are
 * not counted. */
DPA_API dpa_status dpa_clients_dirichlet(const dpa_dataset *data, size_t clients,
                                         double concentration, uint64_t seed, dpa_clients **out,
                                         dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_clients_free(dpa_clients *clients);
DPA_API size_t dpa_clients_count(const dpa_clients *clients);
/* The rows of one client, ascending; valid as long as the handle. */
DPA_API const size_t *dpa_clients_rows(const dpa_clients *clients, size_t client, size_t *count);

/* ---- One federated training ---- */

typedef enum dpa_participation {
    DPA_PARTICIPATE_UNIFORM, /* `cohort` different clients, drawn anew in every round */
    DPA_PARTICIPATE_POISSON, /* each client independently, with probability cohort/clients */
    DPA_PARTICIPATE_SHUFFLE, /* epochs: a permutation cut into cohorts; the remainder sits out */
    DPA_PARTICIPATE_PERIOD   /* each client at most once in every `period` rounds */
} dpa_participation;

/* How the server moves the model by a round's mean (Reddi et al. 2021). */
typedef enum dpa_server {
    DPA_SERVER_SGD, /* with momentum */
    DPA_SERVER_ADAGRAD,
    DPA_SERVER_ADAM,
    DPA_SERVER_YOGI
} dpa_server;

/* Deliberate bugs of the system, which audits should find. */
typedef enum dpa_federate_fault {
    DPA_FAULT_NONE,
    DPA_FAULT_NO_NOISE,  /* the noise is never added */
    DPA_FAULT_CLIP_MEAN, /* the mean of all changes is clipped, not each change */
    DPA_FAULT_REPEAT     /* the changes of a share of the clients are counted `copies` times */
} dpa_federate_fault;

typedef struct dpa_federate_opts {
    uint64_t seed;                   /* 0 */
    uint64_t rounds;                 /* 100 */
    dpa_participation participation; /* uniform */
    size_t cohort;                   /* clients per round; Poisson: on average (32) */
    uint64_t period;                 /* length of the period of DPA_PARTICIPATE_PERIOD, in rounds */
    double drop; /* probability that a chosen client's change does not arrive (0) */

    /* what a client does: SGD on its own rows */
    size_t epochs, batch;  /* 1, 16 */
    uint64_t client_steps; /* limit of steps; 0: no limit besides the epochs (0) */
    double client_rate;    /* 0.1 */

    /* what the server does */
    dpa_server server;            /* sgd */
    double server_rate, momentum; /* 1, 0; for the adaptive ones momentum is their β₁ */
    double beta2, tau;            /* for the adaptive ones: 0.99, 1e-3 */
    double clip;                  /* S of the first round (1) */
    double sigma;                 /* noise multiplier: deviation σS on the sum (0) */
    int adaptive;                 /* S follows a quantile of the norms (Andrew et al. 2021) (0) */
    double quantile, clip_rate;   /* 0.5, 0.2 */
    double vote_noise; /* deviation of the noise on the count of short changes; 0: cohort/20 */
    int divide_actual; /* divide by the number that arrived, as in Algorithm 2; 0: by the expected
                          one (0) */

    /* the audit */
    size_t canaries;      /* observed canaries, which take part (0) */
    size_t unobserved;    /* unobserved ones, which do not: the null of all iterates (0) */
    uint64_t repetitions; /* the training is cut into so many equal parts, and each canary is in one
                             random round of each; 0: it comes and goes as clients do (0) */
    uint64_t canary_seed; /* 1 */
    double canary_scale;  /* canaries send this many times S and rely on clipping (1) */
    dpa_direction direction; /* of the canaries (sphere) */
    int all_iterates;        /* keep each canary's largest cosine over the rounds (1) */

    dpa_federate_fault fault; /* none */
    size_t copies;            /* for DPA_FAULT_REPEAT (2) */
    double share;             /* likewise (1) */

    unsigned threads; /* 0: one per core of the machine */
} dpa_federate_opts;

DPA_API void dpa_federate_opts_init(dpa_federate_opts *opts);

typedef struct dpa_federation dpa_federation;

/* Statistics of the last round. */
typedef struct dpa_round_info {
    uint64_t round;    /* rounds done, including this one */
    size_t clients;    /* real clients whose change arrived */
    double clip;       /* S of this round */
    double norm_share; /* share of the changes that were clipped; NaN if nobody came */
    /* squared norms of the parts of the sum, in units of S²: clients, canaries and (on average)
     * noise */
    double energy_clients, energy_canaries, energy_noise;
} dpa_round_info;

/* Trains `model` (borrowed, changed in place); data and clients are borrowed too. */
DPA_API dpa_status dpa_federation_new(dpa_model *model, const dpa_dataset *data,
                                      const dpa_clients *clients, const dpa_federate_opts *opts,
                                      dpa_federation **out, dpa_error *err) DPA_MUST_USE;
DPA_API void dpa_federation_free(dpa_federation *federation);
/* Plays one round. A change that is not finite is DPA_NUMERIC and leaves the model as it was. */
DPA_API dpa_status dpa_federation_round(dpa_federation *federation, dpa_round_info *info,
                                        dpa_error *err) DPA_MUST_USE;
DPA_API uint64_t dpa_federation_rounds_done(const dpa_federation *federation);

/* ---- What the auditor sees ---- */

/* Cosines of all canaries, first the observed then the unobserved ones, with the current model
 * (Algorithm 2), or with its change since the start. */
DPA_API dpa_status dpa_federation_cosines(dpa_federation *federation, int since_start, double *out,
                                          dpa_error *err) DPA_MUST_USE;
/* For each canary the largest cosine over the rounds with what the server released: the noisy mean
 * before momentum (Algorithm 3). −INFINITY before the first round. */
DPA_API dpa_status dpa_federation_largest(dpa_federation *federation, double *out,
                                          dpa_error *err) DPA_MUST_USE;
/* Known rounds: every canary, observed or not, has rounds by the same rule as clients. Its score is
 * the sum of ⟨canary, noisy sum⟩/S over them, divided by the square root of their number (`times`).
 * Both arrays have the observed and then the unobserved canaries; a canary that has not been in a
 * round yet has NaN and 0. `spread`: see dpa__canaries_own_spread. */
DPA_API dpa_status dpa_federation_known(dpa_federation *federation, double *score, double *times,
                                        double *spread, dpa_error *err) DPA_MUST_USE;

/* ---- The promised mechanism, for an accountant ---- */

/* The most rounds that one canary can be in among so many clients: the number of steps to compose
 * without amplification. */
DPA_API uint64_t dpa_federate_participations(const dpa_federate_opts *opts, size_t clients);

DPA_C_END

#endif
