/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "settings/document.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/stream.h"

enum { MOST_BYTES = 1 << 20 }; /* largest settings file, after decompression */

static dpa_status refuse(const char *path, const yaml_parser_t *parser, dpa_error *err) {
    if (parser->error == YAML_MEMORY_ERROR)
        return dpa__fail(err, DPA_NO_MEMORY, "no memory for %s", path);
    return dpa__fail_line(err, DPA_BAD_INPUT, path, parser->problem_mark.line + 1,
                          parser->problem_mark.column + 1, "not YAML: %s",
                          parser->problem != NULL ? parser->problem : "it cannot be read");
}

static dpa_status load(const char *path, const char *text, size_t size, yaml_document_t *out,
                       dpa_error *err) {
    yaml_parser_t parser;
    dpa_status status = DPA_OK;
    DPA_TRY(dpa__document_bounded(path, text, size, err));
    if (!yaml_parser_initialize(&parser))
        return dpa__fail(err, DPA_NO_MEMORY, "no memory for %s", path);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    if (!yaml_parser_load(&parser, out))
        status = refuse(path, &parser, err);
    else if (yaml_document_get_root_node(out) == NULL) {
        yaml_document_delete(out);
        status = dpa__fail_file(err, DPA_BAD_INPUT, path, "there are no settings in it");
    }
    yaml_parser_delete(&parser);
    return status;
}

dpa_status dpa__document_read(const char *path, yaml_document_t *out, dpa_error *err) {
    char *text = NULL;
    size_t size = 0;
    DPA_TRY(dpa__file_read_most(path, MOST_BYTES, &text, &size, err));
    const dpa_status status = load(path, text, size, out, err);
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
