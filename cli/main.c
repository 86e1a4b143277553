/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dpaudit command: finds the command in the table and runs it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpaudit/lab/game.h"
#include "dpaudit/lab/run.h"

#include "help.h"
#include "output.h"

/* All commands, in the order of the help. To add one: cmd_NAME.c defines `const command
 * command_NAME`, and its name goes into this list. */
#define COMMAND_LIST(X)                                                                            \
    X(example)                                                                                     \
    X(counts)                                                                                      \
    X(scores)                                                                                      \
    X(one_run)                                                                                     \
    X(cosines)                                                                                     \
    X(losses)                                                                                      \
    X(canaries)                                                                                    \
    X(attack)                                                                                      \
    X(account)                                                                                     \
    X(calibrate)                                                                                   \
    X(train)                                                                                       \
    X(run)                                                                                         \
    X(trainer)                                                                                     \
    X(trial)                                                                                       \
    X(import)                                                                                      \
    X(status)                                                                                      \
    X(show)                                                                                        \
    X(export)                                                                                      \
    X(landscape)                                                                                   \
    X(plan)                                                                                        \
    X(selftest)                                                                                    \
    X(report)                                                                                      \
    X(verify)

#define DECLARE(name) extern const command command_##name;
COMMAND_LIST(DECLARE)
#undef DECLARE
extern const command command_worker; /* not listed: only dpaudit run starts it */

#define POINT(name) &command_##name,
static const command *const table[] = {COMMAND_LIST(POINT)};
#undef POINT

enum { COMMAND_COUNT = (int)(sizeof table / sizeof table[0]) };

size_t command_count(void) {
    return COMMAND_COUNT;
}

const command *command_at(size_t index) {
    return table[index];
}

const command *command_find(const char *name) {
    for (size_t i = 0; i < COMMAND_COUNT; ++i)
        if (strcmp(table[i]->name, name) == 0) return table[i];
    return NULL;
}

static int run_command(const command *cmd, int argc, char **argv) {
    word_list words = {0};
    void *options = calloc(1, cmd->size);
    if (options == NULL) return out_of_memory();
    if (cmd->init != NULL) cmd->init(options);
    int code = options_parse(cmd, argc, argv, options, &words);
    if (code == 0) code = check_files(cmd, options, &words);
    if (code == 0 && cmd->has_clock) clock_start(cmd->name);
    if (code == 0) code = cmd->run(options, &words);
    clock_stop();
    words_free(&words);
    options_free(cmd, options);
    free(options);
    return code;
}

static int unknown(const char *name) {
    const char *nearest = NULL;
    size_t best = 3; /* a greater distance is not a misspelling */
    for (size_t i = 0; i < COMMAND_COUNT; ++i)
        if (word_distance(name, table[i]->name) < best) {
            best = word_distance(name, table[i]->name);
            nearest = table[i]->name;
        }
    (void)fprintf(stderr, "dpaudit: there is no command '%s'%s%s%s\nTry: dpaudit help\n", name,
                  nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                  nearest != NULL ? "?" : "");
    return EXIT_USAGE;
}

static int help_settings(void) {
    char *text = NULL;
    dpa_error err = {0};
    if (dpa_settings_list(&text, &err) != DPA_OK) return library_error(&err);
    (void)fputs(text, stdout);
    free(text);
    return 0;
}

static int help(const char *name) {
    if (name == NULL) {
        help_overview(stdout);
        return 0;
    }
    if (strcmp(name, "choose") == 0 || strcmp(name, "methods") == 0) {
        (name[0] == 'c' ? help_choose : help_methods)(stdout);
        return 0;
    }
    if (strcmp(name, "settings") == 0) return help_settings();
    const command *cmd = command_find(name);
    if (cmd == NULL) return unknown(name);
    help_command(stdout, cmd);
    return 0;
}

static int completion(const char *shell) {
    if (shell != NULL && completion_script(stdout, shell)) return 0;
    (void)fputs("dpaudit completion: which shell? bash, zsh or fish\n", stderr);
    return EXIT_USAGE;
}

/* Prints the man page of a command, or of dpaudit itself; used by the build. */
static int man(const char *name) {
    const command *cmd = name != NULL ? command_find(name) : NULL;
    if (name != NULL && cmd == NULL) return unknown(name);
    man_page(stdout, cmd);
    return 0;
}

static int wants_help(int argc, char **argv) {
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; ++i)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return 1;
    return 0;
}

static int dispatch(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : NULL;
    const char *word = argc > 2 ? argv[2] : NULL;
    if (name == NULL) {
        help_overview(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(name, "help") == 0) return help(word);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return help(NULL);
    if (strcmp(name, "--version") == 0) {
        char mpi[128];
        const int has_mpi = dpa_ranks_library(mpi, sizeof mpi);
        (void)printf("dpaudit %s\nmany machines: %s\n", dpa_version(),
                     has_mpi ? mpi : "no (without the MPI module)");
        return 0;
    }
    if (strcmp(name, "completion") == 0) return completion(word);
    if (strcmp(name, "man") == 0) return man(word);
    if (strcmp(name, "worker") == 0) return run_command(&command_worker, argc - 2, argv + 2);
    const command *cmd = command_find(name);
    if (cmd == NULL) return unknown(name);
    if (wants_help(argc - 2, argv + 2)) return help(name);
    return run_command(cmd, argc - 2, argv + 2);
}

/* Some libraries call abort when they cannot go on: FFTW without memory for a plan, libuv without
 * room in epoll. This handler turns it into an error message and an exit code. */
static void on_abort(int number) {
    static const char text[] =
        "dpaudit: a library that dpaudit uses gave up: out of memory, or of open files? Nothing "
        "that was stored before is lost; the same command can be tried again.\n";
    (void)number;
    const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written;
    _exit(EXIT_FAILURE_RUNNING);
}

int main(int argc, char **argv) {
    (void)signal(SIGABRT, on_abort);
    (void)signal(SIGXFSZ,
                 SIG_IGN); /* SIGXFSZ: a file that may not grow gives an error, not a signal */
    output_remember(argc, argv);
    return output_finish(dispatch(argc, argv));
}
