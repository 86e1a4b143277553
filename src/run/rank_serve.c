/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The other ranks: each has worker processes on its machine, passes them what rank 0 sends and
 * sends back what they answer. A worker that dies loses its trial, not the rank. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "run/ranks.h"
#include "run/wire.h"

static const double pulse = 2;         /* seconds between two signs of life */
static const double end_patience = 20; /* seconds to wait for rank 0 after a signal to end */

typedef struct server {
    dpa__transport own;
    dpa_values brief;
    double sent, event;
    int stopped;
    dpa_ranks *ranks;
} server;

static dpa_status say_hello(const server *s, const dpa_game *game, dpa_error *err) {
    dpa__text keys = {0};
    char host[64] = "";
    (void)gethostname(host, sizeof host - 1);
    dpa__text_printf(&keys, "%s\n", host);
    dpa_status status = dpa__wire_keys(game, &keys, err);
    const dpa__packet_head head = {
        .kind = DPA__PACKET_HELLO, .slot = (uint32_t)s->own.slots, .said = keys.length};
    if (status == DPA_OK) status = dpa__packet_send(s->ranks, 0, &head, NULL, keys.data, NULL, err);
    dpa__text_free(&keys);
    return status;
}

void dpa_ranks_refuse(dpa_ranks *ranks, const dpa_error *why) {
    const dpa__packet_head head = {.kind = DPA__PACKET_HELLO, .status = (uint32_t)why->status};
    if (ranks->rank == 0) return;
    const dpa_status sent = dpa__packet_send(ranks, 0, &head, NULL, NULL, why, NULL);
    (void)sent; /* ignored: nobody is left to be told */
}

static dpa_status obey(server *s, dpa__packet *p, dpa_error *err) {
    switch ((dpa__packet_kind)p->head.kind) {
    case DPA__PACKET_BRIEF:
        dpa_values_free(&s->brief);
        s->brief = p->values;
        p->values = (dpa_values){0};
        return s->own.brief(s->own.self, (int)p->head.stage, &s->brief, err);
    case DPA__PACKET_PLAY:
        if (p->head.slot >= s->own.slots) break;
        return s->own.submit(s->own.self, p->head.slot, (int)p->head.stage, p->head.index, err);
    case DPA__PACKET_STOP:
        s->stopped = 1;
        s->ranks->lost[0] |= p->head.crashed != 0;
        return DPA_OK;
    case DPA__PACKET_HELLO:
    case DPA__PACKET_OUTCOME:
    case DPA__PACKET_ALIVE:
    case DPA__PACKET_LOST:
        break;
    }
    return dpa__fail(err, DPA_INTERNAL, "a packet that is not for this rank");
}

static dpa_status pass_on(server *s, dpa__outcome *o, dpa_error *err) {
    const dpa__packet_head head = {.kind = DPA__PACKET_OUTCOME,
                                   .status = (uint32_t)o->status,
                                   .slot = (uint32_t)o->slot,
                                   .index = o->index,
                                   .seconds = o->seconds,
                                   .crashed = (uint32_t)(o->crashed != 0),
                                   .retired = (uint32_t)(o->retired != 0),
                                   .values = o->values.count,
                                   .said = o->said != NULL ? strlen(o->said) : 0};
    s->event = dpa__clock();
    const dpa_status status =
        dpa__packet_send(s->ranks, 0, &head, o->values.items, o->said, &o->error, err);
    dpa__outcome_free(o);
    return status;
}

/* Includes the progress of its slots' trials, if any of them reports it. */
static dpa_status say_alive(server *s, dpa_error *err) {
    dpa__packet_head alive = {.kind = DPA__PACKET_ALIVE};
    double *far = dpa__calloc(s->own.slots, 2 * sizeof *far, err);
    if (far == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < s->own.slots; ++i) {
        s->own.progress(s->own.self, i, far + 2 * i);
        if (far[2 * i + 1] > 0.0) alive.values = 2 * s->own.slots;
    }
    s->sent = dpa__clock();
    const dpa_status status = dpa__packet_send(s->ranks, 0, &alive, far, NULL, NULL, err);
    free(far);
    return status;
}

static dpa_status look(server *s, dpa_error *err) {
    for (int some = 1; some && !s->stopped;) {
        dpa__packet p;
        DPA_TRY(dpa__packet_take(s->ranks, &p, &some, err));
        if (!some) break;
        s->event = dpa__clock();
        const dpa_status status = obey(s, &p, err);
        dpa__packet_free(&p);
        DPA_TRY(status);
    }
    for (int some = 1; some && !s->stopped;) {
        dpa__outcome outcome = {0};
        DPA_TRY(s->own.wait(s->own.self, 0, &outcome, &some, err));
        if (some) DPA_TRY(pass_on(s, &outcome, err));
    }
    if (s->stopped || dpa__clock() - s->sent < pulse) return DPA_OK;
    return say_alive(s, err);
}

/* A batch system tells every rank to end. Rank 0 then stops the run and tells the others. This rank
 * waits for that, so that all end cleanly, but only for a limited time and not when told twice. */
static volatile sig_atomic_t told_to_end;

static void on_signal(int number) {
    (void)number;
    told_to_end = 1;
}

static void wait_for_rank_0(void) {
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    (void)sigemptyset(&action.sa_mask);
    told_to_end = 0;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; ++i)
        (void)sigaction(signals[i], &action, NULL);
}

static dpa_status check_end(double *since, dpa_error *err) {
    if (!told_to_end) return DPA_OK;
    const double now = dpa__clock();
    if (*since == 0.0) *since = now;
    if (now - *since < end_patience) return DPA_OK;
    return dpa__fail(err, DPA_CANCELLED, "told to end, and rank 0 has not said a word for %g s",
                     end_patience);
}

static dpa_status serve(server *s, dpa_error *err) {
    double told = 0.0;
    while (!s->stopped) {
        DPA_TRY(check_end(&told, err));
        DPA_TRY(look(s, err));
        if (!s->stopped) dpa__sleep(dpa__ranks_nap(dpa__clock() - s->event));
    }
    return DPA_OK;
}

/* Rank 0 goes on with the other ranks; this one waits until it may leave. */
static void give_up(server *s, const dpa_error *why) {
    const dpa__packet_head head = {.kind = DPA__PACKET_LOST, .status = (uint32_t)why->status};
    int some = 0;
    if (dpa__packet_send(s->ranks, 0, &head, NULL, NULL, why, NULL) != DPA_OK) return;
    while (!s->stopped) {
        dpa__packet p;
        if (dpa__packet_take(s->ranks, &p, &some, NULL) != DPA_OK) return;
        if (some && p.head.kind == DPA__PACKET_STOP && obey(s, &p, NULL) != DPA_OK) return;
        if (some) dpa__packet_free(&p);
        dpa__sleep(0.01);
    }
}

dpa_status dpa_ranks_serve(dpa_ranks *ranks, const dpa_run_opts *opts, dpa_game *game,
                           dpa_error *err) {
    server s = {.ranks = ranks};
    dpa_run_opts own = *opts;
    dpa_error why = {0};
    own.workers = dpa__ranks_workers(ranks, opts);
    s.sent = s.event = dpa__clock();
    wait_for_rank_0();
    char *scratch = NULL;
    dpa_status status = dpa__ranks_scratch(opts, game, ranks->rank, &scratch, &why);
    if (status == DPA_OK) status = dpa__pool_open(&own, game, scratch, &s.own, &why);
    free(scratch);
    if (status != DPA_OK) {
        dpa_ranks_refuse(ranks, &why);
    } else {
        status = say_hello(&s, game, &why);
        if (status == DPA_OK) status = serve(&s, &why);
        if (status != DPA_OK && status != DPA_CANCELLED) give_up(&s, &why);
        s.own.close(s.own.self);
    }
    dpa_values_free(&s.brief);
    if (status != DPA_OK && err != NULL) *err = why;
    return status;
}
