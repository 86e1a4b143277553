/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folders beside a store for the files of running trials: STORE.scratch of the run itself,
 * STORE.scratch.rankN of its other ranks. Each has a folder per slot, whose contents are described
 * in src/game/command_scratch.c and live_log.h. */
#ifndef DPA_RUN_SCRATCH_H
#define DPA_RUN_SCRATCH_H

#include "dpaudit/status.h"

/* The folder of a rank; the caller frees it. */
dpa_status dpa__scratch_name(const char *store, int rank, char **out, dpa_error *err);

/* Calls `visit` for each existing folder. */
typedef void dpa__scratch_visit(void *user, const char *folder, long rank);
void dpa__scratch_list(const char *store, dpa__scratch_visit *visit, void *user);

#endif
