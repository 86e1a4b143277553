/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who plays the trials. This is all that the scheduler (schedule.c) knows: a number of slots, each
 * of which plays one trial at a time. Implementations: in_process.c, pool.c (worker processes of
 * this machine), rank_lead.c (those of several).
 *
 * The scheduler submits only to free slots and then waits; a transport owes exactly one outcome for
 * every submit, in any order. It knows nothing of stores, retries or budgets: a failed trial is an
 * outcome like any other. Errors that end the run (for example, no worker can be started at all)
 * are the status of the call. */
#ifndef DPA_RUN_TRANSPORT_H
#define DPA_RUN_TRANSPORT_H

#include "base/clock.h"
#include "dpaudit/lab/game.h"
#include "dpaudit/lab/run.h"

typedef struct dpa__outcome {
    size_t slot;
    uint64_t index;
    dpa_status status; /* DPA_OK: see `values`; else the trial failed and `error` says why */
    dpa_values values; /* the receiver frees it */
    dpa_error error;
    char *said;     /* the end of its standard error, freed by the receiver; or NULL */
    double seconds; /* duration of the trial */
    int crashed;    /* the process that played it died (and was replaced) */
    int retired;    /* the slot is gone for good: do not submit to it again */
} dpa__outcome;

enum { DPA__PLACE_SIZE = 128 };

typedef struct dpa__transport {
    size_t slots;
    void *self;
    /* Names a slot: "hydra slot 3", "node7 rank 2 slot 0". */
    void (*place)(void *self, size_t slot, char out[DPA__PLACE_SIZE]);
    /* The progress of its trial, if known: done and total; NULL: never known. */
    void (*progress)(void *self, size_t slot, double out[2]);
    /* Called before the trials of a stage, when none is running, with what they must know. The
     * brief is borrowed until the next call. */
    dpa_status (*brief)(void *self, int stage, const dpa_values *brief, dpa_error *err);
    dpa_status (*submit)(void *self, size_t slot, int stage, uint64_t index, dpa_error *err);
    /* Waits up to `seconds` (0: only looks). *some is 1 if `out` was filled. */
    dpa_status (*wait)(void *self, double seconds, dpa__outcome *out, int *some, dpa_error *err);
    /* Ends everything at once, including running trials, and frees self. NULL-safe. */
    void (*close)(void *self);
} dpa__transport;

void dpa__outcome_free(dpa__outcome *outcome);
/* Whether the machine is to blame (worker lost, node gone, disk full) and not the trial, which is
 * then played again with the same seed. Anything else is an outcome of the trainer. */
int dpa__is_machine(dpa_status status);
/* `place` for slots of this machine; self is not used. */
void dpa__place_here(void *self, size_t slot, char out[DPA__PLACE_SIZE]);

/* Trials in this process: one slot. */
dpa_status dpa__here_open(dpa_game *game, dpa__transport *out, dpa_error *err);
/* Worker processes, each started when the first trial is submitted to its slot. `scratch` is a
 * folder for the files of external trainers, with a folder per slot; it is removed at the end.
 * NULL: a temporary folder. */
dpa_status dpa__pool_open(const dpa_run_opts *opts, dpa_game *game, const char *scratch,
                          dpa__transport *out, dpa_error *err);
/* The number of trials that run at a time with these options. */
uint64_t dpa__pool_workers(const dpa_run_opts *opts);

#endif
