/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that stay: lines to them and from them, limits, and how their end is told. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/process.h"

static dpa_error err;

static void start(dpa__child *c, const char *script) {
    static const char *const more[] = {"PATH=/bin:/usr/bin", NULL};
    char *const words[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)script, NULL};
    const dpa__command command = {.words = words, .environment = more};
    assert_ok(dpa__child_start(c, &command, &err));
    assert_true(c->process > 0);
}

static void hear(dpa__child *c, const char *want) {
    char *line = NULL;
    size_t length = 0;
    assert_ok(dpa__child_hear(c, 60.0, &line, &length, &err));
    assert_string_equal(line, want);
    assert_int_equal(length, strlen(want));
}

/* Nothing is left of the child: no process, not even a dead one, and no open end. */
static void assert_gone(const dpa__child *c, pid_t process) {
    assert_int_equal(c->process, 0);
    assert_int_equal(c->in, -1);
    assert_int_equal(c->out, -1);
    assert_null(c->inbox.data);
    assert_int_equal(kill(process, 0), -1);
    assert_int_equal(errno, ESRCH);
}

static void fails(dpa__child *c, double limit, dpa_status want, const char *text) {
    char *line = NULL;
    size_t length = 0;
    const pid_t process = c->process;
    err.text[0] = '\0';
    assert_int_equal(dpa__child_hear(c, limit, &line, &length, &err), want);
    if (strstr(err.text, text) == NULL) fail_msg("'%s'; want '%s'", err.text, text);
    assert_gone(c, process);
}

static void lines(void **state) {
    (void)state;
    dpa__child c;
    start(&c, "while read x; do echo \"got $x\"; done");
    assert_ok(dpa__child_send(&c, "one and more", 3, 60.0, &err));
    hear(&c, "got one");
    assert_ok(dpa__child_send(&c, "", 0, INFINITY, &err));
    assert_ok(dpa__child_send(&c, "two", 3, INFINITY, &err));
    hear(&c, "got ");
    hear(&c, "got two");
    const pid_t process = c.process;
    dpa__child_end(&c, 60.0);
    assert_gone(&c, process);
    dpa__child_end(&c, 60.0); /* nobody is there */
}

/* Several lines in one piece, an empty one, and one in two pieces. */
static void pieces(void **state) {
    (void)state;
    dpa__child c;
    start(&c, "printf 'a\\n\\nbc\\nd'; sleep 0.05; printf 'e\\nf\\n'; read x; printf 'rest'");
    hear(&c, "a");
    hear(&c, "");
    hear(&c, "bc");
    hear(&c, "de");
    hear(&c, "f");
    assert_ok(dpa__child_send(&c, "", 0, 60.0, &err));
    fails(&c, 60.0, DPA_TRAINER, "the command ended before it answered"); /* no end of a line */
}

/* Longer than a pipe and a read: both ways. */
static void long_lines(void **state) {
    (void)state;
    enum { SIZE = 700000 };
    dpa__child c;
    char *line = malloc(SIZE), *answer;
    size_t length;
    assert_non_null(line);
    memset(line, 'x', SIZE);
    start(&c, "head -c 700001 | tr -d '\\n' | wc -c; head -c 700000 /dev/zero | tr '\\0' y; echo");
    assert_ok(dpa__child_send(&c, line, SIZE, 60.0, &err));
    hear(&c, "700000");
    assert_ok(dpa__child_hear(&c, 60.0, &answer, &length, &err));
    assert_int_equal(length, SIZE);
    assert_int_equal(strspn(answer, "y"), SIZE);
    dpa__child_end(&c, 60.0);
    free(line);
}

/* A limit is kept, and not before its time. */
static void limits(void **state) {
    (void)state;
    enum { SIZE = 1 << 22 };
    dpa__child c;
    char *line = calloc(1, SIZE);
    assert_non_null(line);
    start(&c, "exec sleep 1000");
    double since = dpa__clock();
    fails(&c, 0.25, DPA_TRAINER, "no answer within 0.25 s: ended");
    assert_between(dpa__clock() - since, 0.25, 60.0);
    start(&c, "exec sleep 1000");
    const pid_t process = c.process;
    since = dpa__clock();
    assert_int_equal(dpa__child_send(&c, line, SIZE, 0.125, &err), DPA_TRAINER);
    assert_string_equal(err.text, "it took no request within 0.125 s: ended");
    assert_between(dpa__clock() - since, 0.125, 60.0);
    assert_gone(&c, process);
    free(line);
}

/* What the header promises of each way to end. */
static void ends(void **state) {
    (void)state;
    dpa__child c;
    start(&c, "exit 7");
    fails(&c, 60.0, DPA_TRAINER, "the command ended with exit code 7");
    start(&c, "exit 75");
    fails(&c, 60.0, DPA_IO, "elsewhere (exit code 75)");
    start(&c, "exit 0");
    fails(&c, 60.0, DPA_TRAINER, "the command ended before it answered");
    start(&c, "kill -SEGV $$");
    fails(&c, 60.0, DPA_TRAINER, "signal 11");
    start(&c, "kill -KILL $$");
    fails(&c, 60.0, DPA_IO, "signal 9");
    start(&c, "exec no-such-program-of-dpaudit 2>/dev/null");
    fails(&c, 60.0, DPA_IO, "exit code 127: is there a program 'sh'?");
    start(&c, "exec >&-; exec sleep 1000"); /* says nothing any more, and does not end */
    fails(&c, 60.0, DPA_TRAINER, "the command closed its output and did not end");
    start(&c, "exit 5");
    const pid_t process = c.process;
    dpa_status status = DPA_OK;
    while (status == DPA_OK) status = dpa__child_send(&c, "x", 1, 60.0, &err);
    assert_int_equal(status, DPA_TRAINER);
    assert_string_equal(err.text, "the command ended with exit code 5");
    assert_gone(&c, process);
}

/* Without a limit one waits, however long it takes. */
static void patience(void **state) {
    (void)state;
    dpa__child c;
    char *line;
    size_t length;
    start(&c, "sleep 0.2; echo at last");
    assert_ok(dpa__child_hear(&c, INFINITY, &line, &length, &err));
    assert_string_equal(line, "at last");
    dpa__child_end(&c, 60.0);
}

/* Its input is closed first, so that it can finish its work; who does not end is killed. */
static void grace(void **state) {
    (void)state;
    char name[64], script[160];
    dpa__child c;
    (void)snprintf(name, sizeof name, "/tmp/dpa_child_%d", (int)getpid());
    (void)snprintf(script, sizeof script, "cat >/dev/null; sleep 0.2; echo done >%s", name);
    start(&c, script);
    dpa__child_end(&c, 60.0);
    assert_int_equal(access(name, F_OK), 0);
    (void)unlink(name);
    start(&c, "exec sleep 1000");
    const pid_t process = c.process;
    const double since = dpa__clock();
    dpa__child_end(&c, 0.2);
    assert_between(dpa__clock() - since, 0.2, 60.0);
    assert_gone(&c, process);
}

/* Without a descriptor left there is no child, and none of ours is closed. */
static void no_descriptors(void **state) {
    (void)state;
    struct rlimit before, none;
    dpa__child c;
    char *const words[] = {(char[]){"true"}, NULL};
    const dpa__command command = {.words = words};
    int fd[3];
    const int has_input = fcntl(STDIN_FILENO, F_GETFD) >= 0;
    for (int i = 0; i < 3; ++i) fd[i] = dup(STDERR_FILENO);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (int free_ones = 0; free_ones < 4; ++free_ones) {
        none = before;
        none.rlim_cur = (rlim_t)fd[0] + (rlim_t)free_ones;
        for (int i = 0; i < free_ones && i < 3; ++i) (void)close(fd[i]);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        const dpa_status status = dpa__child_start(&c, &command, &err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(status, DPA_IO);
        assert_string_equal(err.text, "cannot make pipes: Too many open files");
        assert_int_equal(c.process, 0);
        assert_true(c.in == -1 && c.out == -1);
        for (int i = 0; i < free_ones && i < 3; ++i) /* all are free again */
            assert_int_equal(fd[i] = dup(STDERR_FILENO), fd[0] + i);
        assert_int_equal(fcntl(STDIN_FILENO, F_GETFD) >= 0, has_input);
    }
    for (int i = 0; i < 3; ++i) (void)close(fd[i]);
}

/* A program starts with the usual answer to signals that we ignore or handle ourselves. */
static void signals(void **state) {
    (void)state;
    static const int ours[] = {SIGPIPE, SIGTERM, SIGXFSZ};
    dpa__child c;
    char *line;
    size_t length;
    for (int i = 0; i < 3; ++i) (void)signal(ours[i], SIG_IGN);
    start(&c, "grep SigIgn /proc/self/status");
    for (int i = 0; i < 3; ++i) (void)signal(ours[i], SIG_DFL);
    assert_ok(dpa__child_hear(&c, 60.0, &line, &length, &err));
    assert_memory_equal(line, "SigIgn:", 7);
    const unsigned long long ignored = strtoull(line + 7, NULL, 16);
    for (int i = 0; i < 3; ++i) assert_int_equal(ignored >> (ours[i] - 1) & 1, 0);
    dpa__child_end(&c, 60.0);
}

/* Whoever started it dies, and it is not left behind. */
static void orphans(void **state) {
    (void)state;
    int ends_of_pipe[2];
    pid_t process = 0;
    assert_int_equal(pipe(ends_of_pipe), 0);
    const pid_t parent = fork();
    if (parent == 0) {
        dpa__child c;
        start(&c, "trap '' HUP; echo up; exec sleep 1000");
        hear(&c, "up");
        if (write(ends_of_pipe[1], &c.process, sizeof c.process) < 0) _exit(1);
        (void)raise(SIGKILL);
    }
    assert_int_equal(read(ends_of_pipe[0], &process, sizeof process), sizeof process);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    char path[64], text[256];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    for (int alive = 1; alive;) { /* dead, or gone */
        FILE *file = fopen(path, "r");
        const size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
        text[n] = '\0';
        if (file != NULL) (void)fclose(file);
        const char *end = strrchr(text, ')');
        alive = n > 0 && end != NULL && end[2] != 'Z' && end[2] != 'X';
    }
    (void)close(ends_of_pipe[0]);
    (void)close(ends_of_pipe[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),         cmocka_unit_test(pieces),  cmocka_unit_test(long_lines),
        cmocka_unit_test(limits),        cmocka_unit_test(ends),    cmocka_unit_test(patience),
        cmocka_unit_test(grace),         cmocka_unit_test(signals), cmocka_unit_test(orphans),
        cmocka_unit_test(no_descriptors)};
    (void)alarm(120); /* whoever waits for a process that nobody ends has failed */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
