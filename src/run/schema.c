/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of a store. Migration steps are only appended, never changed: a store of version n has
 * had the first n of them, and opening it for writing applies the others in one transaction. */
#include "base/error.h"
#include "run/store.h"

enum { APPLICATION = 0x64706174 }; /* "dpat", which marks our SQLite files */

/* A trial's numbers are stored as doubles in memory order. `said` is its standard error. */
static const char *const steps[] = {
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

enum { VERSION = (int)(sizeof steps / sizeof steps[0]), READABLE = 3 };

const char *dpa__store_schema_step(size_t number) {
    return number < VERSION ? steps[number] : NULL;
}

static dpa_status ask(const dpa_store *store, const char *sql, int64_t *out, dpa_error *err) {
    sqlite3_stmt *query;
    DPA_TRY(dpa__store_prepare(store, sql, &query, err));
    const int code = sqlite3_step(query);
    if (code == SQLITE_ROW) *out = sqlite3_column_int64(query, 0);
    (void)sqlite3_finalize(query);
    return code == SQLITE_ROW ? DPA_OK : dpa__store_fail(store, code, "read", err);
}

static dpa_status apply(const dpa_store *store, int64_t from, dpa_error *err) {
    char sql[80];
    for (int64_t i = from; i < VERSION; ++i)
        DPA_TRY(dpa__store_execute(store, steps[i], "make the tables", err));
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
    DPA_TRY(dpa__store_execute(store, "BEGIN IMMEDIATE", "write", err));
    const dpa_status status = apply(store, version, err);
    if (status == DPA_OK) return dpa__store_execute(store, "COMMIT", "write", err);
    dpa__store_rollback(store);
    return status;
}
