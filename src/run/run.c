/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run: stage after stage, each from the store as far as it goes and from workers for the rest. */
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "game/command.h"
#include "game/rules.h"
#include "run/ranks.h"
#include "run/schedule.h"

static dpa_status play_stage(dpa__run *run, dpa__stage *s, const dpa_values *brief,
                             dpa_error *err) {
    DPA_TRY(dpa__stage_find(run->game, s, brief, err));
    DPA_TRY(dpa__store_stage(run->store, s->key, run->game->experiment->path, s->number, s->planned,
                             &s->row, err));
    const uint64_t before = run->summary->stored;
    DPA_TRY(dpa__stage_load(run->store, s, run->summary, err));
    if (s->number == 0 && run->summary->stored == before)
        DPA_TRY(dpa__store_others(run->store, s->key, run->game->experiment->path, 0,
                                  &run->summary->others, err));
    DPA_TRY(run->transport.brief(run->transport.self, s->number, brief, err));
    return dpa__stage_play(run, s, err);
}

/* Trials are missing and the game cannot do without them: say why they are. */
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

/* Folders STORE.scratch.rankN that killed ranks of an earlier run have left, from N = `first` on:
 * ranks of this run look after their own. */
static void sweep_leftovers(const char *store, long first) {
    const char *slash = strrchr(store, '/');
    const char *base = slash != NULL ? slash + 1 : store;
    const int length = slash != NULL ? (int)(slash - store) : 1;
    char folder[PATH_MAX], prefix[NAME_MAX + 1], path[PATH_MAX + NAME_MAX + 2];
    (void)snprintf(folder, sizeof folder, "%.*s", length > 0 ? length : 1,
                   slash != NULL ? store : ".");
    (void)snprintf(prefix, sizeof prefix, "%s.scratch.rank", base);
    DIR *all = opendir(folder);
    if (all == NULL) return;
    for (const struct dirent *e; (e = readdir(all)) != NULL;) {
        if (strncmp(e->d_name, prefix, strlen(prefix)) != 0) continue;
        if (strtol(e->d_name + strlen(prefix), NULL, 10) < first) continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        dpa__scratch_sweep(path);
    }
    (void)closedir(all);
}

/* Beside the store, whose lock keeps others away from it. */
static dpa_status open_transport(dpa__run *run, const char *path, dpa_error *err) {
    char *scratch = NULL;
    dpa__text text = {0};
    if (run->opts->worker == NULL) return dpa__here_open(run->game, &run->transport, err);
    dpa__text_printf(&text, "%s.scratch", path);
    DPA_TRY(dpa__text_take(&text, &scratch, err));
    dpa_ranks *ranks = run->opts->ranks;
    sweep_leftovers(path, ranks != NULL ? ranks->size : 1);
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
    dpa__run run = {.opts = opts, .game = game, .summary = summary, .start = dpa__run_clock()};
    dpa_status status = open_run(&run, err);
    run.trials = all.trials;
    if (status == DPA_OK && opts->stop != NULL)
        status = dpa__stop_open(opts->stop, game, &run.stop, err);
    if (status == DPA_OK) {
        run.now = (dpa_run_status){.state = DPA_RUN_RUNNING,
                                   .stages = all.count,
                                   .workers = run.transport.slots,
                                   .started = dpa__wall_clock(),
                                   .trial_seconds = (double)NAN};
        status = play_all(&run, &all, out, err);
    }
    close_run(&run, status);
    dpa__stop_close(run.stop);
    summary->seconds = dpa__run_clock() - run.start;
    dpa__stages_free(&all);
    return status;
}
