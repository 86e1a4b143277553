/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run while it goes on, and the playing of one stage. */
#ifndef DPA_RUN_SCHEDULE_H
#define DPA_RUN_SCHEDULE_H

#include "run/store.h"
#include "run/transport.h"

typedef struct dpa__run {
    const dpa_run_opts *opts;
    dpa_game *game;
    dpa_store *store;
    dpa__transport transport;
    dpa_run_summary *summary;
    dpa_run_status now; /* what the store's row says */
    double start;       /* of the run, by dpa__run_clock */
    double told;        /* when the row was last written */
} dpa__run;

typedef struct dpa__stage {
    int number;
    int64_t row; /* in the store */
    char key[DPA_SHA256_SIZE];
    dpa_values *items; /* by index; filled in as trials finish */
    uint64_t planned;  /* trials 0..planned-1 are played */
} dpa__stage;

/* Plays every trial of the stage that has no numbers yet, within the budget of seconds. Trials that
 * fail each time are left without numbers. */
dpa_status dpa__stage_play(dpa__run *run, dpa__stage *stage, dpa_error *err);

double dpa__run_clock(void);

#endif
