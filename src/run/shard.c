/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One process of a job array, which writes its trials to files. It needs neither the store nor
 * other processes, so it can run anywhere; `dpaudit import` collects the files. A trial whose
 * trainer failed is an outcome and is written as such; one whose machine failed is played again, a
 * few times. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "run/record.h"
#include "run/schedule.h"

static const double flush_after = 1.0; /* seconds that a finished trial may wait for others */
enum { FLUSH_BYTES = 1 << 22 };

typedef struct slot {
    int busy;
    double started;    /* by dpa__wall_clock */
    uint64_t attempts; /* failures of the machine in a row with the same trial */
} slot;

typedef struct shard {
    const dpa_run_opts *opts;
    const dpa_shard *which;
    dpa_game *game;
    dpa_shard_summary *out;
    dpa__transport transport;
    dpa_values brief;
    dpa__stage stage; /* its number and keys */
    char prefix[96];
    uint8_t *ended; /* by position in the shard */
    uint64_t next;
    slot *slots;
    size_t running;
    dpa__text pack;
    double packed; /* dpa__clock when the pack got its first record */
    unsigned files;
} shard;

/* In each round every shard gets one trial of N. In many games trials with and without the
 * challenge alternate. With an even N, a shard would then have trials of one arm only, and a
 * failing machine would look like a leak; so neighbours swap in every second round. */
static uint64_t index_of(const shard *s, uint64_t round) {
    if (s->which->shards == 0) return s->which->index;
    const uint64_t turn = s->which->shards % 2 == 0 ? round & 1 : 0;
    return round * s->which->shards + (s->which->shard ^ turn);
}

static uint64_t count_of(const shard *s, uint64_t trials) {
    if (s->which->shards == 0) return 1;
    const uint64_t whole = trials / s->which->shards;
    return whole + (index_of(s, whole) < trials);
}

/* ---- Beginning ---- */

static dpa_status find_stage(shard *s, dpa_error *err) {
    const int last = dpa_game_stages(s->game) - 1;
    int stage = s->which->stage, found = 0;
    char told[DPA_SHA256_SIZE];
    for (int i = stage < 0 ? last : stage; i > 0 && !found; --i) {
        DPA_TRY(dpa__brief_read(s->which->folder, i, told, &s->brief, &found, err));
        if (!found && stage > 0)
            return dpa__fail(err, DPA_BAD_INPUT,
                             "%s/stage-%d.brief is not there: dpaudit import writes it when stage "
                             "%d is complete",
                             s->which->folder, stage + 1, stage);
        if (found) stage = i;
    }
    s->out->stage = stage > 0 ? stage : 0;
    s->stage.number = s->out->stage;
    DPA_TRY(dpa__stage_find(s->game, &s->stage, &s->brief, NULL, err));
    if (found && !dpa__stage_owns(&s->stage, told))
        return dpa__fail(
            err, DPA_BAD_INPUT,
            "%s/stage-%d.brief is of another experiment, or of another version of this "
            "one: use another folder",
            s->which->folder, s->out->stage + 1);
    return DPA_OK;
}

static dpa_status check(const shard *s, dpa_error *err) {
    const dpa_shard *w = s->which;
    const uint64_t trials = dpa_game_trials(s->game, s->out->stage);
    if (w->shards > 0 && w->shard >= w->shards)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "shard %" PRIu64 "/%" PRIu64 ": expected 0/%" PRIu64 " to %" PRIu64
                         "/%" PRIu64,
                         w->shard, w->shards, w->shards, w->shards - 1, w->shards);
    if (w->shards == 0 && w->index >= trials)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "index %" PRIu64 ": expected 0 to %" PRIu64,
                         w->index, trials - 1);
    return DPA_OK;
}

static dpa_status note_found(void *user, size_t file, const dpa__record *r, dpa_error *err) {
    shard *s = user;
    (void)file, (void)err;
    if (!dpa__stage_owns(&s->stage, r->key) || r->end == DPA_TRIAL_LOST) return DPA_OK;
    const dpa_shard *w = s->which;
    const uint64_t place = w->shards == 0 ? 0 : r->index / w->shards;
    if (r->index != index_of(s, place)) return DPA_OK;
    if (place < s->out->planned) s->ended[place] = 1;
    return DPA_OK;
}

/* Finds the trials that this shard has written to the folder before. */
static dpa_status look(shard *s, dpa_error *err) {
    dpa__record_files files;
    uint64_t damaged;
    DPA_TRY(dpa__record_files_open(s->which->folder, s->prefix, &files, err));
    const dpa_status status = dpa__record_files_visit(&files, note_found, s, &damaged, err);
    dpa__record_files_close(&files);
    for (uint64_t i = 0; i < s->out->planned; ++i) s->out->found += s->ended[i];
    return status;
}

static dpa_status begin(shard *s, dpa_error *err) {
    const dpa_shard *w = s->which;
    if (mkdir(w->folder, 0777) != 0 && errno != EEXIST)
        return dpa__fail_file(err, DPA_IO, w->folder, "cannot make this folder: %s",
                              strerror(errno));
    DPA_TRY(find_stage(s, err));
    DPA_TRY(check(s, err));
    s->out->planned = count_of(s, dpa_game_trials(s->game, s->out->stage));
    s->ended = dpa__calloc((size_t)s->out->planned + 1, 1, err);
    if (s->ended == NULL) return DPA_NO_MEMORY;
    if (w->shards == 0)
        (void)snprintf(s->prefix, sizeof s->prefix, "s%d-%" PRIu64 "-", s->out->stage + 1,
                       w->index);
    else
        (void)snprintf(s->prefix, sizeof s->prefix, "s%d-%" PRIu64 "of%" PRIu64 "-",
                       s->out->stage + 1, w->shard, w->shards);
    return look(s, err);
}

static dpa_status open_transport(shard *s, dpa_error *err) {
    DPA_TRY(s->opts->worker != NULL ? dpa__pool_open(s->opts, s->game, NULL, &s->transport, err)
                                    : dpa__here_open(s->game, &s->transport, err));
    s->slots = dpa__calloc(s->transport.slots, sizeof *s->slots, err);
    if (s->slots == NULL) return DPA_NO_MEMORY;
    return s->transport.brief(s->transport.self, s->out->stage, &s->brief, err);
}

/* ---- Files ---- */

static dpa_status flush(shard *s, dpa_error *err) {
    char path[PATH_MAX], host[64] = "";
    struct timespec now;
    if (s->pack.length == 0) return DPA_OK;
    (void)gethostname(host, sizeof host - 1);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (s->pack.failed) return dpa__fail(err, DPA_NO_MEMORY, "no memory for finished trials");
    const int n =
        snprintf(path, sizeof path, "%s/%s%lld%09ld-%s-%ld-%u.dpt", s->which->folder, s->prefix,
                 (long long)now.tv_sec, now.tv_nsec, host, (long)getpid(), s->files++);
    if (n >= (int)sizeof path)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "the folder's name is too long");
    DPA_TRY(dpa__file_write(path, s->pack.data, s->pack.length, err));
    s->pack.length = 0;
    return DPA_OK;
}

static size_t length_of(const char *text) {
    return text != NULL ? strlen(text) : 0;
}

static dpa_status put(shard *s, const dpa__outcome *o, dpa_trial_end end, dpa_error *err) {
    char place[DPA__PLACE_SIZE], host[64] = "";
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(place, sizeof place, "%s process %ld slot %zu", host, (long)getpid(), o->slot);
    const char *reason = end == DPA_TRIAL_PLAYED ? NULL : o->error.text;
    dpa__record r = {.stage = s->out->stage,
                     .index = o->index,
                     .end = end,
                     .started = s->slots[o->slot].started,
                     .seconds = o->seconds,
                     .numbers = (const unsigned char *)o->values.items,
                     .count = o->values.count,
                     .place = place,
                     .place_size = strlen(place),
                     .reason = reason,
                     .reason_size = length_of(reason),
                     .said = o->said,
                     .said_size = length_of(o->said)};
    memcpy(r.key, s->stage.key, sizeof r.key);
    if (s->pack.length == 0) s->packed = dpa__clock();
    dpa__record_put(&s->pack, &r);
    if (s->pack.length >= FLUSH_BYTES || o->seconds >= flush_after) return flush(s, err);
    return DPA_OK;
}

/* ---- The loop ---- */

static dpa_status submit(shard *s, size_t at, uint64_t index, dpa_error *err) {
    s->slots[at].busy = 1;
    s->slots[at].started = dpa__wall_clock();
    ++s->running;
    return s->transport.submit(s->transport.self, at, s->out->stage, index, err);
}

static dpa_status receive(shard *s, dpa__outcome *o, dpa_error *err) {
    slot *at = &s->slots[o->slot];
    --s->running;
    at->busy = 0;
    if (o->status != DPA_OK && dpa__is_machine(o->status) && at->attempts < s->opts->retries) {
        ++at->attempts;
        return submit(s, o->slot, o->index, err);
    }
    at->attempts = 0;
    const dpa_trial_end end = o->status == DPA_OK          ? DPA_TRIAL_PLAYED
                              : dpa__is_machine(o->status) ? DPA_TRIAL_LOST
                                                           : DPA_TRIAL_FAILED;
    s->out->played += end == DPA_TRIAL_PLAYED;
    s->out->failed += end == DPA_TRIAL_FAILED;
    s->out->lost += end == DPA_TRIAL_LOST;
    return put(s, o, end, err);
}

static dpa_status fill(shard *s, dpa_error *err) {
    for (size_t i = 0; i < s->transport.slots; ++i) {
        if (s->slots[i].busy) continue;
        while (s->next < s->out->planned && s->ended[s->next]) ++s->next;
        if (s->next == s->out->planned) return DPA_OK;
        DPA_TRY(submit(s, i, index_of(s, s->next++), err));
    }
    return DPA_OK;
}

static dpa_status report(const shard *s, dpa_error *err) {
    const dpa_progress *p = &s->opts->progress;
    const uint64_t ended = s->out->played + s->out->failed + s->out->lost;
    if (p->call == NULL ||
        !p->call(p->user, "trials", (double)ended, (double)(s->out->planned - s->out->found)))
        return DPA_OK;
    return dpa__fail(err, DPA_CANCELLED,
                     "stopped: %" PRIu64 " of %" PRIu64
                     " trials are in the folder; the same command "
                     "goes on from there",
                     s->out->found + ended, s->out->planned);
}

static dpa_status play(shard *s, dpa_error *err) {
    for (;;) {
        DPA_TRY(report(s, err));
        DPA_TRY(fill(s, err));
        if (s->running == 0) return DPA_OK;
        for (int some = 1; some && s->running > 0;) {
            dpa__outcome o = {0};
            DPA_TRY(s->transport.wait(s->transport.self, 0.1, &o, &some, err));
            if (!some) break;
            const dpa_status status = receive(s, &o, err);
            dpa__outcome_free(&o);
            DPA_TRY(status);
            DPA_TRY(fill(s, err));
        }
        if (s->pack.length > 0 && dpa__clock() - s->packed >= flush_after) DPA_TRY(flush(s, err));
    }
}

dpa_status dpa_shard_play(const dpa_run_opts *opts, const dpa_shard *which, dpa_game *game,
                          dpa_shard_summary *out, dpa_error *err) {
    shard s = {.opts = opts, .which = which, .game = game, .out = out};
    *out = (dpa_shard_summary){0};
    DPA_TRY(dpa__run_check(opts, err));
    dpa_status status = begin(&s, err);
    if (status == DPA_OK && out->found < out->planned) {
        status = open_transport(&s, err);
        if (status == DPA_OK) status = play(&s, err);
        dpa_error unsaved = {0}; /* an error stays the first one; what is finished is saved */
        const dpa_status saved = flush(&s, &unsaved);
        if (status == DPA_OK && saved != DPA_OK) {
            status = saved;
            if (err != NULL) *err = unsaved;
        }
    }
    if (s.transport.close != NULL) s.transport.close(s.transport.self);
    dpa__text_free(&s.pack);
    dpa_values_free(&s.brief);
    free(s.ended);
    free(s.slots);
    return status;
}
