/* SPDX-License-Identifier: GPL-3.0-or-later */
/* External programs: started, waited for, ended with whoever started them. */
#ifndef DPA_BASE_PROCESS_H
#define DPA_BASE_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "dpaudit/status.h"

/* Words of a command line: blanks part them, '…' and "…" keep them together, \ takes the next
 * character as it is (not inside '…'). No shell is involved: * and $ mean themselves. */
typedef struct dpa__words {
    char **items; /* ended by NULL */
    size_t count;
} dpa__words;

dpa_status dpa__words_split(const char *line, dpa__words *out, dpa_error *err);
void dpa__words_free(dpa__words *words);

/* Our environment, but with `more` (NAME=value, ended by NULL; may be NULL itself) for what has the
 * same names. The list is one block for the caller to free; the texts are borrowed. */
char **dpa__environment_with(const char *const *more, dpa_error *err);

typedef struct dpa__command {
    char *const *words;             /* ended by NULL; the first is searched in PATH */
    const char *const *environment; /* NAME=value, besides ours; ended by NULL */
    const char *folder;             /* where it runs; NULL: here */
    double limit;                   /* seconds after which it is killed; 0: none */
} dpa__command;

/* Runs it to its end: input is empty, what it prints goes to standard error. DPA_TRAINER: its own
 * failure (an exit code that is not 0, a crash, no memory left). DPA_IO: not its fault (ended by
 * somebody's signal, no such program, exit code 75 by which it says so itself). The program is
 * killed when the calling thread dies. */
dpa_status dpa__command_run(const dpa__command *command, dpa_error *err);
/* Starts it with these files as standard input and output, and does not wait. */
dpa_status dpa__command_spawn(const dpa__command *command, int in, int out, pid_t *child,
                              dpa_error *err);
/* What its end means, by the status of waitpid, as for dpa__command_run. */
dpa_status dpa__command_judge(const dpa__command *command, int status, int out_of_memory,
                              dpa_error *err);
/* How many processes this machine has killed so far because it had no memory left. */
uint64_t dpa__oom_kills(void);

/* Kills all that descends from the process `root`, but not itself, until nobody is left, even those
 * with a session of their own. Complete when `root` takes in orphans
 * (PR_SET_CHILD_SUBREAPER). May be called in a signal handler. */
void dpa__descendants_kill(pid_t root);
/* For a process that takes in orphans: kills and buries all its descendants. Costs one system call
 * when there are none. */
void dpa__descendants_bury(void);
/* Kills the processes of this user that have these variables ("NAME=value") in their environment,
 * except this process; `second` may be NULL. */
void dpa__marked_kill(const char *variable, const char *second);

/* So many more files can be open. */
dpa_status dpa__need_descriptors(int count, dpa_error *err);

#endif
