/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CSV by RFC 4180, strictly: a cell is quoted as a whole or not at all, "" stands for a quote, a
 * quoted cell may hold separators and line ends. Lines end with LF or CR LF. */
#include "base/cells.h"

#include <string.h>

#include "base/error.h"
#include "base/number.h"

void dpa__cells_init(dpa__cells *c, const char *name, const char *text, size_t count,
                     const dpa_table_opts *opts) {
    *c = (dpa__cells){.name = name,
                      .at = text,
                      .end = text + count,
                      .line_start = text,
                      .line = 1,
                      .separator = opts->separator,
                      .trim = opts->trim,
                      .comment = opts->comment};
}

void dpa__cells_free(dpa__cells *c) {
    dpa__text_free(&c->scratch);
}

void dpa__cells_back(dpa__cells *c, const dpa__cells *mark) {
    const dpa__text scratch = c->scratch; /* it may have moved since `mark` */
    *c = *mark;
    c->scratch = scratch;
}

static uint64_t column_of(const dpa__cells *c, const char *p) {
    return (uint64_t)(p - c->line_start) + 1;
}

static int is_blank(const dpa__cells *c, char x) {
    return (x == ' ' || x == '\t') && x != c->separator;
}

static const char *skip_blanks(const dpa__cells *c, const char *p) {
    while (p < c->end && is_blank(c, *p)) ++p;
    return p;
}

/* The length of the line end at p: 0 if none is there; the end of the text is one of length 0. */
static int at_line_end(const dpa__cells *c, const char *p, size_t *length) {
    *length = 0;
    if (p < c->end && *p == '\r') ++*length;
    if (p + *length == c->end) return 1;
    if (p[*length] == '\n') {
        ++*length;
        return 1;
    }
    return 0;
}

static void next_line(dpa__cells *c, const char *start) {
    c->at = c->line_start = start;
    ++c->line;
}

/* Moves past the separator or line end at p, if there is one. */
static int end_cell(dpa__cells *c, const char *p, int *last) {
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

static int at_comment(const dpa__cells *c) {
    if (c->comment == NULL || c->comment[0] == '\0') return 0;
    const size_t length = strlen(c->comment);
    return (size_t)(c->end - c->at) >= length && memcmp(c->at, c->comment, length) == 0;
}

dpa_status dpa__cells_row(dpa__cells *c, int *more, dpa_error *err) {
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

int dpa__cells_number(dpa__cells *c, double *value, int *last) {
    const char *p = c->trim ? skip_blanks(c, c->at) : c->at;
    if (dpa__number_parse(&p, c->end, value) != DPA__NUMBER_OK) return 0;
    if (c->trim) p = skip_blanks(c, p);
    return end_cell(c, p, last);
}

int dpa__cell_number(const dpa__cell *cell, double *value) {
    const char *p = cell->text, *const end = p + cell->length;
    return dpa__number_parse(&p, end, value) == DPA__NUMBER_OK && p == end;
}

static dpa_status plain_cell(dpa__cells *c, const char *start, dpa__cell *cell, dpa_error *err) {
    const char *p = start;
    while (p < c->end && *p != c->separator && *p != '\n' && *p != '\r' && *p != '"') ++p;
    const char *stop = p;
    while (c->trim && stop > start && is_blank(c, stop[-1])) --stop;
    cell->text = start;
    cell->length = (size_t)(stop - start);
    if (end_cell(c, p, &cell->last)) return DPA_OK;
    return dpa__fail_line(err, DPA_BAD_INPUT, c->name, c->line, column_of(c, p),
                          *p == '"' ? "found a quote inside a cell; quotes go around the whole "
                                      "cell, and inside they are doubled"
                                    : "found a carriage return inside a line");
}

/* The cell that opens with the quote at `open`. */
static dpa_status quoted_cell(dpa__cells *c, const char *open, dpa__cell *cell, dpa_error *err) {
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
    if (end_cell(c, c->trim ? skip_blanks(c, p) : p, &cell->last)) return DPA_OK;
    return dpa__fail_line(err, DPA_BAD_INPUT, c->name, c->line, column_of(c, p),
                          "found text after a closing quote; a separator or a new line is right");
}

dpa_status dpa__cells_next(dpa__cells *c, dpa__cell *cell, dpa_error *err) {
    const char *start = c->trim ? skip_blanks(c, c->at) : c->at;
    cell->line = c->line;
    cell->column = column_of(c, start);
    return start < c->end && *start == '"' ? quoted_cell(c, start, cell, err)
                                           : plain_cell(c, start, cell, err);
}
