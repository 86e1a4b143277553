/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a table is made of. */
#ifndef DPA_BASE_TABLE_H
#define DPA_BASE_TABLE_H

#include "base/dictionary.h"
#include "base/stream.h"
#include "dpaudit/data.h"

typedef struct dpa__column {
    char *name;
    dpa_column_kind kind;
    uint64_t text_line; /* the first line with a cell that is no number; 0: none, or not looked */
    double *numbers;    /* of a numeric column */
    uint32_t *codes;    /* of a text column */
    dpa__levels levels;
} dpa__column;

struct dpa_table {
    size_t rows, columns;
    dpa__column *column;
    char sha256[DPA_SHA256_SIZE];
};

/* What dpa_table_read does once the file is open. */
dpa_status dpa__table_from_stream(dpa__stream *stream, const dpa_table_opts *opts, dpa_table **out,
                                  dpa_error *err);

#endif
