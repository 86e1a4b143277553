/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pool with workers that misbehave, and with pipes to them that fail. */
#include "scripted_pool.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>

/* libuv's calls come here: the one with this number fails (0: none), counted down. */
static int read_fails, write_fails;

static int is_over(int *left) {
    if (*left == 0 || --*left > 0) return 0;
    errno = EIO;
    return 1;
}

/* The sizes are those of the pool's pipes: libuv has others for itself. */
enum { READ_SIZE = 65536, JOB_SIZE = 64 };

ssize_t read(int fd, void *to, size_t size) {
    if (size == READ_SIZE && is_over(&read_fails)) return -1;
    return syscall(SYS_read, fd, to, size);
}

ssize_t write(int fd, const void *from, size_t size) {
    if (size == JOB_SIZE && is_over(&write_fails)) return -1;
    return syscall(SYS_write, fd, from, size);
}

/* The worker answers and then sends garbage: it is ended, and another one plays the next trial as
 * usual. */
static void garbage_after_result(void **state) {
    (void)state;
    dpa__transport t;
    open_pool("cat ready && head -c 64 >/dev/null && "
              "if test -e second; then cat result1; else : >second; cat garbled0; fi",
              &t);
    assert_played(&t, 0);
    assert_played(&t, 1);
    t.close(t.self);
}

/* Garbage instead of an answer costs the trial that was asked for, and no other. */
static void garbage_for_result(void **state) {
    (void)state;
    dpa__transport t;
    open_pool("cat ready && head -c 64 >/dev/null && "
              "if test -e second; then cat result1; else : >second; cat garbage; fi",
              &t);
    dpa__outcome out = play(&t, 0);
    assert_int_equal(out.status, DPA_BAD_INPUT);
    assert_non_null(strstr(out.error.text, "no message"));
    assert_true(out.crashed);
    dpa__outcome_free(&out);
    assert_played(&t, 1);
    t.close(t.self);
}

/* What is said of another trial, or of another stage, is no answer: the worker is ended. */
static void answers_to_other_questions(void **state) {
    (void)state;
    static const char *const wrong[] = {"result1", "result-of-1", "progress1"};
    for (int i = 0; i < 3; ++i) {
        dpa__transport t;
        char script[200];
        (void)snprintf(script, sizeof script,
                       "cat ready && head -c 64 >/dev/null && "
                       "if test -e second; then cat result0; else : >second; cat %s; fi",
                       wrong[i]);
        open_pool(script, &t);
        dpa__outcome out = play(&t, 0);
        assert_int_equal(out.status, DPA_INTERNAL);
        assert_true(out.crashed);
        assert_non_null(strstr(out.error.text, "what nobody asked for"));
        dpa__outcome_free(&out);
        assert_played(&t, 0);
        t.close(t.self);
        assert_int_equal(unlink(file("second")), 0);
    }
}

/* How far a trial is can be asked while it is played, and is forgotten with it. */
static void progress_of_a_trial(void **state) {
    (void)state;
    dpa__transport t;
    dpa__outcome out = {0};
    double done[2] = {0, 0};
    open_pool("cat ready && head -c 64 >/dev/null && cat progress0 && "
              "while ! test -e second; do sleep 0.01; done && cat result0",
              &t);
    assert_ok(t.submit(t.self, 0, 0, 0, &err));
    for (int waits = 0, some = 0; done[1] == 0 && waits < 600; ++waits) {
        assert_ok(t.wait(t.self, 0.1, &out, &some, &err));
        assert_false(some);
        t.progress(t.self, 0, done);
    }
    assert_true(done[0] == 3 && done[1] == 10);
    assert_ok(dpa__file_write(file("second"), "", 0, &err));
    assert_ok(await_outcome(&t, &out));
    assert_int_equal(out.status, DPA_OK);
    dpa__outcome_free(&out);
    assert_ok(t.submit(t.self, 0, 0, 1, &err));
    t.progress(t.self, 0, done);
    assert_true(done[1] == 0);
    t.close(t.self);
}

/* What a trial prints can be read in the folder of its slot while it is played, and is then part of
 * its outcome. */
static void log_of_a_trial(void **state) {
    (void)state;
    dpa__transport t;
    dpa__outcome out = {0};
    char path[256], text[32] = "";
    open_pool("cat ready && head -c 64 >/dev/null && echo so far >&2 && "
              "while ! test -e second; do sleep 0.01; done && cat result0",
              &t);
    (void)snprintf(path, sizeof path, "%s/0/trial-0.log",
                   strchr(((dpa__pool *)t.self)->scratch, '=') + 1);
    assert_ok(t.submit(t.self, 0, 0, 0, &err));
    for (int waits = 0, some = 0; strcmp(text, "so far\n") != 0; ++waits) {
        if (waits == 100) fail_msg("nothing is heard: '%s'", text);
        assert_ok(t.wait(t.self, 0.1, &out, &some, &err));
        assert_false(some);
        FILE *from = fopen(path, "r");
        if (from == NULL) continue;
        text[fread(text, 1, sizeof text - 1, from)] = '\0';
        (void)fclose(from);
    }
    assert_ok(dpa__file_write(file("second"), "", 0, &err));
    assert_ok(await_outcome(&t, &out));
    assert_string_equal(out.said, "so far\n");
    dpa__outcome_free(&out);
    assert_int_equal(access(path, F_OK), -1);
    t.close(t.self);
}

/* The loop's clock stands still while the scheduler is busy elsewhere; a trial's timeout must not
 * start before the trial. */
static void time_of_submit(void **state) {
    (void)state;
    const struct timespec busy = {0, 20000000};
    dpa__transport t;
    open_pool("cat ready && head -c 64 >/dev/null && cat result0", &t);
    assert_played(&t, 0);
    (void)nanosleep(&busy, NULL);
    const uint64_t before = uv_hrtime() / 1000000;
    assert_ok(t.submit(t.self, 0, 0, 1, &err));
    assert_true(uv_now(&((dpa__pool *)t.self)->loop) >= before);
    t.close(t.self);
}

/* Plays one trial whose `number`-th call fails. 1: the worker was given up, and the next one played
 * the trial again. */
static int given_up(int *calls, int number, const char *words) {
    dpa__transport t;
    open_pool("cat ready && head -c 64 >/dev/null && cat result0", &t);
    *calls = number;
    dpa__outcome out = play(&t, 0);
    const int failed = out.status != DPA_OK;
    if (failed) {
        assert_int_equal(out.status, DPA_IO);
        assert_true(out.crashed);
        assert_non_null(strstr(out.error.text, words));
        assert_played(&t, 0);
    }
    dpa__outcome_free(&out);
    *calls = 0;
    t.close(t.self);
    return failed;
}

/* A worker that cannot be heard, or be told what to play, is not waited for. */
static void broken_pipes(void **state) {
    (void)state;
    int deaf = 0, mute = 0;
    for (int n = 1; n <= 4; ++n) deaf += given_up(&read_fails, n, "cannot hear a worker");
    for (int n = 1; n <= 2; ++n) mute += given_up(&write_fails, n, "cannot talk to a worker");
    assert_true(deaf >= 2); /* that it is ready, and its answer */
    assert_int_equal(mute, 1);
}

/* A worker that ends before it is ready costs an attempt; after the third in a row none is started
 * any more, and what the last one said is told. */
static void stillborn(void **state) {
    (void)state;
    for (int most = 2; most <= 3; ++most) {
        dpa__transport t;
        dpa__outcome out = {0};
        char script[200];
        (void)snprintf(script, sizeof script,
                       "echo x >>second; test $(wc -l <second) -gt %d || "
                       "{ echo no data >&2; exit 7; }; "
                       "cat ready && head -c 64 >/dev/null && cat result0",
                       most);
        open_pool(script, &t);
        for (int i = 0; i < most; ++i) {
            out = play(&t, 0);
            assert_int_equal(out.status, DPA_IO);
            assert_true(out.crashed);
            assert_non_null(strstr(out.error.text, "exit code 7"));
            dpa__outcome_free(&out);
        }
        if (most == 2) {
            assert_played(&t, 0);
        } else {
            assert_ok(t.submit(t.self, 0, 0, 0, &err));
            assert_int_equal(await_outcome(&t, &out), DPA_IO);
            assert_non_null(strstr(err.text, "workers end before they are ready: "));
            assert_non_null(strstr(err.text, "exit code 7: no data"));
        }
        t.close(t.self);
        assert_int_equal(unlink(file("second")), 0);
    }
}

/* ---- Workers that end, stay silent, or say too much ---- */

static dpa__transport open_with(const dpa_run_opts *opts, const char *scratch) {
    static const dpa_values no_brief = {0};
    dpa__transport t;
    assert_ok(dpa__pool_open(opts, &game, scratch, &t, &err));
    assert_ok(t.brief(t.self, 0, &no_brief, &err));
    return t;
}

/* What a file has, up to some size; "" where it is not there. */
static const char *text_in(const char *path) {
    static char text[65536];
    FILE *from = fopen(path, "r");
    const size_t size = from != NULL ? fread(text, 1, sizeof text - 1, from) : 0;
    if (from != NULL) (void)fclose(from);
    text[size] = '\0';
    return text;
}

/* Waits a minute at most until a process is gone, or nobody but its parent misses it. */
static void assert_ends(const char *process) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", atoi(process));
    for (int waits = 0; text_in(path)[0] != '\0'; ++waits) {
        if (waits == 600) fail_msg("process %s was left running", process);
        (void)usleep(100000);
    }
}

/* What a dead worker leaves behind is swept away, though it has a session of its own: processes
 * and files of its slot, and none of another slot. */
static void leftovers(void **state) {
    (void)state;
    dpa_run_opts opts = options_of(
        "cat ready && head -c 64 >/dev/null && mkdir -p $DPAUDIT_SCRATCH/$DPAUDIT_SLOT/dpa-x && "
        "if test $DPAUDIT_SLOT = 1; then "
        "while test -e garbage; do sleep 0.01; done; test -d $DPAUDIT_SCRATCH/1/dpa-x && cat "
        "result1;"
        " else setsid sh -c 'echo $$ >second; exec sleep 1000' & "
        "while ! test -s second; do sleep 0.01; done; exit 7; fi");
    char process[16], scratch[256], path[300];
    opts.workers = 2;
    dpa__transport t = open_with(&opts, NULL);
    (void)snprintf(scratch, sizeof scratch, "%s", strchr(((dpa__pool *)t.self)->scratch, '=') + 1);
    dpa__outcome out = {0};
    assert_ok(t.submit(t.self, 1, 0, 1, &err));
    assert_ok(t.submit(t.self, 0, 0, 0, &err));
    assert_ok(await_outcome(&t, &out));
    assert_true(out.slot == 0 && out.index == 0 && out.status == DPA_IO && out.crashed);
    dpa__outcome_free(&out);
    (void)snprintf(process, sizeof process, "%.15s", text_in(file("second")));
    assert_ends(process);
    (void)snprintf(path, sizeof path, "%s/0", scratch);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(unlink(file("garbage")), 0);
    assert_ok(await_outcome(&t, &out));
    assert_true(out.slot == 1 && out.index == 1 && out.status == DPA_OK);
    dpa__outcome_free(&out);
    t.close(t.self);
    assert_int_equal(access(scratch, F_OK), -1);
}

/* What a killed run has left, in its folder or marked with it, is swept away by the next. */
static void leftovers_of_a_run(void **state) {
    (void)state;
    char scratch[128], mark[160], path[160], process[16];
    (void)snprintf(scratch, sizeof scratch, "%s", file("x.scratch"));
    (void)snprintf(path, sizeof path, "%s/0", scratch);
    (void)snprintf(mark, sizeof mark, "DPAUDIT_SCRATCH=%s", scratch);
    assert_true(mkdir(scratch, 0777) == 0 && mkdir(path, 0777) == 0);
    const pid_t left = fork();
    assert_true(left >= 0);
    if (left == 0) {
        char *const words[] = {(char[]){"sleep"}, (char[]){"1000"}, NULL};
        char *const environment[] = {mark, NULL};
        (void)execve("/bin/sleep", words, environment);
        _exit(1);
    }
    (void)snprintf(process, sizeof process, "%d", (int)left);
    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)left);
    while (strcmp(text_in(path), "sleep") != 0) (void)usleep(1000);
    dpa_run_opts opts = options_of("cat ready && head -c 64 >/dev/null && cat result0");
    char store[128];
    (void)snprintf(store, sizeof store, "%s", file("store"));
    opts.store = store;
    dpa__transport t = open_with(&opts, scratch);
    assert_ends(process);
    assert_int_equal(access(scratch, F_OK), -1);
    assert_played(&t, 0);
    t.close(t.self);
}

/* A trial that takes too long is ended, and is an outcome of its trainer; the next worker has a
 * time of its own. */
static void takes_too_long(void **state) {
    (void)state;
    dpa_run_opts opts = options_of(
        "cat ready && head -c 64 >/dev/null && "
        "case $(cat second 2>&1 | wc -c) in 2) cat result0;; 1) printf x >>second; exit 7;; "
        "*) printf x >second; sleep 1000;; esac");
    opts.timeout = 0.25;
    dpa__transport t = open_with(&opts, NULL);
    dpa__outcome out = play(&t, 0);
    assert_int_equal(out.status, DPA_TRAINER);
    assert_string_equal(out.error.text, "no result within the timeout of 0.25 s: ended");
    assert_true(out.crashed);
    dpa__outcome_free(&out);
    ((dpa__pool *)t.self)->timeout = 1e6;
    if (text_in(file("second"))[0] == '\0') /* it was ended before it said so */
        assert_ok(dpa__file_write(file("second"), "x", 1, &err));
    out = play(&t, 0);
    assert_int_equal(out.status, DPA_IO);
    assert_non_null(strstr(out.error.text, "exit code 7"));
    dpa__outcome_free(&out);
    assert_played(&t, 0);
    t.close(t.self);
}

/* Of a trial that says very much the end is kept. */
static void says_too_much(void **state) {
    (void)state;
    dpa__transport t;
    open_pool("cat ready && head -c 64 >/dev/null && echo from here on >&2 && "
              "head -c 100000 /dev/zero | tr '\\0' x >&2; echo to here >&2; cat result0",
              &t);
    dpa__outcome out = play(&t, 0);
    assert_int_equal(out.status, DPA_OK);
    const size_t length = strlen(out.said), end = strlen("to here\n");
    assert_between((double)length, 16384, 2 * 16384);
    assert_string_equal(out.said + length - end, "to here\n");
    assert_int_equal(strspn(out.said, "x"), length - end);
    dpa__outcome_free(&out);
    t.close(t.self);
}

/* A worker that would play something else, or cannot open the game, ends the run. */
static void wrong_beginnings(void **state) {
    (void)state;
    const dpa_error why = {.status = DPA_TRAINER, .place = "audit.yaml", .text = "no data"};
    for (int how = 0; how < 3; ++how) {
        dpa__text keys = {0}, failure = {0};
        dpa__outcome out = {0};
        dpa__transport t;
        assert_ok(dpa__wire_keys(&game, &keys, &err));
        keys.data[0] = (char)(keys.data[0] ^ (how == 0)); /* another key; one that is longer */
        if (how == 1) dpa__text_add(&keys, "0");
        const dpa__message ready = {.kind = DPA__WIRE_READY,
                                    .payload = (const unsigned char *)keys.data,
                                    .size = keys.length};
        put_message("second", &ready, "");
        dpa__wire_put_failure(&failure, 0, 0, &why);
        if (how == 2)
            assert_ok(dpa__file_write(file("second"), failure.data, failure.length, &err));
        open_pool("cat second && head -c 64 >/dev/null && cat result0", &t);
        assert_ok(t.submit(t.self, 0, 0, 0, &err));
        assert_int_equal(await_outcome(&t, &out), how == 2 ? DPA_TRAINER : DPA_BAD_INPUT);
        if (how == 2)
            assert_string_equal(err.text, "no data");
        else
            assert_non_null(strstr(err.text, "a worker reads another experiment or other data"));
        t.close(t.self);
        dpa__text_free(&keys);
        dpa__text_free(&failure);
    }
}

static void assert_line(const char *text, const char *name, const char *want) {
    char line[512];
    const char *at = strstr(text, name);
    (void)snprintf(line, sizeof line, "%s", at != NULL ? at + strlen(name) : "(none)");
    line[strcspn(line, "\n")] = '\0';
    assert_string_equal(line, want);
}

/* Where a worker finds its folders, whatever folder it is in, and that it has one core. */
static void environments(void **state) {
    (void)state;
    char here[256], want[512], store[128];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(unsetenv("OPENBLAS_NUM_THREADS"), 0);
    for (int how = 0; how < 3; ++how) { /* temporary; beside a store here; and elsewhere */
        dpa_run_opts opts =
            options_of("cat ready && head -c 64 >/dev/null && env >second && cat result0");
        (void)snprintf(store, sizeof store, "%s", how == 1 ? "y.db" : file("y.db"));
        opts.store = store;
        char scratch[160];
        (void)snprintf(scratch, sizeof scratch, "%s.scratch", store);
        dpa__transport t = open_with(&opts, how == 0 ? NULL : scratch);
        assert_played(&t, 0);
        const char *all = text_in(file("second"));
        assert_line(all, "\nDPAUDIT_SLOT=", "0");
        assert_line(all, "\nOPENBLAS_NUM_THREADS=", how == 2 ? "3" : "1");
        assert_line(all, "\nDPAUDIT_TEMPORARY=", how == 0 ? "1" : "(none)");
        (void)snprintf(want, sizeof want, "%s%s%s.rounds", how == 1 ? here : "",
                       how == 1 ? "/" : "", store);
        assert_line(all, "\nDPAUDIT_KEEP=", how == 0 ? "(none)" : want);
        (void)snprintf(want, sizeof want, "%s%s%s", how == 1 ? here : "", how == 1 ? "/" : "",
                       scratch);
        if (how > 0) assert_line(all, "\nDPAUDIT_SCRATCH=", want);
        t.close(t.self);
        if (how == 1) assert_int_equal(setenv("OPENBLAS_NUM_THREADS", "3", 1), 0);
    }
    assert_int_equal(unsetenv("OPENBLAS_NUM_THREADS"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(garbage_after_result, set_up, tear_down),
        cmocka_unit_test_setup_teardown(garbage_for_result, set_up, tear_down),
        cmocka_unit_test_setup_teardown(answers_to_other_questions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(progress_of_a_trial, set_up, tear_down),
        cmocka_unit_test_setup_teardown(log_of_a_trial, set_up, tear_down),
        cmocka_unit_test_setup_teardown(time_of_submit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_pipes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stillborn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leftovers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leftovers_of_a_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(takes_too_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(says_too_much, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_beginnings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(environments, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
