/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A long-running child process that is sent lines and answers with lines. */
#ifndef DPA_BASE_CHILD_H
#define DPA_BASE_CHILD_H

#include "base/process.h"
#include "base/text.h"

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
