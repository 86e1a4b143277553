/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON is parsed by jansson. The depth is checked before, because jansson's own limit (2048) is too
 * large for code that walks the tree recursively. */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

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

static dpa_status fail_json(const char *name, const json_error_t *error, dpa_error *err) {
    /* for most failed allocations jansson gives no reason at all */
    if (json_error_code(error) == json_error_out_of_memory || error->text[0] == '\0')
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
    *out = json_loadb(text, count, JSON_REJECT_DUPLICATES, &error);
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
