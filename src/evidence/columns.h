/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Columns of an evidence table from any program: separated by comma, semicolon or tab; names in any
 * case; answers as 0 and 1, true and false, or yes and no. */
#ifndef DPA_EVIDENCE_COLUMNS_H
#define DPA_EVIDENCE_COLUMNS_H

#include "base/data.h"

/* The table and what it should look like, for errors. */
typedef struct dpa__columns {
    dpa_table *table;
    const char *path, *header; /* header: "score,member" */
    const char *missing;       /* advice for cells without a number; NULL: none */
} dpa__columns;

/* `text`: as in dpa_table_opts. Free c->table with dpa__table_free. */
dpa_status dpa__columns_read(dpa__columns *c, const char *const *text, dpa_error *err) DPA_MUST_USE;
/* The column with this name, preferably in the same case; -1: none. */
ptrdiff_t dpa__columns_find(const dpa__columns *c, const char *name);
/* One number per row, owned by the table. */
dpa_status dpa__columns_numbers(const dpa__columns *c, const char *name, const double **out,
                                dpa_error *err) DPA_MUST_USE;
/* One 0 or 1 per row, for the caller to free. */
dpa_status dpa__columns_answers(const dpa__columns *c, const char *name, uint8_t **out,
                                dpa_error *err) DPA_MUST_USE;

#endif
