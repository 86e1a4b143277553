/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private parts of the pool: slots, each with at most one worker process and one trial. */
#ifndef DPA_RUN_POOL_H
#define DPA_RUN_POOL_H

#include <signal.h>
#include <uv.h>

#include "base/text.h"
#include "run/scratch.h"
#include "run/transport.h"
#include "run/wire.h"

typedef enum dpa__slot_state {
    DPA__SLOT_EMPTY,    /* no process */
    DPA__SLOT_STARTING, /* loading its data, not ready yet */
    DPA__SLOT_IDLE,
    DPA__SLOT_BUSY,
    DPA__SLOT_DYING /* killed or exited; its handles are being closed */
} dpa__slot_state;

typedef struct dpa__pool dpa__pool;

typedef struct dpa__slot {
    dpa__pool *pool;
    size_t number;
    dpa__slot_state state;
    uv_process_t process;
    uv_pipe_t in, out, err;
    uv_timer_t timer;
    int alive;          /* there is a process */
    int open;           /* handles of the process not closed yet */
    int timeout;        /* killed by the timer */
    uint64_t oom_kills; /* the machine's count when the trial began */
    int job;            /* a trial was submitted and has no outcome yet */
    int stage;
    uint64_t index;
    double progress[2]; /* of the trial: done, total; 0 if it does not say */
    int briefed;        /* stage whose brief the worker has; -1: none */
    dpa__text inbox, said;
    dpa__live_log log; /* receives `said` while the trial runs */
    int ready;         /* `outcome` is waiting for the scheduler */
    dpa__outcome outcome;
} dpa__slot;

struct dpa__pool {
    uv_loop_t loop;
    uv_timer_t tick;
    int ticked, closing;
    const char *const *worker;
    char *scratch; /* "DPAUDIT_SCRATCH=…", for the files of external trainers */
    int temporary; /* the scratch folder is a temporary one */
    char *keep;    /* "DPAUDIT_KEEP=…", for saved states of long trials; NULL: no store */
    double timeout;
    char *keys; /* keys of all stages, as a ready worker reports them */
    int stage;
    const dpa_values *brief;
    unsigned stillborn; /* workers in a row that died before being ready */
    dpa_error fatal;    /* if its status is not OK, the run cannot go on */
    struct sigaction old_sigpipe;
    size_t count;
    dpa__slot *slots;
};

/* pool_slot.c: starts the worker of a slot with a job, or sends it the trial. */
void dpa__slot_advance(dpa__slot *slot);
/* Kills the worker and everything that it started. */
void dpa__slot_kill(dpa__slot *slot);
/* pool.c: after a worker's end, kills what it may have left running, cancels its work on other
 * machines and removes its files. */
void dpa__slot_sweep(const dpa__slot *slot);

#endif
