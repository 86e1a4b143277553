/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bag of words: the features of a sentence are the counts of the most frequent words. Words are
 * separated by blanks and lower-cased (ASCII only). The vocabulary comes from the training file:
 * the words that occur in most of its rows, ties in byte order. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/dictionary.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"
#include "train/dataset.h"

typedef struct counted {
    uint32_t code;
    uint32_t rows;     /* number of rows that hold it */
    uint32_t last_row; /* the last such row, plus 1 */
    const char *text;
} counted;

/* Copies the next word at *at into `word` in lower case, cut to WORD_SIZE. Returns its length, 0 at
 * the end. */
enum { WORD_SIZE = 64 };
static size_t next_word(const char **at, char word[WORD_SIZE]) {
    while (**at != '\0' && isspace((unsigned char)**at)) ++*at;
    size_t length = 0;
    for (; **at != '\0' && !isspace((unsigned char)**at); ++*at)
        if (length < WORD_SIZE - 1) word[length++] = (char)tolower((unsigned char)**at);
    word[length] = '\0';
    return length;
}

static int by_count(const void *a, const void *b) {
    const counted *x = a, *y = b;
    if (x->rows != y->rows) return x->rows < y->rows ? 1 : -1;
    return strcmp(x->text, y->text);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static dpa_status note(counted **list, size_t *room, uint32_t code, uint32_t row, dpa_error *err) {
    if (code >= *room) {
        const size_t more = *room > 0 ? 2 * *room : 1024;
        counted *grown = dpa__realloc(*list, more, sizeof **list, err);
        if (grown == NULL) return DPA_NO_MEMORY;
        memset(grown + *room, 0, (more - *room) * sizeof *grown);
        *list = grown;
        *room = more;
    }
    counted *word = &(*list)[code];
    if (word->last_row != row + 1) ++word->rows;
    word->last_row = row + 1;
    word->code = code;
    return DPA_OK;
}

static dpa_status count_words(const dpa_table *table, size_t column, dpa__levels *levels,
                              counted **list, dpa_error *err) {
    size_t room = 0;
    const uint32_t *codes = dpa__table_codes(table, column);
    for (size_t r = 0; r < dpa__table_rows(table); ++r) {
        const char *at = dpa__table_level(table, column, codes[r]);
        char word[WORD_SIZE];
        for (size_t n = next_word(&at, word); n > 0; n = next_word(&at, word)) {
            uint32_t code;
            DPA_TRY(dpa__levels_code(levels, word, n, &code, err));
            DPA_TRY(note(list, &room, code, (uint32_t)r, err));
        }
    }
    return DPA_OK;
}

static dpa_status make_vocabulary(const dpa_table *table, size_t column, size_t limit,
                                  dpa__names *out, dpa_error *err) {
    dpa__levels levels = {0};
    counted *list = NULL;
    dpa_status status = count_words(table, column, &levels, &list, err);
    if (status == DPA_OK && levels.count == 0)
        status = dpa__fail(err, DPA_BAD_INPUT, "there are no words");
    if (status == DPA_OK) {
        for (uint32_t c = 0; c < levels.count; ++c) list[c].text = dpa__levels_text(&levels, c);
        qsort(list, levels.count, sizeof *list, by_count);
        for (size_t i = 0; i < limit && i < levels.count && status == DPA_OK; ++i)
            status = dpa__names_add(out, list[i].text, strlen(list[i].text), err);
        if (out->count > 0) qsort(out->item, out->count, sizeof *out->item, by_text);
    }
    free(list);
    dpa__levels_free(&levels);
    return status;
}

static void count_in_rows(const dpa_table *table, size_t column, const dpa__names *vocabulary,
                          dpa_dataset *data) {
    const uint32_t *codes = dpa__table_codes(table, column);
    for (size_t r = 0; r < data->rows; ++r) {
        const char *at = dpa__table_level(table, column, codes[r]);
        char word[WORD_SIZE];
        while (next_word(&at, word) > 0) {
            const char *key = word;
            char **found = bsearch(&key, vocabulary->item, vocabulary->count,
                                   sizeof *vocabulary->item, by_text);
            if (found != NULL)
                data->x[r * data->features + (size_t)(found - vocabulary->item)] += 1.0F;
        }
    }
}

static dpa_status from_table(const dpa_table *table, const dpa_dataset_opts *opts,
                             const dpa__encoder *like, dpa_dataset **out, dpa_error *err) {
    const char *label_name = opts->label != NULL ? opts->label : "label";
    const ptrdiff_t text = dpa__table_find(table, opts->text);
    const ptrdiff_t label = dpa__table_find(table, label_name);
    if (text < 0 || label < 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, opts->path, "%s: there is no column \"%.60s\"",
                              text < 0 ? "missing text" : "missing labels",
                              text < 0 ? opts->text : label_name);
    dpa__encoder *made = DPA_NEW(dpa__encoder, err);
    if (made == NULL) return DPA_NO_MEMORY;
    dpa_dataset *data = NULL;
    dpa_status status = DPA_OK;
    if (like == NULL)
        status = make_vocabulary(table, (size_t)text, opts->vocabulary, &made->word, err);
    const dpa__names *vocabulary = like != NULL ? &like->word : &made->word;
    if (status == DPA_OK)
        status = dpa__dataset_alloc(dpa__table_rows(table), (dpa_shape){1, 1, vocabulary->count}, 2,
                                    &data, err);
    if (status == DPA_OK) {
        count_in_rows(table, (size_t)text, vocabulary, data);
        status = dpa__encode_labels(table, (size_t)label, opts, made, like, data, err);
    }
    if (status != DPA_OK) {
        dpa__encoder_free(made);
        dpa_dataset_free(data);
        return status;
    }
    data->encoder = made;
    *out = data;
    return DPA_OK;
}

dpa_status dpa__dataset_words(const dpa_dataset_opts *opts, const dpa_dataset *like,
                              dpa_dataset **out, dpa_error *err) {
    if (like != NULL && (like->encoder == NULL || like->encoder->word.count == 0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "the training part has no vocabulary");
    if (opts->vocabulary < 1 || opts->vocabulary > 1000000 || opts->text == NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "vocabulary of %zu words: expected 1 to 1000000",
                         opts->vocabulary);
    const char *const columns[] = {opts->text, opts->label != NULL ? opts->label : "label", NULL};
    dpa_table *table = NULL;
    DPA_TRY(dpa__open_table(opts, columns, &table, err));
    const dpa_status status =
        from_table(table, opts, like != NULL ? like->encoder : NULL, out, err);
    dpa__table_free(table);
    return status;
}
