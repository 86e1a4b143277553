/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the rows of an SQLite file whose pages may be damaged: page by page, without its trees
 * (https://www.sqlite.org/fileformat.html). */
#ifndef DPA_RUN_PAGES_H
#define DPA_RUN_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "dpaudit/status.h"

enum { DPA__CELL_COLUMNS = 8 };

typedef enum dpa__column_kind {
    DPA__COLUMN_NULL,
    DPA__COLUMN_INTEGER,
    DPA__COLUMN_REAL,
    DPA__COLUMN_TEXT,
    DPA__COLUMN_BLOB
} dpa__column_kind;

typedef struct dpa__column {
    dpa__column_kind kind;
    int64_t integer;
    double real;                /* set for integers too */
    const unsigned char *bytes; /* of text and blobs; not ended by NUL */
    size_t size;
} dpa__column;

/* A row of a table; its pointers are valid only during the call. */
typedef struct dpa__cell {
    int64_t row;
    size_t count;
    dpa__column columns[DPA__CELL_COLUMNS];
} dpa__cell;

typedef dpa_status dpa__cell_visit(void *user, const dpa__cell *cell, dpa_error *err);

/* Visits every readable row of every leaf page in `bytes`, with up to DPA__CELL_COLUMNS columns.
 * Safe for any bytes. */
dpa_status dpa__pages_visit(const unsigned char *bytes, size_t size, dpa__cell_visit *visit,
                            void *user, dpa_error *err);

#endif
