/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a game against an external trainer: which points are in which training, and the
 * files that trainer and game exchange. */
#ifndef DPA_GAME_COMMAND_H
#define DPA_GAME_COMMAND_H

#include <limits.h>

#include "base/process.h"
#include "game/rules.h"

/* The state of such a game. */
typedef struct dpa__external {
    dpa__words words, cancel;     /* with placeholders; `cancel` may be empty */
    char folder[PATH_MAX];        /* folder of the experiment file, in which the command runs */
    char digest[DPA_SHA256_SIZE]; /* digest of the files that the command names */
    char scratch[PATH_MAX];       /* the slot's folder; "": none yet */
    dpa__confine confine;
    int is_confined; /* it was tried, and works here */
} dpa__external;

/* Sets the words of the command, the folder of the experiment file `path`, and the digest of the
 * files that the words name. `confine` may be NULL. */
dpa_status dpa__external_open(const char *path, const char *line, const dpa_confine *confine,
                              dpa__external *out, dpa_error *err);
/* To be called before the command is started: fails where it cannot be confined as asked. */
dpa_status dpa__external_confine(dpa__external *external, dpa_error *err);
void dpa__external_close(dpa__external *external);

/* Whether a point is in the training of trial `index`: decided by coin or, with the leave-one-out
 * design, all points but the challenge, which is in every second training. */
int dpa__command_member(const dpa_game *game, uint64_t index, uint64_t point);
/* The number of points asked about, and the id of each. */
uint64_t dpa__command_queries(const dpa_game *game);
uint64_t dpa__command_query(const dpa_game *game, uint64_t number);
/* command_trial.c: runs the command once; its files are removed at the end. */
dpa_status dpa__command_trial(dpa_game *game, int stage, uint64_t index, const dpa_values *brief,
                              dpa_values *out, dpa_error *err);

/* The number of the slot that this process works for, as text. */
const char *dpa__slot_name(void);
enum { DPA__ATTEMPT_SIZE = PATH_MAX + 40 };
/* Makes a new folder inside the slot's. */
dpa_status dpa__attempt_begin(dpa__external *external, uint64_t index,
                              char folder[DPA__ATTEMPT_SIZE], dpa_error *err);
/* Removes the folder; after a failure first runs the recorded cancel command. */
void dpa__attempt_end(const char *attempt, int failed);
/* The same for all attempts of a slot, or of all slots, once nobody works there any more. */
void dpa__scratch_sweep_slot(const char *folder);
void dpa__scratch_sweep(const char *folder);

#endif
