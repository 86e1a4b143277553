/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gives trials that were stored under an older key the key of today. */
#include <string.h>

#include "base/error.h"
#include "run/store.h"

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
    const int code = sqlite3_step(query);
    (void)sqlite3_finalize(query);
    return code == SQLITE_DONE ? DPA_OK : dpa__store_fail(store, code, "write", err);
}

/* *id is 0 if there is no stage with that key. */
static dpa_status find(dpa_store *store, const char *key, int64_t *id, dpa_error *err) {
    sqlite3_stmt *query;
    *id = 0;
    DPA_TRY(dpa__store_prepare(store, "SELECT id FROM stage WHERE key=?1", &query, err));
    (void)sqlite3_bind_text(query, 1, key, -1, SQLITE_STATIC);
    const int code = sqlite3_step(query);
    if (code == SQLITE_ROW) *id = sqlite3_column_int64(query, 0);
    (void)sqlite3_finalize(query);
    return code == SQLITE_ROW || code == SQLITE_DONE ? DPA_OK
                                                     : dpa__store_fail(store, code, "read", err);
}

dpa_status dpa__store_adopt(dpa_store *store, const char *before, const char *key, int64_t id,
                            dpa_error *err) {
    static const char *const steps[] = {
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
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == DPA_OK; ++i)
        status = move(store, steps[i], from, id, err);
    (void)sqlite3_create_function_v2(store->db, "resum", 4, SQLITE_UTF8, NULL, NULL, NULL, NULL,
                                     NULL);
    return status;
}
