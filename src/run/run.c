/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run plays stage after stage; each takes the trials that the store has and gets the others from
 * workers. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "game/command.h"
#include "game/rules.h"
#include "run/ranks.h"
#include "run/schedule.h"
#include "run/scratch.h"

/* ---- The stages of a run and what the store has of them ----
 *
 * The key of a stage in the store is the SHA-256 of the game's key and of the brief's bytes:
 * everything that decides its trials. An experiment that differs only in other settings (claim,
 * estimators, number of trials) finds the same trials. */

void dpa_run_opts_init(dpa_run_opts *opts) {
    *opts = (dpa_run_opts){.retries = 2, .timeout = (double)INFINITY, .seconds = (double)INFINITY};
}

dpa_status dpa__run_check(const dpa_run_opts *o, dpa_error *err) {
    if (!(o->timeout > 0.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "timeout %g: expected above 0", o->timeout);
    if (!(o->seconds > 0.0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "budget of %g seconds: expected above 0",
                         o->seconds);
    if (o->workers > 4096)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%" PRIu64 " workers: expected at most 4096",
                         o->workers);
    if (o->retries > 100)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%" PRIu64 " retries: expected at most 100",
                         o->retries);
    return DPA_OK;
}

dpa_status dpa_run_store_path(const dpa_experiment *experiment, char **out, dpa_error *err) {
    if (experiment->store != NULL) {
        *out = dpa__strdup(experiment->store, err);
        return *out != NULL ? DPA_OK : DPA_NO_MEMORY;
    }
    const char *path = experiment->path;
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    const size_t stem = dot != NULL && dot != path && (slash == NULL || dot > slash + 1)
                            ? (size_t)(dot - path)
                            : strlen(path);
    dpa__text text = {0};
    dpa__text_printf(&text, "%.*s.trials.db", (int)stem, path);
    return dpa__text_take(&text, out, err);
}

dpa_status dpa__run_path(const dpa_run_opts *opts, const dpa_game *game, char **out,
                         dpa_error *err) {
    if (opts->store == NULL) return dpa_run_store_path(game->experiment, out, err);
    *out = dpa__strdup(opts->store, err);
    return *out != NULL ? DPA_OK : DPA_NO_MEMORY;
}

void dpa__stages_free(dpa__stages *all) {
    for (int i = 0; i < all->count; ++i) {
        dpa_values *items = all->items[i].items;
        for (uint64_t k = 0; items != NULL && k < all->trials[i].count; ++k)
            dpa_values_free(&items[k]);
        free(items);
        free(all->items[i].ends);
    }
    *all = (dpa__stages){0};
}

dpa_status dpa__stages_init(const dpa_run_opts *opts, const dpa_game *game, dpa__stages *all,
                            dpa_error *err) {
    uint64_t budget = opts->trials > 0 ? opts->trials : UINT64_MAX;
    *all = (dpa__stages){.count = dpa_game_stages(game)};
    for (int i = 0; i < all->count; ++i) {
        const uint64_t count = dpa_game_trials(game, i);
        dpa__stage *s = &all->items[i];
        s->number = i;
        s->planned = count < budget ? count : budget;
        budget -= s->planned;
        s->items = count <= SIZE_MAX ? dpa__calloc((size_t)count, sizeof *s->items, err) : NULL;
        all->trials[i] = (dpa_trials){s->items, count, NULL};
        s->ends = s->items != NULL ? dpa__calloc((size_t)count, sizeof *s->ends, err) : NULL;
        if (s->ends == NULL) {
            dpa__stages_free(all);
            return DPA_NO_MEMORY;
        }
        all->trials[i].ends = s->ends;
    }
    return DPA_OK;
}

/* The game's key with the brief of the stage. */
static void add_brief(char key[DPA_SHA256_SIZE], const dpa_values *brief) {
    dpa__sha256 sha;
    dpa__sha256_init(&sha);
    dpa__sha256_add(&sha, key, strlen(key));
    if (brief->count > 0) dpa__sha256_add(&sha, brief->items, brief->count * sizeof *brief->items);
    dpa__sha256_hex(&sha, key);
}

dpa_status dpa__stage_find(const dpa_game *game, dpa__stage *s, const dpa_values *brief,
                           char **settings, dpa_error *err) {
    char *text = NULL;
    DPA_TRY(dpa__game_settings(game, s->number, &text, err));
    dpa__sha256_of(text, strlen(text), s->key);
    add_brief(s->key, brief);
    const dpa_status status = dpa__game_key_1(game, s->number, text, s->before, err);
    if (status == DPA_OK) add_brief(s->before, brief);
    if (status == DPA_OK && settings != NULL)
        *settings = text;
    else
        free(text);
    return status;
}

int dpa__stage_owns(const dpa__stage *s, const char *key) {
    return strcmp(key, s->key) == 0 || strcmp(key, s->before) == 0;
}

dpa_status dpa__stage_enter(dpa_store *store, const dpa_game *game, dpa__stage *s,
                            const dpa_values *brief, dpa_error *err) {
    char *settings = NULL;
    DPA_TRY(dpa__stage_find(game, s, brief, &settings, err));
    const dpa__stage_row row = {s->key, settings, game->experiment->path, s->number, s->planned};
    dpa_status status = dpa__store_begin(store, err);
    if (status == DPA_OK) {
        status = dpa__store_stage(store, &row, &s->row, err);
        if (status == DPA_OK) status = dpa__store_adopt(store, s->before, s->key, s->row, err);
        status = dpa__store_end(store, status, err);
    }
    free(settings);
    return status;
}

dpa_status dpa__stage_load(dpa_store *store, dpa__stage *s, dpa_run_summary *summary,
                           dpa_error *err) {
    uint64_t loaded = 0, damaged = 0;
    DPA_TRY(dpa__store_load(store, s->key, s->items, s->ends, s->planned, &loaded, &damaged, err));
    if (loaded + damaged == 0) /* a store that is only read keeps older keys */
        DPA_TRY(dpa__store_load(store, s->before, s->items, s->ends, s->planned, &loaded, &damaged,
                                err));
    for (uint64_t i = 0; i < s->planned; ++i)
        summary->failed_trials += s->ends[i] == DPA_TRIAL_FAILED;
    summary->planned += s->planned;
    summary->stored += loaded;
    summary->damaged += damaged;
    return DPA_OK;
}

uint64_t dpa__stages_missing(const dpa__stages *all) {
    uint64_t missing = 0;
    for (int i = 0; i < all->count; ++i)
        for (uint64_t k = 0; k < all->items[i].planned; ++k)
            missing += all->items[i].ends[k] != DPA_TRIAL_PLAYED &&
                       all->items[i].ends[k] != DPA_TRIAL_FAILED;
    return missing;
}

/* ---- Playing ---- */

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
