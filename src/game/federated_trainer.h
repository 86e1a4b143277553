/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Federated games and the interface of trainers. The examples of such a trainer are its clients, a
 * step is a round, and canary clients come as extra changes. Both ends are here: asking a trainer
 * for its rounds, and being such a trainer with dpaudit's own federation. */
#ifndef DPA_GAME_FEDERATED_TRAINER_H
#define DPA_GAME_FEDERATED_TRAINER_H

#include "federate/federation.h"
#include "game/rules.h"

/* A model of the training file, with initial weights by this seed. */
dpa_status dpa__federated_model(const dpa_game *game, uint64_t init, dpa_model **out,
                                dpa_error *err);
/* The clients of a federated game. */
dpa_status dpa__federated_clients(const dpa_game *game, dpa_clients **out, dpa_error *err);

/* A training by rounds of somebody else's clients. */
typedef struct dpa__far {
    dpa__elsewhere clients; /* for dpa__federation_elsewhere */
    dpa__trainer *trainer;
    size_t *batch;   /* [points] */
    double *changes; /* [room × size] of canaries */
    size_t room;
    dpa_model *model; /* has weights but no layers */
} dpa__far;

/* Starts the training and takes its initial weights; dpa__far_end also after a failure. */
dpa_status dpa__far_begin(dpa__far *far, dpa__trainer *trainer, size_t size, uint64_t init,
                          uint64_t seed, dpa_error *err);
/* Takes the weights of the moment. */
dpa_status dpa__far_look(dpa__far *far, dpa_error *err);
/* The accuracy on what the trainer holds out; NaN if it does not tell. */
dpa_status dpa__far_accuracy(dpa__far *far, double *out, dpa_error *err);
void dpa__far_end(dpa__far *far);

/* dpaudit's own federation as a trainer. Borrows everything. */
dpa_status dpa__federated_serve_new(const dpa_game *game, const dpa_clients *clients,
                                    const dpa_federate_opts *opts, size_t size, dpa__trainer **out,
                                    dpa_error *err);

#endif
