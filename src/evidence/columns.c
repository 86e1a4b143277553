/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "evidence/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"

dpa_status dpa__columns_read(dpa__columns *c, const char *const *text, dpa_error *err) {
    dpa_table_opts opts;
    dpa__table_opts_init(&opts);
    opts.separator = DPA_ANY_SEPARATOR;
    opts.text = text;
    return dpa__table_read(c->path, &opts, &c->table, err);
}

ptrdiff_t dpa__columns_find(const dpa__columns *c, const char *name) {
    const ptrdiff_t exact = dpa__table_find(c->table, name);
    if (exact >= 0) return exact;
    for (size_t i = 0; i < c->table->columns; ++i)
        if (strcasecmp(c->table->column[i].name, name) == 0) return (ptrdiff_t)i;
    return -1;
}

static dpa_status need(const dpa__columns *c, const char *name, size_t *out, dpa_error *err) {
    const ptrdiff_t found = dpa__columns_find(c, name);
    if (found >= 0) {
        *out = (size_t)found;
        return DPA_OK;
    }
    dpa__text names = {0};
    for (size_t i = 0; i < c->table->columns && names.length < 200; ++i)
        dpa__text_printf(&names, "%s%.60s", i > 0 ? ", " : "", c->table->column[i].name);
    const dpa_status status = dpa__fail_line(err, DPA_BAD_INPUT, c->path, 1, 0,
                                             "no column '%s' among %s; the header %s is right",
                                             name, names.failed ? "them" : names.data, c->header);
    dpa__text_free(&names);
    return status;
}

static int is_number(const char *text, double *value) {
    const char *end = text + strlen(text);
    return dpa__number_parse(&text, end, value) == DPA__NUMBER_OK && text == end;
}

/* The first text that keeps a column from being numeric. */
static const char *first_text(const dpa__columns *c, size_t column) {
    const uint32_t *codes = c->table->column[column].codes;
    for (size_t i = 0; i < c->table->rows; ++i) {
        double value;
        const char *text = dpa__levels_text(&c->table->column[column].levels, codes[i]);
        if (!is_number(text, &value)) return text;
    }
    return "text";
}

dpa_status dpa__columns_numbers(const dpa__columns *c, const char *name, const double **out,
                                dpa_error *err) {
    size_t column = 0;
    DPA_TRY(need(c, name, &column, err));
    *out = c->table->column[column].numbers;
    if (*out != NULL) return DPA_OK;
    const char *text = first_text(c, column);
    char excerpt[DPA__EXCERPT_SIZE];
    return dpa__fail_line(
        err, DPA_BAD_INPUT, c->path, c->table->column[column].text_line, 0,
        "column '%s': found %s%s%s; a number is right%s%s", name, text[0] != '\0' ? "'" : "nothing",
        dpa__excerpt(excerpt, text, text + strlen(text)), text[0] != '\0' ? "'" : "",
        c->missing != NULL ? "; " : "", c->missing != NULL ? c->missing : "");
}

/* 0 or 1; -1 if the number is neither. */
static int answer_of_number(double value) {
    return value == 0.0 ? 0 : value == 1.0 ? 1 : -1;
}

static int answer_of_text(const char *text) {
    static const char *const words[2][3] = {{"false", "no", "f"}, {"true", "yes", "t"}};
    double value;
    if (is_number(text, &value)) return answer_of_number(value);
    for (int answer = 0; answer < 2; ++answer)
        for (size_t i = 0; i < 3; ++i)
            if (strcasecmp(text, words[answer][i]) == 0) return answer;
    return -1;
}

static dpa_status no_answer(const dpa__columns *c, const char *name, size_t row, const char *text,
                            dpa_error *err) {
    return dpa__fail_line(err, DPA_BAD_INPUT, c->path, row + 2, 0,
                          "%s is %s%.40s%s; it must be 0 or 1 (or false or true, no or yes)", name,
                          text[0] != '\0' ? "'" : "empty", text, text[0] != '\0' ? "'" : "");
}

dpa_status dpa__columns_answers(const dpa__columns *c, const char *name, uint8_t **out,
                                dpa_error *err) {
    size_t column = 0;
    DPA_TRY(need(c, name, &column, err));
    const size_t rows = c->table->rows;
    const double *numbers = c->table->column[column].numbers;
    const uint32_t *codes = c->table->column[column].codes;
    dpa_status status = DPA_OK;
    *out = DPA_NEW_ARRAY(uint8_t, rows, err);
    if (*out == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < rows && status == DPA_OK; ++i) {
        const char *text =
            numbers == NULL ? dpa__levels_text(&c->table->column[column].levels, codes[i]) : NULL;
        const int answer = text == NULL ? answer_of_number(numbers[i]) : answer_of_text(text);
        (*out)[i] = answer > 0;
        if (answer >= 0) continue;
        char shown[32];
        if (text == NULL) (void)dpa__print(shown, sizeof shown, "%g", numbers[i]);
        status = no_answer(c, name, i, text != NULL ? text : shown, err);
    }
    if (status != DPA_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}
