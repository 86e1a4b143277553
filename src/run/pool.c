/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plays trials in worker processes of this machine, on libuv. Workers live as long as the run, so
 * that each loads the data once; one that dies loses only the trial it was playing, and is started
 * again for the next. */
#include "run/pool.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "game/command.h"
#include "run/schedule.h"

static const char scratch_name[] = "DPAUDIT_SCRATCH=";

static void progress(void *self, size_t slot, double out[2]) {
    const dpa__pool *pool = self;
    memcpy(out, pool->slots[slot].progress, sizeof pool->slots[slot].progress);
}

static dpa_status set_brief(void *self, int stage, const dpa_values *brief, dpa_error *err) {
    dpa__pool *pool = self;
    (void)err;
    pool->stage = stage;
    pool->brief = brief;
    for (size_t i = 0; i < pool->count; ++i) pool->slots[i].briefed = -1;
    return DPA_OK;
}

static dpa_status submit(void *self, size_t slot, int stage, uint64_t index, dpa_error *err) {
    dpa__pool *pool = self;
    dpa__slot *s = &pool->slots[slot];
    if (s->job || s->ready)
        return dpa__fail(err, DPA_INTERNAL, "slot %zu has a trial already", slot);
    s->job = 1;
    s->stage = stage;
    s->index = index;
    s->outcome = (dpa__outcome){0};
    uv_update_time(&pool->loop); /* the loop's clock stood still while the scheduler was busy */
    dpa__slot_advance(s);
    return DPA_OK;
}

static int take_outcome(dpa__pool *pool, dpa__outcome *out) {
    for (size_t i = 0; i < pool->count; ++i) {
        dpa__slot *s = &pool->slots[i];
        if (!s->ready) continue;
        s->ready = 0;
        *out = s->outcome;
        s->outcome = (dpa__outcome){0};
        return 1;
    }
    return 0;
}

static void on_tick(uv_timer_t *timer) {
    ((dpa__pool *)timer->data)->ticked = 1;
}

static dpa_status wait(void *self, double seconds, dpa__outcome *out, int *some, dpa_error *err) {
    dpa__pool *pool = self;
    *some = take_outcome(pool, out);
    if (*some) return DPA_OK;
    pool->ticked = 0;
    if (seconds > 0.0)
        (void)uv_timer_start(&pool->tick, on_tick, (uint64_t)fmin(1e3 * seconds, 1e6) + 1, 0);
    do {
        (void)uv_run(&pool->loop, seconds > 0.0 ? UV_RUN_ONCE : UV_RUN_NOWAIT);
        *some = take_outcome(pool, out);
    } while (!*some && !pool->ticked && seconds > 0.0 && pool->fatal.status == DPA_OK);
    (void)uv_timer_stop(&pool->tick);
    if (*some || pool->fatal.status == DPA_OK) return DPA_OK;
    if (err != NULL) *err = pool->fatal;
    return pool->fatal.status;
}

static const char *scratch_of(const dpa__pool *pool) {
    return pool->scratch + strlen(scratch_name);
}

void dpa__slot_sweep(const dpa__slot *slot) {
    char name[32], folder[PATH_MAX];
    (void)snprintf(name, sizeof name, "DPAUDIT_SLOT=%zu", slot->number);
    dpa__marked_kill(slot->pool->scratch, name);
    if (snprintf(folder, sizeof folder, "%s/%zu", scratch_of(slot->pool), slot->number) <
        (int)sizeof folder)
        dpa__scratch_sweep_slot(folder);
}

static void free_pool(dpa__pool *pool) {
    free(pool->slots);
    free(pool->keys);
    free(pool->scratch);
    free(pool->keep);
    free(pool);
}

static void close_pool(void *self) {
    dpa__pool *pool = self;
    if (pool == NULL) return;
    pool->closing = 1;
    for (size_t i = 0; i < pool->count; ++i) {
        dpa__slot *s = &pool->slots[i];
        dpa__slot_kill(s);
        uv_close((uv_handle_t *)&s->timer, NULL);
    }
    uv_close((uv_handle_t *)&pool->tick, NULL);
    (void)uv_run(&pool->loop, UV_RUN_DEFAULT); /* until all handles of all workers are closed */
    (void)uv_loop_close(&pool->loop);
    (void)sigaction(SIGPIPE, &pool->old_sigpipe, NULL);
    for (size_t i = 0; i < pool->count; ++i) {
        dpa__outcome_free(&pool->slots[i].outcome);
        dpa__text_free(&pool->slots[i].inbox);
        dpa__text_free(&pool->slots[i].said);
        dpa__live_log_end(&pool->slots[i].log);
    }
    dpa__scratch_sweep(scratch_of(pool));
    free_pool(pool);
}

static dpa_status collect_keys(dpa__pool *pool, const dpa_game *game, dpa_error *err) {
    dpa__text keys = {0};
    const dpa_status status = dpa__wire_keys(game, &keys, err);
    if (status == DPA_OK) return dpa__text_take(&keys, &pool->keys, err);
    dpa__text_free(&keys);
    return status;
}

static uint64_t cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return (uint64_t)CPU_COUNT(&set);
}

uint64_t dpa__pool_workers(const dpa_run_opts *opts) {
    if (opts->worker == NULL) return 1;
    return opts->workers > 0 ? opts->workers : cores();
}

static void start_loop(dpa__pool *pool) {
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigemptyset(&ignore.sa_mask);
    (void)sigaction(SIGPIPE, &ignore, &pool->old_sigpipe);
    (void)uv_timer_init(&pool->loop, &pool->tick);
    pool->tick.data = pool;
    for (size_t i = 0; i < pool->count; ++i) {
        dpa__slot *s = &pool->slots[i];
        s->pool = pool;
        s->number = i;
        s->log = (dpa__live_log){.scratch = scratch_of(pool), .slot = i};
        (void)uv_timer_init(&pool->loop, &s->timer);
        s->timer.data = s;
    }
}

static dpa_status make_temporary(dpa__pool *pool, dpa_error *err) {
    const char *place = getenv("TMPDIR");
    dpa__text text = {0};
    dpa__text_printf(&text, "%s%s/dpaudit-XXXXXX", scratch_name, place != NULL ? place : "/tmp");
    DPA_TRY(dpa__text_take(&text, &pool->scratch, err));
    char *folder = pool->scratch + strlen(scratch_name);
    if (mkdtemp(folder) != NULL) return DPA_OK;
    return dpa__fail_file(err, DPA_IO, folder, "cannot make a folder for temporary files: %s",
                          strerror(errno));
}

/* Makes "NAME=path". The path is absolute, because trainers run in other folders. */
static dpa_status name_folder(const char *name, const char *path, const char *ending, char **out,
                              dpa_error *err) {
    dpa__text text = {0};
    char here[PATH_MAX];
    dpa__text_add(&text, name);
    if (path[0] != '/') {
        if (getcwd(here, sizeof here) == NULL) {
            dpa__text_free(&text);
            return dpa__fail(err, DPA_IO, "where is the working folder? %s", strerror(errno));
        }
        dpa__text_printf(&text, "%s/", here);
    }
    dpa__text_printf(&text, "%s%s", path, ending);
    return dpa__text_take(&text, out, err);
}

/* The folders are beside the store: all ranks keep saved states in one place, so that any of them
 * can go on with a trial. */
static dpa_status name_folders(dpa__pool *pool, const dpa_run_opts *opts, const dpa_game *game,
                               const char *scratch, dpa_error *err) {
    char *store = NULL;
    pool->temporary = scratch == NULL;
    if (scratch == NULL) return make_temporary(pool, err);
    DPA_TRY(name_folder(scratch_name, scratch, "", &pool->scratch, err));
    DPA_TRY(dpa__run_path(opts, game, &store, err));
    const dpa_status status = name_folder("DPAUDIT_KEEP=", store, ".rounds", &pool->keep, err);
    free(store);
    return status;
}

dpa_status dpa__pool_open(const dpa_run_opts *opts, dpa_game *game, const char *scratch,
                          dpa__transport *out, dpa_error *err) {
    dpa__pool *pool = DPA_NEW(dpa__pool, err);
    if (pool == NULL) return DPA_NO_MEMORY;
    pool->worker = opts->worker;
    pool->timeout = opts->timeout;
    pool->count = (size_t)dpa__pool_workers(opts);
    pool->slots = dpa__calloc(pool->count, sizeof *pool->slots, err);
    dpa_status status = pool->slots != NULL ? collect_keys(pool, game, err) : DPA_NO_MEMORY;
    if (status == DPA_OK) status = name_folders(pool, opts, game, scratch, err);
    if (status == DPA_OK) status = dpa__need_descriptors(8, err); /* libuv aborts without */
    if (status == DPA_OK) {
        const int code = uv_loop_init(&pool->loop);
        if (code != 0)
            status = dpa__fail(err, code == UV_ENOMEM ? DPA_NO_MEMORY : DPA_IO,
                               "cannot start the loop of workers: %s", uv_strerror(code));
    }
    if (status != DPA_OK) {
        free_pool(pool);
        return status;
    }
    /* Leftovers of a run that was killed: nobody else uses this folder. */
    if (access(scratch_of(pool), F_OK) == 0) {
        dpa__marked_kill(pool->scratch, NULL);
        dpa__scratch_sweep(scratch_of(pool));
    }
    start_loop(pool);
    *out = (dpa__transport){pool->count, pool, dpa__place_here, progress, set_brief,
                            submit,      wait, close_pool};
    return DPA_OK;
}
