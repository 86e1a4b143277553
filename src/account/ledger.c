/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A ledger of events as JSON, one object {"class_name": "GaussianDpEvent", "noise_multiplier": 1}:
 * Google's DpEvent classes with their fields, and a few of ours (docs/methods/account.md). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "account/event.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

static const uint64_t MOST_STEPS = UINT64_C(1000000000000);
enum { MOST_PHASES = 100000 };

dpa_status dpa__event_number(const json_t *event, const char *key, double *out, dpa_error *err) {
    const json_t *value = json_object_get(event, key);
    if (!json_is_number(value)) {
        char name[64];
        DPA_TRY(dpa__event_name(event, name, err));
        return dpa__fail(err, DPA_BAD_INPUT, "%s: '%s' is missing or is not a number", name, key);
    }
    *out = json_number_value(value);
    return DPA_OK;
}

double dpa__event_number_or(const json_t *event, const char *key, double otherwise) {
    const json_t *value = json_object_get(event, key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

dpa_status dpa__event_name(const json_t *event, char name[64], dpa_error *err) {
    static const char *const keys[] = {"class_name", "type", "_type"};
    const char *text = NULL;
    for (size_t k = 0; k < 3 && text == NULL; ++k)
        text = json_string_value(json_object_get(event, keys[k]));
    if (text == NULL || strlen(text) >= 64)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "an event without a name: write {\"class_name\": \"GaussianDpEvent\", …}");
    memcpy(name, text, strlen(text) + 1);
    const size_t length = strlen(name), end = strlen("DpEvent");
    if (length > end && strcmp(name + length - end, "DpEvent") == 0) name[length - end] = '\0';
    return DPA_OK;
}

dpa_status dpa__ledger_phase(dpa_ledger *ledger, dpa_phase phase, dpa_error *err) {
    if (ledger->count == MOST_PHASES)
        return dpa__fail(err, DPA_BAD_INPUT, "more than %d events: use SelfComposedDpEvent",
                         MOST_PHASES);
    if (ledger->count == ledger->room) {
        const size_t room = ledger->room < 8 ? 8 : 2 * ledger->room;
        dpa_phase *block = dpa__realloc(ledger->phase, room, sizeof *block, err);
        if (block == NULL) return DPA_NO_MEMORY;
        ledger->phase = block;
        ledger->room = room;
    }
    ledger->phase[ledger->count++] = phase;
    return DPA_OK;
}

dpa_status dpa__ledger_pair(dpa_ledger *ledger, dpa_pair *pair, uint64_t steps, dpa_error *err) {
    if (ledger->pairs == ledger->pair_room) {
        const size_t room = ledger->pair_room < 8 ? 8 : 2 * ledger->pair_room;
        dpa_pair **block = dpa__realloc(ledger->pair, room, sizeof(dpa_pair *), err);
        if (block == NULL) {
            dpa_pair_free(pair);
            return DPA_NO_MEMORY;
        }
        ledger->pair = block;
        ledger->pair_room = room;
    }
    ledger->pair[ledger->pairs++] = pair;
    const dpa_phase phase = {DPA_PAIR, 1, 1, steps, pair};
    return dpa__ledger_phase(ledger, phase, err);
}

static dpa_status count_of(const json_t *event, uint64_t steps, uint64_t *out, dpa_error *err) {
    double count = 0;
    DPA_TRY(dpa__event_number(event, "count", &count, err));
    if (!(count >= 1 && floor(count) == count && count * (double)steps <= (double)MOST_STEPS))
        return dpa__fail(
            err, DPA_BAD_INPUT,
            "SelfComposed: count is %g; it must be a whole number from 1, with at most "
            "1e12 steps in all",
            count);
    *out = steps * (uint64_t)count;
    return DPA_OK;
}

static dpa_status add_list(dpa_ledger *ledger, const json_t *list, uint64_t steps, dpa_error *err) {
    if (!json_is_array(list))
        return dpa__fail(err, DPA_BAD_INPUT, "Composed: 'events' is not a list");
    for (size_t i = 0; i < json_array_size(list); ++i)
        DPA_TRY(dpa__event_add(ledger, json_array_get(list, i), steps, err));
    return DPA_OK;
}

static dpa_status add_made(dpa_ledger *ledger, dpa__event_made made, uint64_t steps,
                           dpa_error *err) {
    ledger->is_limit |= made.is_limit;
    if (made.pair != NULL)
        return dpa__ledger_pair(ledger, made.pair, steps * made.phase.steps, err);
    made.phase.steps *= steps;
    return dpa__ledger_phase(ledger, made.phase, err);
}

dpa_status dpa__event_add(dpa_ledger *ledger, const json_t *event, uint64_t steps, dpa_error *err) {
    char name[64];
    DPA_TRY(dpa__event_name(event, name, err));
    if (strcmp(name, "NoOp") == 0) return DPA_OK;
    if (strcmp(name, "NonPrivate") == 0)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "the ledger has a NonPrivateDpEvent: epsilon is infinite");
    if (strcmp(name, "Composed") == 0)
        return add_list(ledger, json_object_get(event, "events"), steps, err);
    if (strcmp(name, "SelfComposed") == 0) {
        uint64_t all = steps;
        DPA_TRY(count_of(event, steps, &all, err));
        return dpa__event_add(ledger, json_object_get(event, "event"), all, err);
    }
    dpa__event_made made = {.phase = {DPA_GAUSSIAN, 1, 1, 1, NULL}};
    if (strstr(name, "Sampled") != NULL)
        DPA_TRY(dpa__event_sampled(event, name, ledger->adjacency, &made, err));
    else
        DPA_TRY(dpa__event_mechanism(event, name, ledger->adjacency, &made, err));
    return add_made(ledger, made, steps, err);
}

static dpa_status fill(dpa_ledger *ledger, const json_t *root, dpa_error *err) {
    DPA_TRY(json_is_array(root) ? add_list(ledger, root, 1, err)
                                : dpa__event_add(ledger, root, 1, err));
    if (ledger->count > 0) return DPA_OK;
    return dpa__fail(err, DPA_BAD_INPUT, "no event: nothing to account for");
}

dpa_status dpa_ledger_read(const char *path, dpa_adjacency adjacency, dpa_ledger **out,
                           dpa_error *err) {
    json_t *root;
    dpa_error inner;
    *out = NULL;
    DPA_TRY(dpa__json_read(path, &root, NULL, err));
    dpa_ledger *ledger = DPA_NEW(dpa_ledger, err);
    dpa_status status = ledger == NULL ? DPA_NO_MEMORY : DPA_OK;
    if (status == DPA_OK) {
        ledger->adjacency = adjacency;
        status = fill(ledger, root, &inner);
        if (status != DPA_OK) (void)dpa__fail_file(err, status, path, "%s", inner.text);
    }
    json_decref(root);
    if (status != DPA_OK) {
        dpa_ledger_free(ledger);
        return status;
    }
    *out = ledger;
    return DPA_OK;
}

void dpa_ledger_free(dpa_ledger *ledger) {
    if (ledger == NULL) return;
    for (size_t k = 0; k < ledger->pairs; ++k) dpa_pair_free(ledger->pair[k]);
    free(ledger->pair);
    free(ledger->phase);
    free(ledger);
}

const dpa_phase *dpa_ledger_phases(const dpa_ledger *ledger, size_t *count) {
    *count = ledger->count;
    return ledger->phase;
}

int dpa__ledger_is_limit(const dpa_ledger *ledger) {
    return ledger->is_limit;
}
