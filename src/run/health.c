/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests rows of failures by slot. If slots do not matter, then among k + n trials of which k + f
 * failed, every choice of the failed ones is equally likely. The probability that the k of this row
 * are all among them is (k + f)! n! / (f! (k + n)!), whatever share of trainings the mechanism lets
 * fail. For a mechanism that always fails (f = n) it is 1. */
#include "run/health.h"

#include <math.h>
#include <stdlib.h>

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
    size_t slots;
    record *records;
    uint64_t ended, failed;   /* trials of all slots; `failed`: their trainer failed */
    uint64_t out, out_failed; /* those of quarantined slots, which are not compared with */
    uint64_t ends;            /* ends of any kind, machine failures included */
};

dpa_status dpa__health_new(size_t slots, dpa__health **out, dpa_error *err) {
    dpa__health *h = DPA_NEW(dpa__health, err);
    *out = NULL;
    if (h == NULL) return DPA_NO_MEMORY;
    h->slots = slots;
    h->records = dpa__calloc(slots, sizeof *h->records, err);
    if (h->records == NULL) {
        free(h);
        return DPA_NO_MEMORY;
    }
    *out = h;
    return DPA_OK;
}

void dpa__health_free(dpa__health *h) {
    if (h == NULL) return;
    free(h->records);
    free(h);
}

int dpa__is_chance(double k, double f, double n) {
    return dpa__log_gamma(k + f + 1.0) + dpa__log_gamma(n + 1.0) - dpa__log_gamma(f + 1.0) -
               dpa__log_gamma(k + n + 1.0) >=
           log(impossible);
}

/* Compares the slot's row with all trials outside it. */
static int is_impossible(const dpa__health *h, const record *r) {
    const double k = (double)r->row;
    const double n = (double)(h->ended - h->out) - k, f = (double)(h->failed - h->out_failed) - k;
    return !dpa__is_chance(k, f, n);
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
