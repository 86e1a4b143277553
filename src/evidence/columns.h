/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Columns of an evidence table from any program: separated by comma, semicolon or tab; names in any
 * case; answers as 0 and 1, true and false, or yes and no. */
#ifndef DPA_EVIDENCE_COLUMNS_H
#define DPA_EVIDENCE_COLUMNS_H

#include "base/data.h"

/* A table with a column of numbers and one of answers; path, header and missing are the caller's.
 */
typedef struct dpa__columns {
    const char *path, *header; /* header: what it should be, "score,member" */
    const char *missing;       /* advice for cells without a number; NULL: none */
    dpa_table *table;
    const double *value; /* [rows] */
    uint8_t *answer;     /* [rows] 0 or 1 */
} dpa__columns;

/* Reads the table. `instead`: a column of answers that is preferred to `answer` where the table has
 * it; NULL: none. `text`: as in dpa_table_opts. Free with dpa__columns_close. */
dpa_status dpa__columns_open(dpa__columns *c, const char *value, const char *answer,
                             const char *instead, const char *const *text,
                             dpa_error *err) DPA_MUST_USE;
void dpa__columns_close(dpa__columns *c);
/* The column with this name, preferably in the same case; -1: none. */
ptrdiff_t dpa__columns_find(const dpa__columns *c, const char *name);
/* The column to group by, which was read as text, and a name for each of its levels, for the caller
 * to free. */
dpa_status dpa__columns_groups(const dpa__columns *c, const char *name, const dpa_column **out,
                               char (**names)[64], dpa_error *err) DPA_MUST_USE;

#endif
