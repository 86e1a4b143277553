/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a running trial writes, for anyone who wants to watch: SCRATCH/SLOT/trial-N.log. The file
 * appears with the trial's first output and is removed when it ends; by then the store has the last
 * part. */
#ifndef DPA_RUN_LIVE_LOG_H
#define DPA_RUN_LIVE_LOG_H

#include <stddef.h>
#include <stdint.h>

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
