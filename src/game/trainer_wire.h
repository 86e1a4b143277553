/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages between games and trainers in other processes: one JSON object per line. Short arrays
 * are lists of numbers; long ones are {"npy": NAME}, a file in the folder that both know
 * (docs/trainer.md). */
#ifndef DPA_GAME_TRAINER_WIRE_H
#define DPA_GAME_TRAINER_WIRE_H

#include <jansson.h>

#include "game/trainer.h"

/* The most numbers that are written into the line itself. Ids are short: a file costs as much as
 * about 5000 of them. */
enum {
    DPA__LEVELS = 5,
    DPA__TRAINER_PROTOCOL = 1,
    DPA__INLINE_MOST = 1000,
    DPA__INLINE_IDS = 5000
};

extern const char *const dpa__level_names[DPA__LEVELS]; /* for the bits 1, 2, 4 … */
extern const char *const dpa__signal_names[3];          /* indexed by dpa_trainer_signal */

/* Appends `,"key":…`. Files are named after `key` and `side` ("to", "from") and are overwritten by
 * the next message. */
dpa_status dpa__put_ids(dpa__text *line, const char *key, const size_t *ids, size_t count,
                        const char *folder, const char *side, dpa_error *err);
dpa_status dpa__put_floats(dpa__text *line, const char *key, const float *items, size_t rows,
                           size_t columns, const char *folder, const char *side, dpa_error *err);
dpa_status dpa__put_doubles(dpa__text *line, const char *key, const double *items, size_t count,
                            const char *folder, const char *side, dpa_error *err);
void dpa__put_seed(dpa__text *line, const char *key, uint64_t seed);

/* The array under a key, which the caller frees; every number is finite. Errors begin with
 * `what`. */
dpa_status dpa__take_numbers(const json_t *message, const char *key, const char *folder,
                             double **items, size_t *count, dpa_error *err);
/* The same for numbers of examples, each below `limit`. */
dpa_status dpa__take_ids(const json_t *message, const char *key, const char *folder, size_t limit,
                         size_t **ids, size_t *count, dpa_error *err);
dpa_status dpa__take_seed(const json_t *message, const char *key, uint64_t *seed, dpa_error *err);

#endif
