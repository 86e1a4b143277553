/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A trade-off curve from a CSV with columns fpr and fnr, for claims made by other accountants.
 * Other columns are ignored. */
#include "tradeoff/read.h"

#include "base/error.h"

static dpa_status find_rates(const dpa_table *table, const char *path, const char *name,
                             const double **out, dpa_error *err) {
    const ptrdiff_t at = dpa__table_find(table, name);
    if (at < 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, path,
                              "no column '%s'; a trade-off curve has columns fpr and fnr", name);
    const size_t column = (size_t)at;
    if (dpa__table_kind(table, column) != DPA_COLUMN_NUMBER)
        return dpa__fail_line(err, DPA_BAD_INPUT, path, dpa__table_text_line(table, column), 0,
                              "column '%s' holds text; every cell must be a number from 0 to 1",
                              name);
    *out = dpa__table_numbers(table, column);
    for (size_t i = 0; i < dpa__table_rows(table); ++i)
        if (!((*out)[i] >= 0.0 && (*out)[i] <= 1.0))
            return dpa__fail_file(err, DPA_BAD_INPUT, path,
                                  "row %zu: %s is %g; it must be from 0 to 1", i + 1, name,
                                  (*out)[i]);
    return DPA_OK;
}

dpa_status dpa__curve_from_table(const dpa_table *table, const char *path, dpa_curve **out,
                                 dpa_error *err) {
    const double *fpr, *fnr;
    DPA_TRY(find_rates(table, path, "fpr", &fpr, err));
    DPA_TRY(find_rates(table, path, "fnr", &fnr, err));
    if (dpa__table_rows(table) == 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "no points; at least one row is needed");
    return dpa_curve_points(fpr, fnr, dpa__table_rows(table), out, err);
}

dpa_status dpa__curve_read(const char *path, dpa_curve **out, dpa_error *err) {
    dpa_table_opts opts;
    dpa__table_opts_init(&opts);
    dpa_table *table;
    DPA_TRY(dpa__table_read(path, &opts, &table, err));
    const dpa_status status = dpa__curve_from_table(table, path, out, err);
    dpa__table_free(table);
    return status;
}
