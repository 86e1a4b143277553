/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run: stage after stage, each from the store as far as it goes and from workers for the rest.
 *
 * The key of a stage in the store is the SHA-256 of the game's key and of the brief's bytes: all
 * that decides its trials. An experiment that differs in what does not decide them (claim,
 * estimators, number of trials) finds them again. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "game/rules.h"
#include "run/schedule.h"

enum { ROW_BYTES = 100 }; /* of a trial besides its numbers: index, sum, times (measured: 60-90) */

void dpa_run_opts_init(dpa_run_opts *opts) {
    *opts = (dpa_run_opts){.retries = 2, .timeout = (double)INFINITY, .seconds = (double)INFINITY};
}

static dpa_status check(const dpa_run_opts *o, dpa_error *err) {
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
    const size_t size = stem + sizeof ".trials.db";
    *out = dpa__malloc(size, 1, err);
    if (*out == NULL) return DPA_NO_MEMORY;
    (void)snprintf(*out, size, "%.*s.trials.db", (int)stem, path);
    return DPA_OK;
}

static dpa_status find_path(const dpa_run_opts *opts, const dpa_game *game, char **out,
                            dpa_error *err) {
    if (opts->store == NULL) return dpa_run_store_path(game->experiment, out, err);
    *out = dpa__strdup(opts->store, err);
    return *out != NULL ? DPA_OK : DPA_NO_MEMORY;
}

/* ---- What all the stages have by now ---- */

typedef struct stages {
    int count;
    dpa__stage items[DPA_GAME_STAGES];
    dpa_trials trials[DPA_GAME_STAGES];
} stages;

static void stages_free(stages *all) {
    for (int i = 0; i < all->count; ++i) {
        dpa_values *items = all->items[i].items;
        for (uint64_t k = 0; items != NULL && k < all->trials[i].count; ++k)
            dpa_values_free(&items[k]);
        free(items);
    }
    *all = (stages){0};
}

static dpa_status stages_init(const dpa_run_opts *opts, const dpa_game *game, stages *all,
                              dpa_error *err) {
    uint64_t budget = opts->trials > 0 ? opts->trials : UINT64_MAX;
    *all = (stages){.count = dpa_game_stages(game)};
    for (int i = 0; i < all->count; ++i) {
        const uint64_t count = dpa_game_trials(game, i);
        dpa__stage *s = &all->items[i];
        s->number = i;
        s->planned = count < budget ? count : budget;
        budget -= s->planned;
        s->items = count <= SIZE_MAX ? dpa__calloc((size_t)count, sizeof *s->items, err) : NULL;
        if (s->items == NULL) {
            stages_free(all);
            return DPA_NO_MEMORY;
        }
        all->trials[i] = (dpa_trials){s->items, count};
    }
    return DPA_OK;
}

static dpa_status find_key(const dpa_game *game, dpa__stage *s, const dpa_values *brief,
                           dpa_error *err) {
    char key[DPA_SHA256_SIZE];
    DPA_TRY(dpa_game_key(game, s->number, key, err));
    dpa__sha256 sha;
    dpa__sha256_init(&sha);
    dpa__sha256_add(&sha, key, strlen(key));
    if (brief->count > 0) dpa__sha256_add(&sha, brief->items, brief->count * sizeof *brief->items);
    dpa__sha256_hex(&sha, s->key);
    return DPA_OK;
}

static dpa_status load(dpa_store *store, dpa__stage *s, dpa_run_summary *summary, dpa_error *err) {
    uint64_t loaded = 0, damaged = 0;
    DPA_TRY(dpa__store_load(store, s->key, s->items, s->planned, &loaded, &damaged, err));
    summary->planned += s->planned;
    summary->stored += loaded;
    summary->damaged += damaged;
    return DPA_OK;
}

static uint64_t count_missing(const stages *all) {
    uint64_t missing = 0;
    for (int i = 0; i < all->count; ++i)
        for (uint64_t k = 0; k < all->items[i].planned; ++k)
            missing += all->items[i].items[k].items == NULL;
    return missing;
}

/* ---- Playing ---- */

static dpa_status play_stage(dpa__run *run, dpa__stage *s, const dpa_values *brief,
                             dpa_error *err) {
    DPA_TRY(find_key(run->game, s, brief, err));
    DPA_TRY(dpa__store_stage(run->store, s->key, run->game->experiment->path, s->number, s->planned,
                             &s->row, err));
    const uint64_t before = run->summary->stored;
    DPA_TRY(load(run->store, s, run->summary, err));
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

static dpa_status play_all(dpa__run *run, stages *all, dpa_game_evidence *out, dpa_error *err) {
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
    run->summary->missing = count_missing(all);
    if (status == DPA_OK || run->summary->missing == 0 || status == DPA_NO_MEMORY) return status;
    return explain_missing(run, run->summary->missing, err);
}

/* Beside the store, whose lock keeps others away from it. */
static dpa_status open_transport(dpa__run *run, const char *path, dpa_error *err) {
    char *scratch = NULL;
    dpa__text text = {0};
    if (run->opts->worker == NULL) return dpa__here_open(run->game, &run->transport, err);
    dpa__text_printf(&text, "%s.scratch", path);
    DPA_TRY(dpa__text_take(&text, &scratch, err));
    const dpa_status status = dpa__pool_open(run->opts, run->game, scratch, &run->transport, err);
    free(scratch);
    return status;
}

static dpa_status open_run(dpa__run *run, dpa_error *err) {
    char *path = NULL;
    DPA_TRY(find_path(run->opts, run->game, &path, err));
    dpa_status status = dpa_store_open(path, DPA_STORE_WRITE, &run->store, err);
    if (status == DPA_OK) status = dpa__store_run_begin(run->store, err);
    if (status == DPA_OK) status = open_transport(run, path, err);
    free(path);
    return status;
}

static void close_run(dpa__run *run, dpa_status status) {
    if (run->transport.close != NULL) run->transport.close(run->transport.self);
    if (run->store != NULL && run->store->run != 0) {
        const int done = status == DPA_OK && !run->summary->out_of_time;
        run->now.state = done ? DPA_RUN_DONE : DPA_RUN_STOPPED;
        run->now.played = run->summary->played;
        run->now.failed = run->summary->failed;
        run->now.running = 0;
        /* Only a note for `dpaudit status`: the run itself ends as it ends. */
        const dpa_status noted = dpa__store_run_update(run->store, &run->now, NULL);
        (void)noted;
    }
    dpa_store_close(run->store);
}

dpa_status dpa_run_play(const dpa_run_opts *opts, dpa_game *game, dpa_game_evidence *out,
                        dpa_run_summary *summary, dpa_error *err) {
    stages all;
    dpa_run_summary unused;
    *out = (dpa_game_evidence){0};
    if (summary == NULL) summary = &unused;
    *summary = (dpa_run_summary){0};
    DPA_TRY(check(opts, err));
    DPA_TRY(stages_init(opts, game, &all, err));
    dpa__run run = {.opts = opts, .game = game, .summary = summary, .start = dpa__run_clock()};
    dpa_status status = open_run(&run, err);
    if (status == DPA_OK) {
        run.now = (dpa_run_status){
            .state = DPA_RUN_RUNNING, .stages = all.count, .workers = run.transport.slots};
        status = play_all(&run, &all, out, err);
    }
    close_run(&run, status);
    summary->seconds = dpa__run_clock() - run.start;
    stages_free(&all);
    return status;
}

/* ---- Looking ---- */

/* What the store has, if it is there. A later stage's brief made from half of an earlier one names
 * trials that nobody has played: it is found empty, as it should be. */
static dpa_status look_all(const char *path, dpa_game *game, stages *all, dpa_run_summary *summary,
                           dpa_store_stages *list, dpa_error *err) {
    dpa_store *store = NULL;
    if (access(path, F_OK) != 0) {
        for (int i = 0; i < all->count; ++i) summary->planned += all->items[i].planned;
        return DPA_OK;
    }
    DPA_TRY(dpa_store_open(path, DPA_STORE_READ, &store, err));
    dpa_status status = dpa_store_list(store, list, err);
    for (int i = 0; i < all->count && status == DPA_OK; ++i) {
        dpa_values brief = {0};
        dpa_error unknown = {0};
        if (dpa_game_brief(game, i, all->trials, &brief, &unknown) != DPA_OK) {
            summary->planned += all->items[i].planned;
            continue;
        }
        status = find_key(game, &all->items[i], &brief, err);
        if (status == DPA_OK) status = load(store, &all->items[i], summary, err);
        dpa_values_free(&brief);
    }
    dpa_store_close(store);
    return status;
}

static dpa_status look(const dpa_run_opts *opts, dpa_game *game, stages *all,
                       dpa_run_summary *summary, dpa_store_stages *list, dpa_error *err) {
    char *path = NULL;
    *summary = (dpa_run_summary){0};
    *list = (dpa_store_stages){0};
    DPA_TRY(check(opts, err));
    DPA_TRY(find_path(opts, game, &path, err));
    dpa_status status = stages_init(opts, game, all, err);
    if (status == DPA_OK) {
        status = look_all(path, game, all, summary, list, err);
        summary->missing = count_missing(all);
        if (status != DPA_OK) stages_free(all);
    }
    if (status != DPA_OK) dpa_store_stages_free(list);
    free(path);
    return status;
}

dpa_status dpa_run_collect(const dpa_run_opts *opts, dpa_game *game, dpa_game_evidence *out,
                           dpa_run_summary *summary, dpa_error *err) {
    stages all;
    dpa_store_stages list;
    *out = (dpa_game_evidence){0};
    DPA_TRY(look(opts, game, &all, summary, &list, err));
    const dpa_status status = dpa_game_gather(game, all.trials, out, err);
    dpa_store_stages_free(&list);
    stages_free(&all);
    return status;
}

/* Plays trial 0 of stage 0 without storing it. */
static dpa_status time_one(const dpa_run_opts *opts, dpa_game *game, double *seconds, size_t *bytes,
                           dpa_error *err) {
    dpa__transport t = {0};
    dpa_run_opts one = *opts;
    one.workers = 1;
    const dpa_values brief = {0};
    DPA_TRY(opts->worker != NULL ? dpa__pool_open(&one, game, NULL, &t, err)
                                 : dpa__here_open(game, &t, err));
    dpa_status status = t.brief(t.self, 0, &brief, err);
    if (status == DPA_OK) status = t.submit(t.self, 0, 0, 0, err);
    dpa__outcome outcome = {0};
    for (int some = 0; status == DPA_OK && !some;) {
        status = t.wait(t.self, 0.1, &outcome, &some, err);
        const dpa_progress *p = &opts->progress;
        if (status == DPA_OK && p->call != NULL && p->call(p->user, "first trial", 0.0, 0.0))
            status = dpa__fail(err, DPA_CANCELLED, "stopped");
    }
    if (status == DPA_OK && outcome.status != DPA_OK) {
        status = outcome.status;
        if (err != NULL) *err = outcome.error;
    }
    *seconds = outcome.seconds;
    *bytes = outcome.values.count * sizeof(double);
    dpa__outcome_free(&outcome);
    t.close(t.self);
    return status;
}

static dpa_status estimate(const dpa_run_opts *opts, dpa_game *game, const stages *all,
                           const dpa_store_stages *list, dpa_run_estimate *out, dpa_error *err) {
    double seconds = 0.0, bytes = 0.0, count = 0.0;
    for (size_t k = 0; k < list->count; ++k)
        for (int i = 0; i < all->count; ++i)
            if (strcmp(list->items[k].key, all->items[i].key) == 0 && list->items[k].stored > 0) {
                const double n = (double)list->items[k].stored;
                count += n;
                seconds += n * list->items[k].seconds;
                bytes += (double)list->items[k].bytes;
            }
    if (count == 0.0 && out->planned > 0) {
        size_t size = 0;
        DPA_TRY(time_one(opts, game, &seconds, &size, err));
        bytes = (double)size;
        count = 1.0;
        out->timed = 1;
    }
    if (count == 0.0) return DPA_OK;
    const double left = (double)(out->planned - out->stored);
    out->trial_seconds = seconds / count;
    out->seconds = ceil(left / (double)out->workers) * out->trial_seconds;
    out->bytes = left * (bytes / count + ROW_BYTES);
    return DPA_OK;
}

dpa_status dpa_run_estimate_make(const dpa_run_opts *opts, dpa_game *game, dpa_run_estimate *out,
                                 dpa_error *err) {
    stages all;
    dpa_store_stages list;
    dpa_run_summary summary;
    DPA_TRY(look(opts, game, &all, &summary, &list, err));
    *out = (dpa_run_estimate){.stages = all.count,
                              .planned = summary.planned,
                              .stored = summary.stored,
                              .workers = dpa__pool_workers(opts)};
    const dpa_status status = estimate(opts, game, &all, &list, out, err);
    dpa_store_stages_free(&list);
    stages_free(&all);
    return status;
}
