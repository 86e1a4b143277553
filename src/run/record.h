/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A trial as bytes in a file that describes itself: for job arrays, shared folders, buckets.
 *
 *     dpaudit-trial 1 key=<64 hex> stage=0 index=12 end=1 started=1.79e9 seconds=0.25 numbers=2
 *     place=11 reason=0 said=14 sum=<16 hex>          (one line)
 *     2 doubles (as on x86-64 and ARM), place, reason, said, newline
 *
 * `end` is a dpa_trial_end, or 0 for a brief (what the trials of a stage must know). A file has one
 * record or many. `sum` is a CRC-64 of the whole record, so that truncation and changes are
 * noticed. */
#ifndef DPA_RUN_RECORD_H
#define DPA_RUN_RECORD_H

#include "base/text.h"
#include "dpaudit/lab/run.h"

typedef struct dpa__record {
    char key[DPA_SHA256_SIZE];
    int stage;
    uint64_t index;
    dpa_trial_end end;
    double started, seconds; /* seconds since 1970; duration */
    const unsigned char *numbers;
    size_t count;                      /* number of numbers */
    const char *place, *reason, *said; /* not ended by NUL */
    size_t place_size, reason_size, said_size;
} dpa__record;

void dpa__record_put(dpa__text *to, const dpa__record *record);
/* Parses the record at the beginning of `bytes`; `used` is its size, 0 if there is no complete
 * one. */
void dpa__record_take(const unsigned char *bytes, size_t size, dpa__record *out, size_t *used);
/* The offset where the next record may begin after a damaged one, or `size`. */
size_t dpa__record_find(const unsigned char *bytes, size_t size);

/* A folder of records. */
typedef struct dpa__record_file {
    unsigned char *bytes; /* the whole file, mapped or read */
    size_t size;
} dpa__record_file;
typedef struct dpa__record_files {
    dpa__record_file *items;
    char **names; /* sorted by name */
    size_t count;
} dpa__record_files;
/* Opens the files NAME.dpt of a folder whose names begin with `prefix`. */
dpa_status dpa__record_files_open(const char *folder, const char *prefix, dpa__record_files *out,
                                  dpa_error *err);
void dpa__record_files_close(dpa__record_files *files);
/* Calls `visit` for each complete record; counts the damaged places. */
typedef dpa_status dpa__record_visit(void *user, size_t file, const dpa__record *record,
                                     dpa_error *err);
dpa_status dpa__record_files_visit(const dpa__record_files *files, dpa__record_visit *visit,
                                   void *user, uint64_t *damaged, dpa_error *err);

/* FOLDER/stage-N.brief (N from 2 on) is written once the stage before is complete. */
dpa_status dpa__brief_write(const char *folder, int stage, const char *key, const dpa_values *brief,
                            dpa_error *err);
/* found is 0 if there is no such file. */
dpa_status dpa__brief_read(const char *folder, int stage, char key[DPA_SHA256_SIZE],
                           dpa_values *brief, int *found, dpa_error *err);

#endif
