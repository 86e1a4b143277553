/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON is parsed by jansson. The depth is checked before, because jansson's own limit (2048) is too
 * large for code that walks the tree recursively. It is written with the shortest digits that read
 * back as the same bits; what JSON cannot say (NaN, infinities) is null. */
#include "base/json.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"

/* Checks how deep brackets are nested, outside strings. Malformed text is left for jansson to
 * report. */
static dpa_status check_depth(const char *name, const char *text, size_t count, dpa_error *err) {
    uint64_t line = 1;
    size_t start = 0;
    int depth = 0, quoted = 0;
    for (size_t i = 0; i < count; ++i) {
        const char c = text[i];
        if (quoted && c == '\\')
            ++i;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{'))
            ++depth;
        else if (!quoted && (c == ']' || c == '}'))
            --depth;
        else if (c == '\n') {
            ++line;
            start = i + 1;
        }
        if (depth > DPA__JSON_DEPTH)
            return dpa__fail_line(err, DPA_BAD_INPUT, name, line, i - start + 1,
                                  "nested deeper than %d; that is not right", DPA__JSON_DEPTH);
    }
    return DPA_OK;
}

/* A token that jansson 2.14 reads grows in a buffer. When that gets no memory, jansson leaves the
 * character out and goes on: a number loses a digit, a string its closing quote, which is then
 * looked for behind the buffer. So the first allocation of a parse that fails gets a block set
 * aside for it, large enough for any token, and no character is given any more. */
typedef struct source {
    const char *at, *end;
    void *spare;
    size_t spare_size;
    int failed;
} source;

static _Thread_local source *reading;
static _Atomic(json_malloc_t) host_malloc;
static _Atomic(json_free_t) host_free;

static void *watched_malloc(size_t size) {
    void *block = atomic_load(&host_malloc)(size);
    if (block != NULL || reading == NULL) return block;
    if (!reading->failed && size <= reading->spare_size) block = reading->spare;
    reading->failed = 1;
    return block;
}

static void watched_free(void *block) {
    if (reading == NULL || block != reading->spare) atomic_load (&host_free)(block);
}

/* jansson has one pair of functions for the whole program; blocks still come from the pair that the
 * program had set. */
static void watch_memory(void) {
    json_malloc_t get;
    json_free_t release;
    json_get_alloc_funcs(&get, &release);
    if (get == watched_malloc) return;
    atomic_store(&host_malloc, get);
    atomic_store(&host_free, release);
    json_set_alloc_funcs(watched_malloc, watched_free);
}

__attribute__((destructor)) static void unwatch_memory(void) {
    json_malloc_t get;
    json_free_t release;
    json_get_alloc_funcs(&get, &release);
    if (get == watched_malloc)
        json_set_alloc_funcs(atomic_load(&host_malloc), atomic_load(&host_free));
}

static size_t give_character(void *to, size_t size, void *from) {
    source *s = from;
    if (s->failed || s->at == s->end || size == 0) return 0;
    *(char *)to = *s->at++;
    return 1;
}

json_t *dpa__json_load(const char *text, size_t count, size_t flags, json_error_t *error) {
    json_error_t unused;
    if (error == NULL) error = &unused;
    error->text[0] = '\0';
    source s = {.at = text, .end = text + count, .spare_size = 2 * count + 64};
    s.spare = malloc(s.spare_size);
    if (s.spare == NULL) return NULL;
    watch_memory();
    reading = &s;
    json_t *root = json_load_callback(give_character, &s, flags, error);
    if (s.failed) {
        json_decref(root);
        root = NULL;
        error->text[0] = '\0';
    }
    reading = NULL;
    free(s.spare);
    return root;
}

static dpa_status fail_json(const char *name, const json_error_t *error, dpa_error *err) {
    if (error->text[0] == '\0')
        return dpa__fail_file(err, DPA_NO_MEMORY, name, "no memory for the JSON");
    return dpa__fail_line(err, DPA_BAD_INPUT, name, (uint64_t)(error->line > 0 ? error->line : 1),
                          (uint64_t)(error->column > 0 ? error->column : 0), "not JSON: %s",
                          error->text);
}

dpa_status dpa__json_parse(const char *name, const char *text, size_t count, json_t **out,
                           dpa_error *err) {
    json_error_t error;
    if (count == 0)
        return dpa__fail_file(err, DPA_BAD_INPUT, name, "the file is empty; JSON is right");
    DPA_TRY(check_depth(name, text, count, err));
    *out = dpa__json_load(text, count, JSON_REJECT_DUPLICATES, &error);
    return *out != NULL ? DPA_OK : fail_json(name, &error, err);
}

dpa_status dpa__json_from_stream(dpa__stream *stream, json_t **out, char sha256[DPA_SHA256_SIZE],
                                 dpa_error *err) {
    char *text = NULL, hash[DPA_SHA256_SIZE];
    size_t count = 0;
    *out = NULL;
    DPA_TRY(dpa__stream_read_all(stream, &text, &count, err));
    dpa_status status = dpa__stream_finish(stream, "the text", hash, err);
    if (status == DPA_OK) {
        const size_t mark = dpa__utf8_mark(text, count);
        status = dpa__json_parse(dpa__stream_name(stream), text + mark, count - mark, out, err);
    }
    if (status == DPA_OK && sha256 != NULL) memcpy(sha256, hash, sizeof hash);
    free(text);
    return status;
}

dpa_status dpa__json_read(const char *path, json_t **out, char sha256[DPA_SHA256_SIZE],
                          dpa_error *err) {
    dpa__stream *stream;
    *out = NULL;
    DPA_TRY(dpa__stream_open(path, &stream, err));
    const dpa_status status = dpa__json_from_stream(stream, out, sha256, err);
    dpa__stream_close(stream);
    return status;
}

/* ── trees ───────────────────────────────────────────────────────────────────────────── */

dpa_status dpa__json_set(json_t *object, const char *key, json_t *value, dpa_error *err) {
    if (value == NULL || json_object_set_new(object, key, value) != 0)
        return dpa__fail(err, DPA_NO_MEMORY, "no memory for '%s' in the report", key);
    return DPA_OK;
}

dpa_status dpa__json_append(json_t *array, json_t *value, dpa_error *err) {
    if (value == NULL || json_array_append_new(array, value) != 0)
        return dpa__fail(err, DPA_NO_MEMORY, "no memory for a part of the report");
    return DPA_OK;
}

dpa_status dpa__json_put(json_t *object, const char *key, double value, dpa_error *err) {
    return dpa__json_set(object, key, dpa__json_number(value), err);
}

json_t *dpa__json_text(const char *text) {
    json_t *value = json_string(text);
    const size_t length = strlen(text);
    /* Out of memory must not look like text that is not UTF-8. */
    if (value != NULL || dpa__utf8_span(text, length) == length) return value;
    char *ascii = dpa__strdup(text, NULL);
    if (ascii == NULL) return NULL;
    for (char *c = ascii; *c != '\0'; ++c)
        if ((unsigned char)*c >= 0x80) *c = '?';
    value = json_string(ascii);
    free(ascii);
    return value;
}

dpa_status dpa__json_fill(json_t *object, dpa_error *err, const dpa__json_field *fields) {
    for (const dpa__json_field *f = fields; f->key != NULL; ++f)
        DPA_TRY(dpa__json_set(
            object, f->key, f->text != NULL ? dpa__json_text(f->text) : dpa__json_number(f->number),
            err));
    return DPA_OK;
}

dpa_status dpa__json_add(json_t *array, dpa_error *err, const dpa__json_field *fields) {
    json_t *object = json_object();
    DPA_TRY(dpa__json_append(array, object, err));
    return dpa__json_fill(object, err, fields);
}

json_t *dpa__json_copy(const json_t *object) {
    json_t *copy = json_copy((json_t *)(uintptr_t)object);
    if (json_object_size(copy) == json_object_size(object)) return copy;
    json_decref(copy);
    return NULL;
}

/* Every text of 15 digits survives the way to double and back, and %g drops trailing zeros. So if
 * 15 digits read back as the same double, they are the shortest text. Fewer can do only below the
 * normal range. */
void dpa__number_text(double value, char *out, size_t size) {
    if (value == floor(value) && fabs(value) < 1e15) { /* 50, not 5e+01 */
        (void)dpa__print(out, size, "%.0f", value + 0.0);
        return;
    }
    for (int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG; digits <= 17; ++digits) {
        double again;
        const char *at = out;
        (void)dpa__print(out, size, "%.*g", digits, value);
        if (dpa__number_parse(&at, out + strlen(out), &again) == DPA__NUMBER_OK && again == value)
            return;
    }
}

json_t *dpa__json_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

/* ── writing ─────────────────────────────────────────────────────────────────────────────────── */

static void write_string(dpa__text *out, const char *text) {
    dpa__text_add(out, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; ++c) {
        if (*c == '"' || *c == '\\')
            dpa__text_printf(out, "\\%c", *c);
        else if (*c < 0x20)
            dpa__text_printf(out, "\\u%04x", *c);
        else
            dpa__text_add_bytes(out, (const char *)c, 1);
    }
    dpa__text_add(out, "\"");
}

static void new_line(dpa__text *out, int indent) {
    if (indent >= 0) dpa__text_printf(out, "\n%*s", indent, "");
}

static int is_flat(const json_t *value) {
    for (size_t i = 0; i < json_array_size(value); ++i) {
        const json_t *item = json_array_get(value, i);
        if (json_is_object(item) || json_is_array(item)) return 0;
    }
    return 1;
}

static void write_array(dpa__text *out, const json_t *value, int indent) {
    const int inner = indent >= 0 && !is_flat(value) ? indent + 1 : -1;
    size_t index;
    json_t *item;
    dpa__text_add(out, "[");
    json_array_foreach(value, index, item) {
        if (index > 0) dpa__text_add(out, inner >= 0 ? "," : ", ");
        new_line(out, inner);
        dpa__json_write(out, item, inner);
    }
    dpa__text_add(out, "]");
}

static void write_object(dpa__text *out, const json_t *value, int indent) {
    const int inner = indent >= 0 ? indent + 1 : -1;
    const char *separator = "";
    const char *key;
    json_t *item;
    dpa__text_add(out, "{");
    json_object_foreach((json_t *)(uintptr_t)value, key, item) {
        dpa__text_add(out, separator);
        separator = inner >= 0 ? "," : ", ";
        new_line(out, inner);
        write_string(out, key);
        dpa__text_add(out, ": ");
        dpa__json_write(out, item, inner);
    }
    dpa__text_add(out, "}");
}

void dpa__json_write(dpa__text *out, const json_t *value, int indent) {
    char number[40];
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        write_object(out, value, indent);
        break;
    case JSON_ARRAY:
        write_array(out, value, indent);
        break;
    case JSON_STRING:
        write_string(out, json_string_value(value));
        break;
    case JSON_INTEGER:
        dpa__text_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        dpa__number_text(json_real_value(value), number, sizeof number);
        dpa__text_add(out, number);
        break;
    case JSON_TRUE:
        dpa__text_add(out, "true");
        break;
    case JSON_FALSE:
        dpa__text_add(out, "false");
        break;
    case JSON_NULL:
        dpa__text_add(out, "null");
        break;
    }
}
