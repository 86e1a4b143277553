/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of names, an index over them, and labels made from a text column. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/error.h"
#include "base/memory.h"
#include "train/dataset.h"

dpa_status dpa__names_add(dpa__names *names, const char *text, size_t length, dpa_error *err) {
    /* The room is full whenever the count is a power of two: double it. */
    if ((names->count & (names->count - 1)) == 0) {
        const size_t room = names->count > 0 ? 2 * names->count : 1;
        char **grown = dpa__realloc(names->item, room, sizeof *grown, err);
        if (grown == NULL) return DPA_NO_MEMORY;
        names->item = grown;
    }
    char *copy = dpa__malloc(length + 1, 1, err);
    if (copy == NULL) return DPA_NO_MEMORY;
    memcpy(copy, text, length);
    copy[length] = '\0';
    names->item[names->count++] = copy;
    return DPA_OK;
}

static void names_free(dpa__names *names) {
    for (size_t i = 0; i < names->count; ++i) free(names->item[i]);
    free(names->item);
    *names = (dpa__names){0};
}

/* ── finding ─────────────────────────────────────────────────────────────────────────── */

typedef struct dpa__label_place {
    const char *text;
    size_t place;
} dpa__label_place;

static int by_text(const void *a, const void *b) {
    const dpa__label_place *x = a, *y = b;
    const int order = strcmp(x->text, y->text);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

dpa_status dpa__names_sort(const dpa__names *names, dpa__names_index *out, dpa_error *err) {
    *out = (dpa__names_index){DPA_NEW_ARRAY(dpa__label_place, names->count, err), names->count};
    if (out->item == NULL) return DPA_NO_MEMORY;
    for (size_t i = 0; i < names->count; ++i) out->item[i] = (dpa__label_place){names->item[i], i};
    if (names->count > 0) qsort(out->item, out->count, sizeof *out->item, by_text);
    return DPA_OK;
}

ptrdiff_t dpa__names_find(const dpa__names_index *index, const char *text, size_t length) {
    size_t low = 0, high = index->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const char *have = index->item[middle].text;
        int order = strncmp(have, text, length);
        if (order == 0) order = have[length] != '\0';
        if (order == 0) return (ptrdiff_t)index->item[middle].place;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

void dpa__names_index_free(dpa__names_index *index) {
    free(index->item);
    *index = (dpa__names_index){NULL, 0};
}

void dpa__encoder_free(dpa__encoder *encoder) {
    if (encoder == NULL) return;
    for (size_t c = 0; c < encoder->columns; ++c) {
        free(encoder->column[c].name);
        names_free(&encoder->column[c].value);
    }
    free(encoder->column);
    names_free(&encoder->label);
    names_free(&encoder->word);
    free(encoder);
}

static int is_whole(const char *text) {
    size_t i = text[0] == '-' ? 1 : 0;
    if (text[i] == '\0' || strlen(text) > 15) return 0;
    for (; text[i] != '\0'; ++i)
        if (!isdigit((unsigned char)text[i])) return 0;
    return 1;
}

static int by_whole(const void *a, const void *b) {
    const long long x = atoll(*(char *const *)a), y = atoll(*(char *const *)b);
    return (x > y) - (x < y);
}

/* The length of the text without trailing characters of `strip`. */
static size_t stripped(const char *text, const char *strip) {
    size_t length = strlen(text);
    while (strip != NULL && length > 0 && strchr(strip, text[length - 1]) != NULL) --length;
    return length;
}

/* Merges labels that became equal after stripping; the first of them keeps its place. */
static dpa_status unite(dpa__names *names, dpa_error *err) {
    dpa__names_index index;
    size_t kept = 0;
    DPA_TRY(dpa__names_sort(names, &index, err));
    for (size_t i = index.count; i-- > 1;)
        if (strcmp(index.item[i].text, index.item[i - 1].text) == 0) {
            const size_t place = index.item[i].place;
            free(names->item[place]);
            names->item[place] = NULL;
        }
    dpa__names_index_free(&index);
    for (size_t i = 0; i < names->count; ++i)
        if (names->item[i] != NULL) names->item[kept++] = names->item[i];
    names->count = kept;
    return DPA_OK;
}

static dpa_status list_labels(const dpa_table *table, size_t column, const char *strip,
                              dpa__names *out, dpa_error *err) {
    int whole = 1;
    for (size_t l = 0; l < dpa__table_levels(table, column); ++l) {
        const char *level = dpa__table_level(table, column, l);
        DPA_TRY(dpa__names_add(out, level, stripped(level, strip), err));
        if (!is_whole(out->item[out->count - 1])) whole = 0;
    }
    DPA_TRY(unite(out, err));
    if (whole && out->count > 0) qsort(out->item, out->count, sizeof *out->item, by_whole);
    return DPA_OK;
}

dpa_status dpa__encode_labels(const dpa_table *table, size_t column, const dpa_dataset_opts *opts,
                              dpa__encoder *made, const dpa__encoder *like, dpa_dataset *data,
                              dpa_error *err) {
    if (like == NULL) DPA_TRY(list_labels(table, column, opts->strip, &made->label, err));
    const dpa__names *names = like != NULL ? &like->label : &made->label;
    if (names->count < 2)
        return dpa__fail_file(err, DPA_BAD_INPUT, opts->path,
                              "column %s: %zu classes: expected at least 2",
                              dpa__table_name(table, column), names->count);
    const size_t levels = dpa__table_levels(table, column);
    dpa__names_index index;
    DPA_TRY(dpa__names_sort(names, &index, err));
    int32_t *code = DPA_NEW_ARRAY(int32_t, levels, err);
    dpa_status status = code != NULL ? DPA_OK : DPA_NO_MEMORY;
    for (size_t l = 0; l < levels && status == DPA_OK; ++l) {
        const char *level = dpa__table_level(table, column, l);
        code[l] = (int32_t)dpa__names_find(&index, level, stripped(level, opts->strip));
        if (code[l] < 0)
            status =
                dpa__fail_file(err, DPA_BAD_INPUT, opts->path,
                               "label \"%.60s\" is not among those of the training part", level);
    }
    dpa__names_index_free(&index);
    const uint32_t *codes = dpa__table_codes(table, column);
    for (size_t r = 0; status == DPA_OK && r < data->rows; ++r) data->label[r] = code[codes[r]];
    free(code);
    if (status == DPA_OK) data->classes = names->count;
    return status;
}
