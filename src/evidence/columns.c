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

ptrdiff_t dpa__columns_find(const dpa__columns *c, const char *name) {
    const ptrdiff_t exact = dpa__table_find(c->table, name);
    if (exact >= 0) return exact;
    for (size_t i = 0; i < c->table->columns; ++i)
        if (strcasecmp(c->table->column[i].name, name) == 0) return (ptrdiff_t)i;
    return -1;
}

static dpa_status need(const dpa__columns *c, const char *name, const dpa_column **out,
                       dpa_error *err) {
    const ptrdiff_t found = dpa__columns_find(c, name);
    if (found >= 0) {
        *out = &c->table->column[found];
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
static const char *first_text(const dpa_column *column, size_t rows) {
    for (size_t i = 0; i < rows; ++i) {
        double value;
        const char *text = dpa__column_text(column, i);
        if (!is_number(text, &value)) return text;
    }
    return "text";
}

static dpa_status take_numbers(dpa__columns *c, const char *name, dpa_error *err) {
    const dpa_column *column = NULL;
    DPA_TRY(need(c, name, &column, err));
    c->value = column->numbers;
    if (c->value != NULL) return DPA_OK;
    const char *text = first_text(column, c->table->rows);
    char excerpt[DPA__EXCERPT_SIZE];
    return dpa__fail_line(
        err, DPA_BAD_INPUT, c->path, column->text_line, 0,
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

static dpa_status take_answers(dpa__columns *c, const char *name, dpa_error *err) {
    const dpa_column *column = NULL;
    DPA_TRY(need(c, name, &column, err));
    c->answer = DPA_NEW_ARRAY(uint8_t, c->table->rows, err);
    if (c->answer == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < c->table->rows; ++i) {
        const double *number = column->numbers != NULL ? &column->numbers[i] : NULL;
        const char *text = number == NULL ? dpa__column_text(column, i) : NULL;
        const int answer = text == NULL ? answer_of_number(*number) : answer_of_text(text);
        c->answer[i] = answer > 0;
        if (answer >= 0) continue;
        char shown[32];
        if (text == NULL) (void)dpa__print(shown, sizeof shown, "%g", *number);
        if (text == NULL) text = shown;
        return dpa__fail_line(err, DPA_BAD_INPUT, c->path, i + 2, 0,
                              "%s is %s%.40s%s; it must be 0 or 1 (or false or true, no or yes)",
                              name, text[0] != '\0' ? "'" : "empty", text,
                              text[0] != '\0' ? "'" : "");
    }
    return DPA_OK;
}

dpa_status dpa__columns_open(dpa__columns *c, const char *value, const char *answer,
                             const char *instead, const char *const *text, dpa_error *err) {
    dpa_table_opts opts;
    dpa__table_opts_init(&opts);
    opts.separator = DPA_ANY_SEPARATOR;
    opts.text = text;
    DPA_TRY(dpa__table_read(c->path, &opts, &c->table, err));
    if (instead != NULL && dpa__columns_find(c, instead) >= 0) answer = instead;
    dpa_status status = take_numbers(c, value, err);
    if (status == DPA_OK) status = take_answers(c, answer, err);
    if (status != DPA_OK) dpa__columns_close(c);
    return status;
}

void dpa__columns_close(dpa__columns *c) {
    free(c->answer);
    dpa__table_free(c->table);
}

dpa_status dpa__columns_groups(const dpa__columns *c, const char *name, const dpa_column **out,
                               char (**names)[64], dpa_error *err) {
    const ptrdiff_t at = dpa__table_find(c->table, name);
    if (at < 0)
        return dpa__fail_line(err, DPA_BAD_INPUT, c->path, 1, 0, "no column '%s' to group by",
                              name);
    *out = &c->table->column[at];
    *names = dpa__calloc((*out)->levels.count, sizeof **names, err);
    if (*names == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < (*out)->levels.count; ++i)
        (void)snprintf((*names)[i], sizeof **names, "%s", dpa__levels_text(&(*out)->levels, i));
    return DPA_OK;
}
