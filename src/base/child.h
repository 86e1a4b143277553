/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program that stays: it is sent lines and answers with lines, until it is ended. */
#ifndef DPA_BASE_CHILD_H
#define DPA_BASE_CHILD_H

#include "base/process.h"
#include "base/text.h"

typedef struct dpa__child {
    pid_t process; /* 0: there is none */
    int in, out;   /* our ends of its standard input and output */
    uint64_t oom_kills;
    dpa__text inbox;
    size_t taken; /* bytes of the inbox that were given out as a line */
    char name[64];
} dpa__child;

/* Standard error stays ours. The program is killed when the calling thread dies. */
dpa_status dpa__child_start(dpa__child *child, const dpa__command *command, dpa_error *err);
/* One line (without its end), sent within `limit` seconds (INFINITY: any). */
dpa_status dpa__child_send(dpa__child *child, const char *line, size_t length, double limit,
                           dpa_error *err);
/* The next line within `limit` seconds, without its end; lives until the next call. DPA_TRAINER: it
 * has ended, closed its output, sent a line that is too long, or was silent for too long; it is
 * gone then. DPA_IO: it was ended from outside. */
dpa_status dpa__child_hear(dpa__child *child, double limit, char **line, size_t *length,
                           dpa_error *err);
/* Closes its input, gives it `grace` seconds to end, kills it. Safe when there is none. */
void dpa__child_end(dpa__child *child, double grace);

#endif
