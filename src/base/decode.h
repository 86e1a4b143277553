/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Undoing gzip and xz, a piece at a time. */
#ifndef DPA_BASE_DECODE_H
#define DPA_BASE_DECODE_H

#include <stddef.h>

#include "dpaudit/status.h"

typedef struct dpa__decoder dpa__decoder;

enum { DPA__MAGIC_SIZE = 6 }; /* the bytes that tell a compressed file */

/* A decoder for data that start like this; *out is NULL when they are not compressed. */
dpa_status dpa__decoder_new(const unsigned char *magic, size_t count, dpa__decoder **out,
                            dpa_error *err);
void dpa__decoder_free(dpa__decoder *decoder);
const char *dpa__decoder_name(const dpa__decoder *decoder);

typedef struct dpa__piece {
    const unsigned char *in;
    size_t in_size;
    int is_last; /* `in` is all that there is */
    unsigned char *out;
    size_t out_size;
    /* what came of it */
    size_t used, made;   /* bytes of `in` and of `out` */
    int is_done;         /* the data ended well */
    const char *problem; /* on failure: "end early", for the caller to put a place to it */
} dpa__piece;

dpa_status dpa__decoder_run(dpa__decoder *decoder, dpa__piece *piece);

#endif
