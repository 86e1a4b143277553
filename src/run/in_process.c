/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plays trials in this process, for callers without a worker command; a trial is played when it is
 * waited for. Also functions that all transports share. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "run/transport.h"

typedef struct here {
    dpa_game *game;
    const dpa_values *brief;
    int stage, submitted;
    uint64_t index;
} here;

static dpa_status set_brief(void *self, int stage, const dpa_values *brief, dpa_error *err) {
    (void)err;
    ((here *)self)->stage = stage;
    ((here *)self)->brief = brief;
    return DPA_OK;
}

static dpa_status submit(void *self, size_t slot, int stage, uint64_t index, dpa_error *err) {
    here *h = self;
    (void)slot, (void)err;
    h->stage = stage;
    h->index = index;
    h->submitted = 1;
    return DPA_OK;
}

static dpa_status wait(void *self, double seconds, dpa__outcome *out, int *some, dpa_error *err) {
    here *h = self;
    (void)seconds, (void)err;
    *some = h->submitted;
    if (!h->submitted) return DPA_OK;
    h->submitted = 0;
    *out = (dpa__outcome){.index = h->index};
    const double start = dpa__clock();
    out->status = dpa_game_trial(h->game, h->stage, h->index, h->brief, &out->values, &out->error);
    out->seconds = dpa__clock() - start;
    return DPA_OK;
}

void dpa__place_here(void *self, size_t slot, char out[DPA__PLACE_SIZE]) {
    (void)self;
    char host[64] = "";
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(out, DPA__PLACE_SIZE, "%s slot %zu", host, slot);
}

int dpa__is_machine(dpa_status status) {
    return status == DPA_IO || status == DPA_NO_MEMORY || status == DPA_CANCELLED ||
           status == DPA_INTERNAL;
}

dpa_status dpa__here_open(dpa_game *game, dpa__transport *out, dpa_error *err) {
    here *h = DPA_NEW(here, err);
    if (h == NULL) return DPA_NO_MEMORY;
    h->game = game;
    *out = (dpa__transport){1, h, dpa__place_here, NULL, set_brief, submit, wait, free};
    return DPA_OK;
}

void dpa__outcome_free(dpa__outcome *outcome) {
    dpa_values_free(&outcome->values);
    free(outcome->said);
    outcome->said = NULL;
}
