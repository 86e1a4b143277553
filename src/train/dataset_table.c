/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns tables into features: numeric columns as they are, text columns one-hot, sentences as
 * counts of words. What was inferred is kept as text for people (dpa_dataset_schema). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/dictionary.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/stream.h"
#include "base/text.h"
#include "train/dataset.h"

/* ---- Opening ----
 *
 * A tar archive is opened too, because data sets are often published as one; its first file is
 * read. */

enum { TAR_BLOCK = 512 };

/* Finds the first regular file in a tar archive. A POSIX header has the size in octal at byte
 * 124. */
static dpa_status tar_member(const char *path, const char *bytes, size_t size, const char **start,
                             size_t *length, dpa_error *err) {
    for (size_t at = 0; at + TAR_BLOCK <= size && bytes[at] != '\0';) {
        char octal[13] = {0};
        memcpy(octal, bytes + at + 124, 12);
        const size_t member = strtoul(octal, NULL, 8);
        const char type = bytes[at + 156];
        if (member > size - at - TAR_BLOCK)
            return dpa__fail_offset(err, DPA_BAD_INPUT, path, at,
                                    "the archive ends before its file");
        if (type == '0' || type == '\0') {
            *start = bytes + at + TAR_BLOCK;
            *length = member;
            return DPA_OK;
        }
        at += TAR_BLOCK + (member + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    }
    return dpa__fail_file(err, DPA_BAD_INPUT, path, "no file in this archive");
}

static int is_tar(dpa__stream *stream) {
    size_t count;
    const unsigned char *window = dpa__stream_window(stream, &count);
    return count >= TAR_BLOCK && memcmp(window + 257, "ustar", 5) == 0;
}

static dpa_status table_from_tar(dpa__stream *stream, const dpa_table_opts *opts, dpa_table **out,
                                 dpa_error *err) {
    char *bytes = NULL;
    const char *member = NULL;
    size_t size = 0, length = 0;
    DPA_TRY(dpa__stream_read_all(stream, &bytes, &size, err));
    const char *name = dpa__stream_name(stream);
    dpa__stream *inner = NULL;
    dpa_status status = tar_member(name, bytes, size, &member, &length, err);
    if (status == DPA_OK) status = dpa__stream_open_memory(name, member, length, &inner, err);
    if (status == DPA_OK) status = dpa__table_from_stream(inner, opts, out, err);
    dpa__stream_close(inner);
    free(bytes);
    return status;
}

static dpa_status open_table(const dpa_dataset_opts *opts, const char *const *text, dpa_table **out,
                             dpa_error *err) {
    dpa_table_opts table;
    dpa__table_opts_init(&table);
    table.separator = opts->separator;
    table.has_header = opts->has_header;
    table.comment = opts->comment;
    table.text = text;
    dpa__stream *stream = NULL;
    DPA_TRY(dpa__stream_open(opts->path, &stream, err));
    dpa_status status = dpa__stream_need(stream, TAR_BLOCK, err);
    if (status == DPA_OK)
        status = is_tar(stream) ? table_from_tar(stream, &table, out, err)
                                : dpa__table_from_stream(stream, &table, out, err);
    dpa__stream_close(stream);
    return status;
}

/* ---- Lists of names, and labels made from a text column ---- */

static dpa_status names_add(dpa__names *names, const char *text, size_t length, dpa_error *err) {
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

/* Labels that become equal after stripping are one. */
static dpa_status list_labels(const dpa_table *table, size_t column, const char *strip,
                              dpa__names *out, dpa_error *err) {
    int whole = 1;
    dpa__levels seen = {0};
    dpa_status status = DPA_OK;
    for (size_t l = 0; l < table->column[column].levels.count && status == DPA_OK; ++l) {
        const char *level = dpa__levels_text(&table->column[column].levels, l);
        const size_t length = stripped(level, strip);
        uint32_t code = 0;
        status = dpa__levels_code(&seen, level, length, &code, err);
        if (status != DPA_OK || code < out->count) continue;
        status = names_add(out, level, length, err);
        if (status == DPA_OK && !is_whole(out->item[out->count - 1])) whole = 0;
    }
    dpa__levels_free(&seen);
    if (whole && out->count > 0) qsort(out->item, out->count, sizeof *out->item, by_whole);
    return status;
}

/* The place of each text of the column among the names, -1 for others. The caller frees it. */
static dpa_status find_places(const dpa_table *table, size_t column, const char *strip,
                              const dpa__names *names, ptrdiff_t **out, dpa_error *err) {
    const size_t levels = table->column[column].levels.count;
    dpa__levels index = {0};
    uint32_t code;
    ptrdiff_t *place = DPA_NEW_ARRAY(ptrdiff_t, levels, err);
    dpa_status status = place != NULL ? DPA_OK : DPA_NO_MEMORY;
    for (size_t i = 0; i < names->count && status == DPA_OK; ++i)
        status = dpa__levels_code(&index, names->item[i], strlen(names->item[i]), &code, err);
    for (size_t l = 0; l < levels && status == DPA_OK; ++l) {
        const char *level = dpa__levels_text(&table->column[column].levels, l);
        status = dpa__levels_code(&index, level, stripped(level, strip), &code, err);
        if (status == DPA_OK) place[l] = code < names->count ? (ptrdiff_t)code : -1;
    }
    dpa__levels_free(&index);
    if (status != DPA_OK) free(place);
    *out = place;
    return status;
}

/* Turns a text column into labels by the encoder's list of names. An empty list is filled first:
 * whole numbers in numeric order, other texts in byte order. */
static dpa_status encode_labels(const dpa_table *table, size_t column, const dpa_dataset_opts *opts,
                                dpa__encoder *made, const dpa__encoder *like, dpa_dataset *data,
                                dpa_error *err) {
    if (like == NULL) DPA_TRY(list_labels(table, column, opts->strip, &made->label, err));
    const dpa__names *names = like != NULL ? &like->label : &made->label;
    if (names->count < 2)
        return dpa__fail_file(err, DPA_BAD_INPUT, opts->path,
                              "column %s: %zu classes: expected at least 2",
                              table->column[column].name, names->count);
    ptrdiff_t *place;
    DPA_TRY(find_places(table, column, opts->strip, names, &place, err));
    dpa_status status = DPA_OK;
    for (size_t l = 0; l < table->column[column].levels.count && status == DPA_OK; ++l)
        if (place[l] < 0)
            status = dpa__fail_file(err, DPA_BAD_INPUT, opts->path,
                                    "label \"%.60s\" is not among those of the training part",
                                    dpa__levels_text(&table->column[column].levels, l));
    const uint32_t *codes = table->column[column].codes;
    for (size_t r = 0; status == DPA_OK && r < data->rows; ++r)
        data->label[r] = (int32_t)place[codes[r]];
    free(place);
    data->classes = names->count;
    return status;
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

/* ---- Columns of numbers and texts ---- */

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

static dpa_status infer_columns(const dpa_table *table, size_t label, const dpa_dataset_opts *opts,
                                dpa__encoder *encoder, dpa_error *err) {
    DPA_TRY(check_listed(table, opts->ignore, opts->path, err));
    DPA_TRY(check_listed(table, opts->categorical, opts->path, err));
    encoder->column = dpa__calloc(table->columns, sizeof(dpa__feature), err);
    if (encoder->column == NULL) return DPA_NO_MEMORY;
    size_t features = 0;
    for (size_t c = 0; c < table->columns; ++c) {
        const char *name = table->column[c].name;
        if (c == label || is_listed(opts->ignore, name)) continue;
        dpa__feature *column = &encoder->column[encoder->columns++];
        column->name = dpa__strdup(name, err);
        if (column->name == NULL) return DPA_NO_MEMORY;
        column->first = features;
        column->one_hot = table->column[c].kind == DPA_COLUMN_TEXT;
        const size_t values = column->one_hot ? table->column[c].levels.count : 0;
        if (values > MAX_VALUES)
            return dpa__fail_file(
                err, DPA_BAD_INPUT, opts->path,
                "column %s has %zu different texts: ignore it, or make it numbers", name, values);
        for (size_t l = 0; l < values; ++l) {
            const char *level = dpa__levels_text(&table->column[c].levels, l);
            DPA_TRY(names_add(&column->value, level, strlen(level), err));
        }
        features += column->one_hot ? values : 1;
    }
    if (features == 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, opts->path, "no column is left but the label");
    return DPA_OK;
}

static size_t count_features(const dpa__encoder *encoder) {
    const dpa__feature *last = &encoder->column[encoder->columns - 1];
    return last->first + (last->one_hot ? last->value.count : 1);
}

static dpa_status encode_values(const dpa_table *table, size_t c, const dpa__feature *column,
                                dpa_dataset *data, dpa_error *err) {
    ptrdiff_t *place;
    DPA_TRY(find_places(table, c, NULL, &column->value, &place, err));
    const uint32_t *codes = table->column[c].codes;
    for (size_t r = 0; r < data->rows; ++r)
        if (place[codes[r]] >= 0)
            data->x[r * data->features + column->first + (size_t)place[codes[r]]] = 1.0F;
    free(place);
    return DPA_OK;
}

static dpa_status fill_columns(const dpa_table *table, const dpa__encoder *encoder,
                               const char *path, dpa_dataset *data, dpa_error *err) {
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
        const double *numbers = table->column[c].numbers;
        if (numbers == NULL)
            return dpa__fail_line(err, DPA_BAD_INPUT, path, table->column[c].text_line, 0,
                                  "column %s: expected numbers, as in the training part",
                                  column->name);
        for (size_t r = 0; r < data->rows; ++r)
            data->x[r * data->features + column->first] = (float)numbers[r];
    }
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
    DPA_TRY(open_table(opts, NULL, &table, err));
    const size_t columns = table->columns;
    *out = columns > 0 ? dpa__strdup(table->column[columns - 1].name, err) : NULL;
    dpa__table_free(table);
    if (columns == 0) return dpa__fail_file(err, DPA_BAD_INPUT, opts->path, "no columns");
    return *out != NULL ? DPA_OK : DPA_NO_MEMORY;
}

/* ---- Bag of words ----
 *
 * The features of a sentence are the counts of the most frequent words. Words are separated by
 * blanks and lower-cased (ASCII only). The vocabulary comes from the training file: the words that
 * occur in most of its rows, ties in byte order. */

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

static int by_word(const void *a, const void *b) {
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
    const uint32_t *codes = table->column[column].codes;
    for (size_t r = 0; r < table->rows; ++r) {
        const char *at = dpa__levels_text(&table->column[column].levels, codes[r]);
        char word[WORD_SIZE];
        for (size_t n = next_word(&at, word); n > 0; n = next_word(&at, word)) {
            uint32_t code;
            DPA_TRY(dpa__levels_code(levels, word, n, &code, err));
            DPA_TRY(note(list, &room, code, (uint32_t)r, err));
        }
    }
    return DPA_OK;
}

static dpa_status make_vocabulary(const dpa_table *table, const dpa_dataset_opts *opts,
                                  dpa__names *out, dpa_error *err) {
    const size_t column = (size_t)dpa__table_find(table, opts->text);
    dpa__levels levels = {0};
    counted *list = NULL;
    dpa_status status = count_words(table, column, &levels, &list, err);
    if (status == DPA_OK && levels.count == 0)
        status = dpa__fail(err, DPA_BAD_INPUT, "there are no words");
    if (status == DPA_OK) {
        for (uint32_t c = 0; c < levels.count; ++c) list[c].text = dpa__levels_text(&levels, c);
        qsort(list, levels.count, sizeof *list, by_count);
        for (size_t i = 0; i < opts->vocabulary && i < levels.count && status == DPA_OK; ++i)
            status = names_add(out, list[i].text, strlen(list[i].text), err);
        if (out->count > 0) qsort(out->item, out->count, sizeof *out->item, by_word);
    }
    free(list);
    dpa__levels_free(&levels);
    return status;
}

static void count_in_rows(const dpa_table *table, const dpa_dataset_opts *opts,
                          const dpa__names *vocabulary, dpa_dataset *data) {
    const size_t column = (size_t)dpa__table_find(table, opts->text);
    const uint32_t *codes = table->column[column].codes;
    for (size_t r = 0; r < data->rows; ++r) {
        const char *at = dpa__levels_text(&table->column[column].levels, codes[r]);
        char word[WORD_SIZE];
        while (next_word(&at, word) > 0) {
            const char *key = word;
            char **found = bsearch(&key, vocabulary->item, vocabulary->count,
                                   sizeof *vocabulary->item, by_word);
            if (found != NULL)
                data->x[r * data->features + (size_t)(found - vocabulary->item)] += 1.0F;
        }
    }
}

/* ---- Any of them ---- */

static dpa_status from_table(const dpa_table *table, int is_words, size_t label,
                             const dpa_dataset_opts *opts, const dpa__encoder *like,
                             dpa_dataset **out, dpa_error *err) {
    dpa__encoder *made = DPA_NEW(dpa__encoder, err);
    if (made == NULL) return DPA_NO_MEMORY;
    const dpa__encoder *encoder = like != NULL ? like : made;
    dpa_dataset *data = NULL;
    dpa_status status = DPA_OK;
    if (like == NULL)
        status = is_words ? make_vocabulary(table, opts, &made->word, err)
                          : infer_columns(table, label, opts, made, err);
    if (status == DPA_OK) {
        const size_t features = is_words ? encoder->word.count : count_features(encoder);
        status = dpa__dataset_alloc(table->rows, (dpa_shape){1, 1, features}, 2, &data, err);
    }
    if (status == DPA_OK && is_words) count_in_rows(table, opts, &encoder->word, data);
    if (status == DPA_OK && !is_words) status = fill_columns(table, encoder, opts->path, data, err);
    if (status == DPA_OK) status = encode_labels(table, label, opts, made, like, data, err);
    if (status == DPA_OK && made->columns > 0)
        status = describe(made, table->column[label].name, &data->schema, err);
    if (status != DPA_OK) {
        dpa__encoder_free(made);
        dpa_dataset_free(data);
        return status;
    }
    data->encoder = made;
    *out = data;
    return DPA_OK;
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
    if (status == DPA_OK) status = open_table(opts, text, &table, err);
    if (status == DPA_OK) {
        const ptrdiff_t label = opts->label != NULL ? dpa__table_find(table, opts->label)
                                                    : (ptrdiff_t)table->columns - 1;
        status = label < 0
                     ? dpa__fail_file(err, DPA_BAD_INPUT, opts->path,
                                      "missing labels: there is no column \"%.60s\"", opts->label)
                     : from_table(table, 0, (size_t)label, opts, encoder, out, err);
    }
    dpa__table_free(table);
    free(text);
    free(last);
    return status;
}

dpa_status dpa__dataset_words(const dpa_dataset_opts *opts, const dpa_dataset *like,
                              dpa_dataset **out, dpa_error *err) {
    if (like != NULL && (like->encoder == NULL || like->encoder->word.count == 0))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "the training part has no vocabulary");
    if (opts->vocabulary < 1 || opts->vocabulary > 1000000 || opts->text == NULL)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "vocabulary of %zu words: expected 1 to 1000000",
                         opts->vocabulary);
    const char *label_name = opts->label != NULL ? opts->label : "label";
    const char *const columns[] = {opts->text, label_name, NULL};
    dpa_table *table = NULL;
    DPA_TRY(open_table(opts, columns, &table, err));
    const ptrdiff_t text = dpa__table_find(table, opts->text);
    const ptrdiff_t label = dpa__table_find(table, label_name);
    const dpa_status status =
        text < 0 || label < 0
            ? dpa__fail_file(err, DPA_BAD_INPUT, opts->path, "%s: there is no column \"%.60s\"",
                             text < 0 ? "missing text" : "missing labels",
                             text < 0 ? opts->text : label_name)
            : from_table(table, 1, (size_t)label, opts, like != NULL ? like->encoder : NULL, out,
                         err);
    dpa__table_free(table);
    return status;
}
