/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CSV under several options. What was read must be a table: as many levels as codes point to, in
 * order. */
#include "fuzz.h"

#include <string.h>

#include "base/array.h"

static void check_column(const dpa_table *t, size_t column) {
    const dpa_column *c = &t->column[column];
    volatile double sum = 0;
    if (dpa__table_find(t, c->name) != (ptrdiff_t)column) abort();
    if (c->kind == DPA_COLUMN_NUMBER) {
        for (size_t i = 0; i < t->rows; ++i) sum = sum + c->numbers[i];
        return;
    }
    for (size_t i = 0; i < t->rows; ++i)
        if (c->codes[i] >= c->levels.count) abort();
    for (size_t i = 1; i < c->levels.count; ++i)
        if (strcmp(dpa__levels_text(&c->levels, i - 1), dpa__levels_text(&c->levels, i)) >= 0)
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
    for (size_t i = 0; i < table->columns; ++i) check_column(table, i);
    dpa__table_free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const text[] = {"id", "c1", NULL};
    dpa_table_opts opts;
    read_table(data, size, NULL);
    dpa__table_opts_init(&opts);
    opts.has_header = 0;
    opts.separator = ' ';
    opts.comment = "#";
    opts.text = text;
    read_table(data, size, &opts);
    return 0;
}
