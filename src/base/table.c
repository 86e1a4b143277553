/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CSV by RFC 4180, strictly: a cell is quoted as a whole or not at all, "" stands for a quote, a
 * quoted cell may hold separators and line ends. Lines end with LF or CR LF.
 *
 * A table is read in two passes over the text in memory. The first takes every column as numeric
 * until a cell proves otherwise. The second, made only if there are text columns, gives their cells
 * codes. So "1.0" stays "1.0" in a column that turns out to be text in its last row, and a numeric
 * table needs memory only for its text and its doubles. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"

enum { FIRST_ROWS = 256 };

void dpa__table_opts_init(dpa_table_opts *opts) {
    *opts = (dpa_table_opts){.separator = ',', .has_header = 1};
}

void dpa__table_free(dpa_table *table) {
    if (table == NULL) return;
    for (size_t i = 0; i < table->columns; ++i) {
        dpa_column *c = &table->column[i];
        free(c->name);
        free(c->numbers);
        free(c->codes);
        dpa__levels_free(&c->levels);
    }
    free(table->column);
    free(table);
}

ptrdiff_t dpa__table_find(const dpa_table *table, const char *name) {
    for (size_t i = 0; i < table->columns; ++i)
        if (strcmp(table->column[i].name, name) == 0) return (ptrdiff_t)i;
    return -1;
}

/* ---- cells, one after the other ---- */

typedef struct csv {
    const char *name; /* of the file, for errors */
    const char *at, *end, *line_start;
    uint64_t line; /* from 1 */
    char separator;
    const char *comment; /* NULL: none */
    dpa__text scratch;   /* the last quoted cell */
} csv;

typedef struct csv_cell {
    const char *text; /* not NUL-terminated; valid until the next cell */
    size_t length;
    uint64_t line, column; /* where it starts */
    int last;              /* last of its row */
} csv_cell;

/* Returns to the position at which `mark` was copied from `c`. */
static void go_back(csv *c, const csv *mark) {
    const dpa__text scratch = c->scratch; /* it may have moved since `mark` */
    *c = *mark;
    c->scratch = scratch;
}

static uint64_t column_of(const csv *c, const char *p) {
    return (uint64_t)(p - c->line_start) + 1;
}

static int is_blank(const csv *c, char x) {
    return (x == ' ' || x == '\t') && x != c->separator;
}

static const char *skip_blanks(const csv *c, const char *p) {
    while (p < c->end && is_blank(c, *p)) ++p;
    return p;
}

/* The length of the line end at p: 0 if none is there; the end of the text is one of length 0. */
static int at_line_end(const csv *c, const char *p, size_t *length) {
    *length = 0;
    if (p < c->end && *p == '\r') ++*length;
    if (p + *length == c->end) return 1;
    if (p[*length] == '\n') {
        ++*length;
        return 1;
    }
    return 0;
}

static void next_line(csv *c, const char *start) {
    c->at = c->line_start = start;
    ++c->line;
}

/* Moves past the separator or line end at p, if there is one. */
static int end_cell(csv *c, const char *p, int *last) {
    size_t length;
    if (p < c->end && *p == c->separator) {
        c->at = p + 1;
        *last = 0;
        return 1;
    }
    if (!at_line_end(c, p, &length)) return 0;
    next_line(c, p + length);
    *last = 1;
    return 1;
}

static int at_comment(const csv *c) {
    if (c->comment == NULL || c->comment[0] == '\0') return 0;
    const size_t length = strlen(c->comment);
    return (size_t)(c->end - c->at) >= length && memcmp(c->at, c->comment, length) == 0;
}

/* Moves to the start of the next row, past comments; *more is 0 if there is none. Empty lines are
 * allowed only at the end. */
static dpa_status next_row(csv *c, int *more, dpa_error *err) {
    uint64_t empty = 0;
    while (c->at < c->end) {
        size_t length;
        const char *p = skip_blanks(c, c->at);
        if (at_comment(c)) {
            const char *newline = memchr(c->at, '\n', (size_t)(c->end - c->at));
            next_line(c, newline != NULL ? newline + 1 : c->end);
        } else if (at_line_end(c, p, &length)) {
            if (empty == 0) empty = c->line;
            next_line(c, p + length);
        } else {
            *more = 1;
            if (empty == 0) return DPA_OK;
            return dpa__fail_line(err, DPA_BAD_INPUT, c->name, empty, 0,
                                  "the line is empty, but rows follow it");
        }
    }
    *more = 0;
    return DPA_OK;
}

/* Fast path for a cell that is just a number: returns 1 and moves past it, or returns 0 and changes
 * nothing. */
static int take_number(csv *c, double *value, int *last) {
    const char *p = skip_blanks(c, c->at);
    if (dpa__number_parse(&p, c->end, value) != DPA__NUMBER_OK) return 0;
    return end_cell(c, skip_blanks(c, p), last);
}

/* Is the whole cell a number? */
static int is_number(const csv_cell *cell, double *value) {
    const char *p = cell->text, *const end = p + cell->length;
    return dpa__number_parse(&p, end, value) == DPA__NUMBER_OK && p == end;
}

static dpa_status plain_cell(csv *c, const char *start, csv_cell *cell, dpa_error *err) {
    const char *p = start;
    while (p < c->end && *p != c->separator && *p != '\n' && *p != '\r' && *p != '"') ++p;
    const char *stop = p;
    while (stop > start && is_blank(c, stop[-1])) --stop;
    cell->text = start;
    cell->length = (size_t)(stop - start);
    if (end_cell(c, p, &cell->last)) return DPA_OK;
    return dpa__fail_line(err, DPA_BAD_INPUT, c->name, c->line, column_of(c, p),
                          *p == '"' ? "found a quote inside a cell; quotes go around the whole "
                                      "cell, and inside they are doubled"
                                    : "found a carriage return inside a line");
}

/* The cell that opens with the quote at `open`. */
static dpa_status quoted_cell(csv *c, const char *open, csv_cell *cell, dpa_error *err) {
    const char *p = open + 1;
    c->scratch.length = 0;
    for (;;) {
        const char *quote = memchr(p, '"', (size_t)(c->end - p));
        if (quote == NULL)
            return dpa__fail_line(err, DPA_BAD_INPUT, c->name, cell->line, cell->column,
                                  "the quote that opens here is never closed");
        const int doubled = quote + 1 < c->end && quote[1] == '"';
        dpa__text_add_bytes(&c->scratch, p, (size_t)(quote - p) + (size_t)doubled);
        p = quote + 1 + doubled;
        if (!doubled) break;
    }
    if (c->scratch.failed) return dpa__fail(err, DPA_NO_MEMORY, "no memory for a cell");
    cell->text = c->scratch.data;
    cell->length = c->scratch.length;
    for (const char *q = open; (q = memchr(q, '\n', (size_t)(p - q))) != NULL;) next_line(c, ++q);
    if (end_cell(c, skip_blanks(c, p), &cell->last)) return DPA_OK;
    return dpa__fail_line(err, DPA_BAD_INPUT, c->name, c->line, column_of(c, p),
                          "found text after a closing quote; a separator or a new line is right");
}

static dpa_status next_cell(csv *c, csv_cell *cell, dpa_error *err) {
    const char *start = skip_blanks(c, c->at);
    cell->line = c->line;
    cell->column = column_of(c, start);
    return start < c->end && *start == '"' ? quoted_cell(c, start, cell, err)
                                           : plain_cell(c, start, cell, err);
}

/* ---- the table ---- */

typedef struct reader {
    dpa_table *table;
    csv cells;
    size_t capacity; /* rows */
} reader;

static dpa_status check_opts(const dpa_table_opts *opts, dpa_error *err) {
    if (opts->separator == DPA_ANY_SEPARATOR) return DPA_OK;
    if (opts->separator == '\0' || strchr(",;:|&!/\t ", opts->separator) == NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "separator 0x%02x; one of , ; : | & ! / tab or blank is right",
                         (unsigned)(unsigned char)opts->separator);
    return DPA_OK;
}

static char find_separator(const char *text, const char *end) {
    static const char known[3] = {',', ';', '\t'};
    size_t seen[3] = {0, 0, 0}, best = 0;
    for (; text < end && *text != '\n'; ++text)
        for (size_t k = 0; k < 3; ++k) seen[k] += *text == known[k];
    for (size_t k = 1; k < 3; ++k)
        if (seen[k] > seen[best]) best = k;
    return known[best];
}

/* ---- the header ---- */

static dpa_status add_column(dpa_table *table, size_t *capacity, const char *name, size_t length,
                             dpa_error *err) {
    dpa_column *grown = dpa__grown(table->column, table->columns, capacity, sizeof *grown, err);
    if (grown == NULL) return DPA_NO_MEMORY;
    table->column = grown;
    char *copy = dpa__malloc(length + 1, 1, err);
    if (copy == NULL) return DPA_NO_MEMORY;
    memcpy(copy, name, length);
    copy[length] = '\0';
    table->column[table->columns++] = (dpa_column){.name = copy};
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
    const csv start = r->cells;
    const uint64_t line = start.line;
    size_t capacity = 0, numbers = 0;
    csv_cell cell = {0};
    while (!cell.last) {
        double value;
        char made[32];
        DPA_TRY(next_cell(&r->cells, &cell, err));
        numbers += (size_t)is_number(&cell, &value);
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
        go_back(&r->cells, &start);
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
        dpa_column *c = &r->table->column[i];
        if (c->kind == DPA_COLUMN_TEXT) continue;
        double *block = dpa__realloc(c->numbers, rows, sizeof *block, err);
        if (block == NULL) return DPA_NO_MEMORY;
        c->numbers = block;
    }
    r->capacity = rows;
    return DPA_OK;
}

/* One cell of the first pass; a cell that is not a number makes the column text. */
static dpa_status read_number(reader *r, dpa_column *c, int *last, dpa_error *err) {
    double value;
    csv_cell cell;
    if (c->kind == DPA_COLUMN_NUMBER && take_number(&r->cells, &value, last)) {
        c->numbers[r->table->rows] = value;
        return DPA_OK;
    }
    DPA_TRY(next_cell(&r->cells, &cell, err));
    *last = cell.last;
    if (is_number(&cell, &value)) {
        if (c->kind == DPA_COLUMN_NUMBER) c->numbers[r->table->rows] = value;
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
    dpa_table *t = r->table;
    int more;
    DPA_TRY(next_row(&r->cells, &more, err));
    for (; more; ++t->rows) {
        const uint64_t line = r->cells.line;
        size_t found = 0;
        int last = 0;
        if (t->rows == r->capacity)
            DPA_TRY(resize(r, r->capacity > 0 ? 2 * r->capacity : FIRST_ROWS, err));
        for (; !last && found < t->columns; ++found)
            DPA_TRY(read_number(r, &t->column[found], &last, err));
        if (!last || found < t->columns) return fail_ragged(r, line, found + !last, err);
        DPA_TRY(next_row(&r->cells, &more, err));
    }
    return resize(r, t->rows, err);
}

/* ---- second pass: texts ---- */

static dpa_status code_rows(reader *r, dpa_error *err) {
    int more;
    for (size_t row = 0; row < r->table->rows; ++row) {
        DPA_TRY(next_row(&r->cells, &more, err));
        for (size_t i = 0; i < r->table->columns; ++i) {
            dpa_column *c = &r->table->column[i];
            csv_cell cell;
            DPA_TRY(next_cell(&r->cells, &cell, err));
            if (c->kind == DPA_COLUMN_TEXT)
                DPA_TRY(dpa__levels_code(&c->levels, cell.text, cell.length, &c->codes[row], err));
        }
    }
    return DPA_OK;
}

static dpa_status read_texts(reader *r, dpa_error *err) {
    const dpa_table *t = r->table;
    size_t texts = 0;
    for (size_t i = 0; i < t->columns; ++i) {
        if (t->column[i].kind == DPA_COLUMN_NUMBER) continue;
        t->column[i].codes = DPA_NEW_ARRAY(uint32_t, t->rows, err);
        if (t->column[i].codes == NULL) return DPA_NO_MEMORY;
        ++texts;
    }
    if (texts > 0) DPA_TRY(code_rows(r, err));
    for (size_t i = 0; i < t->columns; ++i)
        if (t->column[i].kind == DPA_COLUMN_TEXT)
            DPA_TRY(dpa__levels_sort(&t->column[i].levels, t->column[i].codes, t->rows, err));
    return DPA_OK;
}

/* ---- both ---- */

static dpa_status read_cells(reader *r, const dpa_table_opts *opts, dpa_error *err) {
    int more;
    DPA_TRY(next_row(&r->cells, &more, err));
    if (!more)
        return dpa__fail_file(err, DPA_BAD_INPUT, r->cells.name,
                              "the file is empty; a header and rows are right");
    DPA_TRY(read_header(r, opts, err));
    mark_text(r->table, opts);
    const csv body = r->cells;
    DPA_TRY(read_numbers(r, err));
    if (r->table->rows == 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, r->cells.name,
                              "the file has a header but no rows");
    go_back(&r->cells, &body);
    return read_texts(r, err);
}

static dpa_status read_text(const char *name, const char *text, size_t count,
                            const dpa_table_opts *opts, dpa_table *table, dpa_error *err) {
    const size_t mark = dpa__utf8_mark(text, count);
    const char *const start = text + mark, *const end = text + count;
    DPA_TRY(dpa__utf8_check(name, text, count, err));
    reader r = {table, {name, start, end, start, 1, opts->separator, opts->comment, {0}}, 0};
    if (opts->separator == DPA_ANY_SEPARATOR) r.cells.separator = find_separator(start, end);
    const dpa_status status = read_cells(&r, opts, err);
    dpa__text_free(&r.cells.scratch);
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
