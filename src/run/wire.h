/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages between scheduler and workers, as bytes: a header of 32 bytes, then a payload. Both ends
 * are the same program on the same type of machine, so numbers are in memory order. */
#ifndef DPA_RUN_WIRE_H
#define DPA_RUN_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "dpaudit/lab/game.h"

typedef enum dpa__wire_kind {
    DPA__WIRE_READY = 1, /* worker: the key of each stage, 64 hex digits each */
    DPA__WIRE_BRIEF,     /* scheduler: the brief of `stage` */
    DPA__WIRE_PLAY,      /* scheduler: play trial `index` of `stage` */
    DPA__WIRE_RESULT,    /* worker: the trial's numbers */
    DPA__WIRE_FAILURE,   /* worker: status (4 bytes), place and text, each ended by NUL */
    DPA__WIRE_PROGRESS   /* worker, regularly: progress of the trial, done and total (doubles) */
} dpa__wire_kind;

typedef struct dpa__message {
    dpa__wire_kind kind;
    int stage;
    uint64_t index;
    double seconds;               /* duration of the trial */
    const unsigned char *payload; /* borrowed */
    size_t size;
} dpa__message;

void dpa__wire_put(dpa__text *to, const dpa__message *message);
void dpa__wire_put_failure(dpa__text *to, int stage, uint64_t index, const dpa_error *error);
/* Parses the first message of `bytes`. *used is its size; 0 if it is not complete yet. */
dpa_status dpa__wire_take(const unsigned char *bytes, size_t count, dpa__message *out, size_t *used,
                          dpa_error *err);
/* The payload of RESULT or BRIEF as numbers. */
dpa_status dpa__wire_values(const dpa__message *message, dpa_values *out, dpa_error *err);
/* The keys of all stages, one after the other. Two processes with the same keys play the same
 * trials. */
dpa_status dpa__wire_keys(const dpa_game *game, dpa__text *to, dpa_error *err);
/* The payload of FAILURE. */
dpa_status dpa__wire_failure(const dpa__message *message, dpa_error *failure, dpa_error *err);

#endif
