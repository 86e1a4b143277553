/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store of trials: SQLite with a write-ahead log.
 *
 * Every commit is handed to the kernel before the trial counts as finished, so that kill -9 at any
 * moment loses no finished trial. With synchronous=NORMAL the kernel decides when a commit reaches
 * the disk: a power cut may lose the last seconds of trials, which are then played again, but never
 * damages the store. */
#include "run/store.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "run/schedule.h"

enum { WAIT_MS = 10000 }; /* patience with a reader that blocks a checkpoint */

dpa_status dpa__store_damaged(const dpa_store *store, const char *how, dpa_error *err) {
    return dpa__fail_file(
        err, DPA_BAD_INPUT, store->path,
        "the store is damaged (%.100s): dpaudit show %.200s --rescue NEW.db saves "
        "every trial whose checksum fits; go on with --store NEW.db",
        how, store->path);
}

dpa_status dpa__store_fail(const dpa_store *store, int code, const char *doing, dpa_error *err) {
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return dpa__fail(err, DPA_NO_MEMORY, "no memory for the store of trials");
    case SQLITE_FULL:
        return dpa__fail_file(err, DPA_IO, store->path,
                              "the disk is full: what was stored before is safe; make room, then "
                              "run again");
    case SQLITE_NOTADB:
        return dpa__fail_file(err, DPA_BAD_INPUT, store->path,
                              "not a store of dpaudit (an SQLite file was expected)");
    case SQLITE_CORRUPT:
        return dpa__store_damaged(store, sqlite3_errmsg(store->db), err);
    case SQLITE_READONLY:
        return dpa__fail_file(err, DPA_IO, store->path, "cannot %s: the store is read-only", doing);
    default:
        return dpa__fail_file(err, DPA_IO, store->path, "cannot %s: %s", doing,
                              store->db != NULL ? sqlite3_errmsg(store->db) : sqlite3_errstr(code));
    }
}

dpa_status dpa__store_prepare(const dpa_store *store, const char *sql, sqlite3_stmt **out,
                              dpa_error *err) {
    const int code = sqlite3_prepare_v2(store->db, sql, -1, out, NULL);
    return code == SQLITE_OK ? DPA_OK : dpa__store_fail(store, code, "read", err);
}

dpa_status dpa__store_execute(const dpa_store *store, const char *sql, const char *doing,
                              dpa_error *err) {
    const int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? DPA_OK : dpa__store_fail(store, code, doing, err);
}

dpa_status dpa__store_finish(const dpa_store *store, sqlite3_stmt *query, const char *doing,
                             int64_t *out, dpa_error *err) {
    int code;
    while ((code = sqlite3_step(query)) == SQLITE_ROW)
        if (out != NULL) *out = sqlite3_column_int64(query, 0);
    (void)sqlite3_finalize(query);
    return code == SQLITE_DONE ? DPA_OK : dpa__store_fail(store, code, doing, err);
}

static int connect_to(dpa_store *store, int writing) {
    const int flags = writing ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    int code = sqlite3_open_v2(store->name, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    /* A store's schema may come from a stranger and must not run code. */
    if (code == SQLITE_OK)
        code = sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    if (code == SQLITE_OK) code = sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    if (code == SQLITE_OK) code = sqlite3_busy_timeout(store->db, WAIT_MS);
    if (code == SQLITE_OK)
        code = sqlite3_exec(store->db, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL);
    return code;
}

/* Reading a log needs a shared-memory file beside it. Where none can be made (a read-only folder,
 * so nobody writes either), the database file is read without the log. */
static int connect_frozen(dpa_store *store) {
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    dpa__text uri = {0};
    dpa__text_add(&uri, "file:");
    for (const char *c = store->name; *c != '\0'; ++c) {
        if (strchr("%?#", *c) != NULL)
            dpa__text_printf(&uri, "%%%02x", (unsigned)*c); /* what has a meaning in a URI */
        else
            dpa__text_add_bytes(&uri, c, 1);
    }
    dpa__text_add(&uri, "?immutable=1");
    (void)sqlite3_close(store->db);
    store->db = NULL;
    const int code = uri.failed ? SQLITE_NOMEM : sqlite3_open_v2(uri.data, &store->db, flags, NULL);
    dpa__text_free(&uri);
    return code;
}

/* Whether the file is on a file system that other machines may have mounted too. */
static int is_remote(const char *path) {
    static const unsigned long kinds[] = {
        0x6969,     /* NFS */
        0x517b,     /* SMB */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB 2 */
        0x0bd00bd0, /* Lustre */
        0x47504653, /* GPFS */
        0x00c36400, /* Ceph */
        0x19830326, /* BeeGFS */
        0x65735546, /* FUSE */
        0x01021997, /* 9P */
    };
    struct statfs info;
    if (statfs(path, &info) != 0) return 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i)
        if ((unsigned long)info.f_type == kinds[i]) return 1;
    return 0;
}

static dpa_status start_writing(dpa_store *store, dpa_error *err) {
    if (access(store->path, F_OK) == 0 && access(store->path, W_OK) != 0)
        return dpa__fail_file(err, DPA_IO, store->path, "the store is read-only: %s",
                              strerror(errno));
    DPA_TRY(dpa__store_lock(store->path, &store->lock, err));
    const int code = connect_to(store, 1);
    if (code != SQLITE_OK) return dpa__store_fail(store, code, "open", err);
    /* Check first, then switch the journal: a file that is not our store must stay unchanged. */
    DPA_TRY(dpa__store_schema(store, err));
    /* The write-ahead log needs memory shared between processes, which network file systems do not
     * offer. */
    return dpa__store_execute(store,
                              is_remote(store->path)
                                  ? "PRAGMA journal_mode=DELETE;PRAGMA synchronous=NORMAL"
                                  : "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL",
                              "write", err);
}

static dpa_status start_reading(dpa_store *store, dpa_error *err) {
    if (access(store->path, R_OK) != 0)
        return dpa__fail_file(err, errno == ENOENT ? DPA_BAD_INPUT : DPA_IO, store->path,
                              "cannot read the store of trials: %s", strerror(errno));
    int code = connect_to(store, 0);
    if ((code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY)
        code = connect_frozen(store);
    if (code != SQLITE_OK) return dpa__store_fail(store, code, "open", err);
    return dpa__store_schema(store, err);
}

static dpa_status plain_name(const char *path, char **out, dpa_error *err) {
    dpa__text text = {0};
    dpa__text_printf(&text, "%s%s", path[0] == '/' ? "" : "./", path);
    return dpa__text_take(&text, out, err);
}

dpa_status dpa_store_open(const char *path, dpa_store_mode mode, dpa_store **out, dpa_error *err) {
    *out = NULL;
    dpa_store *store = DPA_NEW(dpa_store, err);
    if (store == NULL) return DPA_NO_MEMORY;
    store->lock = -1;
    store->writing = mode == DPA_STORE_WRITE;
    store->path = dpa__strdup(path, err);
    dpa_status status = store->path != NULL ? plain_name(path, &store->name, err) : DPA_NO_MEMORY;
    struct stat what;
    if (status == DPA_OK && stat(path, &what) == 0 && !S_ISREG(what.st_mode))
        status = dpa__fail_file(err, DPA_BAD_INPUT, path, "%s; a file of stored trials is right",
                                S_ISDIR(what.st_mode) ? "found a folder" : "found no plain file");
    if (status == DPA_OK)
        status = store->writing ? start_writing(store, err) : start_reading(store, err);
    if (status == DPA_OK)
        *out = store;
    else
        dpa_store_close(store);
    return status;
}

void dpa_store_close(dpa_store *store) {
    if (store == NULL) return;
    (void)sqlite3_finalize(store->put);
    (void)sqlite3_finalize(store->failed);
    (void)sqlite3_close(store->db);
    if (store->lock >= 0) dpa__store_unlock(store->path, store->lock);
    free(store->path);
    free(store->name);
    free(store);
}

int64_t dpa__store_sum(const char *key, uint64_t index, const void *bytes, size_t count) {
    uint64_t sum = lzma_crc64((const uint8_t *)key, strlen(key), 0);
    sum = lzma_crc64((const uint8_t *)&index, sizeof index, sum);
    return (int64_t)lzma_crc64(bytes, count, sum);
}

dpa_status dpa__store_stage(dpa_store *store, const dpa__stage_row *row, int64_t *id,
                            dpa_error *err) {
    sqlite3_stmt *query;
    DPA_TRY(dpa__store_prepare(
        store,
        "INSERT INTO stage(key, experiment, number, planned, settings) VALUES(?1, ?2, ?3, ?4, ?5) "
        "ON CONFLICT(key) DO UPDATE SET experiment=?2, number=?3, planned=?4, "
        "settings=coalesce(?5, settings) RETURNING id",
        &query, err));
    (void)sqlite3_bind_text(query, 1, row->key, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(query, 2, row->experiment, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int(query, 3, row->number);
    (void)sqlite3_bind_int64(query, 4, (int64_t)row->planned);
    if (row->settings != NULL) (void)sqlite3_bind_text(query, 5, row->settings, -1, SQLITE_STATIC);
    return dpa__store_finish(store, query, "write", id, err);
}

dpa_status dpa__store_begin(dpa_store *store, dpa_error *err) {
    return dpa__store_execute(store, "BEGIN IMMEDIATE", "write", err);
}

dpa_status dpa__store_commit(dpa_store *store, dpa_error *err) {
    return dpa__store_execute(store, "COMMIT", "write", err);
}

void dpa__store_rollback(dpa_store *store) {
    (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

dpa_status dpa__store_end(dpa_store *store, dpa_status status, dpa_error *err) {
    if (status == DPA_OK) return dpa__store_commit(store, err);
    dpa__store_rollback(store);
    return status;
}

static dpa_status finish(dpa_store *store, sqlite3_stmt *query, dpa_error *err) {
    const int code = sqlite3_step(query);
    (void)sqlite3_reset(query);
    (void)sqlite3_clear_bindings(query);
    return code == SQLITE_DONE ? DPA_OK : dpa__store_fail(store, code, "write", err);
}

/* The bytes for the checksum of a trial: its numbers, or a word that cannot be numbers. */
static const void *bytes_of(const dpa__ended *e, size_t *count) {
    *count = e->values.count * sizeof(double);
    if (e->end == DPA_TRIAL_PLAYED) return *count > 0 ? (const void *)e->values.items : "";
    const char *word = dpa__store_word(e->end);
    *count = strlen(word);
    return word;
}

const char *dpa__store_word(dpa_trial_end end) {
    return end == DPA_TRIAL_FAILED ? "failed" : "lost";
}

dpa_status dpa__store_put(dpa_store *store, int64_t stage, const char *key, const dpa__ended *e,
                          dpa_error *err) {
    if (store->put == NULL)
        DPA_TRY(dpa__store_prepare(store,
                                   "INSERT OR REPLACE INTO trial(stage, number, seconds, sum, "
                                   "numbers, said, ended, place) VALUES(?,?,?,?,?,?,?,?)",
                                   &store->put, err));
    size_t bytes;
    const void *numbers = bytes_of(e, &bytes);
    (void)sqlite3_bind_int64(store->put, 1, stage);
    (void)sqlite3_bind_int64(store->put, 2, (int64_t)e->index);
    (void)sqlite3_bind_double(store->put, 3, e->seconds);
    (void)sqlite3_bind_int64(store->put, 4, dpa__store_sum(key, e->index, numbers, bytes));
    (void)sqlite3_bind_blob64(store->put, 5, numbers, e->end == DPA_TRIAL_PLAYED ? bytes : 0,
                              SQLITE_STATIC);
    if (e->said != NULL) (void)sqlite3_bind_text(store->put, 6, e->said, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int(store->put, 7, (int)e->end);
    if (e->place != NULL) (void)sqlite3_bind_text(store->put, 8, e->place, -1, SQLITE_STATIC);
    return finish(store, store->put, err);
}

dpa_status dpa__store_forget(dpa_store *store, int64_t stage, uint64_t index, dpa_error *err) {
    sqlite3_stmt *query;
    DPA_TRY(dpa__store_prepare(
        store, "DELETE FROM trial WHERE stage=?1 AND ended<>1 AND (?2<0 OR number=?2)", &query,
        err));
    (void)sqlite3_bind_int64(query, 1, stage);
    (void)sqlite3_bind_int64(query, 2, (int64_t)index);
    return dpa__store_finish(store, query, "write", NULL, err);
}

dpa_status dpa__store_put_failure(dpa_store *store, int64_t stage, const dpa__failure *f,
                                  dpa_error *err) {
    if (store->failed == NULL)
        DPA_TRY(dpa__store_prepare(store,
                                   "INSERT INTO failure(stage, number, time, reason, said, place, "
                                   "machine) VALUES(?,?,?,?,?,?,?)",
                                   &store->failed, err));
    (void)sqlite3_bind_int64(store->failed, 1, stage);
    (void)sqlite3_bind_int64(store->failed, 2, (int64_t)f->index);
    (void)sqlite3_bind_double(store->failed, 3, dpa__wall_clock());
    (void)sqlite3_bind_text(store->failed, 4, f->reason, -1, SQLITE_STATIC);
    if (f->said != NULL) (void)sqlite3_bind_text(store->failed, 5, f->said, -1, SQLITE_STATIC);
    if (f->place != NULL) (void)sqlite3_bind_text(store->failed, 6, f->place, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int(store->failed, 7, f->machine != 0);
    return finish(store, store->failed, err);
}

dpa_status dpa__store_run_begin(dpa_store *store, dpa_error *err) {
    sqlite3_stmt *query;
    char host[64] = "";
    (void)gethostname(host, sizeof host - 1);
    DPA_TRY(dpa__store_prepare(store,
                               "INSERT INTO run(process, host, started, updated, state, stage, "
                               "stages, planned, stored, played, failed, running, workers) "
                               "VALUES(?,?,?3,?3,?,0,0,0,0,0,0,0,0)",
                               &query, err));
    (void)sqlite3_bind_int64(query, 1, (int64_t)getpid());
    (void)sqlite3_bind_text(query, 2, host, -1, SQLITE_STATIC);
    (void)sqlite3_bind_double(query, 3, dpa__wall_clock());
    (void)sqlite3_bind_int(query, 4, DPA_RUN_RUNNING);
    DPA_TRY(dpa__store_finish(store, query, "write", NULL, err));
    store->run = sqlite3_last_insert_rowid(store->db);
    return DPA_OK;
}

dpa_status dpa__store_run_update(dpa_store *store, const dpa_run_status *now, dpa_error *err) {
    sqlite3_stmt *query;
    DPA_TRY(dpa__store_prepare(store,
                               "UPDATE run SET updated=?, state=?, stage=?, stages=?, planned=?, "
                               "stored=?, played=?, failed=?, running=?, workers=? WHERE id=?",
                               &query, err));
    const uint64_t counts[] = {now->planned, now->stored,  now->played,
                               now->failed,  now->running, now->workers};
    (void)sqlite3_bind_double(query, 1, dpa__wall_clock());
    (void)sqlite3_bind_int(query, 2, (int)now->state);
    (void)sqlite3_bind_int(query, 3, now->stage);
    (void)sqlite3_bind_int(query, 4, now->stages);
    for (int i = 0; i < 6; ++i) (void)sqlite3_bind_int64(query, 5 + i, (int64_t)counts[i]);
    (void)sqlite3_bind_int64(query, 11, store->run);
    return dpa__store_finish(store, query, "write", NULL, err);
}
