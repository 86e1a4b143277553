/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who plays the trials. The scheduler (schedule.c) knows nothing but this: a number of slots, each
 * of which plays one trial at a time. Implementations: in_process.c, pool.c (worker
 * processes of this machine), rank_lead.c (those of several).
 *
 * The scheduler submits to free slots only and then waits; a transport owes exactly one outcome for
 * every submit, in any order. It is not told of stores, retries or budgets: a trial that failed is
 * an outcome like any other. Errors that end the run (no worker can be started at all, say) are the
 * status of the call. */
#ifndef DPA_RUN_TRANSPORT_H
#define DPA_RUN_TRANSPORT_H

#include "dpaudit/lab/game.h"
#include "dpaudit/lab/run.h"

typedef struct dpa__outcome {
    size_t slot;
    uint64_t index;
    dpa_status status; /* DPA_OK: `values`; else the trial failed and `error` says why */
    dpa_values values; /* the receiver's to free */
    dpa_error error;
    char *said; /* the end of what it wrote to standard error, the receiver's to free; or NULL */
    double seconds; /* that the trial took */
    int crashed;    /* the process that played it is gone (and was replaced) */
    int retired;    /* the slot is gone for good: submit no more to it */
} dpa__outcome;

enum { DPA__PLACE_SIZE = 128 };

typedef struct dpa__transport {
    size_t slots;
    void *self;
    /* Where a slot is: "hydra slot 3", "node7 rank 2 slot 0". */
    void (*place)(void *self, size_t slot, char out[DPA__PLACE_SIZE]);
    /* How far its trial is, as far as known: done and total; NULL: never known. */
    void (*progress)(void *self, size_t slot, double out[2]);
    /* Before the trials of a stage: what they must know. No trial is running. The brief is borrowed
     * until the next call. */
    dpa_status (*brief)(void *self, int stage, const dpa_values *brief, dpa_error *err);
    dpa_status (*submit)(void *self, size_t slot, int stage, uint64_t index, dpa_error *err);
    /* Waits up to `seconds` (0: looks only). *some is 1 when `out` was filled. */
    dpa_status (*wait)(void *self, double seconds, dpa__outcome *out, int *some, dpa_error *err);
    /* Ends everything at once, running trials too. NULL-safe, frees self. */
    void (*close)(void *self);
} dpa__transport;

void dpa__outcome_free(dpa__outcome *outcome);
/* The machine is to blame (worker lost, node gone, no disk), not what the trial did: it is played
 * again with the same seed. Anything else is an outcome of the trainer. */
int dpa__is_machine(dpa_status status);
/* The place of a slot of this machine. */
void dpa__place_here(size_t slot, char out[DPA__PLACE_SIZE]);

/* Seconds since some moment, for differences. */
double dpa__run_clock(void);

/* Trials in this process: one slot. */
dpa_status dpa__here_open(dpa_game *game, dpa__transport *out, dpa_error *err);
/* Worker processes, started when the first trial is submitted to their slot. `scratch` is a folder
 * for the files of external trainers, removed at the end with a folder per slot in it; NULL: one
 * for temporary files. */
dpa_status dpa__pool_open(const dpa_run_opts *opts, dpa_game *game, const char *scratch,
                          dpa__transport *out, dpa_error *err);
/* How many trials run at a time with these options. */
uint64_t dpa__pool_workers(const dpa_run_opts *opts);

#endif
