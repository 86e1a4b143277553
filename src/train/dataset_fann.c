/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FANN's text format: the numbers of rows, inputs and outputs, then the values of each row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "base/stream.h"
#include "train/dataset.h"

typedef struct text_reader {
    const char *path, *start, *at, *end;
} text_reader;

static void skip_blanks(text_reader *t) {
    t->at += strspn(t->at, " \t\r\n"); /* the text is NUL-terminated, so this stops */
}

static uint64_t line_of(const text_reader *t) {
    uint64_t line = 1;
    for (const char *c = t->start; c < t->at; ++c) line += *c == '\n';
    return line;
}

static dpa_status next_number(text_reader *t, double *out, dpa_error *err) {
    skip_blanks(t);
    const dpa__number result = dpa__number_parse(&t->at, t->end, out);
    if (result == DPA__NUMBER_OK && isfinite(*out)) return DPA_OK;
    char excerpt[DPA__EXCERPT_SIZE];
    return dpa__fail_line(err, DPA_BAD_INPUT, t->path, line_of(t), 0,
                          t->at == t->end ? "the file ends early: expected a number%s"
                                          : "expected a finite number, found \"%s\"",
                          t->at == t->end ? "" : dpa__excerpt(excerpt, t->at, t->end));
}

/* With one output the class is 1 if it is above one half; with several it is the largest. */
static dpa_status read_rows(text_reader *t, size_t outputs, dpa_dataset *data, dpa_error *err) {
    for (size_t r = 0; r < data->rows; ++r) {
        double v = 0.0, best = 0.0;
        for (size_t i = 0; i < data->features; ++i) {
            DPA_TRY(next_number(t, &v, err));
            data->x[r * data->features + i] = (float)v;
        }
        for (size_t k = 0; k < outputs; ++k) {
            DPA_TRY(next_number(t, &v, err));
            if (outputs == 1) data->label[r] = v > 0.5;
            if (outputs > 1 && (k == 0 || v > best)) {
                best = v;
                data->label[r] = (int32_t)k;
            }
        }
    }
    return DPA_OK;
}

static dpa_status read_fann(text_reader *t, dpa_dataset **out, dpa_error *err) {
    double head[3];
    for (int i = 0; i < 3; ++i) {
        DPA_TRY(next_number(t, &head[i], err));
        /* A number takes at least two characters, so a header cannot demand more memory than the
         * file could fill. */
        if (!(head[i] >= 1.0 && head[i] <= (double)(t->end - t->start) &&
              head[i] == floor(head[i])))
            return dpa__fail_line(err, DPA_BAD_INPUT, t->path, 1, 0,
                                  "expected three whole numbers: rows, inputs, outputs");
    }
    if (head[0] * (head[1] + head[2]) > (double)(t->end - t->start))
        return dpa__fail_line(err, DPA_BAD_INPUT, t->path, 1, 0,
                              "%g rows of %g + %g numbers are more than the file holds", head[0],
                              head[1], head[2]);
    const size_t outputs = (size_t)head[2];
    DPA_TRY(dpa__dataset_alloc((size_t)head[0], (dpa_shape){1, 1, (size_t)head[1]},
                               outputs > 1 ? outputs : 2, out, err));
    dpa_status status = read_rows(t, outputs, *out, err);
    skip_blanks(t);
    if (status == DPA_OK && t->at < t->end)
        status = dpa__fail_line(err, DPA_BAD_INPUT, t->path, line_of(t), 0,
                                "more numbers than the first line says");
    if (status != DPA_OK) {
        dpa_dataset_free(*out);
        *out = NULL;
    }
    return status;
}

dpa_status dpa__dataset_fann(const dpa_dataset_opts *opts, const dpa_dataset *like,
                             dpa_dataset **out, dpa_error *err) {
    char *bytes = NULL;
    size_t size;
    DPA_TRY(dpa__file_read_all(opts->path, &bytes, &size, err));
    text_reader t = {opts->path, bytes, bytes, bytes + size};
    dpa_status status = read_fann(&t, out, err);
    if (status == DPA_OK && like != NULL && (*out)->classes > like->classes) {
        dpa_dataset_free(*out);
        *out = NULL;
        status = dpa__fail_file(err, DPA_BAD_INPUT, opts->path,
                                "more outputs than in the training part");
    }
    free(bytes);
    return status;
}
