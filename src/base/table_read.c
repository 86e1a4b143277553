/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a table in two passes over the text in memory. The first takes every column as numeric
 * until a cell proves otherwise. The second, made only if there are text columns, gives their cells
 * codes. So "1.0" stays "1.0" in a column that turns out to be text in its last row, and a numeric
 * table needs memory only for its text and its doubles. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cells.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"
#include "base/utf8.h"

enum { FIRST_ROWS = 256 };

typedef struct reader {
    dpa_table *table;
    dpa__cells cells;
    size_t rows, capacity;
} reader;

static dpa_status check_opts(const dpa_table_opts *opts, dpa_error *err) {
    if (opts->separator == DPA_ANY_SEPARATOR) return DPA_OK;
    if (opts->separator == '\0' || strchr(",;:|&!/\t ", opts->separator) == NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "separator 0x%02x; one of , ; : | & ! / tab or blank is right",
                         (unsigned)(unsigned char)opts->separator);
    return DPA_OK;
}

static char find_separator(const char *text, size_t count) {
    static const char known[3] = {',', ';', '\t'};
    size_t seen[3] = {0, 0, 0}, best = 0;
    for (size_t i = 0; i < count && text[i] != '\n'; ++i)
        for (size_t k = 0; k < 3; ++k) seen[k] += text[i] == known[k];
    for (size_t k = 1; k < 3; ++k)
        if (seen[k] > seen[best]) best = k;
    return known[best];
}

/* ---- the header ---- */

static dpa_status add_column(dpa_table *table, size_t *capacity, const char *name, size_t length,
                             dpa_error *err) {
    if (table->columns == *capacity) {
        const size_t more = *capacity > 0 ? 2 * *capacity : 8;
        dpa__column *grown = dpa__realloc(table->column, more, sizeof *grown, err);
        if (grown == NULL) return DPA_NO_MEMORY;
        table->column = grown;
        *capacity = more;
    }
    char *copy = dpa__malloc(length + 1, 1, err);
    if (copy == NULL) return DPA_NO_MEMORY;
    memcpy(copy, name, length);
    copy[length] = '\0';
    table->column[table->columns++] = (dpa__column){.name = copy};
    return DPA_OK;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static dpa_status check_names(const reader *r, uint64_t line, dpa_error *err) {
    const dpa_table *t = r->table;
    const char *twice = NULL;
    const char **names = dpa__malloc(t->columns, sizeof *names, err);
    if (names == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < t->columns; ++i) names[i] = t->column[i].name;
    qsort(names, t->columns, sizeof *names, by_name);
    for (size_t i = 1; i < t->columns && twice == NULL; ++i)
        if (strcmp(names[i - 1], names[i]) == 0) twice = names[i];
    free(names);
    if (twice == NULL) return DPA_OK;
    return dpa__fail_line(err, DPA_BAD_INPUT, r->cells.name, line, 0,
                          "two columns are called '%.100s'", twice);
}

/* The first row determines the columns: their names or, without a header, just their number. */
static dpa_status read_header(reader *r, const dpa_table_opts *opts, dpa_error *err) {
    const dpa__cells start = r->cells;
    const uint64_t line = start.line;
    size_t capacity = 0, numbers = 0;
    dpa__cell cell = {0};
    while (!cell.last) {
        double value;
        char made[32];
        DPA_TRY(dpa__cells_next(&r->cells, &cell, err));
        numbers += (size_t)dpa__cell_number(&cell, &value);
        if (!opts->has_header) {
            cell.length = (size_t)snprintf(made, sizeof made, "c%zu", r->table->columns + 1);
            cell.text = made;
        } else if (cell.length == 0) {
            return dpa__fail_line(err, DPA_BAD_INPUT, start.name, cell.line, cell.column,
                                  "the name of column %zu is empty", r->table->columns + 1);
        }
        DPA_TRY(add_column(r->table, &capacity, cell.text, cell.length, err));
    }
    if (!opts->has_header) { /* the first row is data too: read it again */
        dpa__cells_back(&r->cells, &start);
        return DPA_OK;
    }
    if (numbers == r->table->columns)
        return dpa__fail_line(err, DPA_BAD_INPUT, start.name, line, 0,
                              "the first line holds only numbers; a header that names the columns "
                              "is right");
    return check_names(r, line, err);
}

static void mark_text(dpa_table *table, const dpa_table_opts *opts) {
    for (size_t i = 0; opts->text != NULL && opts->text[i] != NULL; ++i) {
        const ptrdiff_t found = dpa__table_find(table, opts->text[i]);
        if (found >= 0) table->column[found].kind = DPA_COLUMN_TEXT;
    }
}

/* ---- first pass: numbers ---- */

static dpa_status resize(reader *r, size_t rows, dpa_error *err) {
    for (size_t i = 0; i < r->table->columns; ++i) {
        dpa__column *c = &r->table->column[i];
        if (c->kind == DPA_COLUMN_TEXT) continue;
        double *block = dpa__realloc(c->numbers, rows, sizeof *block, err);
        if (block == NULL) return DPA_NO_MEMORY;
        c->numbers = block;
    }
    r->capacity = rows;
    return DPA_OK;
}

/* One cell of the first pass; a cell that is not a number makes the column text. */
static dpa_status read_number(reader *r, dpa__column *c, int *last, dpa_error *err) {
    double value;
    dpa__cell cell;
    if (c->kind == DPA_COLUMN_NUMBER && dpa__cells_number(&r->cells, &value, last)) {
        c->numbers[r->rows] = value;
        return DPA_OK;
    }
    DPA_TRY(dpa__cells_next(&r->cells, &cell, err));
    *last = cell.last;
    if (dpa__cell_number(&cell, &value)) {
        if (c->kind == DPA_COLUMN_NUMBER) c->numbers[r->rows] = value;
        return DPA_OK;
    }
    if (c->text_line == 0) c->text_line = cell.line;
    c->kind = DPA_COLUMN_TEXT;
    free(c->numbers);
    c->numbers = NULL;
    return DPA_OK;
}

static dpa_status fail_ragged(const reader *r, uint64_t line, size_t found, dpa_error *err) {
    const size_t columns = r->table->columns;
    return dpa__fail_line(err, DPA_BAD_INPUT, r->cells.name, line, 0,
                          "found %s%zu cell%s; %zu, as in the first row, are right",
                          found > columns ? "more than " : "", found > columns ? columns : found,
                          found == 1 ? "" : "s", columns);
}

static dpa_status read_numbers(reader *r, dpa_error *err) {
    int more;
    DPA_TRY(dpa__cells_row(&r->cells, &more, err));
    for (; more; ++r->rows) {
        const uint64_t line = r->cells.line;
        size_t found = 0;
        int last = 0;
        if (r->rows == r->capacity)
            DPA_TRY(resize(r, r->capacity > 0 ? 2 * r->capacity : FIRST_ROWS, err));
        for (; !last && found < r->table->columns; ++found)
            DPA_TRY(read_number(r, &r->table->column[found], &last, err));
        if (!last || found < r->table->columns) return fail_ragged(r, line, found + !last, err);
        DPA_TRY(dpa__cells_row(&r->cells, &more, err));
    }
    r->table->rows = r->rows;
    return resize(r, r->rows, err);
}

/* ---- second pass: texts ---- */

static dpa_status code_cell(dpa__column *c, const dpa__cell *cell, size_t row, dpa_error *err) {
    if (c->kind == DPA_COLUMN_NUMBER) return DPA_OK;
    return dpa__levels_code(&c->levels, cell->text, cell->length, &c->codes[row], err);
}

static dpa_status code_rows(reader *r, dpa_error *err) {
    int more;
    for (size_t row = 0; row < r->rows; ++row) {
        DPA_TRY(dpa__cells_row(&r->cells, &more, err));
        for (size_t i = 0; i < r->table->columns; ++i) {
            dpa__cell cell;
            DPA_TRY(dpa__cells_next(&r->cells, &cell, err));
            DPA_TRY(code_cell(&r->table->column[i], &cell, row, err));
        }
    }
    return DPA_OK;
}

static dpa_status read_texts(reader *r, dpa_error *err) {
    size_t texts = 0;
    for (size_t i = 0; i < r->table->columns; ++i) {
        dpa__column *c = &r->table->column[i];
        if (c->kind == DPA_COLUMN_NUMBER) continue;
        c->codes = dpa__malloc(r->rows, sizeof *c->codes, err);
        if (c->codes == NULL) return DPA_NO_MEMORY;
        ++texts;
    }
    if (texts == 0) return DPA_OK;
    DPA_TRY(code_rows(r, err));
    for (size_t i = 0; i < r->table->columns; ++i) {
        dpa__column *c = &r->table->column[i];
        if (c->kind == DPA_COLUMN_TEXT)
            DPA_TRY(dpa__levels_sort(&c->levels, c->codes, r->rows, err));
    }
    return DPA_OK;
}

/* ---- both ---- */

static dpa_status read_cells(reader *r, const dpa_table_opts *opts, dpa_error *err) {
    int more;
    DPA_TRY(dpa__cells_row(&r->cells, &more, err));
    if (!more)
        return dpa__fail_file(err, DPA_BAD_INPUT, r->cells.name,
                              "the file is empty; a header and rows are right");
    DPA_TRY(read_header(r, opts, err));
    mark_text(r->table, opts);
    const dpa__cells body = r->cells;
    DPA_TRY(read_numbers(r, err));
    if (r->rows == 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, r->cells.name,
                              "the file has a header but no rows");
    dpa__cells_back(&r->cells, &body);
    return read_texts(r, err);
}

static dpa_status read_text(const char *name, const char *text, size_t count,
                            const dpa_table_opts *opts, dpa_table *table, dpa_error *err) {
    reader r = {.table = table};
    const size_t mark = dpa__utf8_mark(text, count);
    DPA_TRY(dpa__utf8_check(name, text, count, err));
    dpa__cells_init(&r.cells, name, text + mark, count - mark, opts);
    if (opts->separator == DPA_ANY_SEPARATOR)
        r.cells.separator = find_separator(text + mark, count - mark);
    const dpa_status status = read_cells(&r, opts, err);
    dpa__cells_free(&r.cells);
    return status;
}

/* For a binary file the error names its kind instead of its first strange byte. */
static dpa_status refuse_binary(dpa__stream *stream, dpa_error *err) {
    size_t count;
    DPA_TRY(dpa__stream_need(stream, 8, err));
    const unsigned char *bytes = dpa__stream_window(stream, &count);
    if (dpa__npz_matches(bytes, count)) return dpa__npz_refuse(stream, err);
    const char *kind = dpa__npy_matches(bytes, count)   ? "NPY"
                       : dpa__idx_matches(bytes, count) ? "IDX"
                                                        : NULL;
    if (kind == NULL) return DPA_OK;
    return dpa__fail_file(
        err, DPA_BAD_INPUT, dpa__stream_name(stream),
        "found an %s file, which is one list; a CSV table is right, or a file for "
        "each of the two lists",
        kind);
}

dpa_status dpa__table_from_stream(dpa__stream *stream, const dpa_table_opts *opts, dpa_table **out,
                                  dpa_error *err) {
    dpa_table_opts defaults;
    char *text = NULL;
    size_t count = 0;
    *out = NULL;
    dpa__table_opts_init(&defaults);
    if (opts == NULL) opts = &defaults;
    DPA_TRY(check_opts(opts, err));
    dpa_table *table = DPA_NEW(dpa_table, err);
    if (table == NULL) return DPA_NO_MEMORY;
    dpa_status status = refuse_binary(stream, err);
    if (status == DPA_OK) status = dpa__stream_read_all(stream, &text, &count, err);
    if (status == DPA_OK) status = dpa__stream_finish(stream, "the text", table->sha256, err);
    if (status == DPA_OK)
        status = read_text(dpa__stream_name(stream), text, count, opts, table, err);
    free(text);
    if (status != DPA_OK)
        dpa__table_free(table);
    else
        *out = table;
    return status;
}

dpa_status dpa__table_read(const char *path, const dpa_table_opts *opts, dpa_table **out,
                           dpa_error *err) {
    dpa__stream *stream;
    *out = NULL;
    DPA_TRY(dpa__stream_open(path, &stream, err));
    const dpa_status status = dpa__table_from_stream(stream, opts, out, err);
    dpa__stream_close(stream);
    return status;
}
