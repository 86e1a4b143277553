/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of a running job, and the scheduler of one stage. */
#ifndef DPA_RUN_SCHEDULE_H
#define DPA_RUN_SCHEDULE_H

#include "base/text.h"
#include "run/stop.h"
#include "run/store.h"
#include "run/transport.h"

/* ---- events.c ----
 *
 * Appends the events of a run to a file as JSON lines, for dashboards and notebooks (docs/runner.md
 * lists them). A trial's line is written when its transaction is committed. */

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

typedef struct dpa__run {
    const dpa_run_opts *opts;
    dpa_game *game;
    dpa_store *store;
    dpa__transport transport;
    dpa_run_summary *summary;
    dpa_run_status now;       /* what the store's row of this run says */
    double start;             /* start of the run, by dpa__clock */
    double told;              /* when the row was last written */
    char *path;               /* of the store */
    const dpa_trials *trials; /* of all stages, by number */
    dpa__stop *stop;          /* NULL: the whole budget is played */
    dpa__events events;
} dpa__run;

typedef struct dpa__stage {
    int number;
    int64_t row; /* the stage's row in the store */
    char key[DPA_SHA256_SIZE];
    char before[DPA_SHA256_SIZE]; /* the key that older versions of dpaudit gave it */
    dpa_values *items;            /* by index; filled in as trials finish */
    uint8_t *ends;                /* by index, filled in likewise: dpa_trial_end */
    uint64_t planned;             /* trials 0..planned-1 are played */
} dpa__stage;

/* All stages of a game, as far as they were played. */
typedef struct dpa__stages {
    int count;
    dpa__stage items[DPA_GAME_STAGES];
    dpa_trials trials[DPA_GAME_STAGES];
} dpa__stages;

/* run.c */
dpa_status dpa__run_check(const dpa_run_opts *opts, dpa_error *err);
/* The path of the store; the caller frees it. */
dpa_status dpa__run_path(const dpa_run_opts *opts, const dpa_game *game, char **out,
                         dpa_error *err);
/* Makes empty stages and distributes the budget of trials over them. */
dpa_status dpa__stages_init(const dpa_run_opts *opts, const dpa_game *game, dpa__stages *all,
                            dpa_error *err);
void dpa__stages_free(dpa__stages *all);
uint64_t dpa__stages_missing(const dpa__stages *all);
/* Computes the stage's keys. `settings` (may be NULL) receives what they are made of; the caller
 * frees it. */
dpa_status dpa__stage_find(const dpa_game *game, dpa__stage *stage, const dpa_values *brief,
                           char **settings, dpa_error *err);
/* Whether a record with this key is one of the stage. */
int dpa__stage_owns(const dpa__stage *stage, const char *key);
/* Also makes its row in a store that is written, and brings trials under the older key to it. */
dpa_status dpa__stage_enter(dpa_store *store, const dpa_game *game, dpa__stage *stage,
                            const dpa_values *brief, dpa_error *err);
/* Loads the trials that the store has of it. */
dpa_status dpa__stage_load(dpa_store *store, dpa__stage *stage, dpa_run_summary *summary,
                           dpa_error *err);

/* status_file.c */
double dpa__wall_clock(void); /* seconds since 1970 */
void dpa__status_write(const char *store, const dpa_run_status *now);

/* schedule.c: plays every trial of the stage that has no numbers yet, within the budget of seconds.
 * Trials that fail every time stay without numbers. */
dpa_status dpa__stage_play(dpa__run *run, dpa__stage *stage, dpa_error *err);

#endif
