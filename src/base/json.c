/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON is parsed by jansson. The depth is checked before, because jansson's own limit (2048) is too
 * large for code that walks the tree recursively. */
#include "base/json.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
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
