/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rank 0: combines its own worker processes and those of all other ranks into one transport.
 *
 * MPI and libuv cannot be waited for together, so both are polled in turns, with sleeps of 50 µs
 * while things happen and at most 1 ms. A rank that was silent for half a minute (or as many
 * seconds as DPAUDIT_RANK_SILENCE says) is given up: its trials fail and are tried again elsewhere.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "game/command.h"
#include "run/ranks.h"
#include "run/wire.h"

static const double hello_patience = 300; /* seconds */

typedef struct peer {
    size_t first, slots; /* first slot in the scheduler's numbering */
    char host[64];
    double heard;
    int said_hello;
} peer;

/* The trial that a remote slot plays. */
typedef struct job {
    int busy, rank;
    uint64_t index;
    double progress[2];
} job;

typedef struct ring {
    dpa_ranks *ranks;
    const dpa_run_opts *opts;
    const dpa_game *game;
    dpa__transport own;
    peer *peers; /* by rank; 0 is this process */
    job *jobs;   /* by slot */
    size_t slots;
    char *keys;
    double looked, event;
    double patience; /* seconds of silence after which a rank is lost */
} ring;

static double find_patience(void) {
    const char *asked = getenv("DPAUDIT_RANK_SILENCE");
    double seconds;
    const int is_good = asked != NULL && dpa__number_whole(asked, &seconds) && seconds >= 1.0;
    return is_good ? seconds : 30.0;
}

/* ---- Losing a rank ---- */

/* Turns one running trial of a lost rank into an outcome. */
static int bury(ring *r, dpa__outcome *out) {
    for (size_t i = 0; i < r->slots; ++i) {
        job *j = &r->jobs[i];
        if (!j->busy || !r->ranks->lost[j->rank]) continue;
        j->busy = 0;
        *out = (dpa__outcome){.slot = i, .index = j->index, .crashed = 1, .retired = 1};
        out->status = dpa__fail(&out->error, DPA_IO, "rank %d is gone", j->rank);
        return 1;
    }
    return 0;
}

static void check_silence(ring *r, double now) {
    const int was_away = now - r->looked > 5; /* this process itself was busy elsewhere */
    for (int i = 1; i < r->ranks->size; ++i) {
        if (was_away) r->peers[i].heard = now;
        if (!r->ranks->lost[i] && now - r->peers[i].heard > r->patience) r->ranks->lost[i] = 1;
    }
    r->looked = now;
}

/* ---- The functions of a transport ---- */

static void place(void *self, size_t slot, char out[DPA__PLACE_SIZE]) {
    const ring *r = self;
    const int rank = slot < r->own.slots ? 0 : r->jobs[slot].rank;
    const peer *p = &r->peers[rank];
    (void)snprintf(out, DPA__PLACE_SIZE, "%s rank %d slot %zu", p->host, rank, slot - p->first);
}

static void progress(void *self, size_t slot, double out[2]) {
    const ring *r = self;
    if (slot < r->own.slots)
        r->own.progress(r->own.self, slot, out);
    else
        memcpy(out, r->jobs[slot].progress, sizeof r->jobs[slot].progress);
}

static dpa_status set_brief(void *self, int stage, const dpa_values *brief, dpa_error *err) {
    ring *r = self;
    const dpa__packet_head head = {
        .kind = DPA__PACKET_BRIEF, .stage = (uint32_t)stage, .values = brief->count};
    DPA_TRY(r->own.brief(r->own.self, stage, brief, err));
    for (int i = 1; i < r->ranks->size; ++i) {
        if (r->ranks->lost[i]) continue;
        if (dpa__packet_send(r->ranks, i, &head, brief->items, NULL, NULL, NULL) != DPA_OK)
            r->ranks->lost[i] = 1;
    }
    return DPA_OK;
}

static dpa_status submit(void *self, size_t slot, int stage, uint64_t index, dpa_error *err) {
    ring *r = self;
    if (slot < r->own.slots) return r->own.submit(r->own.self, slot, stage, index, err);
    job *j = &r->jobs[slot];
    j->busy = 1;
    j->index = index;
    j->progress[0] = j->progress[1] = 0.0;
    const dpa__packet_head head = {.kind = DPA__PACKET_PLAY,
                                   .slot = (uint32_t)(slot - r->peers[j->rank].first),
                                   .stage = (uint32_t)stage,
                                   .index = index};
    if (r->ranks->lost[j->rank] ||
        dpa__packet_send(r->ranks, j->rank, &head, NULL, NULL, NULL, NULL) != DPA_OK)
        r->ranks->lost[j->rank] = 1; /* the trial's end is reported like any other */
    return DPA_OK;
}

static int take_outcome(ring *r, dpa__packet *p, dpa__outcome *out) {
    const dpa__packet_head *h = &p->head;
    const peer *from = &r->peers[p->rank];
    if (h->slot >= from->slots) return 0;
    const size_t slot = from->first + h->slot;
    if (!r->jobs[slot].busy || r->jobs[slot].index != h->index) return 0; /* it was given up */
    r->jobs[slot].busy = 0;
    *out = (dpa__outcome){.slot = slot,
                          .index = h->index,
                          .status = (dpa_status)h->status,
                          .seconds = h->seconds,
                          .crashed = h->crashed != 0,
                          .retired = h->retired != 0,
                          .values = p->values,
                          .said = p->said};
    out->error = p->error;
    p->values = (dpa_values){0};
    p->said = NULL;
    return 1;
}

static void take_progress(ring *r, const dpa__packet *p) {
    const peer *from = &r->peers[p->rank];
    for (size_t i = 0; i < from->slots && 2 * i + 1 < p->values.count; ++i)
        memcpy(r->jobs[from->first + i].progress, p->values.items + 2 * i, 2 * sizeof(double));
}

/* Reads messages until one is an outcome or none is left. */
static dpa_status hear(ring *r, dpa__outcome *out, int *some, dpa_error *err) {
    for (int more = 1; more && !*some;) {
        dpa__packet p;
        DPA_TRY(dpa__packet_take(r->ranks, &p, &more, err));
        if (!more) break;
        r->peers[p.rank].heard = dpa__clock();
        if (p.head.kind == DPA__PACKET_LOST) r->ranks->lost[p.rank] = 1;
        if (p.head.kind == DPA__PACKET_ALIVE) take_progress(r, &p);
        if (p.head.kind == DPA__PACKET_OUTCOME && !r->ranks->lost[p.rank])
            *some = take_outcome(r, &p, out);
        dpa__packet_free(&p);
    }
    return DPA_OK;
}

static dpa_status wait(void *self, double seconds, dpa__outcome *out, int *some, dpa_error *err) {
    ring *r = self;
    const double start = dpa__clock();
    *some = 0;
    for (;;) {
        const double now = dpa__clock();
        DPA_TRY(hear(r, out, some, err));
        if (!*some) DPA_TRY(r->own.wait(r->own.self, 0, out, some, err));
        check_silence(r, now);
        if (!*some) *some = bury(r, out);
        if (*some) r->event = now;
        if (*some || now - start >= seconds) return DPA_OK;
        dpa__sleep(dpa__ranks_nap(now - r->event));
    }
}

/* A lost rank cannot clean up after itself. */
static void sweep_lost(const ring *r) {
    for (int i = 1; i < r->ranks->size; ++i) {
        char *folder = NULL;
        if (!r->ranks->lost[i] || dpa__ranks_scratch(r->opts, r->game, i, &folder, NULL) != DPA_OK)
            continue;
        dpa__scratch_sweep(folder);
        free(folder);
    }
}

static void close_ring(void *self) {
    ring *r = self;
    if (r == NULL) return;
    if (r->own.close != NULL) r->own.close(r->own.self);
    sweep_lost(r);
    free(r->peers);
    free(r->jobs);
    free(r->keys);
    free(r);
}

/* ---- Beginning ---- */

static dpa_status greet(ring *r, const dpa__packet *p, dpa_error *err) {
    const dpa__packet_head *h = &p->head;
    peer *from = &r->peers[p->rank];
    if (h->status != DPA_OK) {
        r->ranks->lost[p->rank] = 1;
        return dpa__fail(err, (dpa_status)h->status, "rank %d: %.100s%s%.300s", p->rank,
                         p->error.place, p->error.place[0] != '\0' ? ": " : "", p->error.text);
    }
    /* the host, then the keys of its game */
    const size_t host = p->said != NULL ? strcspn(p->said, "\n") : 0;
    if (p->said != NULL) (void)snprintf(from->host, sizeof from->host, "%.*s", (int)host, p->said);
    if (p->said == NULL || p->said[host] != '\n' || strcmp(p->said + host + 1, r->keys) != 0)
        return dpa__fail(err, DPA_BAD_INPUT,
                         "rank %d reads another experiment or other data than rank 0: is the same "
                         "folder there on every machine?",
                         p->rank);
    from->said_hello = 1;
    from->heard = dpa__clock();
    from->slots = h->slot;
    return DPA_OK;
}

static dpa_status await_hellos(ring *r, const dpa_progress *progress, dpa_error *err) {
    const double start = dpa__clock();
    for (int missing = r->ranks->size - 1; missing > 0;) {
        dpa__packet p;
        int some = 0;
        DPA_TRY(dpa__packet_take(r->ranks, &p, &some, err));
        if (some && p.head.kind == DPA__PACKET_HELLO) {
            const dpa_status status = greet(r, &p, err);
            dpa__packet_free(&p);
            DPA_TRY(status);
            --missing;
            continue;
        }
        if (some) dpa__packet_free(&p);
        if (progress->call != NULL && progress->call(progress->user, "waiting for ranks", 0, 0))
            return dpa__fail(err, DPA_CANCELLED, "stopped");
        if (dpa__clock() - start > hello_patience)
            return dpa__fail(err, DPA_IO, "%d of %d ranks have not said a word in %g s", missing,
                             r->ranks->size, hello_patience);
        dpa__sleep(1e-3);
    }
    return DPA_OK;
}

static dpa_status number_slots(ring *r, dpa_error *err) {
    r->slots = r->own.slots;
    (void)gethostname(r->peers[0].host, sizeof r->peers[0].host - 1);
    for (int i = 1; i < r->ranks->size; ++i) {
        r->peers[i].first = r->slots;
        r->slots += r->peers[i].slots;
    }
    r->jobs = dpa__calloc(r->slots, sizeof *r->jobs, err);
    if (r->jobs == NULL) return DPA_NO_MEMORY;
    for (int i = 1; i < r->ranks->size; ++i)
        for (size_t k = 0; k < r->peers[i].slots; ++k) r->jobs[r->peers[i].first + k].rank = i;
    r->looked = r->event = dpa__clock();
    return DPA_OK;
}

static dpa_status open_ring(ring *r, const dpa_run_opts *opts, dpa_game *game, const char *scratch,
                            dpa_error *err) {
    dpa__text keys = {0};
    dpa_run_opts own = *opts;
    own.workers = dpa__ranks_workers(r->ranks, opts);
    r->peers = dpa__calloc((size_t)r->ranks->size, sizeof *r->peers, err);
    if (r->peers == NULL) return DPA_NO_MEMORY;
    DPA_TRY(dpa__wire_keys(game, &keys, err));
    DPA_TRY(dpa__text_take(&keys, &r->keys, err));
    DPA_TRY(await_hellos(r, &opts->progress, err));
    DPA_TRY(dpa__pool_open(&own, game, scratch, &r->own, err));
    return number_slots(r, err);
}

dpa_status dpa__ranks_open(dpa_ranks *ranks, const dpa_run_opts *opts, dpa_game *game,
                           const char *scratch, dpa__transport *out, dpa_error *err) {
    ring *r = DPA_NEW(ring, err);
    if (r == NULL) return DPA_NO_MEMORY;
    r->ranks = ranks;
    r->opts = opts;
    r->game = game;
    r->patience = find_patience();
    const dpa_status status = open_ring(r, opts, game, scratch, err);
    if (status == DPA_OK)
        *out = (dpa__transport){r->slots, r, place, progress, set_brief, submit, wait, close_ring};
    else
        close_ring(r);
    return status;
}
