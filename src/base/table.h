/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a table is made of. */
#ifndef DPA_BASE_TABLE_H
#define DPA_BASE_TABLE_H

#include "base/data.h"
#include "base/dictionary.h"
#include "base/stream.h"

typedef struct dpa__column {
    char *name;
    dpa_column_kind kind;
    uint64_t text_line; /* first line with a cell that is no number; 0: none, or not checked */
    double *numbers;    /* for a numeric column */
    uint32_t *codes;    /* for a text column */
    dpa__levels levels;
} dpa__column;

struct dpa_table {
    size_t rows, columns;
    dpa__column *column;
    char sha256[DPA_SHA256_SIZE];
};

/* Reads a table; dpa__table_read calls it once the file is open. */
DPA_API dpa_status dpa__table_from_stream(dpa__stream *stream, const dpa_table_opts *opts,
                                          dpa_table **out, dpa_error *err);

#endif
