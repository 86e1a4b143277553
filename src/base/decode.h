/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decompressing gzip and xz, a piece at a time. */
#ifndef DPA_BASE_DECODE_H
#define DPA_BASE_DECODE_H

#include <stddef.h>

#include "dpaudit/status.h"

typedef struct dpa__decoder dpa__decoder;

enum { DPA__MAGIC_SIZE = 6 }; /* bytes needed to recognise a compressed file */

/* Makes a decoder for data with these first bytes; *out is NULL if they are not compressed. */
dpa_status dpa__decoder_new(const unsigned char *magic, size_t count, dpa__decoder **out,
                            dpa_error *err);
void dpa__decoder_free(dpa__decoder *decoder);
const char *dpa__decoder_name(const dpa__decoder *decoder);

typedef struct dpa__piece {
    const unsigned char *in;
    size_t in_size;
    int is_last; /* no input follows `in` */
    unsigned char *out;
    size_t out_size;
    /* results */
    size_t used, made;   /* bytes of `in` used, bytes of `out` written */
    int is_done;         /* the data ended correctly */
    const char *problem; /* on failure what is wrong ("end early"); the caller adds the place */
} dpa__piece;

dpa_status dpa__decoder_run(dpa__decoder *decoder, dpa__piece *piece);

#endif
