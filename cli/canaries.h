/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of `dpaudit canaries` share. */
#ifndef DPA_CLI_CANARIES_H
#define DPA_CLI_CANARIES_H

#include "dpaudit/canary.h"
#include "output.h"

typedef struct canaries_options {
    common_options common; /* seed and threads */
    uint64_t dim, count, unobserved, first, index;
    double norm;
    word_list models, initials;
    const char *direction, *dtype, *kernel, *out, *null, *state;
} canaries_options;

extern const command command_canaries;

dpa_canaries_opts canaries_library_opts(const canaries_options *o);
dpa_status canaries_read_model(const word_list *files, dpa_weights *out, dpa_error *err);
/* Cosines of both sets to --out and --null, or to standard output. */
dpa_status canaries_show(const canaries_options *o, size_t observed, size_t unobserved,
                         const double *cosine, dpa_error *err);

/* All iterates: rounds FILE… into the state, and what the state holds. */
int canaries_rounds(const canaries_options *o, const word_list *words);
int canaries_largest(const canaries_options *o);

#endif
