/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Appends the events of a run to a file as JSON lines, for dashboards and notebooks (docs/runner.md
 * lists them). A trial's line is written when its transaction is committed. */
#ifndef DPA_RUN_EVENTS_H
#define DPA_RUN_EVENTS_H

#include "base/text.h"
#include "dpaudit/lab/run.h"
#include "run/transport.h"

typedef struct dpa__events {
    int fd;            /* −1: no events file, and nothing is recorded */
    dpa__text waiting; /* lines of the open transaction */
} dpa__events;

/* How far a stage has come. */
typedef struct dpa__events_place {
    int stage, stages; /* stage counts from 0 */
    uint64_t done, planned;
} dpa__events_place;

/* path NULL: no events file. */
dpa_status dpa__events_open(dpa__events *events, const char *path, dpa_error *err);
void dpa__events_close(dpa__events *events);
/* Writes the waiting lines. Once the file is open, a write error loses the line but does not fail
 * the run. */
void dpa__events_flush(dpa__events *events);
void dpa__events_drop(dpa__events *events); /* discards the waiting lines */

void dpa__events_run(dpa__events *events, const dpa_game *game, uint64_t workers);
void dpa__events_stage(dpa__events *events, const dpa__events_place *place);
/* `ended` is "played", "failed" or "lost", or "again" for an attempt that failed because of its
 * machine. */
void dpa__events_trial(dpa__events *events, const dpa__events_place *place, const dpa__outcome *o,
                       const char *ended, const char *where);
void dpa__events_end(dpa__events *events, const dpa_run_summary *summary, dpa_status status);

#endif
