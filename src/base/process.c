/* SPDX-License-Identifier: GPL-3.0-or-later */
/* External programs by fork and exec. Everything that allocates happens before the fork. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

extern char **environ;

void dpa__words_free(dpa__words *words) {
    if (words->items != NULL) free(words->items[0]); /* one block for all letters */
    free(words->items);
    *words = (dpa__words){0};
}

/* One word from *line to *to; 0 when a quote is left open. */
static int take_word(const char **line, char **to) {
    char quote = '\0';
    const char *from = *line;
    for (; *from != '\0' && (quote != '\0' || strchr(" \t\n", *from) == NULL); ++from) {
        if (quote == '\0' && (*from == '\'' || *from == '"')) {
            quote = *from;
        } else if (*from == quote) {
            quote = '\0';
        } else {
            if (*from == '\\' && quote != '\'' && from[1] != '\0') ++from;
            *(*to)++ = *from;
        }
    }
    *(*to)++ = '\0';
    *line = from;
    return quote == '\0';
}

dpa_status dpa__words_split(const char *line, dpa__words *out, dpa_error *err) {
    const size_t length = strlen(line);
    *out = (dpa__words){.items = dpa__calloc(length / 2 + 2, sizeof(char *), err)};
    char *letters = dpa__malloc(length + 1, 1, err), *next = letters;
    if (out->items == NULL || letters == NULL) {
        free(out->items);
        free(letters);
        *out = (dpa__words){0};
        return DPA_NO_MEMORY;
    }
    out->items[0] = letters;
    for (;;) {
        line += strspn(line, " \t\n");
        if (*line == '\0') break;
        out->items[out->count++] = next;
        if (take_word(&line, &next)) continue;
        dpa__words_free(out);
        return dpa__fail(err, DPA_BAD_INPUT, "a quotation mark of the command is not closed");
    }
    if (out->count > 0) return DPA_OK;
    dpa__words_free(out);
    return dpa__fail(err, DPA_BAD_INPUT, "the command is empty");
}

static size_t count_texts(const char *const *texts) {
    size_t count = 0;
    while (texts != NULL && texts[count] != NULL) ++count;
    return count;
}

static int same_name(const char *a, const char *b) {
    const size_t n = strcspn(a, "=");
    return strncmp(a, b, n) == 0 && b[n] == '=';
}

char **dpa__environment_with(const char *const *more, dpa_error *err) {
    const size_t added = count_texts(more), ours = count_texts((const char *const *)environ);
    size_t used = 0;
    char **out = dpa__malloc(added + ours + 1, sizeof *out, err);
    if (out == NULL) return NULL;
    for (size_t i = 0; i < ours; ++i) {
        int replaced = 0;
        for (size_t k = 0; k < added && !replaced; ++k) replaced = same_name(more[k], environ[i]);
        if (!replaced) out[used++] = environ[i];
    }
    for (size_t k = 0; k < added; ++k) out[used++] = (char *)(uintptr_t)more[k];
    out[used] = NULL;
    return out;
}

enum { EXIT_TRY_ELSEWHERE = 75, EXIT_NO_FOLDER = 125, EXIT_NO_PROGRAM = 127 };

int dpa__end_with_parent(int signal_number) {
#ifdef __linux__
    return prctl(PR_SET_PDEATHSIG, signal_number);
#else
    (void)signal_number;
    return 0;
#endif
}

/* Turns the forked child into the command. in −1: empty input; out −1: output to standard error. */
static void become(const dpa__command *c, char **environment, pid_t parent, int in, int out) {
    /* Before the next line, because a new namespace makes the kernel forget that request. */
    if (c->confine != NULL && dpa__confine_self(c->confine) != 0) _exit(EXIT_TRY_ELSEWHERE);
    (void)dpa__end_with_parent(SIGKILL);
    if (getppid() != parent) _exit(EXIT_NO_PROGRAM);
    if (in >= 0) {
        (void)dup2(in, STDIN_FILENO);
    } else {
        (void)close(STDIN_FILENO);
        (void)open("/dev/null", O_RDONLY); /* gets descriptor 0, standard input */
    }
    (void)dup2(out >= 0 ? out : STDERR_FILENO, STDOUT_FILENO);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    if (c->folder != NULL && chdir(c->folder) != 0) _exit(EXIT_NO_FOLDER);
    environ = environment;
    (void)execvp(c->words[0], c->words);
    _exit(EXIT_NO_PROGRAM);
}

/* Signals that somebody, or a batch system, sends from outside. */
static int is_from_outside(int number) {
    return number == SIGKILL || number == SIGTERM || number == SIGINT || number == SIGHUP ||
           number == SIGQUIT;
}

uint64_t dpa__oom_kills(void) {
    char text[8192];
    const int fd = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) (void)close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    const char *at = strstr(text, "\noom_kill ");
    return at != NULL ? strtoull(at + strlen("\noom_kill "), NULL, 10) : 0;
}

static dpa_status judge_signal(int number, int out_of_memory, dpa_error *err) {
    if (number == SIGKILL && out_of_memory)
        return dpa__fail(err, DPA_TRAINER, "the command was ended: out of memory");
    return dpa__fail(err, is_from_outside(number) ? DPA_IO : DPA_TRAINER,
                     "the command was ended by signal %d (%s)", number, strsignal(number));
}

/* The exit code of a shell whose program died by a signal is 128 + the signal. */
enum { EXIT_SIGNAL = 128, EXIT_NO_RIGHT = 126 };

dpa_status dpa__command_judge(const dpa__command *c, int status, int out_of_memory,
                              dpa_error *err) {
    if (WIFSIGNALED(status)) return judge_signal(WTERMSIG(status), out_of_memory, err);
    const int code = WEXITSTATUS(status);
    if (code == 0) return DPA_OK;
    if (code > EXIT_SIGNAL && is_from_outside(code - EXIT_SIGNAL))
        return judge_signal(code - EXIT_SIGNAL, out_of_memory, err);
    if (code == EXIT_TRY_ELSEWHERE)
        return dpa__fail(err, DPA_IO, "the command asks to be run elsewhere (exit code 75)");
    if (code == EXIT_NO_RIGHT || code == EXIT_NO_PROGRAM)
        return dpa__fail(err, DPA_IO,
                         "the command ended with exit code %d: is there a program '%.200s'?", code,
                         c->words[0]);
    if (code == EXIT_NO_FOLDER && c->folder != NULL)
        return dpa__fail(err, DPA_IO,
                         "the command ended with exit code 125: is there a folder '%.200s'?",
                         c->folder);
    return dpa__fail(err, DPA_TRAINER, "the command ended with exit code %d", code);
}

int dpa__await_end(pid_t process, double limit, int *status) {
    const struct timespec nap = {0, 2000000};
    const double until = dpa__clock() + limit;
    for (int killed = 0;;) {
        const pid_t found = waitpid(process, status, isfinite(limit) ? WNOHANG : 0);
        if (found == process) return killed;
        if (found < 0 && errno != EINTR) return -1;
        killed = dpa__clock() >= until;
        if (killed) (void)kill(process, SIGKILL);
        if (found == 0) (void)nanosleep(&nap, NULL);
    }
}

dpa_status dpa__command_spawn(const dpa__command *command, int in, int out, pid_t *child,
                              dpa_error *err) {
    char **environment = dpa__environment_with(command->environment, err);
    if (environment == NULL) return DPA_NO_MEMORY;
    const pid_t parent = getpid();
    *child = fork();
    if (*child == 0) become(command, environment, parent, in, out);
    free(environment);
    if (*child > 0) return DPA_OK;
    *child = 0;
    return dpa__fail(err, DPA_IO, "cannot start '%.200s': %s", command->words[0], strerror(errno));
}

dpa_status dpa__command_run(const dpa__command *command, dpa_error *err) {
    const uint64_t kills = dpa__oom_kills();
    pid_t child;
    DPA_TRY(dpa__command_spawn(command, -1, -1, &child, err));
    int status = 0;
    if (dpa__await_end(child, command->limit > 0.0 ? command->limit : HUGE_VAL, &status) < 0)
        return dpa__fail(err, DPA_IO, "lost sight of '%.200s': %s", command->words[0],
                         strerror(errno));
    return dpa__command_judge(command, status, dpa__oom_kills() != kills, err);
}

dpa_status dpa__need_descriptors(int count, dpa_error *err) {
    int fd[16], opened = 0;
    while (opened < count && opened < 16) {
        fd[opened] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fd[opened] < 0) break;
        ++opened;
    }
    const int is_enough = opened == count;
    while (opened > 0) (void)close(fd[--opened]);
    if (is_enough) return DPA_OK;
    return dpa__fail(err, DPA_IO, "too many open files: at least %d more are needed (ulimit -n)",
                     count);
}
