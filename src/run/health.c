/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of failures by slot. If slots do not matter, then of k + n trials of which k + f failed
 * every choice of failed ones is as likely as any other; that the k of this row are all among them
 * has probability (k + f)! n! / (f! (k + n)!), whatever share of trainings the mechanism lets fail.
 * A mechanism that always fails (f = n) gives 1. */
#include "run/health.h"

#include <math.h>
#include <stdlib.h>

#include "base/gamma.h"
#include "base/memory.h"

enum {
    ROW_MOST = 256,  /* failures of a row that are remembered: enough where up to 92% fail */
    ROW_WAITS = 3,   /* from this many on a slot waits for others */
    MACHINE_ROW = 4, /* failures of the machine in a row */
};

static const double impossible = 1e-9, longest_pause = 30.0; /* seconds */

typedef struct record {
    uint64_t trials[ROW_MOST]; /* of the row: those whose trainer failed */
    size_t row, machine_row;   /* failures in a row: of trainers, of the machine */
    uint64_t ends;             /* of other slots, when this one last ended a trial */
    double not_before;
} record;

struct dpa__health {
    size_t slots;
    record *records;
    uint64_t ended, failed;   /* by all slots; `failed` by the trainer */
    uint64_t out, out_failed; /* of them by slots in quarantine: not comparable */
    uint64_t ends;            /* by anyone, machine failures too */
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

/* Is the row of this slot no coincidence? By all trials outside it. */
static int is_impossible(const dpa__health *h, const record *r) {
    const double k = (double)r->row;
    const double n = (double)(h->ended - h->out) - k, f = (double)(h->failed - h->out_failed) - k;
    return dpa__log_gamma(k + f + 1.0) + dpa__log_gamma(n + 1.0) - dpa__log_gamma(f + 1.0) -
               dpa__log_gamma(k + n + 1.0) <
           log(impossible);
}

int dpa__health_note(dpa__health *h, size_t slot, uint64_t trial, dpa__end_kind kind, double now) {
    record *r = &h->records[slot];
    ++h->ends;
    r->ends = h->ends;
    r->not_before = now;
    if (kind == DPA__END_MACHINE) {
        ++r->machine_row;
        if (r->machine_row > 1)
            r->not_before += fmin(0.1 * exp2((double)r->machine_row), longest_pause);
        return r->machine_row >= MACHINE_ROW;
    }
    r->machine_row = 0;
    ++h->ended;
    if (kind == DPA__END_PLAYED) {
        r->row = 0;
        return 0;
    }
    ++h->failed;
    if (r->row == ROW_MOST) return 0; /* nearly every trainer fails: not the slot's doing */
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
