/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cells of a CSV text, one after the other. */
#ifndef DPA_BASE_CELLS_H
#define DPA_BASE_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/data.h"
#include "base/text.h"

typedef struct dpa__cells {
    const char *name; /* of the file, for errors */
    const char *at, *end, *line_start;
    uint64_t line; /* from 1 */
    char separator;
    int trim;
    const char *comment; /* NULL: none */
    dpa__text scratch;   /* the last quoted cell */
} dpa__cells;

typedef struct dpa__cell {
    const char *text; /* not NUL-terminated; valid until the next cell */
    size_t length;
    uint64_t line, column; /* where it starts */
    int last;              /* last of its row */
} dpa__cell;

void dpa__cells_init(dpa__cells *cells, const char *name, const char *text, size_t count,
                     const dpa_table_opts *opts);
void dpa__cells_free(dpa__cells *cells);

/* Returns to the position at which `mark` was copied from `cells`. */
void dpa__cells_back(dpa__cells *cells, const dpa__cells *mark);

/* Moves to the start of the next row, past comments; *more is 0 if there is none. Empty lines are
 * allowed only at the end. */
dpa_status dpa__cells_row(dpa__cells *cells, int *more, dpa_error *err);
dpa_status dpa__cells_next(dpa__cells *cells, dpa__cell *cell, dpa_error *err);
/* Fast path for a cell that is just a number: returns 1 and moves past it, or returns 0 and changes
 * nothing. */
int dpa__cells_number(dpa__cells *cells, double *value, int *last);
/* Is the whole cell a number? */
int dpa__cell_number(const dpa__cell *cell, double *value);

#endif
