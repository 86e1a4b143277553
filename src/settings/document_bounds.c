/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits that are checked before a tree is built. For every token libyaml looks at every open list,
 * so its time grows with the square of the depth, and an alias can stand for as much as the whole
 * file. Our settings need neither. */
#include <stdio.h>

#include "base/error.h"
#include "settings/document.h"

enum { DEEPEST = 16, MOST_ALIASES = 100 };

static dpa_status refuse(const char *path, const yaml_event_t *event, dpa_error *err,
                         const char *what) {
    return dpa__fail_line(err, DPA_BAD_INPUT, path, event->start_mark.line + 1,
                          event->start_mark.column + 1, "%s", what);
}

/* Walks through the parser's events, which libyaml produces one by one. Invalid YAML ends the walk
 * without an error here, because loading it afterwards reports the place. */
static dpa_status look(const char *path, yaml_parser_t *parser, dpa_error *err) {
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
        if (depth > DEEPEST)
            status = refuse(path, &event, err, "more than 16 lists or sections in each other");
        else if (aliases > MOST_ALIASES)
            status = refuse(path, &event, err, "more than 100 aliases (*name)");
        yaml_event_delete(&event);
    }
    return status;
}

dpa_status dpa__document_bounded(const char *path, const char *text, size_t size, dpa_error *err) {
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return dpa__fail(err, DPA_NO_MEMORY, "no memory for %s", path);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    const dpa_status status = look(path, &parser, err);
    yaml_parser_delete(&parser);
    return status;
}
