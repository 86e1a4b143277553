/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the store has so far, and what a run would still have to do. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "run/schedule.h"

enum { ROW_BYTES = 100 }; /* of a trial besides its numbers: index, sum, times (measured: 60-90) */

/* Looks up every stage in the store, if there is one. A brief made from an incomplete stage names
 * trials that nobody has played, so the stage after it is correctly found empty. */
static dpa_status look_all(const char *path, dpa_game *game, dpa__stages *all,
                           dpa_run_summary *summary, dpa_store_stages *list, dpa_error *err) {
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
        status = dpa__stage_find(game, &all->items[i], &brief, NULL, err);
        if (status == DPA_OK) status = dpa__stage_load(store, &all->items[i], summary, err);
        dpa_values_free(&brief);
    }
    dpa_store_close(store);
    return status;
}

static dpa_status look(const dpa_run_opts *opts, dpa_game *game, dpa__stages *all,
                       dpa_run_summary *summary, dpa_store_stages *list, dpa_error *err) {
    char *path = NULL;
    *summary = (dpa_run_summary){0};
    *list = (dpa_store_stages){0};
    DPA_TRY(dpa__run_check(opts, err));
    DPA_TRY(dpa__run_path(opts, game, &path, err));
    dpa_status status = dpa__stages_init(opts, game, all, err);
    if (status == DPA_OK) {
        status = look_all(path, game, all, summary, list, err);
        summary->missing = dpa__stages_missing(all);
        if (status != DPA_OK) dpa__stages_free(all);
    }
    if (status != DPA_OK) dpa_store_stages_free(list);
    free(path);
    return status;
}

dpa_status dpa_run_collect(const dpa_run_opts *opts, dpa_game *game, dpa_evidence *out,
                           dpa_run_summary *summary, dpa_error *err) {
    dpa__stages all;
    dpa_store_stages list;
    *out = (dpa_evidence){0};
    DPA_TRY(look(opts, game, &all, summary, &list, err));
    const dpa_status status = dpa_game_gather(game, all.trials, out, err);
    dpa_store_stages_free(&list);
    dpa__stages_free(&all);
    return status;
}

/* Plays trial 0 of stage 0 on one worker. */
static dpa_status play_one(const dpa_run_opts *opts, dpa_game *game, dpa__outcome *out, char *place,
                           dpa_error *err) {
    dpa__transport t = {0};
    dpa_run_opts one = *opts;
    one.workers = 1;
    const dpa_values brief = {0};
    DPA_TRY(opts->worker != NULL ? dpa__pool_open(&one, game, NULL, &t, err)
                                 : dpa__here_open(game, &t, err));
    dpa_status status = t.brief(t.self, 0, &brief, err);
    if (status == DPA_OK) status = t.submit(t.self, 0, 0, 0, err);
    for (int some = 0; status == DPA_OK && !some;) {
        status = t.wait(t.self, 0.1, out, &some, err);
        const dpa_progress *p = &opts->progress;
        if (status == DPA_OK && p->call != NULL && p->call(p->user, "first trial", 0.0, 0.0))
            status = dpa__fail(err, DPA_CANCELLED, "stopped");
    }
    t.place(t.self, 0, place);
    t.close(t.self);
    return status;
}

/* Stores the trial, which may have taken hours, so that the run need not play it again. If the
 * store cannot be written, the trial only serves the estimate. */
static void keep_one(const dpa_run_opts *opts, dpa_game *game, const dpa__outcome *o,
                     const char *place) {
    const dpa_values brief = {0};
    dpa__stage stage = {.planned = dpa_game_trials(game, 0)};
    dpa_store *store = NULL;
    char *path = NULL;
    if (dpa__run_path(opts, game, &path, NULL) != DPA_OK) return;
    dpa_status status = dpa_store_open(path, DPA_STORE_WRITE, &store, NULL);
    if (status == DPA_OK) status = dpa__stage_enter(store, game, &stage, &brief, NULL);
    const dpa__ended ended = {o->index, DPA_TRIAL_PLAYED, o->seconds, o->values, o->said, place};
    if (status == DPA_OK) status = dpa__store_put(store, stage.row, stage.key, &ended, NULL);
    (void)status;
    dpa_store_close(store);
    free(path);
}

static dpa_status time_one(const dpa_run_opts *opts, dpa_game *game, double *seconds, size_t *bytes,
                           dpa_error *err) {
    dpa__outcome outcome = {0};
    char place[DPA__PLACE_SIZE] = "";
    dpa_status status = play_one(opts, game, &outcome, place, err);
    if (status == DPA_OK && outcome.status != DPA_OK) {
        status = outcome.status;
        if (err != NULL) *err = outcome.error;
    }
    if (status == DPA_OK) keep_one(opts, game, &outcome, place);
    *seconds = outcome.seconds;
    *bytes = outcome.values.count * sizeof(double);
    dpa__outcome_free(&outcome);
    return status;
}

static dpa_status estimate(const dpa_run_opts *opts, dpa_game *game, const dpa__stages *all,
                           const dpa_store_stages *list, dpa_run_estimate *out, dpa_error *err) {
    double seconds = 0.0, bytes = 0.0, count = 0.0;
    for (size_t k = 0; k < list->count; ++k)
        for (int i = 0; i < all->count; ++i)
            if (dpa__stage_owns(&all->items[i], list->items[k].key) && list->items[k].stored > 0) {
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
        out->stored = 1;
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
    dpa__stages all;
    dpa_store_stages list;
    dpa_run_summary summary;
    DPA_TRY(look(opts, game, &all, &summary, &list, err));
    *out = (dpa_run_estimate){.stages = all.count,
                              .planned = summary.planned,
                              .stored = summary.stored,
                              .workers = dpa__pool_workers(opts)};
    const dpa_status status = estimate(opts, game, &all, &list, out, err);
    dpa_store_stages_free(&list);
    dpa__stages_free(&all);
    return status;
}
