/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One worker process: starts it, sends it trials, reads its answers, cleans up after its end. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "run/pool.h"

enum { SAID_MOST = 16384, STILLBORN_MOST = 3, READ_SIZE = 65536, READS_MOST = 16 };

static void keep_first(dpa_error *to, const dpa_error *from) {
    if (to->status == DPA_OK) *to = *from;
}

/* Ends the trial of the slot with this outcome, which includes its standard error. */
static void conclude(dpa__slot *s, dpa_status status, const dpa_error *error, int crashed) {
    if (!s->job) return;
    (void)uv_timer_stop(&s->timer);
    dpa__live_log_end(&s->log);
    s->progress[0] = s->progress[1] = 0.0;
    s->job = 0;
    s->ready = 1;
    s->outcome.slot = s->number;
    s->outcome.index = s->index;
    s->outcome.status = status;
    s->outcome.crashed = crashed;
    if (error != NULL) s->outcome.error = *error;
    if (s->said.length > 0) (void)dpa__text_take(&s->said, &s->outcome.said, NULL);
}

void dpa__slot_kill(dpa__slot *s) {
    sigset_t all, before;
    if (s->state == DPA__SLOT_EMPTY || s->state == DPA__SLOT_DYING) return;
    /* A signal that ended us between these would leave the worker stopped for ever. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    if (s->state == DPA__SLOT_BUSY) {
        /* Stopped, it still adopts the orphans of its trainer but starts nothing new. */
        (void)kill(s->process.pid, SIGSTOP);
        dpa__descendants_kill(s->process.pid);
    }
    if (kill(-s->process.pid, SIGKILL) != 0) (void)kill(s->process.pid, SIGKILL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Gives up a worker that cannot be trusted any more: its trial has failed, the worker is killed,
 * and what it says from now on is ignored. The slot may get its next trial before the process is
 * gone. */
static void give_up(dpa__slot *s, dpa_status status, const dpa_error *error) {
    conclude(s, status, error, 1);
    dpa__slot_kill(s);
    s->state = DPA__SLOT_DYING;
}

static void on_timer(uv_timer_t *timer) {
    dpa__slot *s = timer->data;
    s->timeout = 1;
    dpa__slot_kill(s);
}

/* ---- What the worker says ---- */

static void add_said(dpa__slot *s, const char *bytes, size_t count) {
    if (s->job && s->state == DPA__SLOT_BUSY) dpa__live_log_add(&s->log, bytes, count);
    dpa__text_add_bytes(&s->said, bytes, count);
    if (s->said.failed) dpa__text_free(&s->said); /* output is lost before trials are */
    if (s->said.length <= 2 * SAID_MOST) return;
    const size_t cut = s->said.length - SAID_MOST;
    memmove(s->said.data, s->said.data + cut, SAID_MOST + 1);
    s->said.length = SAID_MOST;
}

static void on_ready(dpa__slot *s, const dpa__message *m) {
    dpa__pool *pool = s->pool;
    pool->stillborn = 0;
    if (m->size != strlen(pool->keys) || memcmp(m->payload, pool->keys, m->size) != 0) {
        dpa_error changed = {0};
        (void)dpa__fail(&changed, DPA_BAD_INPUT,
                        "a worker reads another experiment or other data than the run: were the "
                        "files changed meanwhile? Run again");
        keep_first(&pool->fatal, &changed);
        return;
    }
    s->state = DPA__SLOT_IDLE;
    dpa__slot_advance(s);
}

static void on_result(dpa__slot *s, const dpa__message *m) {
    dpa_error error = {0};
    s->state = DPA__SLOT_IDLE;
    s->outcome.seconds = m->seconds;
    const dpa_status status = dpa__wire_values(m, &s->outcome.values, &error);
    conclude(s, status, &error, 0);
}

static void on_failure(dpa__slot *s, const dpa__message *m) {
    dpa_error failure = {0}, error = {0};
    if (dpa__wire_failure(m, &failure, &error) != DPA_OK) failure = error;
    if (s->state == DPA__SLOT_STARTING) { /* no worker can open the game */
        keep_first(&s->pool->fatal, &failure);
        return;
    }
    s->state = DPA__SLOT_IDLE;
    conclude(s, failure.status, &failure, 0);
}

/* Reads at most as much as a pipe can hold, because somebody may keep filling it. */
static void drain(uv_pipe_t *pipe, void (*add)(dpa__slot *, const char *, size_t)) {
    enum { SHARE = 16 };
    char bytes[READ_SIZE / SHARE]; /* small, because libuv calls us and the stack may be small */
    uv_os_fd_t fd;
    if (uv_fileno((const uv_handle_t *)pipe, &fd) != 0) return;
    for (int i = 0; i < SHARE * READS_MOST; ++i) {
        const ssize_t n = read(fd, bytes, sizeof bytes);
        if (n <= 0) return;
        add(pipe->data, bytes, (size_t)n);
    }
}

static int understand(dpa__slot *s, const dpa__message *m) {
    if (m->kind == DPA__WIRE_READY && s->state == DPA__SLOT_STARTING) {
        on_ready(s, m);
        return 1;
    }
    if (m->kind == DPA__WIRE_PROGRESS && s->state == DPA__SLOT_BUSY && m->index == s->index &&
        m->size == sizeof s->progress) {
        memcpy(s->progress, m->payload, sizeof s->progress);
        return 1;
    }
    /* Everything it wrote before its answer is in the pipe by now. */
    drain(&s->err, add_said);
    if (m->kind == DPA__WIRE_FAILURE) {
        on_failure(s, m);
        return 1;
    }
    if (m->kind == DPA__WIRE_RESULT && s->state == DPA__SLOT_BUSY && s->job &&
        m->index == s->index && m->stage == s->stage) {
        on_result(s, m);
        return 1;
    }
    return 0;
}

static void add_answer(dpa__slot *s, const char *bytes, size_t count) {
    dpa_error error = {0};
    if (s->state == DPA__SLOT_DYING) return;
    dpa__text_add_bytes(&s->inbox, bytes, count);
    dpa_status status =
        s->inbox.failed ? dpa__fail(&error, DPA_NO_MEMORY, "no memory for an answer") : DPA_OK;
    for (size_t used = 1; status == DPA_OK && used > 0;) {
        dpa__message m;
        status = dpa__wire_take((const unsigned char *)s->inbox.data, s->inbox.length, &m, &used,
                                &error);
        if (status != DPA_OK || used == 0) break;
        if (!understand(s, &m))
            status = dpa__fail(&error, DPA_INTERNAL, "a worker said what nobody asked for");
        s->inbox.length -= used;
        memmove(s->inbox.data, s->inbox.data + used, s->inbox.length);
    }
    if (status != DPA_OK) give_up(s, status, &error);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    (void)handle;
    buf->base = malloc(suggested);
    buf->len = buf->base != NULL ? suggested : 0;
}

/* The end of a pipe is left to on_exit_of. After any other error (no memory for what was said is
 * one) nobody reads the pipe any more: a worker that is still alive would be waited for forever. */
static void on_deaf(uv_stream_t *stream, ssize_t code) {
    dpa__slot *s = stream->data;
    (void)uv_read_stop(stream);
    if (code == UV_EOF || s->state == DPA__SLOT_DYING) return;
    dpa_error error = {0};
    (void)dpa__fail(&error, code == UV_ENOBUFS ? DPA_NO_MEMORY : DPA_IO, "cannot hear a worker: %s",
                    uv_strerror((int)code));
    give_up(s, error.status, &error);
}

static void on_answer(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    if (count > 0) add_answer(stream->data, buf->base, (size_t)count);
    if (count < 0) on_deaf(stream, count);
    free(buf->base);
}

static void on_said(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    if (count > 0) add_said(stream->data, buf->base, (size_t)count);
    if (count < 0) on_deaf(stream, count);
    free(buf->base);
}

/* ---- Its end ---- */

static void on_closed(uv_handle_t *handle) {
    dpa__slot *s = handle->data;
    if (--s->open > 0) return;
    s->state = DPA__SLOT_EMPTY;
    dpa__text_free(&s->inbox);
    dpa__text_free(&s->said);
    if (!s->pool->closing && s->pool->fatal.status == DPA_OK) dpa__slot_advance(s);
}

static void close_handles(dpa__slot *s) {
    uv_handle_t *const all[] = {(uv_handle_t *)&s->process, (uv_handle_t *)&s->in,
                                (uv_handle_t *)&s->out, (uv_handle_t *)&s->err};
    for (int i = 0; i < 4; ++i)
        if (!uv_is_closing(all[i])) uv_close(all[i], on_closed);
}

static void obituary(const dpa__slot *s, int64_t code, int signal_number, dpa_error *out) {
    if (s->timeout)
        (void)dpa__fail(out, DPA_TRAINER, "no result within the timeout of %g s: ended",
                        s->pool->timeout);
    else if (signal_number == SIGKILL && dpa__oom_kills() != s->oom_kills)
        (void)dpa__fail(out, DPA_TRAINER, "the worker was ended: out of memory");
    else if (signal_number != 0)
        (void)dpa__fail(out, DPA_IO, "the worker was ended by signal %d (%s)", signal_number,
                        strsignal(signal_number));
    else
        (void)dpa__fail(out, DPA_IO, "the worker ended with exit code %lld", (long long)code);
}

static void on_exit_of(uv_process_t *process, int64_t code, int signal_number) {
    dpa__slot *s = process->data;
    (void)kill(-process->pid, SIGKILL); /* kills what it may have left running */
    if (s->state != DPA__SLOT_STARTING) dpa__slot_sweep(s);
    drain(&s->out, add_answer);
    drain(&s->err, add_said);
    dpa_error why = {0};
    obituary(s, code, signal_number, &why);
    if (s->state == DPA__SLOT_STARTING && !s->pool->closing &&
        ++s->pool->stillborn >= STILLBORN_MOST) {
        dpa_error fatal = {0};
        (void)dpa__fail(&fatal, DPA_IO, "workers end before they are ready: %.200s%s%.200s",
                        why.text, s->said.length > 0 ? ": " : "",
                        s->said.length > 0 ? s->said.data : "");
        keep_first(&s->pool->fatal, &fatal);
    }
    if (s->state != DPA__SLOT_DYING) conclude(s, why.status, &why, 1); /* else: given up */
    s->state = DPA__SLOT_DYING;
    close_handles(s);
}

/* ---- Its start ----
 *
 * It leads a session of its own, so that Ctrl-C in the terminal reaches the scheduler alone and one
 * kill reaches everything that the worker has started. Its standard streams are plain pipes, not
 * the sockets that libuv would make, because scripts open /dev/stderr. */

/* Our environment plus the slot, the folders for files and, unless the user has set it, one thread
 * for matrix products (there is a worker per core). */
static char **make_environment(const dpa__slot *s, char slot[32]) {
    const int is_set = getenv("OPENBLAS_NUM_THREADS") != NULL;
    const char *more[6] = {slot, s->pool->scratch};
    size_t count = 2;
    if (!is_set) more[count++] = "OPENBLAS_NUM_THREADS=1";
    if (s->pool->keep != NULL) more[count++] = s->pool->keep;
    if (s->pool->temporary) more[count++] = "DPAUDIT_TEMPORARY=1";
    (void)snprintf(slot, 32, "DPAUDIT_SLOT=%zu", s->number);
    return dpa__environment_with(more, NULL);
}

/* Makes three pipes; ours[i] is the end that stays here. Returns -1, with nothing open, on
 * failure. */
static int make_pipes(int ours[3], int theirs[3]) {
    for (int i = 0; i < 3; ++i) {
        uv_file ends[2];
        const int to_child = i == 0;
        const int code =
            uv_pipe(ends, to_child ? 0 : UV_NONBLOCK_PIPE, to_child ? UV_NONBLOCK_PIPE : 0);
        if (code != 0) {
            for (int k = 0; k < i; ++k) (void)close(ours[k]), (void)close(theirs[k]);
            return code;
        }
        ours[i] = ends[to_child];
        theirs[i] = ends[!to_child];
    }
    return 0;
}

static int spawn(dpa__slot *s, uv_exit_cb on_exit, char **environment, const int theirs[3]) {
    uv_stdio_container_t streams[3];
    for (int i = 0; i < 3; ++i) {
        streams[i].flags = UV_INHERIT_FD;
        streams[i].data.fd = theirs[i];
    }
    /* The cast is safe: libuv only reads the words of the command. */
    char **words = (char **)(uintptr_t)s->pool->worker;
    const uv_process_options_t options = {.exit_cb = on_exit,
                                          .file = words[0],
                                          .args = words,
                                          .env = environment,
                                          .flags = UV_PROCESS_DETACHED,
                                          .stdio_count = 3,
                                          .stdio = streams};
    return uv_spawn(&s->pool->loop, &s->process, &options);
}

/* Spawns with both ends of the pipes open; closes the child's ends. */
static int spawn_on(dpa__slot *s, uv_exit_cb on_exit, char **environment, const int ours[3],
                    const int theirs[3]) {
    uv_pipe_t *const pipes[3] = {&s->in, &s->out, &s->err};
    int code = 0;
    for (int i = 0; i < 3; ++i) {
        (void)uv_pipe_init(&s->pool->loop, pipes[i], 0);
        pipes[i]->data = s;
        const int opened = uv_pipe_open(pipes[i], ours[i]);
        if (opened == 0) continue;
        (void)close(ours[i]);
        code = opened;
    }
    s->process = (uv_process_t){.data = s};
    s->open = 4;
    /* libuv sets up its handle even if it fails */
    const int spawned = spawn(s, on_exit, environment, theirs);
    for (int i = 0; i < 3; ++i) (void)close(theirs[i]);
    s->alive = spawned == 0;
    return spawned != 0 ? spawned : code;
}

/* Starts the process; returns 0 or an error of libuv. In both cases s->open handles must be closed
 * afterwards, and s->alive says whether there is a process. */
static int start_process(dpa__slot *s, uv_exit_cb on_exit) {
    int ours[3], theirs[3];
    char slot[32];
    char **environment = make_environment(s, slot);
    s->open = s->alive = 0;
    if (environment == NULL) return UV_ENOMEM;
    int code = make_pipes(ours, theirs);
    if (code == 0) code = spawn_on(s, on_exit, environment, ours, theirs);
    free(environment);
    return code;
}

static void fail_start(dpa__slot *s, int code) {
    dpa_error fatal = {0};
    (void)dpa__fail(&fatal, code == UV_ENOMEM ? DPA_NO_MEMORY : DPA_IO,
                    "cannot start a worker (%s): %s", s->pool->worker[0], uv_strerror(code));
    keep_first(&s->pool->fatal, &fatal);
}

static void start(dpa__slot *s) {
    const int code = start_process(s, on_exit_of);
    s->timeout = 0;
    s->briefed = -1;
    if (code != 0) fail_start(s, code);
    if (s->open == 0) return;
    s->state = s->alive ? DPA__SLOT_STARTING : DPA__SLOT_DYING;
    if (code == 0) {
        (void)uv_read_start((uv_stream_t *)&s->out, on_alloc, on_answer);
        (void)uv_read_start((uv_stream_t *)&s->err, on_alloc, on_said);
    } else if (s->alive) {
        dpa__slot_kill(s);
    } else {
        close_handles(s);
    }
}

/* ---- Its work ---- */

typedef struct letter {
    uv_write_t request;
    char *bytes;
} letter;

/* A worker that did not get its letter waits for it, and would be waited for. */
static void on_sent(uv_write_t *request, int status) {
    letter *l = request->data;
    dpa__slot *s = request->handle->data;
    free(l->bytes);
    free(l);
    if (status == 0 || status == UV_ECANCELED || s->state == DPA__SLOT_DYING) return;
    dpa_error error = {0};
    (void)dpa__fail(&error, DPA_IO, "cannot talk to a worker: %s", uv_strerror(status));
    give_up(s, DPA_IO, &error);
}

static dpa_status send_text(dpa__slot *s, dpa__text *text, dpa_error *err) {
    const size_t length = text->length;
    letter *l = DPA_NEW(letter, err);
    if (l == NULL || dpa__text_take(text, &l->bytes, err) != DPA_OK) {
        dpa__text_free(text);
        free(l);
        return DPA_NO_MEMORY;
    }
    l->request.data = l;
    const uv_buf_t buf = {.base = l->bytes, .len = length};
    const int code = uv_write(&l->request, (uv_stream_t *)&s->in, &buf, 1, on_sent);
    if (code == 0) return DPA_OK;
    free(l->bytes);
    free(l);
    return dpa__fail(err, DPA_IO, "cannot talk to a worker: %s", uv_strerror(code));
}

static void send_job(dpa__slot *s) {
    dpa__text text = {0};
    dpa_error error = {0};
    const dpa__pool *pool = s->pool;
    if (s->briefed != s->stage && pool->brief != NULL) {
        const dpa__message brief = {.kind = DPA__WIRE_BRIEF,
                                    .stage = s->stage,
                                    .payload = (const unsigned char *)pool->brief->items,
                                    .size = pool->brief->count * sizeof(double)};
        dpa__wire_put(&text, &brief);
    }
    const dpa__message play = {.kind = DPA__WIRE_PLAY, .stage = s->stage, .index = s->index};
    dpa__wire_put(&text, &play);
    s->briefed = s->stage;
    s->state = DPA__SLOT_BUSY;
    s->oom_kills = dpa__oom_kills();
    s->progress[0] = s->progress[1] = 0.0;
    s->said.length = 0;
    s->log.index = s->index;
    if (send_text(s, &text, &error) != DPA_OK) {
        give_up(s, error.status, &error);
        return;
    }
    if (pool->timeout < 1e9)
        (void)uv_timer_start(&s->timer, on_timer, (uint64_t)(1e3 * pool->timeout) + 1, 0);
}

void dpa__slot_advance(dpa__slot *s) {
    if (!s->job) return;
    if (s->state == DPA__SLOT_EMPTY) start(s);
    if (s->state == DPA__SLOT_IDLE) send_job(s);
}
