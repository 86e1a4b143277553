/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A worker: reads which trial to play, plays it, answers. Each worker loads the data once.
 *
 * No orphans: if the scheduler dies, for whatever reason, the kernel sends SIGTERM here, and the
 * handler kills all descendants of the worker, so that an external trainer and what it started end
 * too. After each trial the worker also adopts and kills whatever the trial left running, unless
 * the trainer is a program that stays for the next trial. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "game/rules.h"
#include "run/transport.h"
#include "run/wire.h"

typedef struct worker {
    int in, out;
    double told; /* when the progress of a trial was last sent */
    const dpa__message *job;
    dpa_game *game;
    dpa_values brief;
    dpa__text inbox;
} worker;

/* After a run without a store nobody else looks for leftovers of its trials, so a shell cancels
 * their work on other machines and removes their files. */
static void clean_up(void) {
    static const char script[] =
        "for c in \"$1/$2\"/*/cancel; do [ -e \"$c\" ] && "
        "xargs -0 sh -c 'cd \"$1\" && shift && exec \"$@\"' sh <\"$c\"; done; "
        "rm -rf -- \"$1/$2\"; rmdir -- \"$1\" 2>/dev/null";
    const char *temporary = getenv("DPAUDIT_TEMPORARY"), *scratch = getenv("DPAUDIT_SCRATCH");
    const char *slot = getenv("DPAUDIT_SLOT");
    if (temporary == NULL || scratch == NULL || slot == NULL) return;
    if (vfork() != 0) return; /* returns once the shell has left this group, which is killed next */
    (void)setsid();
    (void)execl("/bin/sh", "sh", "-c", script, "sh", scratch, slot, (char *)NULL);
    _exit(1);
}

static void end_all(int signal_number) {
    (void)signal_number;
    dpa__descendants_kill(getpid()); /* also those in sessions of their own */
    clean_up();
    (void)kill(0, SIGKILL);
}

/* The scheduler made this process the leader of its own group. If it is not a leader (run by hand),
 * only the process itself may be killed. */
static dpa_status die_with_parent(dpa_error *err) {
    const pid_t parent = getppid();
#ifdef __linux__
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* makes orphans of a trainer our children */
#endif
    struct sigaction action = {.sa_handler = getpgrp() == getpid() ? end_all : SIG_DFL};
    (void)sigemptyset(&action.sa_mask);
    if (sigaction(SIGTERM, &action, NULL) != 0 || dpa__end_with_parent(SIGTERM) != 0)
        return dpa__fail(err, DPA_INTERNAL, "cannot ask to end with the parent: %s",
                         strerror(errno));
    if (getppid() != parent) end_all(0);
    return DPA_OK;
}

/* Keeps standard output for answers; anything printed goes to standard error. */
static dpa_status take_pipes(worker *w, dpa_error *err) {
    w->in = STDIN_FILENO;
    w->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (w->out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return dpa__fail(err, DPA_IO, "a worker needs pipes: dpaudit run starts it (%s)",
                         strerror(errno));
    (void)signal(SIGPIPE, SIG_IGN);
    return DPA_OK;
}

static dpa_status send_all(const worker *w, dpa__text *text, dpa_error *err) {
    dpa_status status = DPA_OK;
    size_t sent = 0;
    if (text->failed) status = dpa__fail(err, DPA_NO_MEMORY, "no memory for an answer");
    while (status == DPA_OK && sent < text->length) {
        const ssize_t n = write(w->out, text->data + sent, text->length - sent);
        if (n < 0 && errno != EINTR)
            status = dpa__fail(err, DPA_IO, "the scheduler is gone: %s", strerror(errno));
        if (n > 0) sent += (size_t)n;
    }
    dpa__text_free(text);
    return status;
}

static dpa_status answer_failure(const worker *w, const dpa__message *m, const dpa_error *failure,
                                 dpa_error *err) {
    dpa__text text = {0};
    dpa__wire_put_failure(&text, m->stage, m->index, failure);
    return send_all(w, &text, err);
}

static dpa_status say_ready(const worker *w, dpa_error *err) {
    dpa__text keys = {0}, text = {0};
    dpa_status status = dpa__wire_keys(w->game, &keys, err);
    if (status == DPA_OK) {
        const dpa__message m = {.kind = DPA__WIRE_READY,
                                .payload = (const unsigned char *)keys.data,
                                .size = keys.length};
        dpa__wire_put(&text, &m);
        status = send_all(w, &text, err);
    }
    dpa__text_free(&keys);
    return status;
}

/* Games call this often: passes on the progress of the trial, twice a second. */
static int pass_on(void *user, const char *what, double done, double total) {
    worker *w = user;
    (void)what;
    const double now = dpa__clock(), numbers[2] = {done, total};
    if (w->job == NULL || now - w->told < 0.5) return 0;
    w->told = now;
    const dpa__message m = {.kind = DPA__WIRE_PROGRESS,
                            .stage = w->job->stage,
                            .index = w->job->index,
                            .payload = (const unsigned char *)numbers,
                            .size = sizeof numbers};
    dpa__text text = {0};
    dpa__wire_put(&text, &m);
    const dpa_status sent = send_all(w, &text, NULL);
    (void)sent; /* ignored: the answer itself will fail too */
    return 0;
}

/* The memory that a trial needs may depend on the challenge, so running out of it is an outcome, as
 * it is for an external trainer, and not a failure of the machine. */
static void judge_memory(dpa_error *failure) {
    char text[DPA_TEXT_SIZE];
    if (failure->status != DPA_NO_MEMORY) return;
    (void)snprintf(text, sizeof text, "%.200s", failure->text);
    (void)dpa__fail(failure, DPA_TRAINER, "out of memory: %s", text);
}

static dpa_status play(worker *w, const dpa__message *m, dpa_error *err) {
    dpa_values values = {0};
    dpa_error failure = {0};
    if (m->stage >= dpa_game_stages(w->game))
        return dpa__fail(err, DPA_INTERNAL, "there is no stage %d", m->stage);
    const double start = w->told = dpa__clock();
    w->job = m;
    const dpa_status status =
        dpa_game_trial(w->game, m->stage, m->index, &w->brief, &values, &failure);
    w->job = NULL;
    if (!dpa__game_stays(w->game, status)) dpa__descendants_bury();
    if (status != DPA_OK) {
        judge_memory(&failure);
        return answer_failure(w, m, &failure, err);
    }
    const dpa__message answer = {.kind = DPA__WIRE_RESULT,
                                 .stage = m->stage,
                                 .index = m->index,
                                 .seconds = dpa__clock() - start,
                                 .payload = (const unsigned char *)values.items,
                                 .size = values.count * sizeof(double)};
    dpa__text text = {0};
    dpa__wire_put(&text, &answer);
    dpa_values_free(&values);
    return send_all(w, &text, err);
}

static dpa_status obey(worker *w, const dpa__message *m, dpa_error *err) {
    if (m->kind == DPA__WIRE_PLAY) return play(w, m, err);
    if (m->kind != DPA__WIRE_BRIEF)
        return dpa__fail(err, DPA_INTERNAL, "a message that is not for a worker");
    dpa_values_free(&w->brief);
    return dpa__wire_values(m, &w->brief, err);
}

/* Reads more bytes from the scheduler; sets *end when it has closed its side. */
static dpa_status hear(worker *w, int *end, dpa_error *err) {
    char bytes[65536];
    const ssize_t n = read(w->in, bytes, sizeof bytes);
    *end = n == 0;
    if (n < 0 && errno != EINTR)
        return dpa__fail(err, DPA_IO, "cannot hear the scheduler: %s", strerror(errno));
    if (n > 0) dpa__text_add_bytes(&w->inbox, bytes, (size_t)n);
    return w->inbox.failed ? dpa__fail(err, DPA_NO_MEMORY, "no memory for a message") : DPA_OK;
}

static dpa_status serve(worker *w, dpa_error *err) {
    for (int end = 0; !end;) {
        dpa__message m;
        size_t used = 0;
        DPA_TRY(
            dpa__wire_take((const unsigned char *)w->inbox.data, w->inbox.length, &m, &used, err));
        if (used == 0) {
            DPA_TRY(hear(w, &end, err));
            continue;
        }
        DPA_TRY(obey(w, &m, err));
        w->inbox.length -= used;
        memmove(w->inbox.data, w->inbox.data + used, w->inbox.length);
    }
    return DPA_OK;
}

dpa_status dpa_worker_serve(const dpa_experiment *experiment, dpa_error *err) {
    worker w = {0};
    dpa_experiment own = *experiment; /* the copy borrows everything it points to */
    own.game.progress = (dpa_progress){pass_on, &w};
    DPA_TRY(die_with_parent(err));
    DPA_TRY(take_pipes(&w, err));
    dpa_error failure = {0};
    const dpa__message nothing = {0};
    dpa_status status;
    if (dpa_game_open(&own, &w.game, &failure) != DPA_OK) {
        status = answer_failure(&w, &nothing, &failure, err);
    } else {
        w.game->keep = getenv("DPAUDIT_KEEP");
        status = say_ready(&w, err);
        if (status == DPA_OK) status = serve(&w, err);
        dpa_game_close(w.game);
    }
    dpa_values_free(&w.brief);
    dpa__text_free(&w.inbox);
    (void)close(w.out);
    return status;
}
