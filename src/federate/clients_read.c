/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the owners of rows from a file: an array, a column of one, or a column of a table. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/error.h"
#include "base/memory.h"
#include "federate/federation.h"

static dpa_status check_rows(const char *path, size_t found, size_t rows, dpa_error *err) {
    if (found == rows) return DPA_OK;
    return dpa__fail_file(err, DPA_BAD_INPUT, path, "%zu rows of owners, the data have %zu", found,
                          rows);
}

static dpa_status from_table(const char *path, const char *column, size_t rows, dpa_clients **out,
                             dpa_error *err) {
    dpa_table *table;
    DPA_TRY(dpa__table_read(path, NULL, &table, err));
    const ptrdiff_t at = dpa__table_find(table, column);
    dpa_status status = check_rows(path, dpa__table_rows(table), rows, err);
    if (status == DPA_OK && at < 0)
        status = dpa__fail_file(err, DPA_BAD_INPUT, path, "no column '%s'", column);
    double *owner = status == DPA_OK ? DPA_NEW_ARRAY(double, rows, err) : NULL;
    if (status == DPA_OK && owner == NULL) status = DPA_NO_MEMORY;
    if (status == DPA_OK) {
        const double *number = dpa__table_numbers(table, (size_t)at);
        const uint32_t *code = dpa__table_codes(table, (size_t)at);
        for (size_t i = 0; i < rows; ++i) owner[i] = number != NULL ? number[i] : (double)code[i];
        status = dpa_clients_new(owner, rows, out, err);
    }
    free(owner);
    dpa__table_free(table);
    return status;
}

/* column < 0: the array must have one column only. */
static dpa_status from_array(const char *path, dpa_array *array, long column, size_t rows,
                             dpa_clients **out, dpa_error *err) {
    DPA_TRY(dpa__array_to_double(array, err));
    const size_t width = array->ndim == 2 ? array->shape[1] : 1;
    if (array->ndim != (column < 0 ? 1U : 2U))
        return dpa__fail_file(
            err, DPA_BAD_INPUT, path, "an array of %u dimensions, expected %s", array->ndim,
            column < 0 ? "one number for each row (or say which column)" : "rows × columns");
    if (column >= 0 && (size_t)column >= width)
        return dpa__fail_file(err, DPA_BAD_INPUT, path, "column %ld of %zu (from 0)", column,
                              width);
    DPA_TRY(check_rows(path, array->shape[0], rows, err));
    double *owner = array->data;
    if (column > 0 || width > 1)
        for (size_t i = 0; i < rows; ++i) owner[i] = owner[i * width + (size_t)column];
    return dpa_clients_new(owner, rows, out, err);
}

dpa_status dpa_clients_read(const char *path, const char *column, size_t rows, dpa_clients **out,
                            dpa_error *err) {
    const int is_number = column != NULL && *column != '\0' &&
                          strspn(column, "0123456789") == strlen(column) && strlen(column) < 10;
    if (column != NULL && !is_number) return from_table(path, column, rows, out, err);
    dpa_array array = {0};
    DPA_TRY(dpa__array_read(path, NULL, &array, err));
    const dpa_status status =
        from_array(path, &array, is_number ? strtol(column, NULL, 10) : -1, rows, out, err);
    dpa__array_free(&array);
    return status;
}
