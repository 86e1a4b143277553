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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(garbage_after_result, set_up, tear_down),
        cmocka_unit_test_setup_teardown(garbage_for_result, set_up, tear_down),
        cmocka_unit_test_setup_teardown(answers_to_other_questions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(progress_of_a_trial, set_up, tear_down),
        cmocka_unit_test_setup_teardown(log_of_a_trial, set_up, tear_down),
        cmocka_unit_test_setup_teardown(time_of_submit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_pipes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stillborn, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
