/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the parts of `dpaudit canaries`. */
#ifndef DPA_CLI_CANARIES_H
#define DPA_CLI_CANARIES_H

#include "evidence/canary.h"
#include "evidence/evidence.h"
#include "output.h"

typedef struct canaries_options {
    common_options common;      /* seed and threads */
    dpa_canaries_opts canaries; /* but for seed, threads and direction */
    uint64_t index, rounds, times;
    double norm, unit, momentum, sigma;
    word_list models, initials, previous;
    const char *direction, *dtype, *out, *null, *state, *schedule;
} canaries_options;

dpa_canaries_opts canaries_library_opts(const canaries_options *o);
dpa_status canaries_read_model(const word_list *files, dpa_weights *out, dpa_error *err);
/* Writes the numbers of both sets to --out and --null, or to standard output. An NPZ gets both, as
 * `name` and `unobserved`, and a description of the canaries. */
dpa_status canaries_show(const canaries_options *o, const dpa_canaries *canaries, const char *name,
                         const double *cosine, dpa_error *err);

/* All iterates: adds rounds FILE… to the state, and shows what the state holds. */
int canaries_rounds(const canaries_options *o, const word_list *words);
int canaries_largest(const canaries_options *o);

/* Known rounds: shows the rounds of each canary, and the scores that the state holds. */
int canaries_schedule(const canaries_options *o);
int canaries_known(const canaries_options *o);

/* Evidence that describes the canaries: dimension, direction, seed. The caller adds arrays, writes
 * and frees it. */
dpa_status canaries_evidence(const dpa_canaries *canaries, dpa_evidence *out, dpa_error *err);
int canaries_is_npz(const char *path);

#endif
