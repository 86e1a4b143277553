/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store of trials: what is put can be read, once per key; locks; versions; damage. */
#include "check.h"
#include "stores.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "base/data.h"
#include "run/store.h"

static dpa_error err;
static char path[64];

static const char key_a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
static const char key_b[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

static long kind_of_disk; /* what statfs says it is; 0: what it is */

int statfs(const char *name, struct statfs *out) {
    const int code = (int)syscall(SYS_statfs, name, out);
    if (kind_of_disk != 0) out->f_type = kind_of_disk;
    return code;
}

static int fresh(void **state) {
    (void)state;
    (void)snprintf(path, sizeof path, "/tmp/dpa_store_%d.db", (int)getpid());
    remove_store(path);
    return 0;
}

static int clean(void **state) {
    (void)state;
    remove_store(path);
    return 0;
}

static dpa_store *open_store(dpa_store_mode mode) {
    dpa_store *store = NULL;
    assert_ok(dpa_store_open(path, mode, &store, &err));
    return store;
}

static void put(dpa_store *store, const char *key, uint64_t from, uint64_t to) {
    int64_t row = 0;
    assert_ok(dpa__store_begin(store, &err));
    assert_ok(
        dpa__store_stage(store, &(dpa__stage_row){key, NULL, "audit.yaml", 0, to}, &row, &err));
    for (uint64_t i = from; i < to; ++i) {
        double numbers[2] = {(double)i, 0.5};
        const dpa_values values = {numbers, i % 3}; /* none, one, two */
        const dpa__ended end = {.index = i,
                                .end = DPA_TRIAL_PLAYED,
                                .seconds = 0.25,
                                .values = values,
                                .said = i == 1 ? "hello" : NULL,
                                .place = "hydra slot 3"};
        assert_ok(dpa__store_put(store, row, key, &end, &err));
    }
    assert_ok(dpa__store_commit(store, &err));
}

static uint64_t load(dpa_store *store, const char *key, uint64_t count, uint64_t *damaged) {
    uint64_t loaded = 0;
    dpa_values *items = calloc(count, sizeof *items);
    uint8_t *ends = calloc(count, 1);
    assert_ok(dpa__store_load(store, key, items, ends, count, &loaded, damaged, &err));
    for (uint64_t i = 0; i < count; ++i) {
        if (items[i].items == NULL) continue;
        assert_int_equal(items[i].count, i % 3);
        if (items[i].count > 0) assert_true(items[i].items[0] == (double)i);
        dpa_values_free(&items[i]);
    }
    free(items);
    free(ends);
    return loaded;
}

static int see_trial(void *user, const dpa_store_entry *entry) {
    assert_true(entry->end == DPA_TRIAL_PLAYED && !entry->damaged);
    assert_true(entry->seconds == 0.25 && isnan(entry->time));
    assert_string_equal(entry->place, "hydra slot 3");
    assert_string_equal(entry->said != NULL ? entry->said : "-", entry->index == 1 ? "hello" : "-");
    assert_null(entry->reason);
    ++*(int *)user;
    return 0;
}

static void keeps(void **state) {
    (void)state;
    uint64_t damaged = 0, others = 0;
    dpa_store *store = open_store(DPA_STORE_WRITE);
    put(store, key_a, 0, 10);
    put(store, key_b, 0, 4);
    put(store, key_a, 5, 12); /* some again: replaced, not doubled */
    assert_int_equal(load(store, key_a, 20, &damaged), 12);
    assert_int_equal(load(store, key_a, 7, &damaged), 7); /* a smaller experiment */
    assert_int_equal(load(store, key_b, 20, &damaged), 4);
    assert_int_equal(load(store, "no such key", 20, &damaged), 0);
    assert_int_equal(damaged, 0);
    assert_ok(dpa__store_others(store, key_a, "audit.yaml", 0, &others, &err));
    assert_int_equal(others, 4);
    dpa_store_close(store);
    store = open_store(DPA_STORE_READ);
    int seen = 0;
    assert_ok(dpa_store_trials(store, key_a, see_trial, &seen, &err));
    assert_int_equal(seen, 12);
    assert_ok(dpa_store_trials(store, NULL, see_trial, &seen, &err));
    assert_int_equal(seen, 12 + 16);
    dpa_store_stages stages;
    assert_ok(dpa_store_list(store, &stages, &err));
    assert_int_equal(stages.count, 2);
    assert_string_equal(stages.items[0].key, key_a);
    assert_string_equal(stages.items[1].experiment, "audit.yaml");
    assert_int_equal(stages.items[0].stored, 12);
    assert_int_equal(stages.items[0].bytes, 8 * (12 / 3 * 3));
    assert_true(stages.items[0].seconds == 0.25);
    dpa_store_stages_free(&stages);
    dpa_store_close(store);
}

static int last_failure(void *user, const dpa_store_entry *entry) {
    char *text = user;
    (void)snprintf(text, 200, "%d %d %s %s %s %d", entry->stage, (int)entry->index, entry->reason,
                   entry->said != NULL ? entry->said : "-",
                   entry->place != NULL ? entry->place : "-", entry->machine);
    return 0;
}

static void failures(void **state) {
    (void)state;
    int64_t row = 0;
    char text[200] = "";
    dpa_store *store = open_store(DPA_STORE_WRITE);
    assert_ok(
        dpa__store_stage(store, &(dpa__stage_row){key_a, NULL, "audit.yaml", 1, 5}, &row, &err));
    const dpa__failure first = {4, "first", NULL, NULL, 0};
    const dpa__failure second = {2, "second", "words", "hydra slot 3", 1};
    assert_ok(dpa__store_put_failure(store, row, &first, &err));
    assert_ok(dpa_store_failures(store, NULL, last_failure, text, &err));
    assert_string_equal(text, "1 4 first - - 0");
    for (int i = 0; i < 6; ++i) assert_ok(dpa__store_put_failure(store, row, &second, &err));
    assert_ok(dpa_store_failures(store, NULL, last_failure, text, &err));
    assert_string_equal(text, "1 2 second words hydra slot 3 1");
    dpa_store_stages stages; /* counts them by stage */
    int64_t other = 0;
    assert_ok(
        dpa__store_stage(store, &(dpa__stage_row){key_b, NULL, "audit.yaml", 0, 5}, &other, &err));
    assert_ok(dpa__store_put_failure(store, other, &first, &err));
    assert_ok(dpa_store_list(store, &stages, &err));
    assert_true(stages.items[0].failures == 7 && stages.items[1].failures == 1);
    dpa_store_stages_free(&stages);
    assert_ok(dpa__store_execute(store, "DELETE FROM failure WHERE stage=2", "x", &err));
    text[0] = '\0';
    assert_ok(dpa_store_failures(store, key_b, last_failure, text, &err));
    assert_string_equal(text, "");
    dpa_store_close(store);
}

/* Trials without numbers are stored too, and can be removed. */
static void ends_without_numbers(void **state) {
    (void)state;
    int64_t row = 0;
    uint64_t loaded = 0, damaged = 0;
    dpa_store *store = open_store(DPA_STORE_WRITE);
    put(store, key_a, 0, 3);
    assert_ok(
        dpa__store_stage(store, &(dpa__stage_row){key_a, NULL, "audit.yaml", 0, 6}, &row, &err));
    const dpa__ended failed = {.index = 3, .end = DPA_TRIAL_FAILED},
                     lost = {.index = 4, .end = DPA_TRIAL_LOST};
    assert_ok(dpa__store_put(store, row, key_a, &failed, &err));
    assert_ok(dpa__store_put(store, row, key_a, &lost, &err));
    dpa_values items[6] = {{NULL, 0}};
    uint8_t ends[6] = {0};
    assert_ok(dpa__store_load(store, key_a, items, ends, 6, &loaded, &damaged, &err));
    static const uint8_t want[6] = {1, 1, 1, DPA_TRIAL_FAILED, DPA_TRIAL_LOST, 0};
    assert_memory_equal(ends, want, 6);
    assert_true(loaded == 4 && damaged == 0 && items[3].items == NULL);
    for (int i = 0; i < 6; ++i) dpa_values_free(&items[i]);
    dpa_store_stages stages;
    assert_ok(dpa_store_list(store, &stages, &err));
    assert_true(stages.items[0].stored == 3 && stages.items[0].failed == 1);
    assert_true(stages.items[0].lost == 1 && stages.items[0].seconds == 0.25);
    dpa_store_stages_free(&stages);
    /* A trial that is merely marked as failed has a wrong checksum. */
    assert_ok(dpa__store_execute(store, "UPDATE trial SET ended=2 WHERE number=1", "x", &err));
    memset(ends, 0, sizeof ends);
    assert_ok(dpa__store_load(store, key_a, items, ends, 6, &loaded, &damaged, &err));
    assert_true(damaged == 1 && ends[1] == DPA_TRIAL_NONE);
    for (int i = 0; i < 6; ++i) dpa_values_free(&items[i]);
    assert_ok(dpa__store_forget(store, row, 3, &err));
    assert_ok(dpa__store_forget(store, row, 0, &err)); /* has numbers: stays */
    memset(ends, 0, sizeof ends);
    assert_ok(dpa__store_load(store, key_a, items, ends, 6, &loaded, &damaged, &err));
    assert_true(ends[0] == DPA_TRIAL_PLAYED && ends[3] == DPA_TRIAL_NONE);
    assert_int_equal(ends[4], DPA_TRIAL_LOST);
    for (int i = 0; i < 6; ++i) dpa_values_free(&items[i]);
    /* An end that there is not is damage, though the sum is that of a lost trial. */
    static const char *const bends[] = {"UPDATE trial SET ended=4 WHERE number=4",
                                        "UPDATE trial SET ended=0 WHERE number=4",
                                        "UPDATE trial SET ended=3 WHERE number=4"};
    for (int k = 0; k < 3; ++k) {
        assert_ok(dpa__store_execute(store, bends[k], "x", &err));
        memset(ends, 0, sizeof ends);
        assert_ok(dpa__store_load(store, key_a, items, ends, 6, &loaded, &damaged, &err));
        assert_int_equal(damaged, k < 2 ? 2 : 1);
        assert_int_equal(ends[4], k < 2 ? DPA_TRIAL_NONE : DPA_TRIAL_LOST);
        for (int i = 0; i < 6; ++i) dpa_values_free(&items[i]);
    }
    assert_ok(dpa__store_forget(store, row, UINT64_MAX, &err));
    memset(ends, 0, sizeof ends);
    assert_ok(dpa__store_load(store, key_a, items, ends, 6, &loaded, &damaged, &err));
    assert_int_equal(ends[4], DPA_TRIAL_NONE);
    for (int i = 0; i < 6; ++i) dpa_values_free(&items[i]);
    dpa_store_close(store);
}

static void damage(void **state) {
    (void)state;
    uint64_t damaged = 0;
    dpa_store *store = open_store(DPA_STORE_WRITE);
    put(store, key_a, 0, 9);
    /* Other numbers, numbers of another trial, an incomplete number. */
    assert_ok(dpa__store_execute(store, "UPDATE trial SET numbers=zeroblob(8) WHERE number=4", "x",
                                 &err));
    assert_ok(dpa__store_execute(store, "UPDATE trial SET number=100 WHERE number=5", "x", &err));
    assert_ok(dpa__store_execute(store, "UPDATE trial SET number=5 WHERE number=2", "x", &err));
    assert_ok(dpa__store_execute(store, "UPDATE trial SET numbers=zeroblob(9) WHERE number=7", "x",
                                 &err));
    assert_int_equal(load(store, key_a, 9, &damaged), 5);
    assert_int_equal(damaged, 3);
    dpa_store_close(store);
}

static void one_writer(void **state) {
    (void)state;
    dpa_store *first = open_store(DPA_STORE_WRITE), *second = NULL;
    assert_int_equal(dpa_store_open(path, DPA_STORE_WRITE, &second, &err), DPA_IO);
    assert_null(second);
    assert_non_null(strstr(err.text, "is running on this store"));
    second = open_store(DPA_STORE_READ); /* reading is possible meanwhile */
    dpa_store_close(second);
    dpa_store_close(first);
    assert_int_equal(dpa__store_is_locked(path), 0);
    first = open_store(DPA_STORE_WRITE);
    dpa_store_close(first);
}

/* A process that dies in the middle of a transaction: what was committed is there, the uncommitted
 * is not, and the lock is free. */
static void killed(void **state) {
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        dpa_store *store = NULL;
        int64_t row = 0;
        const dpa_values values = {NULL, 0};
        if (dpa_store_open(path, DPA_STORE_WRITE, &store, &err) != DPA_OK) _exit(1);
        if (dpa__store_run_begin(store, &err) != DPA_OK) _exit(1);
        put(store, key_a, 0, 6);
        if (dpa__store_begin(store, &err) != DPA_OK) _exit(1);
        if (dpa__store_stage(store, &(dpa__stage_row){key_a, NULL, "audit.yaml", 0, 9}, &row,
                             &err) != DPA_OK)
            _exit(1);
        const dpa__ended end = {.index = 6, .end = DPA_TRIAL_PLAYED, .values = values};
        if (dpa__store_put(store, row, key_a, &end, &err) != DPA_OK) _exit(1);
        (void)kill(getpid(), SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    uint64_t damaged = 0;
    dpa_run_status run;
    dpa_store *store = open_store(DPA_STORE_READ);
    assert_ok(dpa_store_status(store, &run, &err));
    assert_int_equal(run.state, DPA_RUN_KILLED);
    assert_int_equal(run.process, child);
    dpa_store_close(store);
    store = open_store(DPA_STORE_WRITE);
    assert_int_equal(load(store, key_a, 9, &damaged), 6);
    dpa_store_close(store);
}

static void versions(void **state) {
    (void)state;
    dpa_store *store = NULL;
    sqlite3 *db = NULL;
    /* Version 1, as an older program left it. */
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, dpa__store_steps[0], NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA application_id=1685086580;PRAGMA user_version=1",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    (void)sqlite3_close(db);
    assert_int_equal(dpa_store_open(path, DPA_STORE_READ, &store, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "older"));
    store = open_store(DPA_STORE_WRITE);
    put(store, key_a, 0, 3);
    assert_ok(dpa__store_execute(store, "PRAGMA user_version=77", "x", &err));
    dpa_store_close(store);
    assert_int_equal(dpa_store_open(path, DPA_STORE_WRITE, &store, &err), DPA_BAD_INPUT);
    assert_non_null(strstr(err.text, "newer dpaudit (version 77"));
    assert_int_equal(dpa__store_is_locked(path), 0);
    assert_int_equal(dpa_store_open("/tmp", DPA_STORE_WRITE, &store, &err), DPA_BAD_INPUT);
    assert_int_equal(dpa_store_open("/no/such/folder/x.db", DPA_STORE_WRITE, &store, &err), DPA_IO);
    assert_int_equal(dpa_store_open("/no/such/x.db", DPA_STORE_READ, &store, &err), DPA_BAD_INPUT);
}

/* Version 3 can be read as it is; it has no settings. */
static void version_3(void **state) {
    (void)state;
    sqlite3 *db = NULL;
    dpa_store_stages stages;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (size_t i = 0; i < 3; ++i)
        assert_int_equal(sqlite3_exec(db, dpa__store_steps[i], NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "INSERT INTO stage VALUES(1, 'key', 'audit.yaml', 0, 4);"
                                  "PRAGMA application_id=1685086580;PRAGMA user_version=3",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    (void)sqlite3_close(db);
    for (int i = 0; i < 2; ++i) {
        dpa_store *store = open_store(i == 0 ? DPA_STORE_READ : DPA_STORE_WRITE);
        assert_ok(dpa_store_list(store, &stages, &err));
        assert_int_equal(stages.count, 1);
        assert_string_equal(stages.items[0].key, "key");
        assert_null(stages.items[0].settings);
        dpa_store_stages_free(&stages);
        dpa_store_close(store);
    }
}

static void adopt(dpa_store *store) {
    int64_t row = 0;
    const dpa__stage_row stage = {key_b, "seed: 1\n", "audit.yaml", 0, 9};
    assert_ok(dpa__store_begin(store, &err));
    assert_ok(dpa__store_stage(store, &stage, &row, &err));
    assert_ok(dpa__store_adopt(store, key_a, key_b, row, &err));
    assert_ok(dpa__store_commit(store, &err));
}

/* Trials under an older key get the new one with checksums that fit. What was damaged stays so,
 * what the new stage has stays, failures come along; a second time nothing happens. */
static void adopts(void **state) {
    (void)state;
    int64_t row = 0;
    uint64_t damaged = 0;
    char text[200] = "";
    dpa_store_stages stages;
    dpa_store *store = open_store(DPA_STORE_WRITE);
    put(store, key_b, 0, 2);
    put(store, key_a, 0, 7);
    const dpa__stage_row old = {key_a, NULL, "audit.yaml", 0, 9};
    const dpa__failure failure = {8, "why", NULL, NULL, 0};
    const dpa__ended failed = {.index = 7, .end = DPA_TRIAL_FAILED},
                     lost = {.index = 8, .end = DPA_TRIAL_LOST};
    assert_ok(dpa__store_stage(store, &old, &row, &err));
    assert_ok(dpa__store_put(store, row, key_a, &failed, &err));
    assert_ok(dpa__store_put(store, row, key_a, &lost, &err));
    assert_ok(dpa__store_put_failure(store, row, &failure, &err));
    assert_ok(dpa__store_execute(store, "UPDATE trial SET sum=sum+1 WHERE number=5", "x", &err));
    for (int i = 0; i < 2; ++i) {
        adopt(store);
        damaged = 0;
        assert_int_equal(load(store, key_b, 9, &damaged), 7); /* 0 to 4, 6, and the failed one */
        assert_int_equal(damaged, 1);
        assert_int_equal(load(store, key_a, 9, &damaged), 0);
    }
    assert_ok(dpa_store_list(store, &stages, &err));
    assert_int_equal(stages.count, 1);
    assert_string_equal(stages.items[0].settings, "seed: 1\n");
    assert_true(stages.items[0].failed == 1 && stages.items[0].lost == 1);
    dpa_store_stages_free(&stages);
    assert_ok(dpa_store_failures(store, key_b, last_failure, text, &err));
    assert_string_equal(text, "0 8 why - - 0");
    dpa_store_close(store);
}

static int updates_left;
static void die_at_update(void *user, int what, const char *base, const char *table,
                          sqlite3_int64 row) {
    (void)user, (void)what, (void)base, (void)table, (void)row;
    if (--updates_left == 0) (void)kill(getpid(), SIGKILL);
}

/* Killed at any change of a row while keys are made anew: all trials are there, under one key. */
static void killed_while_adopting(void **state) {
    (void)state;
    int finished = 0;
    dpa_store *store = open_store(DPA_STORE_WRITE);
    put(store, key_a, 0, 9);
    dpa_store_close(store);
    for (int at = 1; !finished; ++at) {
        int status = 0;
        uint64_t damaged = 0;
        assert_true(at < 100);
        const pid_t child = fork();
        if (child == 0) {
            if (dpa_store_open(path, DPA_STORE_WRITE, &store, &err) != DPA_OK) _exit(1);
            updates_left = at;
            (void)sqlite3_update_hook(store->db, die_at_update, NULL);
            adopt(store);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        finished = WIFEXITED(status);
        assert_true(finished ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL);
        store = open_store(DPA_STORE_WRITE);
        assert_int_equal(load(store, finished ? key_b : key_a, 9, &damaged), 9);
        assert_int_equal(load(store, finished ? key_a : key_b, 9, &damaged), 0);
        assert_int_equal(damaged, 0);
        dpa_store_close(store);
        if (finished) assert_true(at > 9); /* it was killed at each trial */
    }
}

static void status_of_runs(void **state) {
    (void)state;
    dpa_run_status run;
    dpa_store *store = open_store(DPA_STORE_WRITE);
    assert_ok(dpa_store_status(store, &run, &err));
    assert_int_equal(run.state, DPA_RUN_NONE);
    assert_ok(dpa__store_run_begin(store, &err));
    const dpa_run_status now = {.state = DPA_RUN_RUNNING,
                                .stage = 1,
                                .stages = 2,
                                .planned = 9,
                                .stored = 8,
                                .played = 7,
                                .failed = 6,
                                .running = 5,
                                .workers = 4};
    assert_ok(dpa__store_run_update(store, &now, &err));
    assert_ok(dpa_store_status(store, &run, &err));
    assert_int_equal(run.state, DPA_RUN_RUNNING);
    assert_true(run.stage == 1 && run.stages == 2 && run.planned == 9 && run.stored == 8 &&
                run.played == 7 && run.failed == 6 && run.running == 5 && run.workers == 4);
    assert_true(run.updated >= run.started && run.started > 1e9);
    dpa_store_close(store);
}

/* Where the memory of the log cannot be made (its name leads nowhere, or the folder cannot be
 * written, which root always can), in a folder whose name a URI would split. */
static void frozen(void **state) {
    (void)state;
    char folder[] = "/tmp/dpa?%20#XXXXXX", shared[96];
    uint64_t damaged = 0;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/store.db", folder);
    (void)snprintf(shared, sizeof shared, "%s-shm", path);
    dpa_store *store = open_store(DPA_STORE_WRITE);
    put(store, key_a, 0, 3);
    dpa_store_close(store);
    for (int is_folder = 0; is_folder < (geteuid() == 0 ? 1 : 2); ++is_folder) {
        if (is_folder)
            assert_int_equal(chmod(folder, 0555), 0);
        else
            assert_int_equal(symlink("/no/such/folder/memory", shared), 0);
        store = open_store(DPA_STORE_READ);
        assert_int_equal(load(store, key_a, 3, &damaged), 3);
        dpa_store_close(store);
        assert_int_equal(is_folder ? chmod(folder, 0777) : unlink(shared), 0);
    }
    remove_store(path);
    assert_int_equal(rmdir(folder), 0);
}

/* Where other machines may have mounted the folder too there is no log beside the store. */
static void shared_disks(void **state) {
    (void)state;
    static const long kinds[] = {0, 0x6969, 0xff534d42, 0x65735546, 0x01021997, 0xef53};
    char log[80];
    (void)snprintf(log, sizeof log, "%s-wal", path);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
        const int is_shared = i > 0 && i < 5;
        uint64_t damaged = 0;
        remove_store(path);
        kind_of_disk = kinds[i];
        dpa_store *store = open_store(DPA_STORE_WRITE);
        kind_of_disk = 0;
        put(store, key_a, 0, 3);
        assert_int_equal(access(log, F_OK), is_shared ? -1 : 0);
        assert_int_equal(load(store, key_a, 3, &damaged), 3);
        dpa_store_close(store);
    }
}

/* What was stored before a disk is full is safe. */
static void full_disk(void **state) {
    (void)state;
    static char words[20000];
    int64_t row = 0;
    uint64_t damaged = 0;
    dpa_store *store = open_store(DPA_STORE_WRITE);
    put(store, key_a, 0, 3);
    assert_ok(dpa__store_execute(store, "PRAGMA max_page_count=1", "x", &err)); /* as it is */
    assert_ok(dpa__store_begin(store, &err));
    assert_ok(
        dpa__store_stage(store, &(dpa__stage_row){key_a, NULL, "audit.yaml", 0, 9}, &row, &err));
    memset(words, 'w', sizeof words - 1);
    const dpa__ended end = {.index = 5, .end = DPA_TRIAL_PLAYED, .said = words};
    assert_int_equal(dpa__store_put(store, row, key_a, &end, &err), DPA_IO);
    assert_non_null(strstr(err.text, "the disk is full: what was stored before is safe"));
    dpa__store_rollback(store);
    assert_int_equal(load(store, key_a, 9, &damaged), 3);
    assert_int_equal(damaged, 0);
    dpa_store_close(store);
}

/* Other files stay as they are. */
static void foreign_files(void **state) {
    (void)state;
    static const char text[] = "this is a text of some length, and not at all a store of trials";
    for (int is_text = 0; is_text < 2; ++is_text)
        for (int mode = 0; mode < 2; ++mode) {
            dpa_store *store = NULL;
            sqlite3 *db = NULL;
            struct stat before, after;
            remove_store(path);
            if (is_text) {
                assert_ok(dpa__file_write(path, text, sizeof text - 1, &err));
            } else {
                assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
                assert_int_equal(sqlite3_exec(db, "CREATE TABLE t(x)", NULL, NULL, NULL),
                                 SQLITE_OK);
                (void)sqlite3_close(db);
            }
            assert_int_equal(stat(path, &before), 0);
            assert_int_equal(
                dpa_store_open(path, mode ? DPA_STORE_WRITE : DPA_STORE_READ, &store, &err),
                DPA_BAD_INPUT);
            assert_null(store);
            assert_string_equal(err.text,
                                is_text ? "not a store of dpaudit (an SQLite file was expected)"
                                        : "an SQLite file, but not a store of dpaudit");
            assert_int_equal(stat(path, &after), 0);
            assert_int_equal(after.st_size, before.st_size);
            assert_true(after.st_mtim.tv_sec == before.st_mtim.tv_sec &&
                        after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
            assert_int_equal(dpa__store_is_locked(path), 0);
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, clean)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(keeps),        TEST(failures),       TEST(ends_without_numbers),
        TEST(damage),       TEST(one_writer),     TEST(killed),
        TEST(versions),     TEST(status_of_runs), TEST(frozen),
        TEST(version_3),    TEST(adopts),         TEST(killed_while_adopting),
        TEST(shared_disks), TEST(full_disk),      TEST(foreign_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
