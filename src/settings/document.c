/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "settings/document.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/stream.h"

/* Limits that are checked before a tree is built. For every token libyaml looks at every open list,
 * so its time grows with the square of the depth, and an alias can stand for as much as the whole
 * file. Our settings need neither. MOST_BYTES is the largest file, after decompression. */
enum { DEEPEST = 16, MOST_ALIASES = 100, MOST_BYTES = 1 << 20 };

static dpa_status refuse(const char *path, const yaml_parser_t *parser, dpa_error *err) {
    if (parser->error == YAML_MEMORY_ERROR)
        return dpa__fail(err, DPA_NO_MEMORY, "no memory for %s", path);
    return dpa__fail_line(err, DPA_BAD_INPUT, path, parser->problem_mark.line + 1,
                          parser->problem_mark.column + 1, "not YAML: %s",
                          parser->problem != NULL ? parser->problem : "it cannot be read");
}

/* Walks through the parser's events, which libyaml produces one by one. Invalid YAML ends the walk
 * without an error here, because loading it afterwards reports the place. */
static dpa_status check_bounds(const char *path, yaml_parser_t *parser, dpa_error *err) {
    int depth = 0, aliases = 0, is_end = 0;
    dpa_status status = DPA_OK;
    while (!is_end && status == DPA_OK) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event)) return DPA_OK;
        const yaml_event_type_t type = event.type;
        depth += type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
        depth -= type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT;
        aliases += type == YAML_ALIAS_EVENT;
        is_end = type == YAML_STREAM_END_EVENT;
        if (depth > DEEPEST || aliases > MOST_ALIASES)
            status = dpa__fail_line(err, DPA_BAD_INPUT, path, event.start_mark.line + 1,
                                    event.start_mark.column + 1, "%s",
                                    depth > DEEPEST ? "more than 16 lists or sections in each other"
                                                    : "more than 100 aliases (*name)");
        yaml_event_delete(&event);
    }
    return status;
}

static dpa_status build(const char *path, yaml_parser_t *parser, yaml_document_t *out,
                        dpa_error *err) {
    if (!yaml_parser_load(parser, out)) return refuse(path, parser, err);
    if (yaml_document_get_root_node(out) != NULL) return DPA_OK;
    yaml_document_delete(out);
    return dpa__fail_file(err, DPA_BAD_INPUT, path, "there are no settings in it");
}

/* Parses the text once to check its bounds (`out` NULL), and once to build the tree. */
static dpa_status parse(const char *path, const char *text, size_t size, yaml_document_t *out,
                        dpa_error *err) {
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return dpa__fail(err, DPA_NO_MEMORY, "no memory for %s", path);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    const dpa_status status =
        out != NULL ? build(path, &parser, out, err) : check_bounds(path, &parser, err);
    yaml_parser_delete(&parser);
    return status;
}

dpa_status dpa__document_read(const char *path, yaml_document_t *out, dpa_error *err) {
    char *text = NULL;
    size_t size = 0;
    DPA_TRY(dpa__file_read(path, MOST_BYTES, &text, &size, err));
    dpa_status status = parse(path, text, size, NULL, err);
    if (status == DPA_OK) status = parse(path, text, size, out, err);
    free(text);
    return status;
}

const char *dpa__document_text(const yaml_node_t *node) {
    return node != NULL && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value
                                                          : "";
}

const yaml_node_pair_t *dpa__document_find(yaml_document_t *yaml, const yaml_node_t *mapping,
                                           const char *key, size_t length) {
    if (mapping == NULL || mapping->type != YAML_MAPPING_NODE) return NULL;
    const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
    for (; pair < mapping->data.mapping.pairs.top; ++pair) {
        const char *name = dpa__document_text(yaml_document_get_node(yaml, pair->key));
        if (strlen(name) == length && memcmp(name, key, length) == 0) return pair;
    }
    return NULL;
}
