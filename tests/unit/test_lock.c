/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One writer per store, also where the file system does not show the locks of other machines: a
 * signed lock file is believed as long as who signed it may be alive and its notes change. */
#include "check.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/write.h"
#include "run/store.h"

static dpa_error err;
static char store[64], lock_name[80], notes[96];

static int setup(void **state) {
    (void)state;
    (void)snprintf(store, sizeof store, "/tmp/dpa_lock_%d.db", (int)getpid());
    (void)snprintf(lock_name, sizeof lock_name, "%s.lock", store);
    (void)snprintf(notes, sizeof notes, "%s.status.json", store);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    (void)unlink(lock_name);
    (void)unlink(notes);
    return 0;
}

static void write_text(const char *path, const char *text) {
    assert_ok(dpa__file_write(path, text, strlen(text), &err));
}

static void one_holder(void **state) {
    (void)state;
    int lock, other;
    char host[64] = "", want[160];
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(want, sizeof want, "process %d on %s is running on this store", (int)getpid(),
                   host);
    assert_false(dpa__store_is_locked(store));
    assert_ok(dpa__store_lock(store, &lock, &err));
    assert_true(lock >= 0 && dpa__store_is_locked(store));
    assert_int_equal(dpa__store_lock(store, &other, &err), DPA_IO);
    assert_int_equal(other, -1);
    if (strstr(err.text, want) == NULL) fail_msg("'%s': no '%s'", err.text, want);
    dpa__store_unlock(store, lock);
    assert_false(dpa__store_is_locked(store));
    assert_int_not_equal(access(lock_name, F_OK), 0);
    assert_ok(dpa__store_lock(store, &lock, &err));
    dpa__store_unlock(store, lock);
    assert_int_equal(dpa__store_lock("/dev/null/x", &lock, &err), DPA_IO);
    assert_non_null(strstr(err.text, "cannot write here"));
}

/* Whoever holds the lock may have signed nothing yet, or more than a lock has room for. */
static void strange_signatures(void **state) {
    (void)state;
    int lock, other;
    char much[4000], want[4096];
    memset(much, 'x', sizeof much);
    assert_ok(dpa__store_lock(store, &lock, &err));
    assert_int_equal(truncate(lock_name, 0), 0);
    assert_int_equal(dpa__store_lock(store, &other, &err), DPA_IO);
    if (strstr(err.text, "another process is running") == NULL) fail_msg("'%s'", err.text);
    FILE *to = fopen(lock_name, "w");
    assert_non_null(to);
    assert_int_equal(fwrite(much, 1, sizeof much, to), sizeof much);
    (void)fclose(to);
    assert_int_equal(dpa__store_lock(store, &other, &err), DPA_IO);
    (void)snprintf(want, sizeof want, "%.95s is running", much);
    if (strncmp(err.text, want, strlen(want)) != 0) fail_msg("'%s'", err.text);
    dpa__store_unlock(store, lock);
}

/* What becomes of a lock that somebody signed and nobody removed, while the notes change. */
static dpa_status lock_of(const char *holder) {
    int lock;
    write_text(lock_name, holder);
    const pid_t writer = fork();
    assert_true(writer >= 0);
    for (int i = 0; writer == 0; ++i) { /* the notes of a run that goes on */
        write_text(notes, i % 2 == 0 ? "{}" : "{ }");
        (void)usleep(20000);
    }
    const dpa_status status = dpa__store_lock(store, &lock, &err);
    (void)kill(writer, SIGKILL);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    dpa__store_unlock(store, lock);
    (void)unlink(lock_name);
    return status;
}

static void unseen_holders(void **state) {
    (void)state;
    char host[64] = "", holder[160];
    (void)gethostname(host, sizeof host - 1);
    const pid_t dead = fork();
    assert_true(dead >= 0);
    if (dead == 0) _exit(0);
    assert_int_equal(waitpid(dead, NULL, 0), dead);
    /* it died on this machine: the notes are somebody else's business */
    (void)snprintf(holder, sizeof holder, "process %d on %s", (int)dead, host);
    assert_ok(lock_of(holder));
    /* alive, on another machine, or not to be understood: it may be running */
    for (int k = 0; k < 5; ++k) {
        static const char *const strange[] = {"who knows", "process x on y"};
        if (k < 2)
            (void)snprintf(holder, sizeof holder, "process %d on %s%s",
                           (int)(k == 0 ? getpid() : dead), host, k == 0 ? "" : ".elsewhere");
        else if (k < 4)
            (void)snprintf(holder, sizeof holder, "%s", strange[k - 2]);
        else /* nearly what a run writes */
            (void)snprintf(holder, sizeof holder, "process-%d on %s", (int)dead, host);
        assert_int_equal(lock_of(holder), DPA_IO);
        assert_non_null(strstr(err.text, "and this file system does not show its lock"));
        assert_non_null(strstr(err.text, holder));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_holder),
                                       cmocka_unit_test(strange_signatures),
                                       cmocka_unit_test(unseen_holders)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
