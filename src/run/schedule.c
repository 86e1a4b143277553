/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scheduler of one stage: keeps every slot busy, stores what comes back, tries again what
 * failed. A trial counts as finished when its transaction is committed; what has come back since
 * the last look goes into one transaction. */
#include "run/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { FIRST_FAILURES = 3 }; /* so many trials given up and none played: not worth going on */

static const double look = 0.1; /* seconds between two looks at the progress call */
static const double tell = 0.5; /* seconds between two notes for `dpaudit status` */

typedef enum slot_use { SLOT_FREE, SLOT_BUSY, SLOT_RETIRED } slot_use;

typedef struct schedule {
    dpa__run *run;
    dpa__stage *stage;
    slot_use *slots;
    size_t busy, retired;
    uint64_t *again; /* trials to try again, at most one per slot; they go first */
    size_t again_count;
    uint8_t *attempts; /* failed ones, by index */
    uint64_t next;     /* no trial before it waits for its first attempt */
    uint64_t first;    /* no trial before it is undecided */
    uint64_t to_play, played, given_up;
    int open; /* a transaction */
} schedule;

static int pick(schedule *s, uint64_t *index) {
    if (s->again_count > 0) {
        *index = s->again[--s->again_count];
        return 1;
    }
    while (s->next < s->stage->planned && s->stage->items[s->next].items != NULL) ++s->next;
    if (s->next >= s->stage->planned) return 0;
    *index = s->next++;
    return 1;
}

static int time_is_over(const schedule *s) {
    return dpa__run_clock() - s->run->start > s->run->opts->seconds;
}

static dpa_status fill(schedule *s, dpa_error *err) {
    dpa__transport *t = &s->run->transport;
    if (time_is_over(s)) {
        s->run->summary->out_of_time = 1;
        return DPA_OK;
    }
    for (size_t i = 0; i < t->slots; ++i) {
        uint64_t index;
        if (s->slots[i] != SLOT_FREE) continue;
        if (!pick(s, &index)) break;
        DPA_TRY(t->submit(t->self, i, s->stage->number, index, err));
        s->slots[i] = SLOT_BUSY;
        ++s->busy;
    }
    return DPA_OK;
}

static dpa_status need_transaction(schedule *s, dpa_error *err) {
    if (s->open) return DPA_OK;
    DPA_TRY(dpa__store_begin(s->run->store, err));
    s->open = 1;
    return DPA_OK;
}

static dpa_status keep_result(schedule *s, dpa__outcome *o, dpa_error *err) {
    DPA_TRY(dpa__store_put(s->run->store, s->stage->row, s->stage->key, o->index, o->seconds,
                           &o->values, o->said, err));
    dpa_values *to = &s->stage->items[o->index];
    dpa_values_free(to);
    *to = o->values;
    o->values = (dpa_values){0};
    ++s->played;
    ++s->run->summary->played;
    return DPA_OK;
}

/* The last line of what a trial wrote to standard error. */
static const char *last_words(const char *said, char *out, size_t size) {
    size_t end = said != NULL ? strlen(said) : 0;
    while (end > 0 && (said[end - 1] == '\n' || said[end - 1] == '\r')) --end;
    size_t start = end;
    while (start > 0 && said[start - 1] != '\n') --start;
    (void)snprintf(out, size, "%.*s", (int)(end - start), end > 0 ? said + start : "");
    return out;
}

static dpa_status keep_failure(schedule *s, const dpa__outcome *o, dpa_error *err) {
    char reason[DPA_PLACE_SIZE + DPA_TEXT_SIZE + 4];
    (void)snprintf(reason, sizeof reason, "%s%s%s", o->error.place,
                   o->error.place[0] != '\0' ? ": " : "", o->error.text);
    ++s->run->summary->failed;
    DPA_TRY(dpa__store_put_failure(s->run->store, s->stage->row, o->index, reason, o->said, err));
    /* A slot that is gone for good says nothing about the trial that it had. */
    if (!o->retired && s->attempts[o->index] < UINT8_MAX) ++s->attempts[o->index];
    if (s->attempts[o->index] <= s->run->opts->retries)
        s->again[s->again_count++] = o->index;
    else
        ++s->given_up;
    const uint64_t most =
        s->run->transport.slots > FIRST_FAILURES ? s->run->transport.slots : FIRST_FAILURES;
    if (s->run->summary->played > 0 || s->run->summary->stored > 0 || s->given_up < most)
        return DPA_OK;
    char words[200];
    const int silent = last_words(o->said, words, sizeof words)[0] == '\0';
    return dpa__fail(err, DPA_IO,
                     "the first %" PRIu64 " trials failed, each %" PRIu64
                     " times; the last: %.200s%s%s (dpaudit show --failures has all)",
                     s->given_up, s->run->opts->retries + 1, reason, silent ? "" : ": ", words);
}

static dpa_status receive(schedule *s, dpa__outcome *o, dpa_error *err) {
    --s->busy;
    s->slots[o->slot] = o->retired ? SLOT_RETIRED : SLOT_FREE;
    s->retired += (size_t)(o->retired != 0);
    s->run->summary->crashes += (uint64_t)(o->crashed != 0);
    dpa_status status = need_transaction(s, err);
    if (status == DPA_OK)
        status = o->status == DPA_OK ? keep_result(s, o, err) : keep_failure(s, o, err);
    dpa__outcome_free(o);
    return status;
}

static dpa_status note(schedule *s, dpa_error *err) {
    dpa__run *run = s->run;
    const double time = dpa__run_clock();
    if (time - run->told < tell) return DPA_OK;
    run->told = time;
    run->now.stored = s->stage->planned - s->to_play + s->played;
    run->now.played = run->summary->played;
    run->now.failed = run->summary->failed;
    run->now.running = s->busy;
    DPA_TRY(need_transaction(s, err));
    return dpa__store_run_update(run->store, &run->now, err);
}

static dpa_status commit(schedule *s, dpa_error *err) {
    if (!s->open) return DPA_OK;
    s->open = 0;
    return dpa__store_commit(s->run->store, err);
}

/* Waits for one outcome, takes what else is there, stores all of it. */
static dpa_status collect(schedule *s, dpa_error *err) {
    dpa__transport *t = &s->run->transport;
    double seconds = look;
    for (int some = 1; some;) {
        dpa__outcome outcome = {0};
        DPA_TRY(t->wait(t->self, seconds, &outcome, &some, err));
        if (some) DPA_TRY(receive(s, &outcome, err));
        seconds = 0.0;
        if (s->busy == 0) break;
    }
    return commit(s, err);
}

static dpa_status report(const schedule *s, dpa_error *err) {
    const dpa_run_opts *o = s->run->opts;
    char what[96];
    if (o->progress.call == NULL) return DPA_OK;
    int n = snprintf(what, sizeof what, "trials");
    if (s->run->now.stages > 1)
        n = snprintf(what, sizeof what, "stage %d of %d, trials", s->stage->number + 1,
                     s->run->now.stages);
    if (s->run->summary->failed > 0)
        (void)snprintf(what + n, sizeof what - (size_t)n, " (%" PRIu64 " failed attempts)",
                       s->run->summary->failed);
    if (!o->progress.call(o->progress.user, what, (double)s->played, (double)s->to_play))
        return DPA_OK;
    return dpa__fail(err, DPA_CANCELLED,
                     "stopped: %" PRIu64 " of %" PRIu64 " trials are stored; the same command goes "
                     "on from there",
                     s->stage->planned - s->to_play + s->played, s->stage->planned);
}

/* Trials before it are decided: played, or given up. */
static uint64_t decided(schedule *s) {
    while (s->first < s->stage->planned && (s->stage->items[s->first].items != NULL ||
                                            s->attempts[s->first] > s->run->opts->retries))
        ++s->first;
    return s->first;
}

/* 1 when the claim is refuted: the stage ends with the trial that did it. */
static dpa_status look_for_end(schedule *s, int *end, dpa_error *err) {
    uint64_t needed = 0;
    *end = 0;
    if (s->run->stop == NULL || s->stage->number != s->run->now.stages - 1) return DPA_OK;
    DPA_TRY(
        dpa__stop_look(s->run->stop, s->run->trials, decided(s), s->stage->planned, &needed, err));
    if (needed == 0) return DPA_OK;
    *end = 1;
    s->run->summary->refuted = 1;
    s->run->summary->planned -= s->stage->planned - needed;
    for (uint64_t i = needed; i < s->stage->planned; ++i) dpa_values_free(&s->stage->items[i]);
    s->stage->planned = s->run->now.planned = needed;
    s->to_play = s->played;
    return DPA_OK;
}

static dpa_status play(schedule *s, dpa_error *err) {
    for (;;) {
        int end;
        DPA_TRY(look_for_end(s, &end, err));
        if (end) return DPA_OK;
        DPA_TRY(report(s, err));
        DPA_TRY(fill(s, err));
        DPA_TRY(note(s, err));
        DPA_TRY(commit(s, err));
        if (s->busy == 0) {
            if (s->retired < s->run->transport.slots || s->to_play == s->played + s->given_up)
                return DPA_OK;
            return dpa__fail(err, DPA_IO, "nobody is left to play the trials");
        }
        DPA_TRY(collect(s, err));
    }
}

dpa_status dpa__stage_play(dpa__run *run, dpa__stage *stage, dpa_error *err) {
    schedule s = {.run = run, .stage = stage};
    for (uint64_t i = 0; i < stage->planned; ++i) s.to_play += stage->items[i].items == NULL;
    s.slots = dpa__calloc(run->transport.slots, sizeof *s.slots, err);
    s.again = DPA_NEW_ARRAY(uint64_t, run->transport.slots, err);
    s.attempts = dpa__calloc((size_t)stage->planned, 1, err);
    const int ok = s.slots != NULL && s.again != NULL && s.attempts != NULL;
    run->now.stage = stage->number;
    run->now.planned = stage->planned;
    run->told = 0.0;
    const dpa_status status = ok ? play(&s, err) : DPA_NO_MEMORY;
    /* What came back before an error is kept; the error stays the first one. */
    if (s.open && status != DPA_OK && dpa__store_commit(run->store, NULL) != DPA_OK)
        dpa__store_rollback(run->store);
    run->now.stored = stage->planned - s.to_play + s.played;
    run->now.running = 0;
    free(s.slots);
    free(s.again);
    free(s.attempts);
    return status;
}
