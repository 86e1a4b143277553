/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folders beside a store for the files of running trials: STORE.scratch of the run itself,
 * STORE.scratch.rankN of its other ranks. Each has a folder per slot, with the files of a trial
 * (src/game/command_trial.c) and its log. */
#ifndef DPA_RUN_SCRATCH_H
#define DPA_RUN_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/status.h"

/* The folder of a rank; the caller frees it. */
dpa_status dpa__scratch_name(const char *store, int rank, char **out, dpa_error *err);

/* Calls `visit` for each existing folder. */
typedef void dpa__scratch_visit(void *user, const char *folder, long rank);
void dpa__scratch_list(const char *store, dpa__scratch_visit *visit, void *user);

/* What a running trial writes, for anyone who wants to watch: SCRATCH/SLOT/trial-N.log. The file
 * appears with the trial's first output and is removed when it ends; by then the store has the last
 * part. */
typedef struct dpa__live_log {
    const char *scratch;
    size_t slot;
    uint64_t index; /* the trial's number */
    int is_open, fd;
    size_t size;
} dpa__live_log;

/* A failed write loses the output but does not fail the trial. */
void dpa__live_log_add(dpa__live_log *log, const char *bytes, size_t count);
void dpa__live_log_end(dpa__live_log *log);

#endif
