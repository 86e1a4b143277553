/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events of a ledger, as phases or pairs of the accountant. */
#ifndef DPA_ACCOUNT_EVENT_H
#define DPA_ACCOUNT_EVENT_H

#include <jansson.h>

#include "account/pair.h"

/* The pair of one event; NULL with DPA_OK if a plain phase is enough (`phase` is filled). */
typedef struct dpa__event_made {
    dpa_phase phase;
    dpa_pair *pair;
    int is_limit; /* the pair is a theorem's upper bound: the mechanism may leak less */
} dpa__event_made;
dpa_status dpa__event_mechanism(const json_t *event, const char *name, dpa_adjacency adjacency,
                                dpa__event_made *out, dpa_error *err);

/* Fields of an event: a number; a number with a default; the inner event. */
dpa_status dpa__event_number(const json_t *event, const char *key, double *out, dpa_error *err);
double dpa__event_number_or(const json_t *event, const char *key, double otherwise);
dpa_status dpa__pair_from_json(const char *path, const json_t *object, dpa_pair **out,
                               dpa_error *err);

#endif
