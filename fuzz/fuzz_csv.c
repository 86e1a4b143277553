/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CSV under several options. What was read must be a table: as many levels as codes point to, in
 * order. */
#include "fuzz.h"

#include <string.h>

#include "base/table.h"

static void check_column(const dpa_table *t, size_t column) {
    const size_t rows = dpa__table_rows(t), levels = dpa__table_levels(t, column);
    volatile double sum = 0;
    if (dpa__table_find(t, dpa__table_name(t, column)) != (ptrdiff_t)column) abort();
    if (dpa__table_kind(t, column) == DPA_COLUMN_NUMBER) {
        for (size_t i = 0; i < rows; ++i) sum = sum + dpa__table_numbers(t, column)[i];
        return;
    }
    for (size_t i = 0; i < rows; ++i)
        if (dpa__table_codes(t, column)[i] >= levels) abort();
    for (size_t i = 1; i < levels; ++i)
        if (strcmp(dpa__table_level(t, column, i - 1), dpa__table_level(t, column, i)) >= 0)
            abort();
}

static void read_table(const uint8_t *data, size_t size, const dpa_table_opts *opts) {
    dpa__stream *stream = fuzz_stream(data, size);
    dpa_table *table;
    dpa_error err = {0};
    if (stream == NULL) return;
    const dpa_status status = dpa__table_from_stream(stream, opts, &table, &err);
    fuzz_check(status, &err);
    dpa__stream_close(stream);
    if (status != DPA_OK) return;
    for (size_t i = 0; i < dpa__table_columns(table); ++i) check_column(table, i);
    dpa__table_free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const text[] = {"id", "c1", NULL};
    dpa_table_opts opts;
    read_table(data, size, NULL);
    dpa__table_opts_init(&opts);
    opts.has_header = 0;
    opts.trim = 0;
    opts.separator = ' ';
    opts.comment = "#";
    opts.text = text;
    read_table(data, size, &opts);
    return 0;
}
