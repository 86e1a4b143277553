/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing side of the store of trials. What is put between begin and commit is there after commit,
 * whatever happens to the process; else none of it is. */
#ifndef DPA_RUN_STORE_H
#define DPA_RUN_STORE_H

#include <sqlite3.h>

#include "dpaudit/lab/run.h"

struct dpa_store {
    sqlite3 *db;
    char *path; /* as the user says it */
    char *name; /* as SQLite must be told: ":memory:" and "file:x" are files like any other */
    int writing;
    int lock;                   /* descriptor of the lock file; -1 when reading */
    int64_t run;                /* row of this run; 0: none */
    sqlite3_stmt *put, *failed; /* prepared once: they run per trial */
};

/* schema.c: makes or brings up to date the tables of a store that is written; checks one that is
 * read. */
dpa_status dpa__store_schema(dpa_store *store, dpa_error *err);
/* Which steps of the schema there are, for the tests. */
const char *dpa__store_schema_step(size_t number);

/* lock.c: the lock of whoever writes. *out is the descriptor. */
dpa_status dpa__store_lock(const char *path, int *out, dpa_error *err);
void dpa__store_unlock(const char *path, int lock);
/* Somebody holds it. */
int dpa__store_is_locked(const char *path);

/* Words for what SQLite says; `doing` completes "cannot …". */
dpa_status dpa__store_fail(const dpa_store *store, int code, const char *doing, dpa_error *err);
dpa_status dpa__store_damaged(const dpa_store *store, const char *how, dpa_error *err);
dpa_status dpa__store_prepare(const dpa_store *store, const char *sql, sqlite3_stmt **out,
                              dpa_error *err);
dpa_status dpa__store_execute(const dpa_store *store, const char *sql, const char *doing,
                              dpa_error *err);
/* The checksum of a trial: CRC-64 of its key, its index and its numbers. */
int64_t dpa__store_sum(const char *key, uint64_t index, const void *bytes, size_t count);
/* What it is over for a trial without numbers. */
const char *dpa__store_word(dpa_trial_end end);

/* The row of a stage, made if it is not there. */
dpa_status dpa__store_stage(dpa_store *store, const char *key, const char *experiment, int number,
                            uint64_t planned, int64_t *id, dpa_error *err);
/* Fills items[index] and ends[index] of the trials that are there; counts those with an outcome
 * (played or failed, not lost) and those whose checksum does not fit. */
dpa_status dpa__store_load(dpa_store *store, const char *key, dpa_values *items, uint8_t *ends,
                           uint64_t count, uint64_t *loaded, uint64_t *damaged, dpa_error *err);

/* How many trials there are of this stage of the same experiment file under other keys. */
dpa_status dpa__store_others(dpa_store *store, const char *key, const char *experiment, int number,
                             uint64_t *out, dpa_error *err);

dpa_status dpa__store_begin(dpa_store *store, dpa_error *err);
dpa_status dpa__store_commit(dpa_store *store, dpa_error *err);
void dpa__store_rollback(dpa_store *store);
/* The end of a trial: its numbers, or that it has none. */
typedef struct dpa__ended {
    uint64_t index;
    dpa_trial_end end;
    double seconds;
    dpa_values values;
    const char *said, *place; /* NULL: nothing, unknown */
} dpa__ended;
dpa_status dpa__store_put(dpa_store *store, int64_t stage, const char *key, const dpa__ended *ended,
                          dpa_error *err);
/* One attempt that failed: by the machine, or by the trainer. */
typedef struct dpa__failure {
    uint64_t index;
    const char *reason, *said, *place;
    int machine;
} dpa__failure;
dpa_status dpa__store_put_failure(dpa_store *store, int64_t stage, const dpa__failure *failure,
                                  dpa_error *err);
/* Takes back the end of a trial that has no numbers; index UINT64_MAX: of all such trials. */
dpa_status dpa__store_forget(dpa_store *store, int64_t stage, uint64_t index, dpa_error *err);

/* The row that `dpaudit status` reads. */
dpa_status dpa__store_run_begin(dpa_store *store, dpa_error *err);
dpa_status dpa__store_run_update(dpa_store *store, const dpa_run_status *now, dpa_error *err);

#endif
