/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the broken machines of a job array when its files are brought together. While the array
 * runs, no process sees the others, so one bad machine fails its whole share, and a failing trainer
 * is an outcome. The rule is that of health.h: the last unbroken row of failures of a place is
 * blamed on the place if, compared with all other trials, it cannot be chance. Places are processes
 * ("hydra process 812 slot 0") and whole machines (the first word). Trials of such a row are to be
 * played again elsewhere. */
#ifndef DPA_RUN_SUSPECTS_H
#define DPA_RUN_SUSPECTS_H

#include "base/dictionary.h"
#include "run/record.h"

typedef struct dpa__place {
    double played; /* start of the last trial that succeeded there */
    uint64_t row;  /* trials that failed since then */
    int is_broken;
} dpa__place;

typedef struct dpa__suspects {
    dpa__levels names;
    dpa__place *places;
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
