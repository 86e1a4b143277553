/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text with one number per line. Whole lines are parsed in the stream's window into a block that
 * doubles, so that memory holds the numbers but no copy of the text. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"

enum { LONGEST_LINE = 4096 };

typedef struct numbers {
    const dpa__stream *stream;
    double *values;
    size_t count, capacity;
    uint64_t line;  /* of the line being parsed, from 1 */
    uint64_t blank; /* the first empty line of those just passed; 0: none */
} numbers;

static const char *skip_blanks(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\t')) ++p;
    return p;
}

static int at_line_end(const char *p, const char *end) {
    if (p < end && *p == '\r') ++p;
    return p == end || *p == '\n';
}

static const char *problem_of(dpa__number result) {
    return result == DPA__NUMBER_LARGE  ? "is too large for a double"
           : result == DPA__NUMBER_LONG ? "has more than 1000 characters"
                                        : "is not a number";
}

static dpa_status fail_number(const numbers *n, const char *start, const char *p, const char *end,
                              dpa__number result, dpa_error *err) {
    char found[DPA__EXCERPT_SIZE];
    const char *const name = dpa__stream_name(n->stream);
    const uint64_t column = (uint64_t)(p - start) + 1;
    (void)dpa__excerpt(found, p, end);
    if (result != DPA__NUMBER_OK)
        return dpa__fail_line(err, DPA_BAD_INPUT, name, n->line, column,
                              "'%s' %s; one number a line is right", found, problem_of(result));
    return dpa__fail_line(err, DPA_BAD_INPUT, name, n->line, column,
                          "found '%s' after the number; one number a line is right", found);
}

/* Parses one line at *at and moves *at to the next. */
static dpa_status parse_line(numbers *n, const char **at, const char *end, dpa_error *err) {
    const char *const start = *at, *p = skip_blanks(start, end);
    double value;
    if (at_line_end(p, end)) {
        if (n->blank == 0) n->blank = n->line;
    } else {
        if (n->blank > 0)
            return dpa__fail_line(err, DPA_BAD_INPUT, dpa__stream_name(n->stream), n->blank, 0,
                                  "the line is empty, but numbers follow it");
        const dpa__number result = dpa__number_parse(&p, end, &value);
        if (result != DPA__NUMBER_OK) return fail_number(n, start, p, end, result, err);
        p = skip_blanks(p, end);
        if (!at_line_end(p, end)) return fail_number(n, start, p, end, result, err);
        double *grown = dpa__grown(n->values, n->count, &n->capacity, sizeof *grown, err);
        if (grown == NULL) return DPA_NO_MEMORY;
        n->values = grown;
        n->values[n->count++] = value;
    }
    if (p < end && *p == '\r') ++p;
    *at = p < end ? p + 1 : p;
    ++n->line;
    return DPA_OK;
}

/* How many bytes of the window are complete lines. */
static dpa_status whole_lines(const numbers *n, const char *text, size_t count, int end,
                              size_t *whole, dpa_error *err) {
    const char *last = count > 0 ? memrchr(text, '\n', count) : NULL;
    *whole = end ? count : last != NULL ? (size_t)(last - text) + 1 : 0;
    if (count - *whole > LONGEST_LINE)
        return dpa__fail_line(err, DPA_BAD_INPUT, dpa__stream_name(n->stream), n->line, 0,
                              "a line has more than %d characters; one number a line is right",
                              LONGEST_LINE);
    return DPA_OK;
}

static dpa_status parse_all(numbers *n, dpa__stream *stream, dpa_error *err) {
    size_t count, whole;
    int end = 0;
    DPA_TRY(dpa__stream_need(stream, 3, err));
    const char *start = (const char *)dpa__stream_window(stream, &count);
    dpa__stream_skip(stream, dpa__utf8_mark(start, count));
    while (!end) {
        DPA_TRY(dpa__stream_more(stream, &end, err));
        const char *text = (const char *)dpa__stream_window(stream, &count);
        DPA_TRY(whole_lines(n, text, count, end, &whole, err));
        const char *const stop = text + whole;
        while (text < stop) DPA_TRY(parse_line(n, &text, stop, err));
        dpa__stream_skip(stream, whole);
    }
    if (n->count == 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, dpa__stream_name(stream),
                              "the file is empty; one number a line is right");
    return DPA_OK;
}

dpa_status dpa__numbers_read(dpa__stream *stream, dpa_array *out, dpa_error *err) {
    numbers n = {.stream = stream, .line = 1};
    const dpa_status status = parse_all(&n, stream, err);
    out->data = n.values; /* freed by the caller on failure */
    if (status != DPA_OK) return status;
    double *exact = dpa__realloc(n.values, n.count, sizeof *exact, err);
    if (exact == NULL) return DPA_NO_MEMORY;
    out->data = exact;
    out->dtype = DPA_F64;
    out->ndim = 1;
    out->shape[0] = out->count = n.count;
    return dpa__stream_finish(stream, "the text", out->sha256, err);
}
