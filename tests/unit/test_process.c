/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Command lines and the programs that they start. */
#include "check.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/process.h"

static dpa_error err;

static void check_words(const char *line, size_t count, const char *const *want) {
    dpa__words words;
    assert_ok(dpa__words_split(line, &words, &err));
    assert_int_equal(words.count, count);
    for (size_t i = 0; i < count; ++i) assert_string_equal(words.items[i], want[i]);
    assert_null(words.items[count]);
    dpa__words_free(&words);
}

static void words(void **state) {
    (void)state;
    check_words("a", 1, (const char *const[]){"a"});
    check_words("  sh  -c 'echo \"$x\"'\t{out}\n", 4,
                (const char *const[]){"sh", "-c", "echo \"$x\"", "{out}"});
    check_words("a\\ b \"c \\\" d\" '' e'f'g 'h\\'", 5,
                (const char *const[]){"a b", "c \" d", "", "efg", "h\\"});
    check_words("a b c d e f g h", 8,
                (const char *const[]){"a", "b", "c", "d", "e", "f", "g", "h"});
    dpa__words none;
    assert_int_equal(dpa__words_split(" \n", &none, &err), DPA_BAD_INPUT);
    assert_int_equal(dpa__words_split("a 'b", &none, &err), DPA_BAD_INPUT);
    assert_int_equal(dpa__words_split("a \"b'", &none, &err), DPA_BAD_INPUT);
}

static dpa_status run(const char *line, const char *folder) {
    dpa__words split;
    static const char *const more[] = {"DPA_TEST_WORD=hello", "PATH=/bin:/usr/bin", NULL};
    assert_ok(dpa__words_split(line, &split, &err));
    const dpa__command command = {split.items, more, folder, 0.0};
    const dpa_status status = dpa__command_run(&command, &err);
    dpa__words_free(&split);
    return status;
}

static void ends(void **state) {
    (void)state;
    assert_ok(run("true", NULL));
    assert_ok(run("sh -c 'test \"$DPA_TEST_WORD\" = hello && test \"$PWD\" = /usr'", "/usr"));
    assert_ok(run("sh -c 'cat | cmp - /dev/null'", NULL)); /* no input */
    assert_int_equal(run("sh -c 'exit 7'", NULL), DPA_TRAINER);
    assert_non_null(strstr(err.text, "exit code 7"));
    assert_int_equal(run("sh -c 'kill -SEGV $$'", NULL), DPA_TRAINER);
    /* not the program's own fault: killed from outside, or it says so itself */
    assert_int_equal(run("sh -c 'kill -TERM $$'", NULL), DPA_IO);
    assert_int_equal(run("sh -c 'exit 143'", NULL), DPA_IO);
    assert_int_equal(run("sh -c 'exit 75'", NULL), DPA_IO);
    assert_int_equal(run("sh -c 'kill -9 $$'", NULL), DPA_IO);
    assert_non_null(strstr(err.text, "signal 9"));
    assert_int_equal(run("no-such-program", NULL), DPA_IO);
    assert_non_null(strstr(err.text, "'no-such-program'"));
    assert_int_equal(run("true", "/no/such/folder"), DPA_IO);
}

static int is_alive(pid_t process) {
    char path[64], text[256] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    const size_t n = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    const char *end = strrchr(text, ')');
    return n > 0 && end != NULL && end[2] != 'Z' && end[2] != 'X';
}

/* In a process of its own that adopts orphans: a command succeeds and leaves a grandchild in a
 * session of its own, whose number it writes to `name`. */
static void leave_orphan(const char *name, const char *what) {
    char line[512];
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) _exit(2);
    (void)snprintf(line, sizeof line,
                   "sh -c 'setsid sh -c \"echo \\$\\$ >%s; sleep 1000\" & "
                   "while [ ! -s %s ]; do sleep 0.01; done'",
                   name, name);
    if (run(line, NULL) != DPA_OK) _exit(3);
    if (strcmp(what, "bury") == 0) {
        dpa__descendants_bury();
        _exit(0);
    }
    for (;;) (void)pause();
}

static pid_t number_in(const char *name) {
    int number = 0;
    while (number == 0) {
        FILE *file = fopen(name, "r");
        if (file != NULL && fscanf(file, "%d", &number) != 1) number = 0;
        if (file != NULL) (void)fclose(file);
        (void)usleep(1000);
    }
    return (pid_t)number;
}

static void families(void **state) {
    (void)state;
    char name[64];
    (void)snprintf(name, sizeof name, "/tmp/dpa_process_%d", (int)getpid());
    static const char *const ways[] = {"bury", "kill"};
    for (int i = 0; i < 2; ++i) {
        (void)unlink(name);
        const pid_t child = fork();
        if (child == 0) leave_orphan(name, ways[i]);
        const pid_t orphan = number_in(name);
        int status = 0;
        if (i == 1) {
            assert_true(is_alive(orphan));
            assert_int_equal(kill(child, SIGSTOP), 0); /* as the run does with a worker */
            dpa__descendants_kill(child);
            assert_false(is_alive(orphan));
            assert_true(is_alive(child));
            assert_int_equal(kill(child, SIGKILL), 0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (i == 0) assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        while (is_alive(orphan)) (void)usleep(1000); /* killing takes a moment */
    }
    (void)unlink(name);
}

static void marked(void **state) {
    (void)state;
    char mark[64], *const words[] = {(char[]){"sleep"}, (char[]){"1000"}, NULL};
    (void)snprintf(mark, sizeof mark, "DPA_TEST_MARK=%d", (int)getpid());
    pid_t children[2];
    for (int i = 0; i < 2; ++i) {
        char *const both[] = {mark, (char[]){"DPA_TEST_SLOT=1"}, NULL}, *const one[] = {mark, NULL};
        children[i] = fork();
        if (children[i] == 0) {
            (void)execve("/bin/sleep", words, i == 0 ? both : one);
            _exit(1);
        }
    }
    int status = 0;
    while (waitpid(children[0], &status, WNOHANG) == 0) dpa__marked_kill(mark, "DPA_TEST_SLOT=1");
    assert_true(WIFSIGNALED(status));
    assert_true(is_alive(children[1])); /* has only one of the marks */
    while (waitpid(children[1], &status, WNOHANG) == 0) dpa__marked_kill(mark, NULL);
    assert_true(WIFSIGNALED(status));
}

/* A variable is replaced by its whole name: not one that begins alike, nor one of the same length.
 */
static void environments(void **state) {
    (void)state;
    static const char *const more[] = {"DPAQ1=new", "DPAQ9=also", NULL};
    assert_int_equal(setenv("DPAQ1", "old", 1) | setenv("DPAQ12", "longer", 1) |
                         setenv("DPAQ2", "other", 1) | setenv("DPAQ", "shorter", 1),
                     0);
    for (int with = 0; with < 2; ++with) {
        static const char *const want[2][6] = {
            {"DPAQ1=old", "DPAQ12=longer", "DPAQ2=other", "DPAQ=shorter", NULL},
            {"DPAQ1=new", "DPAQ12=longer", "DPAQ2=other", "DPAQ=shorter", "DPAQ9=also", NULL}};
        char **all = dpa__environment_with(with ? more : NULL, &err);
        size_t ours = 0, found = 0, wanted = 0;
        assert_non_null(all);
        for (; all[ours] != NULL; ++ours) found += strncmp(all[ours], "DPAQ", 4) == 0;
        for (; want[with][wanted] != NULL; ++wanted) {
            int is_there = 0;
            for (size_t i = 0; i < ours; ++i) is_there += strcmp(all[i], want[with][wanted]) == 0;
            assert_int_equal(is_there, 1);
        }
        assert_int_equal(found, wanted);
        free(all);
    }
    (void)(unsetenv("DPAQ1") | unsetenv("DPAQ12") | unsetenv("DPAQ2") | unsetenv("DPAQ"));
}

/* What the kernel says, where it says it. */
static void out_of_memory_kills(void **state) {
    (void)state;
    char name[128];
    unsigned long long value, want = 0;
    FILE *file = fopen("/proc/vmstat", "r");
    while (file != NULL && fscanf(file, "%127s %llu", name, &value) == 2)
        if (strcmp(name, "oom_kill") == 0) want = value;
    if (file != NULL) (void)fclose(file);
    assert_int_equal(dpa__oom_kills(), want);
}

static void limits(void **state) {
    (void)state;
    char *const words[] = {(char[]){"sleep"}, (char[]){"1000"}, NULL};
    const dpa__command command = {.words = words, .limit = 0.05};
    assert_int_equal(dpa__command_run(&command, &err), DPA_IO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),       cmocka_unit_test(ends),
        cmocka_unit_test(families),    cmocka_unit_test(marked),
        cmocka_unit_test(limits),      cmocka_unit_test(out_of_memory_kills),
        cmocka_unit_test(environments)};
    (void)alarm(120); /* whoever waits for a process that nobody ends has failed */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
