/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The questions a table answers. */
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

void dpa__table_opts_init(dpa_table_opts *opts) {
    *opts = (dpa_table_opts){.separator = ',', .has_header = 1, .trim = 1};
}

void dpa__table_free(dpa_table *table) {
    if (table == NULL) return;
    for (size_t i = 0; i < table->columns; ++i) {
        dpa__column *c = &table->column[i];
        free(c->name);
        free(c->numbers);
        free(c->codes);
        dpa__levels_free(&c->levels);
    }
    free(table->column);
    free(table);
}

size_t dpa__table_rows(const dpa_table *table) {
    return table->rows;
}

size_t dpa__table_columns(const dpa_table *table) {
    return table->columns;
}

static const dpa__column *column_at(const dpa_table *table, size_t column) {
    return column < table->columns ? &table->column[column] : NULL;
}

const char *dpa__table_name(const dpa_table *table, size_t column) {
    const dpa__column *c = column_at(table, column);
    return c != NULL ? c->name : NULL;
}

const char *dpa__table_sha256(const dpa_table *table) {
    return table->sha256;
}

ptrdiff_t dpa__table_find(const dpa_table *table, const char *name) {
    for (size_t i = 0; i < table->columns; ++i)
        if (strcmp(table->column[i].name, name) == 0) return (ptrdiff_t)i;
    return -1;
}

dpa_column_kind dpa__table_kind(const dpa_table *table, size_t column) {
    const dpa__column *c = column_at(table, column);
    return c != NULL ? c->kind : DPA_COLUMN_TEXT;
}

uint64_t dpa__table_text_line(const dpa_table *table, size_t column) {
    const dpa__column *c = column_at(table, column);
    return c != NULL ? c->text_line : 0;
}

const double *dpa__table_numbers(const dpa_table *table, size_t column) {
    const dpa__column *c = column_at(table, column);
    return c != NULL ? c->numbers : NULL;
}

const uint32_t *dpa__table_codes(const dpa_table *table, size_t column) {
    const dpa__column *c = column_at(table, column);
    return c != NULL ? c->codes : NULL;
}

size_t dpa__table_levels(const dpa_table *table, size_t column) {
    const dpa__column *c = column_at(table, column);
    return c != NULL ? c->levels.count : 0;
}

const char *dpa__table_level(const dpa_table *table, size_t column, size_t code) {
    const dpa__column *c = column_at(table, column);
    return c != NULL && code < c->levels.count ? dpa__levels_text(&c->levels, (uint32_t)code)
                                               : NULL;
}
