/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns tables into features: numeric columns as they are, text columns one-hot. What was inferred
 * is kept as text for people (dpa_dataset_schema). */
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "train/dataset.h"

enum { MAX_VALUES = 1000 };

static int is_listed(const char *const *list, const char *name) {
    for (; list != NULL && *list != NULL; ++list)
        if (strcmp(*list, name) == 0) return 1;
    return 0;
}

/* Every column that the options list must exist. */
static dpa_status check_listed(const dpa_table *table, const char *const *list, const char *path,
                               dpa_error *err) {
    for (; list != NULL && *list != NULL; ++list)
        if (dpa__table_find(table, *list) < 0)
            return dpa__fail_file(err, DPA_BAD_INPUT, path, "there is no column \"%.60s\"", *list);
    return DPA_OK;
}

/* Makes the encoder from the training part. */
static dpa_status infer(const dpa_table *table, size_t label, const dpa_dataset_opts *opts,
                        dpa__encoder *encoder, dpa_error *err) {
    DPA_TRY(check_listed(table, opts->ignore, opts->path, err));
    DPA_TRY(check_listed(table, opts->categorical, opts->path, err));
    encoder->column = dpa__calloc(dpa__table_columns(table), sizeof(dpa__feature), err);
    if (encoder->column == NULL) return DPA_NO_MEMORY;
    size_t features = 0;
    for (size_t c = 0; c < dpa__table_columns(table); ++c) {
        const char *name = dpa__table_name(table, c);
        if (c == label || is_listed(opts->ignore, name)) continue;
        dpa__feature *column = &encoder->column[encoder->columns++];
        column->name = dpa__strdup(name, err);
        if (column->name == NULL) return DPA_NO_MEMORY;
        column->first = features;
        column->one_hot = dpa__table_kind(table, c) == DPA_COLUMN_TEXT;
        const size_t values = column->one_hot ? dpa__table_levels(table, c) : 0;
        if (values > MAX_VALUES)
            return dpa__fail_file(
                err, DPA_BAD_INPUT, opts->path,
                "column %s has %zu different texts: ignore it, or make it numbers", name, values);
        for (size_t l = 0; l < values; ++l) {
            const char *level = dpa__table_level(table, c, l);
            DPA_TRY(dpa__names_add(&column->value, level, strlen(level), err));
        }
        features += column->one_hot ? values : 1;
    }
    if (features == 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, opts->path, "no column is left but the label");
    return DPA_OK;
}

static size_t feature_count(const dpa__encoder *encoder) {
    const dpa__feature *last = &encoder->column[encoder->columns - 1];
    return last->first + (last->one_hot ? last->value.count : 1);
}

static dpa_status encode_values(const dpa_table *table, size_t c, const dpa__feature *column,
                                dpa_dataset *data, dpa_error *err) {
    const size_t levels = dpa__table_levels(table, c);
    dpa__names_index index;
    DPA_TRY(dpa__names_sort(&column->value, &index, err));
    ptrdiff_t *place = DPA_NEW_ARRAY(ptrdiff_t, levels, err);
    for (size_t l = 0; l < levels && place != NULL; ++l) {
        const char *level = dpa__table_level(table, c, l);
        place[l] = dpa__names_find(&index, level, strlen(level));
    }
    dpa__names_index_free(&index);
    if (place == NULL) return DPA_NO_MEMORY;
    const uint32_t *codes = dpa__table_codes(table, c);
    for (size_t r = 0; r < data->rows; ++r)
        if (place[codes[r]] >= 0)
            data->x[r * data->features + column->first + (size_t)place[codes[r]]] = 1.0F;
    free(place);
    return DPA_OK;
}

static dpa_status encode(const dpa_table *table, const dpa__encoder *encoder, const char *path,
                         dpa_dataset *data, dpa_error *err) {
    for (size_t i = 0; i < encoder->columns; ++i) {
        const dpa__feature *column = &encoder->column[i];
        const ptrdiff_t found = dpa__table_find(table, column->name);
        if (found < 0)
            return dpa__fail_file(err, DPA_BAD_INPUT, path, "there is no column \"%s\"",
                                  column->name);
        const size_t c = (size_t)found;
        if (column->one_hot) {
            DPA_TRY(encode_values(table, c, column, data, err));
            continue;
        }
        const double *numbers = dpa__table_numbers(table, c);
        if (numbers == NULL)
            return dpa__fail_line(err, DPA_BAD_INPUT, path, dpa__table_text_line(table, c), 0,
                                  "column %s: expected numbers, as in the training part",
                                  column->name);
        for (size_t r = 0; r < data->rows; ++r)
            data->x[r * data->features + column->first] = (float)numbers[r];
    }
    return DPA_OK;
}

static dpa_status describe(const dpa__encoder *encoder, const char *label, char **out,
                           dpa_error *err) {
    dpa__text text = {0};
    for (size_t i = 0; i < encoder->columns; ++i) {
        const dpa__feature *column = &encoder->column[i];
        dpa__text_printf(&text, "%s%s", column->name, column->one_hot ? ":" : " number");
        for (size_t v = 0; v < column->value.count; ++v)
            dpa__text_printf(&text, "%s%s", v > 0 ? ", " : " ", column->value.item[v]);
        dpa__text_add(&text, "\n");
    }
    dpa__text_printf(&text, "%s is the label:", label);
    for (size_t v = 0; v < encoder->label.count; ++v)
        dpa__text_printf(&text, "%s%s", v > 0 ? ", " : " ", encoder->label.item[v]);
    dpa__text_add(&text, "\n");
    return dpa__text_take(&text, out, err);
}

static dpa_status from_table(const dpa_table *table, const dpa_dataset_opts *opts,
                             const dpa__encoder *like, dpa_dataset **out, dpa_error *err) {
    const ptrdiff_t found = opts->label != NULL ? dpa__table_find(table, opts->label)
                                                : (ptrdiff_t)dpa__table_columns(table) - 1;
    if (found < 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, opts->path,
                              "missing labels: there is no column \"%.60s\"", opts->label);
    dpa__encoder *made = DPA_NEW(dpa__encoder, err);
    if (made == NULL) return DPA_NO_MEMORY;
    dpa_dataset *data = NULL;
    dpa_status status = like == NULL ? infer(table, (size_t)found, opts, made, err) : DPA_OK;
    const dpa__encoder *encoder = like != NULL ? like : made;
    if (status == DPA_OK)
        status = dpa__dataset_alloc(dpa__table_rows(table),
                                    (dpa_shape){1, 1, feature_count(encoder)}, 2, &data, err);
    if (status == DPA_OK) status = encode(table, encoder, opts->path, data, err);
    if (status == DPA_OK)
        status = dpa__encode_labels(table, (size_t)found, opts, made, like, data, err);
    if (status == DPA_OK && like == NULL)
        status = describe(made, dpa__table_name(table, (size_t)found), &data->schema, err);
    if (status != DPA_OK) {
        dpa__encoder_free(made);
        dpa_dataset_free(data);
        return status;
    }
    data->encoder = made;
    *out = data;
    return DPA_OK;
}

/* Columns that must stay text: the label, the listed columns, and those that were one-hot in the
 * training part. If the label is "the last column", its name is known only after reading, so the
 * table is then read twice. */
static dpa_status text_columns(const dpa_dataset_opts *opts, const dpa__encoder *like,
                               const char *label, const char ***out, dpa_error *err) {
    size_t count = 2 + (like != NULL ? like->columns : 0), n = 0;
    for (const char *const *c = opts->categorical; c != NULL && *c != NULL; ++c) ++count;
    const char **list = dpa__calloc(count, sizeof *list, err);
    if (list == NULL) return DPA_NO_MEMORY;
    list[n++] = label;
    for (const char *const *c = opts->categorical; c != NULL && *c != NULL; ++c) list[n++] = *c;
    for (size_t c = 0; like != NULL && c < like->columns; ++c)
        if (like->column[c].one_hot && !is_listed(list, like->column[c].name))
            list[n++] = like->column[c].name;
    *out = list;
    return DPA_OK;
}

static dpa_status last_column(const dpa_dataset_opts *opts, char **out, dpa_error *err) {
    dpa_table *table = NULL;
    DPA_TRY(dpa__open_table(opts, NULL, &table, err));
    const size_t columns = dpa__table_columns(table);
    *out = columns > 0 ? dpa__strdup(dpa__table_name(table, columns - 1), err) : NULL;
    dpa__table_free(table);
    if (columns == 0) return dpa__fail_file(err, DPA_BAD_INPUT, opts->path, "no columns");
    return *out != NULL ? DPA_OK : DPA_NO_MEMORY;
}

dpa_status dpa__dataset_table(const dpa_dataset_opts *opts, const dpa_dataset *like,
                              dpa_dataset **out, dpa_error *err) {
    if (like != NULL && (like->encoder == NULL || like->encoder->columns == 0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "the training part was not read from a table");
    const dpa__encoder *encoder = like != NULL ? like->encoder : NULL;
    char *last = NULL;
    if (opts->label == NULL) DPA_TRY(last_column(opts, &last, err));
    const char **text = NULL;
    dpa_table *table = NULL;
    dpa_status status = text_columns(opts, encoder, last != NULL ? last : opts->label, &text, err);
    if (status == DPA_OK) status = dpa__open_table(opts, text, &table, err);
    if (status == DPA_OK) status = from_table(table, opts, encoder, out, err);
    dpa__table_free(table);
    free(text);
    free(last);
    return status;
}
