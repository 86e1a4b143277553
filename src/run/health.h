/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides which slots and machines can be trusted.
 *
 * A broken slot (a bad GPU, a full disk) fails every trial, and quickly, so that it takes most of
 * them. But a failing trainer is an outcome and must stay one: a trial may be played again
 * elsewhere only if its failure is not the mechanism's. So a slot is quarantined
 * - after a few failures of the machine in a row, or
 * - when so many trainers failed there in a row that, compared with all other slots, it cannot be
 * chance (p < 1e-9). The trials of that last unbroken row are then played again on other slots,
 * with the same seeds.
 * A slot with a row of failures waits until others end a trial, so that there is something to
 * compare with and it cannot use up the trials meanwhile. */
#ifndef DPA_RUN_HEALTH_H
#define DPA_RUN_HEALTH_H

#include "base/dictionary.h"
#include "run/record.h"

typedef struct dpa__health dpa__health;

typedef enum dpa__end_kind { DPA__END_PLAYED, DPA__END_TRAINER, DPA__END_MACHINE } dpa__end_kind;

/* The caller frees it with free. */
dpa_status dpa__health_new(size_t slots, dpa__health **out, dpa_error *err);
/* Notes that a trial ended on a slot. Returns 1 if the slot must be quarantined now. */
int dpa__health_note(dpa__health *health, size_t slot, uint64_t trial, dpa__end_kind kind,
                     double now);
/* The trials in the slot's unbroken row of failed trainers, at most as many as are remembered. */
size_t dpa__health_row(const dpa__health *health, size_t slot, const uint64_t **trials);
/* Excludes the slot's row from the trials that other slots are compared with. */
void dpa__health_quarantine(dpa__health *health, size_t slot);
/* Whether a trial may start there now. `busy`: trials are running elsewhere. */
int dpa__health_may_start(const dpa__health *health, size_t slot, int busy, double now);

/* ---- Broken machines of a job array, found when its files are brought together ----
 *
 * While an array runs, no process sees the others, so one bad machine fails its whole share, and a
 * failing trainer is an outcome. The rule is the same: the last unbroken row of failures of
 * a place is blamed on the place if, compared with all other trials, it cannot be chance. Places
 * are processes ("hydra process 812 slot 0") and whole machines (the first word). Trials of such a
 * row are to be played again elsewhere. */

typedef struct dpa__suspect {
    double played; /* start of the last trial that succeeded there */
    uint64_t row;  /* trials that failed since then */
    int is_broken;
} dpa__suspect;

typedef struct dpa__suspects {
    dpa__levels names;
    dpa__suspect *places;
    size_t room;
    uint64_t ended, failed; /* over all places */
} dpa__suspects;

/* Call order: add every record of the stage, then count every record, then decide. */
dpa_status dpa__suspects_add(dpa__suspects *s, const dpa__record *r, dpa_error *err);
dpa_status dpa__suspects_count(dpa__suspects *s, const dpa__record *r, dpa_error *err);
/* Returns how many places are broken, and their names as far as there is room. */
size_t dpa__suspects_decide(dpa__suspects *s, char *names, size_t size);
/* Whether the record belongs to a row for which its place is blamed. */
dpa_status dpa__suspects_blame(dpa__suspects *s, const dpa__record *r, int *out, dpa_error *err);
void dpa__suspects_free(dpa__suspects *s);

#endif
