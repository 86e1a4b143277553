/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run plays stage after stage; each takes the trials that the store has and gets the others from
 * workers. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "game/command.h"
#include "game/rules.h"
#include "run/ranks.h"
#include "run/schedule.h"
#include "run/scratch.h"

static dpa_status play_stage(dpa__run *run, dpa__stage *s, const dpa_values *brief,
                             dpa_error *err) {
    DPA_TRY(dpa__stage_enter(run->store, run->game, s, brief, err));
    const uint64_t before = run->summary->stored;
    DPA_TRY(dpa__stage_load(run->store, s, run->summary, err));
    if (s->number == 0 && run->summary->stored == before)
        DPA_TRY(dpa__store_others(run->store, s->key, run->game->experiment->path, 0,
                                  &run->summary->others, err));
    DPA_TRY(run->transport.brief(run->transport.self, s->number, brief, err));
    return dpa__stage_play(run, s, err);
}

/* The game cannot do without the missing trials: fails with the reason why they are missing. */
static dpa_status explain_missing(const dpa__run *run, uint64_t missing, dpa_error *err) {
    char why[DPA_TEXT_SIZE];
    (void)snprintf(why, sizeof why, "%.300s", err != NULL ? err->text : "");
    return dpa__fail(err, DPA_IO,
                     "%" PRIu64 " of %" PRIu64 " trials %s, and the game cannot go on without "
                     "them (%s)%s",
                     missing, run->summary->planned,
                     run->summary->out_of_time ? "were not played in the time given" : "failed",
                     why, run->summary->out_of_time ? "" : "; dpaudit show --failures says why");
}

static dpa_status play_all(dpa__run *run, dpa__stages *all, dpa_evidence *out, dpa_error *err) {
    dpa_status status = DPA_OK;
    for (int i = 0; i < all->count && status == DPA_OK; ++i) {
        dpa_values brief = {0};
        status = dpa_game_brief(run->game, i, all->trials, &brief, err);
        if (status != DPA_OK) break;
        const dpa_status played = play_stage(run, &all->items[i], &brief, err);
        dpa_values_free(&brief);
        if (played != DPA_OK) return played;
    }
    if (status == DPA_OK) status = dpa_game_gather(run->game, all->trials, out, err);
    run->summary->missing = dpa__stages_missing(all);
    if (status == DPA_OK || run->summary->missing == 0 || status == DPA_NO_MEMORY) return status;
    return explain_missing(run, run->summary->missing, err);
}

/* Removes what killed ranks of an earlier run have left, from rank `first` on; the ranks of this
 * run clean up their own folders. */
static void sweep_leftover(void *first, const char *folder, long rank) {
    if (rank >= *(const long *)first) dpa__scratch_sweep(folder);
}

/* Its folders are beside the store, whose lock keeps other runs away. */
static dpa_status open_transport(dpa__run *run, const char *path, dpa_error *err) {
    char *scratch = NULL;
    if (run->opts->worker == NULL) return dpa__here_open(run->game, &run->transport, err);
    DPA_TRY(dpa__scratch_name(path, 0, &scratch, err));
    dpa_ranks *ranks = run->opts->ranks;
    long first = ranks != NULL ? ranks->size : 1;
    dpa__scratch_list(path, sweep_leftover, &first);
    const dpa_status status =
        ranks != NULL ? dpa__ranks_open(ranks, run->opts, run->game, scratch, &run->transport, err)
                      : dpa__pool_open(run->opts, run->game, scratch, &run->transport, err);
    free(scratch);
    return status;
}

static dpa_status open_run(dpa__run *run, dpa_error *err) {
    DPA_TRY(dpa__run_path(run->opts, run->game, &run->path, err));
    dpa_status status = dpa_store_open(run->path, DPA_STORE_WRITE, &run->store, err);
    if (status == DPA_OK) status = dpa__store_run_begin(run->store, err);
    if (status == DPA_OK) status = open_transport(run, run->path, err);
    return status;
}

static void close_run(dpa__run *run, dpa_status status) {
    if (run->transport.close != NULL) run->transport.close(run->transport.self);
    if (run->store != NULL && run->store->run != 0) {
        const int done = status == DPA_OK && run->summary->missing == 0;
        run->now.state = done ? DPA_RUN_DONE : DPA_RUN_STOPPED;
        run->now.played = run->summary->played;
        run->now.failed = run->summary->failed;
        run->now.running = 0;
        /* Best effort: a failed status update must not change the run's result. */
        const dpa_status noted = dpa__store_run_update(run->store, &run->now, NULL);
        (void)noted;
        run->now.trial_count = 0;
        dpa__status_write(run->path, &run->now);
    }
    dpa_store_close(run->store);
    free(run->path);
}

dpa_status dpa_run_play(const dpa_run_opts *opts, dpa_game *game, dpa_evidence *out,
                        dpa_run_summary *summary, dpa_error *err) {
    dpa__stages all;
    dpa_run_summary unused;
    *out = (dpa_evidence){0};
    if (summary == NULL) summary = &unused;
    *summary = (dpa_run_summary){0};
    DPA_TRY(dpa__run_check(opts, err));
    DPA_TRY(dpa__stages_init(opts, game, &all, err));
    dpa__run run = {.opts = opts, .game = game, .summary = summary, .start = dpa__clock()};
    dpa_status status = dpa__events_open(&run.events, opts->events, err);
    if (status == DPA_OK) status = open_run(&run, err);
    run.trials = all.trials;
    if (status == DPA_OK && opts->stop != NULL)
        status = dpa__stop_open(opts->stop, game, &run.stop, err);
    if (status == DPA_OK) {
        run.now = (dpa_run_status){.state = DPA_RUN_RUNNING,
                                   .stages = all.count,
                                   .workers = run.transport.slots,
                                   .started = dpa__wall_clock(),
                                   .trial_seconds = (double)NAN};
        dpa__events_run(&run.events, game, run.now.workers);
        status = play_all(&run, &all, out, err);
    }
    close_run(&run, status);
    dpa__stop_close(run.stop);
    summary->seconds = dpa__clock() - run.start;
    dpa__events_end(&run.events, summary, status);
    dpa__events_close(&run.events);
    dpa__stages_free(&all);
    return status;
}
