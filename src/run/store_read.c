/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists what a store holds: stages, trials, failures, the latest run. Numbers are returned only if
 * their checksum fits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "game/rules.h"
#include "run/store.h"

static const char *text_of(sqlite3_stmt *query, int column) {
    return (const char *)sqlite3_column_text(query, column);
}

void dpa_store_stages_free(dpa_store_stages *stages) {
    for (size_t i = 0; i < stages->count; ++i) {
        free(stages->items[i].experiment);
        free(stages->items[i].settings);
    }
    free(stages->items);
    *stages = (dpa_store_stages){0};
}

static dpa_status add_stage(sqlite3_stmt *query, dpa_store_stages *out, dpa_error *err) {
    if ((out->count & (out->count + 1)) == 0) { /* grows at 0, 1, 3, 7, … */
        dpa_store_stage *more =
            dpa__realloc(out->items, 2 * out->count + 1, sizeof *out->items, err);
        if (more == NULL) return DPA_NO_MEMORY;
        out->items = more;
    }
    dpa_store_stage *s = &out->items[out->count];
    *s = (dpa_store_stage){0};
    const char *key = text_of(query, 0), *experiment = text_of(query, 1);
    const char *settings = text_of(query, 10);
    (void)snprintf(s->key, sizeof s->key, "%.64s", key != NULL ? key : "");
    s->experiment = dpa__strdup(experiment != NULL ? experiment : "", err);
    if (s->experiment != NULL && settings != NULL) s->settings = dpa__strdup(settings, err);
    if (s->experiment == NULL || (settings != NULL && s->settings == NULL)) {
        free(s->experiment);
        return DPA_NO_MEMORY;
    }
    s->number = sqlite3_column_int(query, 2);
    s->planned = (uint64_t)sqlite3_column_int64(query, 3);
    s->stored = (uint64_t)sqlite3_column_int64(query, 4);
    s->failures = (uint64_t)sqlite3_column_int64(query, 5);
    s->seconds = s->stored > 0 ? sqlite3_column_double(query, 6) : (double)NAN;
    s->bytes = (uint64_t)sqlite3_column_int64(query, 7);
    s->failed = (uint64_t)sqlite3_column_int64(query, 8);
    s->lost = (uint64_t)sqlite3_column_int64(query, 9);
    ++out->count;
    return DPA_OK;
}

dpa_status dpa_store_list(dpa_store *store, dpa_store_stages *out, dpa_error *err) {
    sqlite3_stmt *query;
    *out = (dpa_store_stages){0};
#define LIST(settings)                                                                             \
    "SELECT key, experiment, stage.number, planned, total(trial.ended=1), "                        \
    "(SELECT count(*) FROM failure WHERE failure.stage=stage.id), "                                \
    "avg(CASE WHEN trial.ended=1 THEN seconds END), total(length(numbers)), "                      \
    "total(trial.ended=2), total(trial.ended=3), " settings                                        \
    " FROM stage LEFT JOIN trial ON trial.stage=stage.id GROUP BY stage.id"
    DPA_TRY(dpa__store_prepare(store, store->has_settings ? LIST("settings") : LIST("NULL"), &query,
                               err));
#undef LIST
    dpa_status status = DPA_OK;
    int code = SQLITE_DONE;
    while (status == DPA_OK && (code = sqlite3_step(query)) == SQLITE_ROW)
        status = add_stage(query, out, err);
    (void)sqlite3_finalize(query);
    if (status == DPA_OK && code != SQLITE_DONE) status = dpa__store_fail(store, code, "read", err);
    if (status != DPA_OK) dpa_store_stages_free(out);
    return status;
}

/* Shows rows of (key, stage number, index, seconds, time, sum, numbers, reason, said, ended or
 * machine, place). SQLite's blobs may be unaligned, so the numbers are copied before they are used
 * as doubles. */
static dpa_status show_row(sqlite3_stmt *query, dpa_store_visit *visit, void *user, int *stop,
                           dpa_error *err) {
    dpa_store_entry entry = {.stage = sqlite3_column_int(query, 1),
                             .index = (uint64_t)sqlite3_column_int64(query, 2),
                             .seconds = (double)NAN,
                             .time = (double)NAN,
                             .reason = text_of(query, 7),
                             .said = text_of(query, 8),
                             .place = text_of(query, 10)};
    if (entry.reason != NULL) {
        entry.time = sqlite3_column_double(query, 4);
        entry.machine = sqlite3_column_int(query, 9);
        *stop = visit(user, &entry);
        return DPA_OK;
    }
    entry.seconds = sqlite3_column_double(query, 3);
    const char *key = text_of(query, 0);
    const int ended = sqlite3_column_int(query, 9);
    entry.end = ended >= DPA_TRIAL_PLAYED && ended <= DPA_TRIAL_LOST ? (dpa_trial_end)ended
                                                                     : DPA_TRIAL_NONE;
    if (entry.end != DPA_TRIAL_PLAYED) {
        const char *word = dpa__store_word(entry.end);
        entry.damaged =
            key == NULL || entry.end == DPA_TRIAL_NONE ||
            dpa__store_sum(key, entry.index, word, strlen(word)) != sqlite3_column_int64(query, 5);
        *stop = visit(user, &entry);
        return DPA_OK;
    }
    const void *bytes = sqlite3_column_blob(query, 6);
    const size_t size = (size_t)sqlite3_column_bytes(query, 6);
    double *copy = dpa__malloc(size, 1, err);
    if (copy == NULL) return DPA_NO_MEMORY;
    if (bytes != NULL) memcpy(copy, bytes, size);
    entry.damaged = key == NULL || (bytes == NULL && size > 0) || size % sizeof(double) != 0 ||
                    dpa__store_sum(key, entry.index, copy, size) != sqlite3_column_int64(query, 5);
    entry.values.items = copy;
    entry.values.count = entry.damaged ? 0 : size / sizeof(double);
    *stop = visit(user, &entry);
    free(copy);
    return DPA_OK;
}

static dpa_status show_rows(dpa_store *store, const char *sql, const char *key,
                            dpa_store_visit *visit, void *user, dpa_error *err) {
    sqlite3_stmt *query;
    DPA_TRY(dpa__store_prepare(store, sql, &query, err));
    if (key != NULL) (void)sqlite3_bind_text(query, 1, key, -1, SQLITE_STATIC);
    dpa_status status = DPA_OK;
    int stop = 0, code = SQLITE_DONE;
    while (status == DPA_OK && !stop && (code = sqlite3_step(query)) == SQLITE_ROW)
        status = show_row(query, visit, user, &stop, err);
    (void)sqlite3_finalize(query);
    if (status == DPA_OK && !stop && code != SQLITE_DONE)
        status = dpa__store_fail(store, code, "read", err);
    return status;
}

dpa_status dpa_store_trials(dpa_store *store, const char *key, dpa_store_visit *visit, void *user,
                            dpa_error *err) {
    return show_rows(store,
                     "SELECT key, stage.number, trial.number, seconds, NULL, sum, numbers, NULL, "
                     "said, ended, place FROM stage CROSS JOIN trial ON trial.stage=stage.id "
                     "WHERE ?1 IS NULL OR stage.key=?1 ORDER BY stage.id, trial.number",
                     key, visit, user, err);
}

dpa_status dpa_store_failures(dpa_store *store, const char *key, dpa_store_visit *visit, void *user,
                              dpa_error *err) {
    return show_rows(store,
                     "SELECT key, stage.number, failure.number, NULL, time, NULL, NULL, reason, "
                     "said, machine, place FROM failure JOIN stage ON stage.id=failure.stage "
                     "WHERE ?1 IS NULL OR stage.key=?1 ORDER BY failure.id",
                     key, visit, user, err);
}

typedef struct loading {
    dpa_values *items;
    uint8_t *ends;
    uint64_t count, loaded, damaged;
    dpa_error *err;
    dpa_status status;
} loading;

static int load_one(void *user, const dpa_store_entry *entry) {
    loading *l = user;
    if (entry->index >= l->count) return 0; /* stored by a larger experiment */
    l->damaged += (uint64_t)entry->damaged;
    if (entry->damaged) return 0;
    l->ends[entry->index] = (uint8_t)entry->end;
    l->loaded += entry->end == DPA_TRIAL_PLAYED || entry->end == DPA_TRIAL_FAILED;
    if (entry->end != DPA_TRIAL_PLAYED) return 0;
    dpa_values *to = &l->items[entry->index];
    dpa_values_free(to); /* a table that was not made by us may have an index twice */
    l->status = dpa__values_copy(entry->values.items, entry->values.count, to, l->err);
    return l->status != DPA_OK;
}

dpa_status dpa__store_load(dpa_store *store, const char *key, dpa_values *items, uint8_t *ends,
                           uint64_t count, uint64_t *loaded, uint64_t *damaged, dpa_error *err) {
    loading l = {items, ends, count, 0, 0, err, DPA_OK};
    const dpa_status status = dpa_store_trials(store, key, load_one, &l, err);
    *loaded = l.loaded;
    *damaged = l.damaged;
    return status == DPA_OK ? l.status : status;
}

dpa_status dpa__store_others(dpa_store *store, const char *key, const char *experiment, int number,
                             uint64_t *out, dpa_error *err) {
    sqlite3_stmt *query;
    DPA_TRY(dpa__store_prepare(store,
                               "SELECT count(*) FROM stage CROSS JOIN trial ON trial.stage=id "
                               "WHERE key<>?1 AND experiment=?2 AND stage.number=?3",
                               &query, err));
    (void)sqlite3_bind_text(query, 1, key, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(query, 2, experiment, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int(query, 3, number);
    int64_t count = 0;
    DPA_TRY(dpa__store_finish(store, query, "read", &count, err));
    *out = (uint64_t)count;
    return DPA_OK;
}

dpa_status dpa_store_check(dpa_store *store, dpa_error *err) {
    sqlite3_stmt *query;
    DPA_TRY(dpa__store_prepare(store, "PRAGMA quick_check(1)", &query, err));
    const int code = sqlite3_step(query);
    const char *word = code == SQLITE_ROW ? text_of(query, 0) : NULL;
    dpa_status status = DPA_OK;
    if (code != SQLITE_ROW)
        status = dpa__store_fail(store, code, "read", err);
    else if (word == NULL || strcmp(word, "ok") != 0)
        status = dpa__store_damaged(store, word != NULL ? word : "unreadable", err);
    (void)sqlite3_finalize(query);
    return status;
}

dpa_status dpa_store_status(dpa_store *store, dpa_run_status *out, dpa_error *err) {
    sqlite3_stmt *query;
    *out =
        (dpa_run_status){.state = DPA_RUN_NONE, .trial_seconds = (double)NAN, .left = (double)NAN};
    DPA_TRY(dpa__store_prepare(store,
                               "SELECT state, process, host, started, updated, stage, stages, "
                               "planned, stored, played, failed, running, workers "
                               "FROM run ORDER BY id DESC LIMIT 1",
                               &query, err));
    const int code = sqlite3_step(query);
    if (code == SQLITE_ROW) {
        const char *host = text_of(query, 2);
        const int run_state = sqlite3_column_int(query, 0);
        out->state = run_state >= DPA_RUN_RUNNING && run_state <= DPA_RUN_KILLED
                         ? (dpa_run_state)run_state
                         : DPA_RUN_STOPPED;
        out->process = sqlite3_column_int64(query, 1);
        (void)snprintf(out->host, sizeof out->host, "%s", host != NULL ? host : "");
        out->started = sqlite3_column_double(query, 3);
        out->updated = sqlite3_column_double(query, 4);
        out->stage = sqlite3_column_int(query, 5);
        out->stages = sqlite3_column_int(query, 6);
        uint64_t *const counts[] = {&out->planned, &out->stored,  &out->played,
                                    &out->failed,  &out->running, &out->workers};
        for (int i = 0; i < 6; ++i) *counts[i] = (uint64_t)sqlite3_column_int64(query, 7 + i);
    }
    (void)sqlite3_finalize(query);
    if (code != SQLITE_ROW && code != SQLITE_DONE) return dpa__store_fail(store, code, "read", err);
    if (out->state == DPA_RUN_RUNNING && !dpa__store_is_locked(store->path)) {
        out->state = DPA_RUN_KILLED;
        out->running = 0;
    }
    return DPA_OK;
}
