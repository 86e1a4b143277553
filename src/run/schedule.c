/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scheduler of one stage: keeps every slot busy, stores outcomes, and plays trials again that a
 * machine lost. A trial is finished when its transaction is committed; all outcomes since the last
 * look go into one transaction.
 *
 * A trial whose trainer failed is finished too: playing it again until it works would be a choice
 * among its outcomes (methods: trials that fail are outcomes). A trial whose machine failed is
 * played again with the same seed, on another slot if there is one. */
#include "run/schedule.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "run/health.h"

/* Stop after this many trials if none of them was played: something is wrong with all of them. The
 * trainer of an honest mechanism may fail a few times in a row; a machine should not. */
enum { FIRST_FAILED = 10, FIRST_LOST = 3 };

static const double look = 0.1; /* seconds between two calls of the progress function */
static const double tell = 0.5; /* seconds between two status updates for `dpaudit status` */

typedef enum slot_use { SLOT_FREE, SLOT_BUSY, SLOT_RETIRED } slot_use;

typedef struct slot {
    slot_use use;
    uint64_t index; /* the trial that it plays */
    double since;   /* when it started, by dpa__clock */
} slot;

/* A trial to play again, on another slot than the one where it failed. */
typedef struct again {
    uint64_t index;
    size_t slot;
} again;

typedef struct schedule {
    dpa__run *run;
    dpa__stage *stage;
    slot *slots;
    size_t busy, retired;
    again *again; /* these trials are played first */
    size_t again_count, again_room;
    uint8_t *attempts; /* failures of the machine, by trial */
    uint64_t next;     /* all trials before it had their first attempt */
    uint64_t first;    /* all trials before it are decided */
    uint64_t had;      /* trials with numbers that were in the store before */
    uint64_t to_play, played, failed, lost;
    dpa__health *health;
    unsigned window;   /* trials ended since half_since */
    double half_since; /* by dpa__wall_clock */
    int open;          /* a transaction is open */
} schedule;

/* ---- What to play ---- */

static int usable_slots(const schedule *s) {
    return s->run->transport.slots - s->retired > 1;
}

static int pick(schedule *s, size_t at, uint64_t *index) {
    for (size_t i = s->again_count; i-- > 0;) {
        if (s->again[i].slot == at && usable_slots(s)) continue;
        *index = s->again[i].index;
        s->again[i] = s->again[--s->again_count];
        return 1;
    }
    while (s->next < s->stage->planned && s->stage->ends[s->next] != DPA_TRIAL_NONE) ++s->next;
    if (s->next >= s->stage->planned) return 0;
    *index = s->next++;
    return 1;
}

static dpa_status play_again(schedule *s, uint64_t index, size_t at, dpa_error *err) {
    if (s->again_count == s->again_room) {
        const size_t room = 2 * s->again_room + 16;
        again *more = dpa__realloc(s->again, room, sizeof *more, err);
        if (more == NULL) return DPA_NO_MEMORY;
        s->again = more;
        s->again_room = room;
    }
    s->again[s->again_count++] = (again){index, at};
    return DPA_OK;
}

static dpa_status fill(schedule *s, dpa_error *err) {
    dpa__transport *t = &s->run->transport;
    const double now = dpa__clock();
    if (now - s->run->start > s->run->opts->seconds) {
        s->run->summary->out_of_time = 1;
        return DPA_OK;
    }
    for (size_t i = 0; i < t->slots; ++i) {
        uint64_t index;
        if (s->slots[i].use != SLOT_FREE) continue;
        if (!dpa__health_may_start(s->health, i, s->busy > 0, now)) continue;
        if (!pick(s, i, &index)) continue;
        DPA_TRY(t->submit(t->self, i, s->stage->number, index, err));
        s->slots[i] = (slot){SLOT_BUSY, index, now};
        ++s->busy;
    }
    return DPA_OK;
}

/* ---- What came back ---- */

static dpa_status need_transaction(schedule *s, dpa_error *err) {
    if (s->open) return DPA_OK;
    DPA_TRY(dpa__store_begin(s->run->store, err));
    s->open = 1;
    return DPA_OK;
}

static dpa_status put(schedule *s, const dpa__outcome *o, dpa_trial_end end, const char *place,
                      dpa_error *err) {
    const dpa__ended ended = {o->index, end, o->seconds, o->values, o->said, place};
    s->stage->ends[o->index] = (uint8_t)end;
    return dpa__store_put(s->run->store, s->stage->row, s->stage->key, &ended, err);
}

static uint64_t ended(const schedule *s) {
    return s->stage->planned - s->to_play + s->played + s->failed;
}

static dpa__events_place place_of(const schedule *s) {
    return (dpa__events_place){s->stage->number, s->run->now.stages, ended(s), s->stage->planned};
}

static void tell_trial(schedule *s, const dpa__outcome *o, const char *how, const char *place) {
    const dpa__events_place at = place_of(s);
    dpa__events_trial(&s->run->events, &at, o, how, place);
}

static dpa_status keep_result(schedule *s, dpa__outcome *o, const char *place, dpa_error *err) {
    DPA_TRY(put(s, o, DPA_TRIAL_PLAYED, place, err));
    ++s->played;
    ++s->run->summary->played;
    tell_trial(s, o, "played", place);
    dpa_values *to = &s->stage->items[o->index];
    dpa_values_free(to);
    *to = o->values;
    o->values = (dpa_values){0};
    return DPA_OK;
}

/* The last line that a trial wrote to standard error. */
static const char *last_words(const char *said, char *out, size_t size) {
    size_t end = said != NULL ? strlen(said) : 0;
    while (end > 0 && (said[end - 1] == '\n' || said[end - 1] == '\r')) --end;
    size_t start = end;
    while (start > 0 && said[start - 1] != '\n') --start;
    (void)snprintf(out, size, "%.*s", (int)(end - start), end > 0 ? said + start : "");
    return out;
}

/* If no trial was ever played and enough have failed, ends the run with the reason of the last
 * failure. The failures are removed from the store, so that the trials are played after a
 * repair. */
static dpa_status check_start(schedule *s, const char *reason, const char *said, dpa_error *err) {
    const uint64_t slots = s->run->transport.slots, left = s->stage->planned;
    const uint64_t many = slots > FIRST_FAILED ? slots : FIRST_FAILED;
    const uint64_t few = slots > FIRST_LOST ? slots : FIRST_LOST;
    if (s->run->summary->played > 0 || s->had > 0) return DPA_OK;
    if (s->failed < many && s->lost < few && s->failed + s->lost < left) return DPA_OK;
    DPA_TRY(need_transaction(s, err));
    DPA_TRY(dpa__store_forget(s->run->store, s->stage->row, UINT64_MAX, err));
    char words[200], times[48] = "";
    const int silent = last_words(said, words, sizeof words)[0] == '\0';
    if (s->lost > 0)
        (void)snprintf(times, sizeof times, ", each %" PRIu64 " times", s->run->opts->retries + 1);
    return dpa__fail(err, DPA_IO,
                     "the first %" PRIu64 " trial%s failed%s; the last: %.200s%s%s "
                     "(dpaudit show --failures has all)",
                     s->failed + s->lost, s->failed + s->lost == 1 ? "" : "s", times, reason,
                     silent ? "" : ": ", words);
}

static dpa_status note_failure(schedule *s, const dpa__outcome *o, const char *reason,
                               const char *place, dpa_error *err) {
    const dpa__failure f = {o->index, reason, o->said, place, dpa__is_machine(o->status)};
    ++s->run->summary->failed;
    return dpa__store_put_failure(s->run->store, s->stage->row, &f, err);
}

static dpa_status keep_failure(schedule *s, dpa__outcome *o, const char *place, dpa_error *err) {
    char reason[DPA_PLACE_SIZE + DPA_TEXT_SIZE + 4];
    (void)snprintf(reason, sizeof reason, "%s%s%s", o->error.place,
                   o->error.place[0] != '\0' ? ": " : "", o->error.text);
    DPA_TRY(note_failure(s, o, reason, place, err));
    if (!dpa__is_machine(o->status)) {
        ++s->failed;
        ++s->run->summary->failed_trials;
        DPA_TRY(put(s, o, DPA_TRIAL_FAILED, place, err));
        tell_trial(s, o, "failed", place);
        return check_start(s, reason, o->said, err);
    }
    /* A slot that is gone for good says nothing about its trial, so this is not counted. */
    if (!o->retired && s->attempts[o->index] < UINT8_MAX) ++s->attempts[o->index];
    if (s->attempts[o->index] <= s->run->opts->retries) {
        tell_trial(s, o, "again", place);
        return play_again(s, o->index, o->slot, err);
    }
    ++s->lost;
    ++s->run->summary->lost;
    DPA_TRY(put(s, o, DPA_TRIAL_LOST, place, err));
    tell_trial(s, o, "lost", place);
    return check_start(s, reason, o->said, err);
}

/* ---- Slots that fail ---- */

static void retire(schedule *s, size_t at) {
    if (s->slots[at].use == SLOT_RETIRED) return;
    s->slots[at].use = SLOT_RETIRED;
    ++s->retired;
}

static void say_quarantined(dpa_run_summary *summary, const char *place) {
    const size_t used = strlen(summary->quarantine);
    ++summary->quarantined;
    (void)snprintf(summary->quarantine + used, sizeof summary->quarantine - used, "%s%s",
                   used > 0 ? ", " : "", place);
}

/* Removes the failures of its last row from the store and gives those trials to other slots. */
static dpa_status quarantine(schedule *s, size_t at, const char *place, dpa_error *err) {
    const uint64_t *trials;
    const size_t row = dpa__health_row(s->health, at, &trials);
    if (!usable_slots(s) && row == 0) return DPA_OK; /* the machine fails and is the only one */
    for (size_t i = 0; i < row; ++i) {
        if (s->stage->ends[trials[i]] != DPA_TRIAL_FAILED) continue;
        s->stage->ends[trials[i]] = DPA_TRIAL_NONE;
        --s->failed;
        --s->run->summary->failed_trials;
        DPA_TRY(dpa__store_forget(s->run->store, s->stage->row, trials[i], err));
        DPA_TRY(play_again(s, trials[i], at, err));
    }
    dpa__health_quarantine(s->health, at);
    retire(s, at);
    say_quarantined(s->run->summary, place);
    if (s->retired < s->run->transport.slots) return DPA_OK;
    return dpa__fail(err, DPA_IO,
                     "every trial fails on %s since trial %" PRIu64
                     ", as none did before: stopped; "
                     "the same command goes on when it is repaired",
                     place, trials[0]);
}

static dpa_status keep(schedule *s, dpa__outcome *o, dpa_error *err) {
    char place[DPA__PLACE_SIZE];
    s->run->transport.place(s->run->transport.self, o->slot, place);
    const dpa__end_kind kind = o->status == DPA_OK          ? DPA__END_PLAYED
                               : dpa__is_machine(o->status) ? DPA__END_MACHINE
                                                            : DPA__END_TRAINER;
    const int is_broken = dpa__health_note(s->health, o->slot, o->index, kind, dpa__clock());
    DPA_TRY(need_transaction(s, err));
    DPA_TRY(o->status == DPA_OK ? keep_result(s, o, place, err) : keep_failure(s, o, place, err));
    return is_broken && !o->retired ? quarantine(s, o->slot, place, err) : DPA_OK;
}

/* Counts the trials for the rate, which is taken over the last WINDOW to 2·WINDOW ends. */
static void note_end(schedule *s, const dpa__outcome *o) {
    enum { WINDOW = 64 };
    dpa_run_status *now = &s->run->now;
    const double time = dpa__wall_clock();
    if (now->recent == 0) now->recent_since = now->ended > 0.0 ? now->ended : time - o->seconds;
    ++now->recent;
    ++s->window;
    if (s->window == WINDOW) { /* drop the older half */
        if (now->recent > WINDOW) {
            now->recent_since = s->half_since;
            now->recent = WINDOW;
        }
        s->half_since = time;
        s->window = 0;
    }
    now->ended = time;
    if (o->status != DPA_OK) return;
    const double n = (double)s->run->summary->played;
    now->trial_seconds = n <= 1.0 || isnan(now->trial_seconds)
                             ? o->seconds
                             : now->trial_seconds + (o->seconds - now->trial_seconds) / n;
}

static dpa_status receive(schedule *s, dpa__outcome *o, dpa_error *err) {
    --s->busy;
    s->slots[o->slot].use = SLOT_FREE;
    if (o->retired) retire(s, o->slot);
    s->run->summary->crashes += (uint64_t)(o->crashed != 0);
    const dpa_status status = keep(s, o, err);
    note_end(s, o);
    dpa__outcome_free(o);
    return status;
}

/* ---- The loop ---- */

/* Lists the running trials, the longest-running first. */
static void list_trials(const schedule *s, double time, dpa_run_status *now) {
    now->trial_count = 0;
    for (size_t i = 0; i < s->run->transport.slots; ++i) {
        if (s->slots[i].use != SLOT_BUSY) continue;
        const double seconds = time - s->slots[i].since;
        size_t at = now->trial_count;
        while (at > 0 && now->trials[at - 1].seconds < seconds) --at;
        if (at == DPA_RUN_LISTED) continue;
        const size_t kept =
            now->trial_count < DPA_RUN_LISTED ? now->trial_count++ : (size_t)DPA_RUN_LISTED - 1;
        memmove(now->trials + at + 1, now->trials + at, (kept - at) * sizeof *now->trials);
        now->trials[at] = (dpa_run_trial){.index = s->slots[i].index, .seconds = seconds};
        s->run->transport.place(s->run->transport.self, i, now->trials[at].place);
        double done[2] = {0.0, 0.0};
        if (s->run->transport.progress != NULL)
            s->run->transport.progress(s->run->transport.self, i, done);
        now->trials[at].done = done[0];
        now->trials[at].total = done[1];
    }
}

/* The progress of the running trials, counted in trials, so that a run with one long training shows
 * progress too. */
static double part_done(const schedule *s) {
    double sum = 0.0;
    if (s->run->transport.progress == NULL) return 0.0;
    for (size_t i = 0; i < s->run->transport.slots; ++i) {
        double done[2] = {0.0, 0.0};
        if (s->slots[i].use != SLOT_BUSY) continue;
        s->run->transport.progress(s->run->transport.self, i, done);
        if (done[1] > 0.0 && done[0] <= done[1]) sum += done[0] / done[1];
    }
    return sum;
}

static dpa_status note(schedule *s, dpa_error *err) {
    dpa__run *run = s->run;
    const double time = dpa__clock();
    if (time - run->told < tell) return DPA_OK;
    run->told = time;
    run->now.stored = ended(s);
    run->now.played = run->summary->played;
    run->now.failed = run->summary->failed;
    run->now.running = s->busy;
    run->now.failed_trials = run->summary->failed_trials;
    run->now.lost = s->lost;
    (void)snprintf(run->now.quarantine, sizeof run->now.quarantine, "%s", run->summary->quarantine);
    list_trials(s, time, &run->now);
    dpa__status_write(run->path, &run->now);
    DPA_TRY(need_transaction(s, err));
    return dpa__store_run_update(run->store, &run->now, err);
}

static dpa_status commit(schedule *s, dpa_error *err) {
    if (!s->open) return DPA_OK;
    s->open = 0;
    DPA_TRY(dpa__store_commit(s->run->store, err));
    dpa__events_flush(&s->run->events);
    return DPA_OK;
}

/* Waits for one outcome, takes any others that are ready, and stores them all. */
static dpa_status collect(schedule *s, dpa_error *err) {
    dpa__transport *t = &s->run->transport;
    double seconds = look;
    if (s->busy == 0) { /* all slots are pausing */
        dpa__sleep(0.05);
        return DPA_OK;
    }
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
    if (!o->progress.call(o->progress.user, what, (double)(s->played + s->failed) + part_done(s),
                          (double)s->to_play))
        return DPA_OK;
    return dpa__fail(err, DPA_CANCELLED,
                     "stopped: %" PRIu64 " of %" PRIu64 " trials are stored; the same command goes "
                     "on from there",
                     ended(s), s->stage->planned);
}

/* The number of leading trials that are all decided: played, failed or lost. */
static uint64_t decided(schedule *s) {
    while (s->first < s->stage->planned && s->stage->ends[s->first] != DPA_TRIAL_NONE) ++s->first;
    return s->first;
}

/* Sets *end to 1 if the claim is refuted; the stage then ends with the trial that refuted it. */
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
    for (uint64_t i = needed; i < s->stage->planned; ++i) {
        dpa_values_free(&s->stage->items[i]);
        s->stage->ends[i] = DPA_TRIAL_NONE;
    }
    s->stage->planned = s->run->now.planned = needed;
    s->to_play = s->played + s->failed;
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
            if (s->to_play == s->played + s->failed + s->lost || s->run->summary->out_of_time)
                return DPA_OK;
            if (s->retired == s->run->transport.slots)
                return dpa__fail(err, DPA_IO, "nobody is left to play the trials");
        }
        DPA_TRY(collect(s, err));
    }
}

dpa_status dpa__stage_play(dpa__run *run, dpa__stage *stage, dpa_error *err) {
    schedule s = {.run = run, .stage = stage};
    for (uint64_t i = 0; i < stage->planned; ++i) {
        if (stage->ends[i] == DPA_TRIAL_LOST) stage->ends[i] = DPA_TRIAL_NONE; /* once more */
        s.to_play += stage->ends[i] == DPA_TRIAL_NONE;
        s.had += stage->ends[i] == DPA_TRIAL_PLAYED;
    }
    s.slots = dpa__calloc(run->transport.slots, sizeof *s.slots, err);
    s.attempts = dpa__calloc((size_t)stage->planned, 1, err);
    const int ok = s.slots != NULL && s.attempts != NULL &&
                   dpa__health_new(run->transport.slots, &s.health, err) == DPA_OK;
    run->now.stage = stage->number;
    run->now.planned = stage->planned;
    run->now.recent = 0;
    run->told = 0.0;
    const dpa__events_place at = place_of(&s);
    dpa__events_stage(&run->events, &at);
    const dpa_status status = ok ? play(&s, err) : DPA_NO_MEMORY;
    /* Outcomes from before an error are kept; the first error is the one reported. */
    if (s.open && status != DPA_OK && dpa__store_commit(run->store, NULL) != DPA_OK) {
        dpa__store_rollback(run->store);
        dpa__events_drop(&run->events);
    }
    run->now.stored = ended(&s);
    run->now.running = 0;
    free(s.slots);
    free(s.again);
    free(s.attempts);
    free(s.health);
    return status;
}
