/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which slots can be trusted.
 *
 * A broken slot (a bad GPU, a full disk) fails every trial, and fast, so that it takes most of
 * them. But a failing trainer is an outcome and must stay one: a trial may be played again
 * elsewhere only when its failure is not the mechanism's. So a slot is quarantined
 * - after a few failures of the machine in a row, or
 * - when so many trainers failed there in a row that, by what happened everywhere else, it is no
 *   coincidence (p < 1e-9). Its last, unbroken row of trials is then played again on other slots,
 *   with the same seeds.
 * A slot with a row of failures waits for others to end a trial, so that there is something to
 * compare with and it cannot run away with the trials meanwhile. */
#ifndef DPA_RUN_HEALTH_H
#define DPA_RUN_HEALTH_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/status.h"

typedef struct dpa__health dpa__health;

typedef enum dpa__end_kind { DPA__END_PLAYED, DPA__END_TRAINER, DPA__END_MACHINE } dpa__end_kind;

dpa_status dpa__health_new(size_t slots, dpa__health **out, dpa_error *err);
void dpa__health_free(dpa__health *health);
/* A trial ended on a slot. 1: the slot has to be quarantined now. */
int dpa__health_note(dpa__health *health, size_t slot, uint64_t trial, dpa__end_kind kind,
                     double now);
/* Trials whose trainer failed in the unbroken row of failures of a slot, at most as many as are
 * remembered. */
size_t dpa__health_row(const dpa__health *health, size_t slot, const uint64_t **trials);
/* Takes the slot's row out of what others are compared with. */
void dpa__health_quarantine(dpa__health *health, size_t slot);
/* May a trial start there now? `busy`: trials run elsewhere. */
int dpa__health_may_start(const dpa__health *health, size_t slot, int busy, double now);

#endif
