/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A long-running child process. Its input is a socket, because writing to a dead process must be an
 * error and not a signal; its output is a pipe. Every wait has a limit, unless the caller sets
 * none. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"

enum { LINE_MOST = 1 << 28, READ_SIZE = 1 << 16 };

static void close_ends(dpa__child *c) {
    if (c->in >= 0) (void)close(c->in);
    if (c->out >= 0) (void)close(c->out);
    c->in = c->out = -1;
}

static void forget(dpa__child *c) {
    close_ends(c);
    dpa__text_free(&c->inbox);
    *c = (dpa__child){.in = -1, .out = -1};
}

dpa_status dpa__child_start(dpa__child *c, const dpa__command *command, dpa_error *err) {
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    *c = (dpa__child){.in = -1, .out = -1};
    (void)snprintf(c->name, sizeof c->name, "%s", command->words[0]);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0 || pipe2(out, O_CLOEXEC) != 0) {
        const int why = errno;
        for (int i = 0; i < 2; ++i)
            if (in[i] >= 0) (void)close(in[i]);
        return dpa__fail(err, DPA_IO, "cannot make pipes: %s", strerror(why));
    }
    c->oom_kills = dpa__oom_kills();
    const dpa_status status = dpa__command_spawn(command, in[1], out[1], &c->process, err);
    (void)close(in[1]);
    (void)close(out[1]);
    c->in = in[0];
    c->out = out[0];
    (void)fcntl(c->out, F_SETFL, O_NONBLOCK);
    if (status != DPA_OK) forget(c);
    return status;
}

void dpa__child_end(dpa__child *c, double grace) {
    if (c->process <= 0) return;
    int status;
    close_ends(c);
    (void)dpa__await_end(c->process, grace, &status);
    forget(c);
}

/* The error that says why the output of the child has ended. */
static dpa_status obituary(dpa__child *c, dpa_error *err) {
    enum { GRACE = 2 };
    int status = 0;
    close_ends(c);
    const int killed = dpa__await_end(c->process, GRACE, &status) > 0;
    char *words[] = {c->name, NULL};
    const dpa__command command = {.words = words};
    const dpa_status ended =
        dpa__command_judge(&command, status, dpa__oom_kills() != c->oom_kills, err);
    forget(c);
    if (killed) /* by us: nobody outside did it */
        return dpa__fail(err, DPA_TRAINER, "the command closed its output and did not end");
    return ended != DPA_OK ? ended
                           : dpa__fail(err, DPA_TRAINER, "the command ended before it answered");
}

static dpa_status give_up(dpa__child *c, dpa_error *err, const char *what, double limit) {
    (void)kill(c->process, SIGKILL);
    dpa__child_end(c, 0.0);
    return dpa__fail(err, DPA_TRAINER, "%s within %g s: ended", what, limit);
}

/* 1: ready; 0: timed out. */
static int await(int fd, short events, double until) {
    for (;;) {
        struct pollfd p = {.fd = fd, .events = events};
        const double left = until - dpa__clock();
        const int ms = !isfinite(until) ? -1 : left <= 0.0 ? 0 : (int)fmin(1e3 * left + 1.0, 1e9);
        const int n = poll(&p, 1, ms);
        if (n > 0) return 1;
        if (n == 0 && dpa__clock() >= until) return 0;
        if (n < 0 && errno != EINTR) return 0;
    }
}

static dpa_status send_bytes(dpa__child *c, const char *bytes, size_t count, double until,
                             double limit, dpa_error *err) {
    for (size_t sent = 0; sent < count;) {
        const ssize_t n = send(c->in, bytes + sent, count - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) sent += (size_t)n;
        if (n >= 0 || errno == EINTR) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) return obituary(c, err);
        if (!await(c->in, POLLOUT, until)) return give_up(c, err, "it took no request", limit);
    }
    return DPA_OK;
}

dpa_status dpa__child_send(dpa__child *c, const char *line, size_t length, double limit,
                           dpa_error *err) {
    const double until = dpa__clock() + limit;
    DPA_TRY(send_bytes(c, line, length, until, limit, err));
    return send_bytes(c, "\n", 1, until, limit, err);
}

/* Reads more output into the inbox; *end is set if there is none left. */
static dpa_status fill(dpa__child *c, int *end, dpa_error *err) {
    char *bytes = dpa__malloc(READ_SIZE, 1, err);
    if (bytes == NULL) return DPA_NO_MEMORY;
    const ssize_t n = read(c->out, bytes, READ_SIZE);
    *end = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
    if (n > 0) dpa__text_add_bytes(&c->inbox, bytes, (size_t)n);
    free(bytes);
    return c->inbox.failed ? dpa__fail(err, DPA_NO_MEMORY, "no memory for an answer") : DPA_OK;
}

dpa_status dpa__child_hear(dpa__child *c, double limit, char **line, size_t *length,
                           dpa_error *err) {
    const double until = dpa__clock() + limit;
    c->inbox.length -= c->taken;
    if (c->taken > 0) memmove(c->inbox.data, c->inbox.data + c->taken, c->inbox.length);
    c->taken = 0;
    for (size_t seen = 0;;) {
        char *end = c->inbox.length > seen
                        ? memchr(c->inbox.data + seen, '\n', c->inbox.length - seen)
                        : NULL;
        if (end != NULL) {
            *end = '\0';
            *line = c->inbox.data;
            *length = (size_t)(end - c->inbox.data);
            c->taken = *length + 1;
            return DPA_OK;
        }
        seen = c->inbox.length;
        if (seen > LINE_MOST) {
            (void)kill(c->process, SIGKILL);
            dpa__child_end(c, 0.0);
            return dpa__fail(err, DPA_TRAINER, "an answer of more than %d bytes", LINE_MOST);
        }
        if (!await(c->out, POLLIN, until)) return give_up(c, err, "no answer", limit);
        int over = 0;
        DPA_TRY(fill(c, &over, err));
        if (over) return obituary(c, err);
    }
}
