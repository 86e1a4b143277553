/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A ledger under construction: its phases and the pairs they point to. */
#ifndef DPA_ACCOUNT_EVENT_H
#define DPA_ACCOUNT_EVENT_H

#include <jansson.h>

#include "account/pair.h"

struct dpa_ledger {
    dpa_adjacency adjacency;
    int is_limit; /* an event's pair is a theorem's upper bound: the mechanism may leak less */
    size_t count, room;
    dpa_phase *phase;
    size_t pairs, pair_room;
    dpa_pair **pair;
};

/* Adds `steps` times the event to the ledger. */
dpa_status dpa__event_add(dpa_ledger *ledger, const json_t *event, uint64_t steps, dpa_error *err);
dpa_status dpa__ledger_phase(dpa_ledger *ledger, dpa_phase phase, dpa_error *err);
/* Adds a phase with this pair, which the ledger then owns. */
dpa_status dpa__ledger_pair(dpa_ledger *ledger, dpa_pair *pair, uint64_t steps, dpa_error *err);

/* The pair of one event; NULL with DPA_OK if a plain phase is enough (`phase` is filled). */
typedef struct dpa__event_made {
    dpa_phase phase;
    dpa_pair *pair;
    int is_limit; /* as in dpa_ledger */
} dpa__event_made;
dpa_status dpa__event_mechanism(const json_t *event, const char *name, dpa_adjacency adjacency,
                                dpa__event_made *out, dpa_error *err);
dpa_status dpa__event_sampled(const json_t *event, const char *name, dpa_adjacency adjacency,
                              dpa__event_made *out, dpa_error *err);

/* Fields of an event: a number; a number with a default; the inner event. */
dpa_status dpa__event_number(const json_t *event, const char *key, double *out, dpa_error *err);
double dpa__event_number_or(const json_t *event, const char *key, double otherwise);
/* The class name without "DpEvent", in `name`. */
dpa_status dpa__event_name(const json_t *event, char name[64], dpa_error *err);
dpa_status dpa__pair_from_json(const char *path, const json_t *object, dpa_pair **out,
                               dpa_error *err);

#endif
