/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stages of a run and what the store has of them.
 *
 * The key of a stage in the store is the SHA-256 of the game's key and of the brief's bytes:
 * everything that decides its trials. An experiment that differs only in other settings (claim,
 * estimators, number of trials) finds the same trials. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "game/rules.h"
#include "run/schedule.h"

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
    const size_t size = stem + sizeof ".trials.db";
    *out = dpa__malloc(size, 1, err);
    if (*out == NULL) return DPA_NO_MEMORY;
    (void)snprintf(*out, size, "%.*s.trials.db", (int)stem, path);
    return DPA_OK;
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

/* The caller frees the settings, which the keys are made of. */
static dpa_status find_keys(const dpa_game *game, dpa__stage *s, const dpa_values *brief,
                            char **settings, dpa_error *err) {
    DPA_TRY(dpa__game_settings(game, s->number, settings, err));
    dpa__sha256_of(*settings, strlen(*settings), s->key);
    add_brief(s->key, brief);
    const dpa_status status = dpa__game_key_1(game, s->number, *settings, s->before, err);
    if (status == DPA_OK)
        add_brief(s->before, brief);
    else
        free(*settings);
    return status;
}

dpa_status dpa__stage_find(const dpa_game *game, dpa__stage *s, const dpa_values *brief,
                           dpa_error *err) {
    char *settings = NULL;
    DPA_TRY(find_keys(game, s, brief, &settings, err));
    free(settings);
    return DPA_OK;
}

int dpa__stage_owns(const dpa__stage *s, const char *key) {
    return strcmp(key, s->key) == 0 || strcmp(key, s->before) == 0;
}

dpa_status dpa__stage_enter(dpa_store *store, const dpa_game *game, dpa__stage *s,
                            const dpa_values *brief, dpa_error *err) {
    char *settings = NULL;
    DPA_TRY(find_keys(game, s, brief, &settings, err));
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
