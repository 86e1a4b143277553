/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of an SQLite file whose pages may be damaged, read page by page without its trees
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
    double real;                /* of integers too */
    const unsigned char *bytes; /* of text and blob; not ended by NUL */
    size_t size;
} dpa__column;

/* A row of a table; what is pointed at lives during the call only. */
typedef struct dpa__cell {
    int64_t row;
    size_t count;
    dpa__column columns[DPA__CELL_COLUMNS];
} dpa__cell;

typedef dpa_status dpa__cell_visit(void *user, const dpa__cell *cell, dpa_error *err);

/* Every row of every leaf page in `bytes` that can be read, with up to DPA__CELL_COLUMNS columns.
 * Any bytes are safe. */
dpa_status dpa__pages_visit(const unsigned char *bytes, size_t size, dpa__cell_visit *visit,
                            void *user, dpa_error *err);

#endif
