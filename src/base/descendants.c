/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Killing whole families of processes. Parents are read from /proc with system calls alone, without
 * memory or locks, so that this also works in a signal handler. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"

enum { ROUNDS = 1000, DEPTH = 256, SELF_TEXT = 16 };

/* As the kernel writes them (getdents64). */
typedef struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short size;
    unsigned char type;
    char name[];
} entry;

static pid_t number_of(const char *name) {
    long number = 0;
    if (*name == '\0') return 0;
    for (; *name >= '0' && *name <= '9'; ++name) number = 10 * number + (*name - '0');
    return *name == '\0' || *name == ' ' ? (pid_t)number : 0;
}

/* "/proc/PID/what" */
static void path_of(pid_t process, const char *what, char path[64]) {
    char digits[SELF_TEXT];
    size_t n = 0, at = strlen("/proc/");
    memcpy(path, "/proc/", at);
    do digits[n++] = (char)('0' + process % 10);
    while ((process /= 10) > 0);
    while (n > 0) path[at++] = digits[--n];
    path[at++] = '/';
    memcpy(path + at, what, strlen(what) + 1);
}

/* The parent of a process; 0 if it is gone or already dead. */
static pid_t parent_of(pid_t process) {
    char path[64], text[512];
    path_of(process, "stat", path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) (void)close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    const char *at = strrchr(text, ')'); /* the name before it may contain anything */
    if (at == NULL || at[1] != ' ' || at[2] == '\0' || at[2] == 'Z' || at[2] == 'X' || at[3] != ' ')
        return 0;
    return number_of(at + 4);
}

static int descends_from(pid_t process, pid_t root) {
    for (int i = 0; i < DEPTH; ++i) {
        process = parent_of(process);
        if (process == root) return 1;
        if (process <= 1) return 0;
    }
    return 0;
}

typedef struct hunt {
    pid_t root;
    int killed;
    const char *variables[2];
} hunt;

typedef void visitor(pid_t process, hunt *h);

/* Calls `visit` for every process. */
static void visit_all(visitor *visit, hunt *h) {
    char block[8192] __attribute__((aligned(8)));
    const int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    for (;;) {
        const long n = syscall(SYS_getdents64, fd, block, sizeof block);
        if (n <= 0) break;
        for (long at = 0; at < n;) {
            const entry *e = (const entry *)(block + at);
            const pid_t process = number_of(e->name);
            if (process > 0) visit(process, h);
            at += e->size;
        }
    }
    (void)close(fd);
}

static void kill_descendant(pid_t process, hunt *h) {
    if (process == h->root || !descends_from(process, h->root)) return;
    if (kill(process, SIGKILL) == 0) ++h->killed;
}

/* Visits all processes until none is killed any more. */
static void kill_all(visitor *visit, hunt h) {
    const struct timespec moment = {0, 1000000}; /* so that killed processes can die */
    for (int i = 0; i < ROUNDS; ++i) {
        h.killed = 0;
        visit_all(visit, &h);
        if (h.killed == 0) break;
        (void)nanosleep(&moment, NULL);
    }
}

void dpa__descendants_kill(pid_t root) {
    const int saved = errno;
    kill_all(kill_descendant, (hunt){.root = root});
    errno = saved;
}

void dpa__descendants_bury(void) {
    for (int i = 0; i < ROUNDS; ++i) {
        pid_t dead;
        while ((dead = waitpid(-1, NULL, WNOHANG)) > 0) {
        }
        if (dead < 0 && errno != EINTR) return; /* no children at all */
        dpa__descendants_kill(getpid());
        (void)waitpid(-1, NULL, 0);
    }
}

/* How many of the two variables are in the environment of the process. */
static int marks_of(pid_t process, const char *const variables[2]) {
    enum { MOST = 65536 };
    char path[64];
    int found = 0;
    path_of(process, "environ", path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    char *text = malloc(MOST); /* too large for a small stack */
    size_t used = 0;
    for (ssize_t n; text != NULL && used < MOST && (n = read(fd, text + used, MOST - used)) > 0;)
        used += (size_t)n;
    (void)close(fd);
    for (size_t at = 0; at < used;) {
        const size_t size = strnlen(text + at, used - at);
        for (int i = 0; i < 2; ++i)
            found += variables[i] != NULL && size == strlen(variables[i]) &&
                     memcmp(text + at, variables[i], size) == 0;
        at += size + 1;
    }
    free(text);
    return found;
}

static void kill_marked(pid_t process, hunt *h) {
    const int wanted = 1 + (h->variables[1] != NULL);
    if (process == getpid() || parent_of(process) == 0) return;
    if (marks_of(process, h->variables) < wanted) return;
    if (kill(process, SIGKILL) == 0) ++h->killed;
}

void dpa__marked_kill(const char *variable, const char *second) {
    kill_all(kill_marked, (hunt){.variables = {variable, second}});
}
