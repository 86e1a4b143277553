/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests rows of failures by slot. If slots do not matter, then among k + n trials of which k + f
 * failed, every choice of the failed ones is equally likely. The probability that the k of this row
 * are all among them is (k + f)! n! / (f! (k + n)!), whatever share of trainings the mechanism lets
 * fail. For a mechanism that always fails (f = n) it is 1. */
#include "run/health.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/gamma.h"
#include "base/memory.h"

enum {
    ROW_MOST = 256,  /* failures remembered per row: enough if up to 92% of trials fail */
    ROW_WAITS = 3,   /* with this many failures a slot waits for others */
    MACHINE_ROW = 4, /* failures of the machine in a row that mean quarantine */
};

static const double impossible = 1e-9;
/* Seconds. While nothing has worked anywhere, the set-up is more likely wrong than the machine for
 * a moment, and the user waits for the error. */
static const double longest_pause = 30.0, longest_pause_at_first = 0.5;

typedef struct record {
    uint64_t trials[ROW_MOST]; /* trials of the row: those whose trainer failed */
    size_t row, machine_row;   /* failures in a row: of trainers, of the machine */
    uint64_t ends;             /* the value of `ends` below when this slot last ended a trial */
    double not_before;
} record;

struct dpa__health {
    uint64_t ended, failed;   /* trials of all slots; `failed`: their trainer failed */
    uint64_t out, out_failed; /* those of quarantined slots, which are not compared with */
    uint64_t ends;            /* ends of any kind, machine failures included */
    record records[];         /* by slot */
};

dpa_status dpa__health_new(size_t slots, dpa__health **out, dpa_error *err) {
    *out = dpa__calloc(1, sizeof **out + slots * sizeof(record), err);
    return *out != NULL ? DPA_OK : DPA_NO_MEMORY;
}

/* Whether a row of k failures can be chance if f of n other trials failed. */
static int is_chance(double k, double f, double n) {
    return dpa__log_gamma(k + f + 1.0) + dpa__log_gamma(n + 1.0) - dpa__log_gamma(f + 1.0) -
               dpa__log_gamma(k + n + 1.0) >=
           log(impossible);
}

/* Compares the slot's row with all trials outside it. */
static int is_impossible(const dpa__health *h, const record *r) {
    const double k = (double)r->row;
    const double n = (double)(h->ended - h->out) - k, f = (double)(h->failed - h->out_failed) - k;
    return !is_chance(k, f, n);
}

int dpa__health_note(dpa__health *h, size_t slot, uint64_t trial, dpa__end_kind kind, double now) {
    record *r = &h->records[slot];
    ++h->ends;
    r->ends = h->ends;
    r->not_before = now;
    if (kind == DPA__END_MACHINE) {
        ++r->machine_row;
        if (r->machine_row > 1)
            r->not_before += fmin(0.1 * exp2((double)r->machine_row),
                                  h->ended > 0 ? longest_pause : longest_pause_at_first);
        return r->machine_row >= MACHINE_ROW;
    }
    r->machine_row = 0;
    ++h->ended;
    if (kind == DPA__END_PLAYED) {
        r->row = 0;
        return 0;
    }
    ++h->failed;
    if (r->row == ROW_MOST) return 0; /* nearly all trainers fail: not its fault */
    r->trials[r->row++] = trial;
    return is_impossible(h, r);
}

size_t dpa__health_row(const dpa__health *h, size_t slot, const uint64_t **trials) {
    *trials = h->records[slot].trials;
    return h->records[slot].row;
}

void dpa__health_quarantine(dpa__health *h, size_t slot) {
    record *r = &h->records[slot];
    h->out += r->row;
    h->out_failed += r->row;
    r->row = 0;
}

int dpa__health_may_start(const dpa__health *h, size_t slot, int busy, double now) {
    const record *r = &h->records[slot];
    if (now < r->not_before) return 0;
    return r->row < ROW_WAITS || h->ends > r->ends || !busy;
}

/* ---- Broken machines of a job array ---- */

enum { KINDS = 2 }; /* process, machine */

static size_t machine_length(const char *place, size_t size) {
    const char *space = memchr(place, ' ', size);
    return space != NULL ? (size_t)(space - place) : size;
}

/* Finds the process and the machine of a record. */
static dpa_status find_places(dpa__suspects *s, const dpa__record *r, dpa__suspect *out[KINDS],
                              dpa_error *err) {
    const size_t lengths[KINDS] = {r->place_size, machine_length(r->place, r->place_size)};
    uint32_t code[KINDS];
    for (int i = 0; i < KINDS; ++i)
        DPA_TRY(dpa__levels_code(&s->names, r->place, lengths[i], &code[i], err));
    if (s->names.count > s->room) {
        const size_t room = 2 * (size_t)s->names.count;
        dpa__suspect *more = dpa__realloc(s->places, room, sizeof *more, err);
        if (more == NULL) return DPA_NO_MEMORY;
        for (size_t i = s->room; i < room; ++i)
            more[i] = (dpa__suspect){.played = -(double)INFINITY};
        s->places = more;
        s->room = room;
    }
    for (int i = 0; i < KINDS; ++i) out[i] = &s->places[code[i]];
    return DPA_OK;
}

dpa_status dpa__suspects_add(dpa__suspects *s, const dpa__record *r, dpa_error *err) {
    dpa__suspect *at[KINDS];
    if (r->end != DPA_TRIAL_PLAYED && r->end != DPA_TRIAL_FAILED) return DPA_OK;
    ++s->ended;
    s->failed += r->end == DPA_TRIAL_FAILED;
    if (r->end != DPA_TRIAL_PLAYED) return DPA_OK;
    DPA_TRY(find_places(s, r, at, err));
    for (int i = 0; i < KINDS; ++i) at[i]->played = fmax(at[i]->played, r->started);
    return DPA_OK;
}

dpa_status dpa__suspects_count(dpa__suspects *s, const dpa__record *r, dpa_error *err) {
    dpa__suspect *at[KINDS];
    if (r->end != DPA_TRIAL_FAILED) return DPA_OK;
    DPA_TRY(find_places(s, r, at, err));
    for (int i = 0; i < KINDS; ++i)
        if (r->started > at[i]->played && (i == 0 || at[i] != at[0])) ++at[i]->row;
    return DPA_OK;
}

/* Whether the process belongs to a machine that is broken as a whole. */
static int is_named_already(const dpa__suspects *s, uint32_t code) {
    const char *name = dpa__levels_text(&s->names, code);
    const size_t length = machine_length(name, strlen(name));
    for (uint32_t i = 0; i < s->names.count && name[length] != '\0'; ++i) {
        const char *other = dpa__levels_text(&s->names, i);
        if (s->places[i].is_broken && strlen(other) == length && memcmp(name, other, length) == 0)
            return 1;
    }
    return 0;
}

size_t dpa__suspects_decide(dpa__suspects *s, char *names, size_t size) {
    size_t count = 0, used = 0;
    for (uint32_t i = 0; i < s->names.count && i < s->room; ++i) {
        dpa__suspect *p = &s->places[i];
        const double k = (double)p->row;
        p->is_broken = p->row > 0 && !is_chance(k, (double)s->failed - k, (double)s->ended - k);
        count += p->is_broken != 0;
    }
    for (uint32_t i = 0; i < s->names.count && count > 0; ++i) {
        if (!s->places[i].is_broken || is_named_already(s, i)) continue;
        const int n = snprintf(names + used, size - used, "%s%s", used > 0 ? ", " : "",
                               dpa__levels_text(&s->names, i));
        if (n < 0 || used + (size_t)n >= size) break;
        used += (size_t)n;
    }
    return count;
}

dpa_status dpa__suspects_blame(dpa__suspects *s, const dpa__record *r, int *out, dpa_error *err) {
    dpa__suspect *at[KINDS];
    *out = 0;
    if (r->end != DPA_TRIAL_FAILED) return DPA_OK;
    DPA_TRY(find_places(s, r, at, err));
    for (int i = 0; i < KINDS; ++i) *out |= at[i]->is_broken && r->started > at[i]->played;
    return DPA_OK;
}

void dpa__suspects_free(dpa__suspects *s) {
    dpa__levels_free(&s->names);
    free(s->places);
    *s = (dpa__suspects){0};
}
