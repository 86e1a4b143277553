/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of a store. Migration steps are only appended, never changed: a store of version n has
 * had the first n of them, and opening it for writing applies the others in one transaction. */
#include <string.h>

#include "base/error.h"
#include "run/store.h"

enum { APPLICATION = 0x64706174 }; /* "dpat", which marks our SQLite files */

/* A trial's numbers are stored as doubles in memory order. `said` is its standard error. */
const char *const dpa__store_steps[] = {
    "CREATE TABLE stage("
    " id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, experiment TEXT NOT NULL,"
    " number INTEGER NOT NULL, planned INTEGER NOT NULL);"
    "CREATE TABLE trial("
    " stage INTEGER NOT NULL REFERENCES stage, number INTEGER NOT NULL, seconds REAL NOT NULL,"
    " sum INTEGER NOT NULL, numbers BLOB NOT NULL, said TEXT, PRIMARY KEY(stage, number));"
    "CREATE TABLE failure("
    " id INTEGER PRIMARY KEY, stage INTEGER NOT NULL REFERENCES stage, number INTEGER NOT NULL,"
    " time REAL NOT NULL, reason TEXT NOT NULL, said TEXT);"
    "CREATE INDEX failure_stage ON failure(stage);",
    "CREATE TABLE run("
    " id INTEGER PRIMARY KEY, process INTEGER NOT NULL, host TEXT NOT NULL,"
    " started REAL NOT NULL, updated REAL NOT NULL, state INTEGER NOT NULL,"
    " stage INTEGER NOT NULL, stages INTEGER NOT NULL, planned INTEGER NOT NULL,"
    " stored INTEGER NOT NULL, played INTEGER NOT NULL, failed INTEGER NOT NULL,"
    " running INTEGER NOT NULL, workers INTEGER NOT NULL);",
    /* ended: dpa_trial_end. place: host, rank and slot of the attempt. machine: 1 if the machine
     * failed and not the trainer. */
    "ALTER TABLE trial ADD COLUMN ended INTEGER NOT NULL DEFAULT 1;"
    "ALTER TABLE trial ADD COLUMN place TEXT;"
    "ALTER TABLE failure ADD COLUMN place TEXT;"
    "ALTER TABLE failure ADD COLUMN machine INTEGER NOT NULL DEFAULT 1;",
    /* What the key is the digest of, a line for each setting. From here on keys are made of names;
     * dpa__store_adopt gives trials under an older key the new one when their experiment is run. */
    "ALTER TABLE stage ADD COLUMN settings TEXT;",
};

enum { VERSION = (int)(sizeof dpa__store_steps / sizeof dpa__store_steps[0]), READABLE = 3 };

static dpa_status ask(const dpa_store *store, const char *sql, int64_t *out, dpa_error *err) {
    sqlite3_stmt *query;
    DPA_TRY(dpa__store_prepare(store, sql, &query, err));
    return dpa__store_finish(store, query, "read", out, err);
}

static dpa_status apply(const dpa_store *store, int64_t from, dpa_error *err) {
    char sql[80];
    for (int64_t i = from; i < VERSION; ++i)
        DPA_TRY(dpa__store_execute(store, dpa__store_steps[i], "make the tables", err));
    (void)sqlite3_snprintf((int)sizeof sql, sql, "PRAGMA application_id=%d;PRAGMA user_version=%d",
                           APPLICATION, VERSION);
    return dpa__store_execute(store, sql, "set the version", err);
}

/* Tables that do not match the version mean that somebody else has changed the store. */
static dpa_status check_tables(const dpa_store *store, int64_t version, dpa_error *err) {
    int64_t found = 0;
    DPA_TRY(ask(store,
                "SELECT count(*) FROM sqlite_schema WHERE type='table' AND name IN "
                "('stage','trial','failure','run')",
                &found, err));
    if (found == (version >= 2 ? 4 : version == 1 ? 3 : 0)) return DPA_OK;
    return dpa__fail_file(
        err, DPA_BAD_INPUT, store->path,
        "the store is damaged: tables are missing, or its version is not that of "
        "its tables; dpaudit show AUDIT.yaml --rescue NEW.db saves what is there");
}

dpa_status dpa__store_schema(dpa_store *store, dpa_error *err) {
    int64_t version = 0, application = 0, tables = 0;
    DPA_TRY(ask(store, "SELECT count(*) FROM sqlite_schema", &tables, err));
    DPA_TRY(ask(store, "PRAGMA user_version", &version, err));
    DPA_TRY(ask(store, "PRAGMA application_id", &application, err));
    if (tables > 0 && application != APPLICATION)
        return dpa__fail_file(err, DPA_BAD_INPUT, store->path,
                              "an SQLite file, but not a store of dpaudit");
    if (version > VERSION)
        return dpa__fail_file(err, DPA_BAD_INPUT, store->path,
                              "made by a newer dpaudit (version %lld of the tables; this one "
                              "knows %d): use that one, or another store",
                              (long long)version, VERSION);
    DPA_TRY(check_tables(store, version, err));
    store->has_settings = store->writing || version >= 4;
    if (version == VERSION || (version >= READABLE && !store->writing)) return DPA_OK;
    if (!store->writing)
        return dpa__fail_file(err, DPA_BAD_INPUT, store->path,
                              "made by an older dpaudit (version %lld of the tables, now %d): "
                              "dpaudit run brings it up to date",
                              (long long)version, VERSION);
    DPA_TRY(dpa__store_begin(store, err));
    return dpa__store_end(store, apply(store, version, err), err);
}

/* ---- Trials that were stored under an older key ---- */

typedef struct keys {
    const char *before, *now;
} keys;

/* SQL function resum(number, sum, numbers, ended): the checksum under the new key, or the same if
 * it did not fit the old one. */
static void resum(sqlite3_context *context, int count, sqlite3_value **values) {
    const keys *k = sqlite3_user_data(context);
    const uint64_t index = (uint64_t)sqlite3_value_int64(values[0]);
    const int64_t sum = sqlite3_value_int64(values[1]);
    const int ended = sqlite3_value_int(values[3]);
    const void *bytes = sqlite3_value_blob(values[2]);
    size_t size = (size_t)sqlite3_value_bytes(values[2]);
    (void)count;
    if (ended != DPA_TRIAL_PLAYED) {
        bytes = dpa__store_word((dpa_trial_end)ended);
        size = strlen(bytes);
    }
    if (bytes == NULL) bytes = "";
    const int fits = dpa__store_sum(k->before, index, bytes, size) == sum;
    sqlite3_result_int64(context, fits ? dpa__store_sum(k->now, index, bytes, size) : sum);
}

static dpa_status move(dpa_store *store, const char *sql, int64_t from, int64_t to,
                       dpa_error *err) {
    sqlite3_stmt *query;
    DPA_TRY(dpa__store_prepare(store, sql, &query, err));
    (void)sqlite3_bind_int64(query, 1, from);
    if (sqlite3_bind_parameter_count(query) > 1) (void)sqlite3_bind_int64(query, 2, to);
    return dpa__store_finish(store, query, "write", NULL, err);
}

/* *id is 0 if there is no stage with that key. */
static dpa_status find(dpa_store *store, const char *key, int64_t *id, dpa_error *err) {
    sqlite3_stmt *query;
    *id = 0;
    DPA_TRY(dpa__store_prepare(store, "SELECT id FROM stage WHERE key=?1", &query, err));
    (void)sqlite3_bind_text(query, 1, key, -1, SQLITE_STATIC);
    return dpa__store_finish(store, query, "read", id, err);
}

dpa_status dpa__store_adopt(dpa_store *store, const char *before, const char *key, int64_t id,
                            dpa_error *err) {
    static const char *const moves[] = {
        "UPDATE OR IGNORE trial SET stage=?2, sum=resum(number, sum, numbers, ended) "
        "WHERE stage=?1",
        "UPDATE failure SET stage=?2 WHERE stage=?1",
        "DELETE FROM trial WHERE stage=?1",
        "DELETE FROM stage WHERE id=?1",
    };
    keys k = {before, key};
    int64_t from = 0;
    DPA_TRY(find(store, before, &from, err));
    if (from == 0) return DPA_OK;
    const int code =
        sqlite3_create_function_v2(store->db, "resum", 4, SQLITE_UTF8, &k, resum, NULL, NULL, NULL);
    if (code != SQLITE_OK) return dpa__store_fail(store, code, "write", err);
    dpa_status status = DPA_OK;
    for (size_t i = 0; i < sizeof moves / sizeof moves[0] && status == DPA_OK; ++i)
        status = move(store, moves[i], from, id, err);
    (void)sqlite3_create_function_v2(store->db, "resum", 4, SQLITE_UTF8, NULL, NULL, NULL, NULL,
                                     NULL);
    return status;
}
