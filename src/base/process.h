/* SPDX-License-Identifier: GPL-3.0-or-later */
/* External programs: started, waited for, ended with whoever started them. */
#ifndef DPA_BASE_PROCESS_H
#define DPA_BASE_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "dpaudit/status.h"

/* The words of a command line: separated by blanks, kept together by '…' and "…"; \ quotes the next
 * character (except inside '…'). No shell is involved: * and $ have no special meaning. */
typedef struct dpa__words {
    char **items; /* ended by NULL */
    size_t count;
} dpa__words;

DPA_API dpa_status dpa__words_split(const char *line, dpa__words *out, dpa_error *err);
DPA_API void dpa__words_free(dpa__words *words);

/* Our environment with the variables of `more` (NAME=value, ended by NULL; may be NULL) added or
 * replaced. The list is one block for the caller to free; the texts are borrowed. */
DPA_API char **dpa__environment_with(const char *const *more, dpa_error *err);

/* What a program may not do, besides what its user may not. */
typedef struct dpa__confine {
    uint64_t memory; /* bytes of address space of a process; 0: as much as there is */
    uint64_t file;   /* bytes of a file that it writes; 0: any */
    int no_network;  /* it sees no network but a loopback of its own */
} dpa__confine;

DPA_API int dpa__confine_is_set(const dpa__confine *confine);
/* For a forked child before it becomes the program: it and its children stay confined. 0, or −1
 * with errno. */
int dpa__confine_self(const dpa__confine *confine);
/* Whether this machine can do it, tried in a process that ends at once. DPA_IO with a sentence
 * where it cannot. */
DPA_API dpa_status dpa__confine_try(const dpa__confine *confine, dpa_error *err);

typedef struct dpa__command {
    char *const *words;             /* ended by NULL; the first is searched in PATH */
    const char *const *environment; /* NAME=value, added to ours; ended by NULL */
    const char *folder;             /* working directory; NULL: ours */
    double limit;                   /* seconds after which it is killed; 0: none */
    const dpa__confine *confine;    /* NULL: not confined */
} dpa__command;

/* Asks the kernel to send this signal to us when our parent dies. 0, or −1 with errno; works only
 * on Linux (elsewhere a worker ends when its pipe closes). */
DPA_API int dpa__end_with_parent(int signal_number);

/* Runs the command to its end, with empty input; its output goes to standard error. DPA_TRAINER: it
 * failed by itself (an exit code other than 0, a crash, out of memory). DPA_IO: not its fault
 * (killed by somebody's signal, no such program, or exit code 75, which means "try elsewhere"). The
 * command is killed when the calling thread dies. */
DPA_API dpa_status dpa__command_run(const dpa__command *command, dpa_error *err);
/* Starts the command with these descriptors as standard input and output, and does not wait. */
dpa_status dpa__command_spawn(const dpa__command *command, int in, int out, pid_t *child,
                              dpa_error *err);
/* Waits up to `limit` seconds (INFINITY: no limit) for a process to end, then kills it. 1: it was
 * killed, 0: it was not, and *status is what waitpid says; −1: an error with errno. */
int dpa__await_end(pid_t process, double limit, int *status);
/* Turns the status of waitpid into the result that dpa__command_run describes. */
dpa_status dpa__command_judge(const dpa__command *command, int status, int out_of_memory,
                              dpa_error *err);
/* How many processes this machine's kernel has killed so far for lack of memory. */
DPA_API uint64_t dpa__oom_kills(void);

/* Kills all descendants of the process `root`, but not `root` itself, until none is left, even
 * those in sessions of their own. It finds all of them only if `root` adopts orphans
 * (PR_SET_CHILD_SUBREAPER). May be called in a signal handler. */
DPA_API void dpa__descendants_kill(pid_t root);
/* For a process that adopts orphans: kills all its descendants and waits for them. Costs one system
 * call if there are none. */
DPA_API void dpa__descendants_bury(void);
/* Kills the processes of this user that have these variables ("NAME=value") in their environment,
 * except this process; `second` may be NULL. */
DPA_API void dpa__marked_kill(const char *variable, const char *second);

/* Raises the limit of open files so that `count` more can be open, or fails. */
DPA_API dpa_status dpa__need_descriptors(int count, dpa_error *err);

/* A program that stays and answers line by line. */
typedef struct dpa__child {
    pid_t process; /* 0: not running */
    int in, out;   /* our ends of its standard input and output */
    uint64_t oom_kills;
    dpa__text inbox;
    size_t taken; /* bytes at the front of the inbox that were returned as a line */
    char name[64];
} dpa__child;

/* The child inherits our standard error. It is killed when the calling thread dies. */
DPA_API dpa_status dpa__child_start(dpa__child *child, const dpa__command *command, dpa_error *err);
/* Sends one line (without its line end) within `limit` seconds (INFINITY: no limit). */
DPA_API dpa_status dpa__child_send(dpa__child *child, const char *line, size_t length, double limit,
                                   dpa_error *err);
/* Waits up to `limit` seconds for the next line, returned without its end and valid until the next
 * call. DPA_TRAINER: the child ended, closed its output, sent too long a line, or was silent for
 * too long; it has been ended then. DPA_IO: something outside killed it. */
DPA_API dpa_status dpa__child_hear(dpa__child *child, double limit, char **line, size_t *length,
                                   dpa_error *err);
/* Closes the child's input, gives it `grace` seconds to end, then kills it. Safe if there is no
 * child. */
DPA_API void dpa__child_end(dpa__child *child, double grace);

#endif
