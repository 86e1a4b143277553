/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides which slots can be trusted.
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

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/status.h"

/* Whether a row of k failures can be chance if f of n other trials failed. */
int dpa__is_chance(double k, double f, double n);

typedef struct dpa__health dpa__health;

typedef enum dpa__end_kind { DPA__END_PLAYED, DPA__END_TRAINER, DPA__END_MACHINE } dpa__end_kind;

dpa_status dpa__health_new(size_t slots, dpa__health **out, dpa_error *err);
void dpa__health_free(dpa__health *health);
/* Notes that a trial ended on a slot. Returns 1 if the slot must be quarantined now. */
int dpa__health_note(dpa__health *health, size_t slot, uint64_t trial, dpa__end_kind kind,
                     double now);
/* The trials in the slot's unbroken row of failed trainers, at most as many as are remembered. */
size_t dpa__health_row(const dpa__health *health, size_t slot, const uint64_t **trials);
/* Excludes the slot's row from the trials that other slots are compared with. */
void dpa__health_quarantine(dpa__health *health, size_t slot);
/* Whether a trial may start there now. `busy`: trials are running elsewhere. */
int dpa__health_may_start(const dpa__health *health, size_t slot, int busy, double now);

#endif
