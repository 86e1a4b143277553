/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starting a worker process.
 *
 * It leads a session of its own, so that Ctrl-C in the terminal reaches the scheduler alone and one
 * kill reaches all that the worker has started. Standard streams are plain pipes, not the sockets
 * that libuv would make: scripts open /dev/stderr. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/pool.h"

extern char **environ;

/* The environment of a worker: ours, its slot, the place for files, and one thread for matrix
 * products unless the user said otherwise (there is a worker per core). */
static char **make_environment(char slot[32], char *scratch) {
    static char one_thread[] = "OPENBLAS_NUM_THREADS=1";
    size_t count = 0, used = 0;
    while (environ[count] != NULL) ++count;
    char **out = malloc((count + 4) * sizeof *out);
    if (out == NULL) return NULL;
    for (size_t i = 0; i < count; ++i)
        if (strncmp(environ[i], "DPAUDIT_SLOT=", 13) != 0 &&
            strncmp(environ[i], "DPAUDIT_SCRATCH=", 16) != 0)
            out[used++] = environ[i];
    out[used++] = slot;
    out[used++] = scratch;
    if (getenv("OPENBLAS_NUM_THREADS") == NULL) out[used++] = one_thread;
    out[used] = NULL;
    return out;
}

/* Three pipes; ours[i] is the end that stays here. -1 and nothing open when that fails. */
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

static int spawn(dpa__slot *s, uv_exit_cb on_exit, const int theirs[3]) {
    char slot[32];
    (void)snprintf(slot, sizeof slot, "DPAUDIT_SLOT=%zu", s->number);
    char **environment = make_environment(slot, s->pool->scratch);
    if (environment == NULL) return UV_ENOMEM;
    uv_stdio_container_t streams[3];
    for (int i = 0; i < 3; ++i) {
        streams[i].flags = UV_INHERIT_FD;
        streams[i].data.fd = theirs[i];
    }
    /* libuv only reads the words of the command. */
    char **words = (char **)(uintptr_t)s->pool->worker;
    const uv_process_options_t options = {.exit_cb = on_exit,
                                          .file = words[0],
                                          .args = words,
                                          .env = environment,
                                          .flags = UV_PROCESS_DETACHED,
                                          .stdio_count = 3,
                                          .stdio = streams};
    const int code = uv_spawn(&s->pool->loop, &s->process, &options);
    free(environment);
    return code;
}

int dpa__slot_spawn(dpa__slot *s, uv_exit_cb on_exit) {
    int ours[3], theirs[3];
    int code = make_pipes(ours, theirs);
    s->open = 0;
    if (code != 0) return code;
    uv_pipe_t *const pipes[3] = {&s->in, &s->out, &s->err};
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
    const int spawned = spawn(s, on_exit, theirs); /* sets up its handle also when it fails */
    for (int i = 0; i < 3; ++i) (void)close(theirs[i]);
    s->alive = spawned == 0;
    return spawned != 0 ? spawned : code;
}
