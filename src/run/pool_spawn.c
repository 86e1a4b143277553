/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starts a worker process.
 *
 * It leads a session of its own, so that Ctrl-C in the terminal reaches the scheduler alone and one
 * kill reaches everything that the worker has started. Its standard streams are plain pipes, not
 * the sockets that libuv would make, because scripts open /dev/stderr. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/process.h"
#include "run/pool.h"

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

int dpa__slot_spawn(dpa__slot *s, uv_exit_cb on_exit) {
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
