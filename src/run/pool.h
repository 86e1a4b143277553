/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of the pool: slots, each with at most one worker process and one trial. */
#ifndef DPA_RUN_POOL_H
#define DPA_RUN_POOL_H

#include <signal.h>
#include <uv.h>

#include "base/text.h"
#include "run/transport.h"
#include "run/wire.h"

typedef enum dpa__slot_state {
    DPA__SLOT_EMPTY,    /* no process */
    DPA__SLOT_STARTING, /* not yet ready: it loads its data */
    DPA__SLOT_IDLE,
    DPA__SLOT_BUSY,
    DPA__SLOT_DYING /* was killed or has exited; its handles are being closed */
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
    int open;           /* handles of the process that are not closed yet */
    int timeout;        /* the timer ended it */
    uint64_t oom_kills; /* of this machine, when its trial began */
    int job;            /* a trial was submitted and has no outcome yet */
    int stage;
    uint64_t index;
    double progress[2]; /* of the trial: done, total; 0 when it does not say */
    int briefed;        /* the worker knows the brief of this stage; -1: of none */
    dpa__text inbox, said;
    int ready; /* `outcome` waits for the scheduler */
    dpa__outcome outcome;
} dpa__slot;

struct dpa__pool {
    uv_loop_t loop;
    uv_timer_t tick;
    int ticked, closing;
    const char *const *worker;
    char *scratch; /* "DPAUDIT_SCRATCH=…", for the files of external trainers */
    int temporary; /* nobody else knows that folder */
    double timeout;
    char *keys; /* of all stages, as a worker says them when it is ready */
    int stage;
    const dpa_values *brief;
    unsigned stillborn; /* workers in a row that died before they were ready */
    dpa_error fatal;    /* status not OK: the run cannot go on */
    struct sigaction old_sigpipe;
    size_t count;
    dpa__slot *slots;
};

/* pool_slot.c: goes on with a slot that has a job: starts the worker, or sends it the trial. */
void dpa__slot_advance(dpa__slot *slot);
/* pool_spawn.c: starts the process; 0 or an error of libuv. Afterwards slot->open handles have to
 * be closed, and slot->alive says whether the process is there all the same. */
int dpa__slot_spawn(dpa__slot *slot, uv_exit_cb on_exit);
/* Kills the worker and all that it started. */
void dpa__slot_kill(dpa__slot *slot);
/* pool.c: after the worker's end, kills what it may have left running, ends its work elsewhere and
 * removes its files. */
void dpa__slot_sweep(const dpa__slot *slot);

#endif
