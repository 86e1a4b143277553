/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shows what trials have written, or are writing now. */
#ifndef DPA_CLI_LIVE_H
#define DPA_CLI_LIVE_H

#include <stdint.h>

#include "dpaudit/lab/run.h"

/* "running", "done", … */
const char *status_state(const dpa_run_status *status);

/* Prints the output of a program line by line behind a bar, without control characters. */
void print_said(const char *said);

typedef enum live_seen {
    LIVE_NOTHING,
    LIVE_PLACE, /* shown: where it runs */
    LIVE_WORDS  /* shown: also what it has written */
} live_seen;

/* Shows where an unfinished trial of the store's run is played, and what it has written so far.
 * With `follow` waits for it to begin and shows its output until it ends. */
live_seen live_show(const char *store, uint64_t index, int follow);

#endif
