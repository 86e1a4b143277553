/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing side of the store of trials. After commit, everything put since begin is stored, whatever
 * happens to the process; without commit, none of it is. */
#ifndef DPA_RUN_STORE_H
#define DPA_RUN_STORE_H

#include <sqlite3.h>

#include "dpaudit/lab/run.h"

struct dpa_store {
    sqlite3 *db;
    char *path; /* as the user wrote it */
    char *name; /* as SQLite needs it: ":memory:" and "file:x" are ordinary files here */
    int writing;
    int has_settings;           /* the table of stages has that column, since version 4 */
    int lock;                   /* descriptor of the lock file; -1 when reading */
    int64_t run;                /* the row of this run; 0: none */
    sqlite3_stmt *put, *failed; /* prepared once, because they run for every trial */
};

/* schema.c: creates or updates the tables of a store opened for writing; checks those of one opened
 * for reading. */
dpa_status dpa__store_schema(dpa_store *store, dpa_error *err);
extern const char *const dpa__store_steps[]; /* of the schema, for the tests */

/* lock.c: takes the writer's lock; *out is its descriptor. */
dpa_status dpa__store_lock(const char *path, int *out, dpa_error *err);
void dpa__store_unlock(const char *path, int lock);
/* Whether somebody holds it. */
int dpa__store_is_locked(const char *path);

/* Fails with SQLite's message; `doing` completes "cannot …". */
dpa_status dpa__store_fail(const dpa_store *store, int code, const char *doing, dpa_error *err);
dpa_status dpa__store_damaged(const dpa_store *store, const char *how, dpa_error *err);
dpa_status dpa__store_prepare(const dpa_store *store, const char *sql, sqlite3_stmt **out,
                              dpa_error *err);
dpa_status dpa__store_execute(const dpa_store *store, const char *sql, const char *doing,
                              dpa_error *err);
/* Runs a prepared statement to its end and frees it; *out (may be NULL) is the first number of its
 * last row, and stays as it is if there is none. */
dpa_status dpa__store_finish(const dpa_store *store, sqlite3_stmt *query, const char *doing,
                             int64_t *out, dpa_error *err);
/* The checksum of a trial: CRC-64 of its key, its index and its numbers. */
int64_t dpa__store_sum(const char *key, uint64_t index, const void *bytes, size_t count);
/* The word that the checksum uses for a trial without numbers. */
const char *dpa__store_word(dpa_trial_end end);

/* What is written about a stage. */
typedef struct dpa__stage_row {
    const char *key, *settings; /* settings NULL: as they were stored */
    const char *experiment;
    int number;
    uint64_t planned;
} dpa__stage_row;
/* The row of a stage, which is created if it does not exist. */
dpa_status dpa__store_stage(dpa_store *store, const dpa__stage_row *row, int64_t *id,
                            dpa_error *err);
/* Moves the trials and failures under the key `before` to the stage `id` with the key `key`, in the
 * transaction that the caller has begun. Checksums contain the key: those that fitted are made
 * anew, those that did not stay wrong. A trial that the stage has already stays. */
dpa_status dpa__store_adopt(dpa_store *store, const char *before, const char *key, int64_t id,
                            dpa_error *err);
/* Fills items[index] and ends[index] for the stored trials; counts those with an outcome (played or
 * failed, not lost) and those with a wrong checksum. */
dpa_status dpa__store_load(dpa_store *store, const char *key, dpa_values *items, uint8_t *ends,
                           uint64_t count, uint64_t *loaded, uint64_t *damaged, dpa_error *err);

/* The number of trials of this stage that the same experiment file has under other keys. */
dpa_status dpa__store_others(dpa_store *store, const char *key, const char *experiment, int number,
                             uint64_t *out, dpa_error *err);

dpa_status dpa__store_begin(dpa_store *store, dpa_error *err);
dpa_status dpa__store_commit(dpa_store *store, dpa_error *err);
void dpa__store_rollback(dpa_store *store);
/* Commits, or rolls back if the status of what was done is an error. Returns the first error. */
dpa_status dpa__store_end(dpa_store *store, dpa_status status, dpa_error *err);
/* The end of a trial: its numbers, or that it has none. */
typedef struct dpa__ended {
    uint64_t index;
    dpa_trial_end end;
    double seconds;
    dpa_values values;
    const char *said, *place; /* NULL: nothing was said, the place is unknown */
} dpa__ended;
dpa_status dpa__store_put(dpa_store *store, int64_t stage, const char *key, const dpa__ended *ended,
                          dpa_error *err);
/* One failed attempt; the machine or the trainer may be to blame. */
typedef struct dpa__failure {
    uint64_t index;
    const char *reason, *said, *place;
    int machine;
} dpa__failure;
dpa_status dpa__store_put_failure(dpa_store *store, int64_t stage, const dpa__failure *failure,
                                  dpa_error *err);
/* Removes the end of a trial without numbers; with index UINT64_MAX, of all such trials. */
dpa_status dpa__store_forget(dpa_store *store, int64_t stage, uint64_t index, dpa_error *err);

/* Begins the row that `dpaudit status` reads. */
dpa_status dpa__store_run_begin(dpa_store *store, dpa_error *err);
dpa_status dpa__store_run_update(dpa_store *store, const dpa_run_status *now, dpa_error *err);

#endif
